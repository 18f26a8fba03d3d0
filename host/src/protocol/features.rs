//! What a client declared in one request, as flags.
//!
//! Invariant: features are read anew from every request; nothing is remembered between requests.

use super::TASKS_EXTENSION;
use super::json::is_object;
use super::read::Readable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
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
    /// Reads a `ClientCapabilities` object, and keeps nothing of it but these flags. Members of the
    /// wrong type count as undeclared.
    ///
    /// # Errors
    /// No object; a number or a text in it that cannot be read; a known member that is there twice.
    pub fn from_capabilities(capabilities: &RawValue) -> Result<Self, serde_json::Error> {
        let _: Readable = serde_json::from_str(capabilities.get())?;
        let declared: Declared<'_> = serde_json::from_str(capabilities.get())?;
        let mut features = Self::empty();
        if let Some(elicitation) = object(declared.elicitation) {
            let modes: Elicitation<'_> = serde_json::from_str(elicitation)?;
            let url = object(modes.url).is_some();
            let form = object(modes.form).is_some();
            features.set(Self::ELICITATION_URL, url);
            features.set(Self::ELICITATION_FORM, form || !url);
        }
        if let Some(sampling) = object(declared.sampling) {
            let sampling: Sampling<'_> = serde_json::from_str(sampling)?;
            features |= Self::SAMPLING;
            features.set(Self::SAMPLING_TOOLS, object(sampling.tools).is_some());
        }
        features.set(Self::ROOTS, object(declared.roots).is_some());
        if let Some(extensions) = object(declared.extensions) {
            let extensions: Extensions<'_> = serde_json::from_str(extensions)?;
            features.set(Self::TASKS, object(extensions.tasks).is_some());
        }
        Ok(features)
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

/// The members of `ClientCapabilities` that matter here.
#[derive(Deserialize)]
struct Declared<'a> {
    #[serde(borrow)]
    elicitation: Option<&'a RawValue>,
    #[serde(borrow)]
    sampling: Option<&'a RawValue>,
    #[serde(borrow)]
    roots: Option<&'a RawValue>,
    #[serde(borrow)]
    extensions: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Elicitation<'a> {
    #[serde(borrow)]
    form: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Sampling<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Extensions<'a> {
    // TASKS_EXTENSION, which an attribute cannot name.
    #[serde(borrow, rename = "io.modelcontextprotocol/tasks")]
    tasks: Option<&'a RawValue>,
}

/// The text of a member that is an object.
fn object(member: Option<&RawValue>) -> Option<&str> {
    member.filter(|member| is_object(member)).map(RawValue::get)
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
        read_text(&value.to_string()).unwrap()
    }

    fn read_text(text: &str) -> Result<ClientFeatures, String> {
        let capabilities = serde_json::from_str(text).unwrap();
        ClientFeatures::from_capabilities(capabilities).map_err(|error| error.to_string())
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

    #[test]
    fn what_is_not_known_must_still_be_readable() {
        for (text, reason) in [
            (r#"{"x":{"y":[1e400]}}"#, "out of range"),
            (r#"{"x":"\ud800"}"#, "escape"),
            (r#"{"roots":{},"roots":{}}"#, "duplicate field `roots`"),
            (
                r#"{"elicitation":{"url":{},"url":{}}}"#,
                "duplicate field `url`",
            ),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let unknown = read_text(r#"{"x":[{"y":null},1.5,"z"],"roots":{"listChanged":true}}"#);
        assert_eq!(unknown, Ok(ClientFeatures::ROOTS));
    }
}
