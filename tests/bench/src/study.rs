//! What is measured beside the contenders. Each study finds figures of its own, and knows how they are
//! told; its name is that of `--only`, and its key in the JSON object.

use anyhow::Result;
use serde_json::Value;

use crate::place::Place;
use crate::rounds::Plan;
use crate::{cancel, listens, nodes, parked, start};

/// One of them.
pub(crate) struct Study {
    pub(crate) name: &'static str,
    /// Is what it needs on this machine?
    pub(crate) is_here: fn(&Place) -> bool,
    pub(crate) measure: fn(&Place, &Plan) -> Result<Box<dyn Report>>,
}

/// What one found.
pub(crate) trait Report {
    /// Adds a table for people.
    fn table(&self, text: &mut String);

    /// An object for programs.
    fn json(&self) -> Value;
}

/// All of them, in the order in which they are measured and told.
pub(crate) const ALL: [Study; 5] = [
    parked::STUDY,
    listens::STUDY,
    cancel::STUDY,
    start::STUDY,
    nodes::STUDY,
];
