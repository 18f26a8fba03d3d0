//! What a client declared in one request, as flags.
//!
//! Invariant: features are read anew from every request; nothing is remembered between requests.

use super::TASKS_EXTENSION;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::fmt;

bitflags::bitflags! {
    /// Client capabilities that matter to a tool server.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ClientFeatures: u8 {
        /// `elicitation.form`, or an `elicitation` that names no mode.
        const ELICITATION_FORM = 1;
        /// `elicitation.url`.
        const ELICITATION_URL = 1 << 1;
        /// `sampling`.
        const SAMPLING = 1 << 2;
        /// `sampling.tools`.
        const SAMPLING_TOOLS = 1 << 3;
        /// `roots`.
        const ROOTS = 1 << 4;
        /// The Tasks extension.
        const TASKS = 1 << 5;
    }
}

impl ClientFeatures {
    /// Reads a `ClientCapabilities` object. Members of the wrong type count as undeclared.
    #[must_use]
    pub fn from_capabilities(capabilities: &Map<String, Value>) -> Self {
        let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
        let mut features = Self::empty();
        if let Some(elicitation) = object(capabilities.get("elicitation")) {
            let url = elicitation.get("url").is_some_and(Value::is_object);
            let form = elicitation.get("form").is_some_and(Value::is_object);
            features.set(Self::ELICITATION_URL, url);
            features.set(Self::ELICITATION_FORM, form || !url);
        }
        if let Some(sampling) = object(capabilities.get("sampling")) {
            features |= Self::SAMPLING;
            features.set(
                Self::SAMPLING_TOOLS,
                sampling.get("tools").is_some_and(Value::is_object),
            );
        }
        features.set(
            Self::ROOTS,
            capabilities.get("roots").is_some_and(Value::is_object),
        );
        if let Some(extensions) = object(capabilities.get("extensions")) {
            features.set(
                Self::TASKS,
                extensions
                    .get(TASKS_EXTENSION)
                    .is_some_and(Value::is_object),
            );
        }
        features
    }

    /// The `ClientCapabilities` object that declares these features.
    #[must_use]
    pub fn to_capabilities(self) -> Value {
        let mut capabilities = Map::new();
        let mut elicitation = Map::new();
        if self.contains(Self::ELICITATION_FORM) {
            elicitation.insert("form".to_owned(), json!({}));
        }
        if self.contains(Self::ELICITATION_URL) {
            elicitation.insert("url".to_owned(), json!({}));
        }
        if !elicitation.is_empty() {
            capabilities.insert("elicitation".to_owned(), Value::Object(elicitation));
        }
        if self.contains(Self::SAMPLING_TOOLS) {
            capabilities.insert("sampling".to_owned(), json!({ "tools": {} }));
        } else if self.contains(Self::SAMPLING) {
            capabilities.insert("sampling".to_owned(), json!({}));
        }
        if self.contains(Self::ROOTS) {
            capabilities.insert("roots".to_owned(), json!({}));
        }
        if self.contains(Self::TASKS) {
            capabilities.insert("extensions".to_owned(), json!({ TASKS_EXTENSION: {} }));
        }
        Value::Object(capabilities)
    }
}

/// Stored as the number of its bits; bits of later versions are passed over.
impl Serialize for ClientFeatures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.bits())
    }
}

impl<'de> Deserialize<'de> for ClientFeatures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u8::deserialize(deserializer).map(Self::from_bits_truncate)
    }
}

impl fmt::Display for ClientFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::ELICITATION_FORM, "elicitation.form"),
            (Self::ELICITATION_URL, "elicitation.url"),
            (Self::SAMPLING, "sampling"),
            (Self::SAMPLING_TOOLS, "sampling.tools"),
            (Self::ROOTS, "roots"),
            (Self::TASKS, TASKS_EXTENSION),
        ];
        let mut separator = "";
        for (feature, name) in names {
            if self.contains(feature) {
                write!(f, "{separator}{name}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &Value) -> ClientFeatures {
        ClientFeatures::from_capabilities(value.as_object().unwrap())
    }

    #[test]
    fn an_elicitation_without_modes_means_forms() {
        assert_eq!(
            read(&json!({ "elicitation": {} })),
            ClientFeatures::ELICITATION_FORM
        );
        assert_eq!(
            read(&json!({ "elicitation": { "url": {} } })),
            ClientFeatures::ELICITATION_URL
        );
    }

    #[test]
    fn the_capability_of_an_earlier_revision_is_not_the_extension() {
        assert_eq!(
            read(&json!({ "tasks": { "list": {} } })),
            ClientFeatures::empty()
        );
        assert_eq!(
            read(&json!({ "extensions": { TASKS_EXTENSION: true } })),
            ClientFeatures::empty()
        );
        assert_eq!(
            read(&json!({ "extensions": { TASKS_EXTENSION: {} } })),
            ClientFeatures::TASKS
        );
    }

    #[test]
    fn every_set_survives_the_way_through_capabilities() {
        for bits in 0..64u8 {
            let mut features = ClientFeatures::from_bits_truncate(bits);
            if features.contains(ClientFeatures::SAMPLING_TOOLS) {
                features |= ClientFeatures::SAMPLING;
            }
            assert_eq!(read(&features.to_capabilities()), features);
        }
    }
}
