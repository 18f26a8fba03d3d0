//! What a tool answered, and its form on the wire (MCP `CallToolResult`).

use super::offers::Weighty;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{SerializeMap, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The `_meta` key under which a server names itself in every result.
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// How the server names itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ServerInfo {
    name: &'static str,
    version: &'static str,
}

impl ServerInfo {
    /// This build.
    pub const THIS: Self = Self {
        name: "cofferdam",
        version: env!("CARGO_PKG_VERSION"),
    };
}

/// Bytes that are written as base64 text.
#[derive(Debug)]
pub struct Blob(pub Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(&self.0, &STANDARD))
    }
}

/// Who a message or a block is from or for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are MCP's")]
pub enum Role {
    User,
    Assistant,
}

/// Hints about a block.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are MCP's")]
pub struct Annotations {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// What a resource holds, or a part of it (MCP `TextResourceContents`, `BlobResourceContents`).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are MCP's")]
pub struct ResourceContents {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(flatten)]
    pub body: Body,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The one of its members that says what is in it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are MCP's")]
pub enum Body {
    Text(String),
    Blob(Blob),
}

impl ResourceContents {
    /// Bytes of what it holds.
    pub(super) fn weight(&self) -> usize {
        let body = match &self.body {
            Body::Text(text) => text.len(),
            Body::Blob(blob) => blob.0.len(),
        };
        self.uri.len() + self.mime_type.as_ref().map_or(0, String::len) + body
    }
}

/// One block.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[allow(missing_docs, reason = "the names are MCP's")]
pub enum Content {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations>,
    },
    Image {
        data: Blob,
        mime_type: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations>,
    },
    Audio {
        data: Blob,
        mime_type: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations>,
    },
    ResourceLink {
        uri: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations>,
    },
    Resource {
        resource: ResourceContents,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations>,
    },
}

impl Content {
    /// Bytes of what it holds.
    pub(super) fn weight(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Text { text, .. } => text.len(),
            Self::Image {
                data, mime_type, ..
            }
            | Self::Audio {
                data, mime_type, ..
            } => data.0.len() + mime_type.len(),
            Self::ResourceLink {
                uri,
                name,
                title,
                description,
                mime_type,
                ..
            } => uri.len() + name.len() + of(title) + of(description) + of(mime_type),
            Self::Resource { resource, .. } => resource.weight(),
        }
    }
}

/// A tool's answer; serializes as the `CallToolResult`.
#[derive(Debug)]
pub struct Answer {
    /// The blocks.
    pub content: Vec<Content>,
    /// Any JSON value.
    pub structured: Option<Box<RawValue>>,
    /// The tool could not do what was asked.
    pub is_error: bool,
    /// The tool's own `_meta` members.
    pub meta: Map<String, Value>,
}

impl Weighty for Answer {
    fn weight(&self) -> usize {
        let structured = self.structured.as_ref().map_or(0, |it| it.get().len());
        structured + self.content.iter().map(Content::weight).sum::<usize>()
    }
}

impl Answer {
    /// A tool error with one text block.
    pub fn tool_error(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::Text {
                text: text.into(),
                annotations: None,
            }],
            structured: None,
            is_error: true,
            meta: Map::new(),
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut result = serializer.serialize_struct("CallToolResult", 5)?;
        result.serialize_field("resultType", "complete")?;
        result.serialize_field("content", &self.content)?;
        if let Some(structured) = &self.structured {
            result.serialize_field("structuredContent", structured)?;
        }
        if self.is_error {
            result.serialize_field("isError", &true)?;
        }
        result.serialize_field("_meta", &ResultMeta(&self.meta))?;
        result.end()
    }
}

/// A guest's `_meta` members, and the server's name.
pub(super) struct ResultMeta<'a>(pub(super) &'a Map<String, Value>);

impl Serialize for ResultMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len() + 1))?;
        for (key, value) in self.0.iter().filter(|(key, _)| *key != SERVER_INFO_KEY) {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(SERVER_INFO_KEY, &ServerInfo::THIS)?;
        map.end()
    }
}
