//! `initialize` (MCP 2025-11-25, "Lifecycle").

use super::Revision;
use crate::protocol::envelope::{present, text};
use crate::protocol::{ClientFeatures, RpcError, ServerInfo, is_object};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What a client and the server agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The revision both use from now on.
    pub revision: Revision,
    /// What the client can do in it.
    pub features: ClientFeatures,
}

impl Handshake {
    /// The result of `initialize`, where the server can do this.
    #[must_use]
    pub fn result(&self, capabilities: &Value) -> Value {
        json!({
            "protocolVersion": self.revision.name(),
            "capabilities": capabilities,
            "serverInfo": ServerInfo::THIS,
        })
    }
}

/// Reads the parameters of `initialize`.
///
/// # Errors
/// `-32602`: what is missing or malformed.
pub fn handshake(params: Option<&RawValue>) -> Result<Handshake, RpcError> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        protocol_version: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "present")]
        capabilities: Option<&'a RawValue>,
    }
    let bad = |what: &str| RpcError::invalid_params(format!("Invalid params: {what}"));
    let params: Params<'_> = match params {
        None => Params::default(),
        Some(params) => {
            serde_json::from_str(params.get()).map_err(|error| bad(&error.to_string()))?
        }
    };
    let version = params.protocol_version.and_then(text);
    let version = version.ok_or_else(|| bad("\"protocolVersion\" must be a string"))?;
    let capabilities = params.capabilities.filter(|declared| is_object(declared));
    let capabilities = capabilities.ok_or_else(|| bad("\"capabilities\" must be an object"))?;
    let declared = ClientFeatures::from_capabilities(capabilities)
        .map_err(|error| bad(&format!("\"capabilities\": {error}")))?;
    let revision = Revision::negotiate(&version);
    Ok(Handshake {
        revision,
        features: revision.features(declared),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_capabilities_must_be_there() {
        let read = |params: &str| handshake(Some(serde_json::from_str(params).unwrap()));
        let good = read(
            r#"{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{}}"#,
        );
        let expected = Handshake {
            revision: Revision::V20250618,
            features: ClientFeatures::ELICITATION_FORM,
        };
        assert_eq!(good, Ok(expected));
        for (params, word) in [
            (r#"{"capabilities":{}}"#, "protocolVersion"),
            (
                r#"{"protocolVersion":1,"capabilities":{}}"#,
                "protocolVersion",
            ),
            (r#"{"protocolVersion":"2025-11-25"}"#, "capabilities"),
            (
                r#"{"protocolVersion":"2025-11-25","capabilities":[]}"#,
                "capabilities",
            ),
            (r#"[]"#, "protocolVersion"),
        ] {
            let error = read(params).unwrap_err();
            assert!(error.message.contains(word), "{params}: {}", error.message);
        }
    }
}
