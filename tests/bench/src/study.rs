//! What is measured beside the contenders. Each study finds figures of its own, and knows how they are
//! told; its name is that of `--only`, and its key in the JSON object.

use anyhow::Result;
use serde_json::Value;

use crate::place::Place;
use crate::report::Ratio;
use crate::rounds::Plan;
use crate::{cancel, engine, growth, listens, nodes, parked, start, store};

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

    /// Its ratios, which stand beside those of the contenders under their names.
    fn ratios(&self) -> Vec<Named> {
        Vec::new()
    }
}

/// A ratio with a name, and what it should be.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) ratio: Ratio,
    pub(crate) goal: Option<Goal>,
}

/// For a ratio.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

/// All of them, in the order in which they are measured and told.
pub(crate) const ALL: [Study; 8] = [
    engine::STUDY,
    store::STUDY,
    growth::STUDY,
    parked::STUDY,
    listens::STUDY,
    cancel::STUDY,
    start::STUDY,
    nodes::STUDY,
];
