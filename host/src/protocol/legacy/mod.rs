//! Revisions of MCP before 2026-07-28, as data: a client says once, in `initialize`, what it is.
//!
//! Invariant: what a handler sees and answers is the same in every revision; only here is it known
//! what an older one calls it, or lacks.

mod handshake;
mod reshape;

pub use handshake::{Handshake, handshake};
pub use reshape::{ask, other_result, result, tool};

use super::ClientFeatures;
use super::envelope::present;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A revision of MCP that begins with `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the revisions'")]
pub enum Revision {
    #[serde(rename = "2025-03-26")]
    V20250326,
    #[serde(rename = "2025-06-18")]
    V20250618,
    #[serde(rename = "2025-11-25")]
    V20251125,
}

impl Revision {
    /// All, the oldest first.
    pub const ALL: [Self; 3] = [Self::V20250326, Self::V20250618, Self::V20251125];

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V20250326 => "2025-03-26",
            Self::V20250618 => "2025-06-18",
            Self::V20251125 => "2025-11-25",
        }
    }

    /// The revision of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.name() == name)
    }

    /// What a client that asks for some revision is offered: that one, or the newest of these
    /// (MCP 2025-11-25, "Version negotiation"). Never a revision that has no `initialize`.
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        Self::from_name(requested).unwrap_or(Self::V20251125)
    }

    /// Of what a client declared, what there is in this revision. The Tasks extension is in none.
    #[must_use]
    pub fn features(self, declared: ClientFeatures) -> ClientFeatures {
        let mut features = declared - ClientFeatures::TASKS;
        if self < Self::V20250618 {
            features -= ClientFeatures::ELICITATION_FORM;
        }
        if self < Self::V20251125 {
            features -= ClientFeatures::ELICITATION_URL | ClientFeatures::SAMPLING_TOOLS;
        }
        features
    }
}

/// True if a request says itself which revision it is of, as none of these does.
#[must_use]
pub fn is_modern(params: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Option<Meta<'a>>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(
            borrow,
            default,
            deserialize_with = "present",
            rename = "io.modelcontextprotocol/protocolVersion"
        )]
        version: Option<&'a RawValue>,
    }
    let params = params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
    let meta = params.and_then(|params| params.meta);
    meta.is_some_and(|meta| meta.version.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_offered_what_it_asks_for_or_the_newest() {
        for revision in Revision::ALL {
            assert_eq!(Revision::negotiate(revision.name()), revision);
        }
        for other in ["2024-11-05", "2026-07-28", "", "2025-11-25 "] {
            assert_eq!(Revision::negotiate(other), Revision::V20251125, "{other}");
        }
    }

    #[test]
    fn a_feature_counts_from_the_revision_that_brought_it() {
        let all = ClientFeatures::all();
        let [first, second, third] = Revision::ALL.map(|revision| revision.features(all));
        assert_eq!(first, ClientFeatures::SAMPLING | ClientFeatures::ROOTS);
        assert_eq!(second, first | ClientFeatures::ELICITATION_FORM);
        assert_eq!(third, all - ClientFeatures::TASKS);
    }

    #[test]
    fn only_a_request_that_names_its_revision_is_modern() {
        let modern = |params: &str| is_modern(Some(serde_json::from_str(params).unwrap()));
        assert!(modern(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#
        ));
        assert!(modern(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}"#
        ));
        for params in [
            "{}",
            "[]",
            r#"{"_meta":{"progressToken":1}}"#,
            r#"{"_meta":5}"#,
        ] {
            assert!(!modern(params), "{params}");
        }
        assert!(!is_modern(None));
    }
}
