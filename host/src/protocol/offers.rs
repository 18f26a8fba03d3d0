//! What prompts, resources and completions answer, and their form on the wire (MCP `GetPromptResult`,
//! `ReadResourceResult`, `CompleteResult`, `ListResourcesResult`).

use super::content::{Content, ResourceContents, ResultMeta, Role};
use super::json::{json_size, raw};
use crate::limits::COMPLETION_VALUES;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// One message of a prompt.
#[derive(Debug, Serialize)]
pub struct PromptMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// A prompt's answer; serializes as the `GetPromptResult`.
#[derive(Debug)]
pub struct PromptAnswer {
    /// What it is for.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// The prompt's own `_meta` members.
    pub meta: Map<String, Value>,
}

impl Serialize for PromptAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut result = serializer.serialize_struct("GetPromptResult", 4)?;
        result.serialize_field("resultType", "complete")?;
        if let Some(description) = &self.description {
            result.serialize_field("description", description)?;
        }
        result.serialize_field("messages", &self.messages)?;
        result.serialize_field("_meta", &ResultMeta(&self.meta))?;
        result.end()
    }
}

/// How long and for whom a result may be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheHints {
    /// Milliseconds.
    pub ttl_ms: u64,
    /// For whom.
    pub cache_scope: CacheScope,
}

/// For whom a result may be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// For everybody.
    Public,
    /// For its caller.
    Private,
}

/// What a resource holds; serializes as the `ReadResourceResult`.
#[derive(Debug)]
pub struct ReadAnswer {
    /// At least one part.
    pub contents: Vec<ResourceContents>,
    /// How long it may be cached.
    pub cache: CacheHints,
    /// The resource's own `_meta` members.
    pub meta: Map<String, Value>,
}

impl Serialize for ReadAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut result = serializer.serialize_struct("ReadResourceResult", 5)?;
        result.serialize_field("resultType", "complete")?;
        result.serialize_field("contents", &self.contents)?;
        result.serialize_field("ttlMs", &self.cache.ttl_ms)?;
        result.serialize_field("cacheScope", &self.cache.cache_scope)?;
        result.serialize_field("_meta", &ResultMeta(&self.meta))?;
        result.end()
    }
}

/// What a server lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MCP's")]
pub enum Kind {
    Tools,
    Prompts,
    Resources,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// The notification that a list changed.
    #[must_use]
    pub fn changed(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }

    /// How a client asks to be told so.
    #[must_use]
    pub fn wish(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }
}

/// A resource that a component listed for a request; serializes as its description.
#[derive(Debug)]
pub struct ListedResource {
    /// What it is read by.
    pub uri: String,
    /// MCP's description of it.
    pub definition: Box<RawValue>,
}

impl Serialize for ListedResource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.definition.serialize(serializer)
    }
}

/// A page of resources that one component listed.
#[derive(Debug, Serialize)]
pub struct ListedPage {
    /// The resources.
    pub resources: Vec<ListedResource>,
    /// Where the component's next page begins.
    pub next: Option<String>,
}

/// Values for an argument; serializes as the `CompleteResult`.
#[derive(Debug, Default)]
pub struct Completion {
    values: Vec<String>,
    total: Option<u32>,
    has_more: bool,
}

impl Completion {
    /// Of these values, those that a client may get.
    #[must_use]
    pub fn new(mut values: Vec<String>, total: Option<u32>, has_more: bool) -> Self {
        let all = values.len();
        values.truncate(COMPLETION_VALUES);
        let most = u32::try_from(all).unwrap_or(u32::MAX);
        Self {
            total: total.map(|total| total.max(most)),
            has_more: has_more || values.len() < all,
            values,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Values<'a> {
    values: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    has_more: bool,
}

impl Serialize for Completion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut result = serializer.serialize_struct("CompleteResult", 3)?;
        result.serialize_field("resultType", "complete")?;
        let values = Values {
            values: &self.values,
            total: self.total,
            has_more: self.has_more,
        };
        result.serialize_field("completion", &values)?;
        result.serialize_field("_meta", &ResultMeta(&Map::new()))?;
        result.end()
    }
}

/// Something that becomes a result, of about so many bytes.
pub trait Weighty: Serialize {
    /// About how many bytes it holds, its `_meta` left out.
    fn weight(&self) -> usize;
}

impl Weighty for PromptAnswer {
    fn weight(&self) -> usize {
        self.messages.iter().map(|it| it.content.weight()).sum()
    }
}

impl Weighty for ReadAnswer {
    fn weight(&self) -> usize {
        self.contents.iter().map(ResourceContents::weight).sum()
    }
}

impl Weighty for ListedPage {
    fn weight(&self) -> usize {
        self.resources
            .iter()
            .map(|it| it.definition.get().len())
            .sum()
    }
}

impl Weighty for Completion {
    fn weight(&self) -> usize {
        self.values.iter().map(String::len).sum()
    }
}

/// Writes a result of at most `limit` bytes.
///
/// # Errors
/// The bytes of one that is larger.
pub fn written(result: &impl Weighty, limit: usize) -> Result<Box<RawValue>, usize> {
    // Written text may be six times as long as what it is made of; what could be too long is
    // measured before it is written.
    let size = match result.weight() {
        weight if weight > limit / 8 => json_size(result),
        _ => 0,
    };
    if size > limit {
        return Err(size);
    }
    let written = raw(result);
    match written.get().len() {
        size if size > limit => Err(size),
        _ => Ok(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Body;
    use serde_json::json;

    #[test]
    fn no_more_values_than_a_client_may_get() {
        let values: Vec<_> = (0..COMPLETION_VALUES + 5).map(|n| n.to_string()).collect();
        let written: Value =
            serde_json::from_str(raw(&Completion::new(values, Some(3), false)).get()).unwrap();
        let completion = &written["completion"];
        assert_eq!(
            completion["values"].as_array().map(Vec::len),
            Some(COMPLETION_VALUES)
        );
        assert_eq!(completion["hasMore"], true);
        assert_eq!(completion["total"], COMPLETION_VALUES + 5);
        let one = raw(&Completion::new(vec!["a".to_owned()], None, false));
        let one: Value = serde_json::from_str(one.get()).unwrap();
        assert_eq!(
            one["completion"],
            json!({ "values": ["a"], "hasMore": false })
        );
    }

    #[test]
    fn what_is_too_large_is_not_written() {
        let answer = |bytes| ReadAnswer {
            contents: vec![ResourceContents {
                uri: "a:b".to_owned(),
                mime_type: None,
                body: Body::Text("x".repeat(bytes)),
                meta: Map::new(),
            }],
            cache: CacheHints {
                ttl_ms: 0,
                cache_scope: CacheScope::Private,
            },
            meta: Map::new(),
        };
        assert!(written(&answer(10), 1_000).is_ok());
        assert!(written(&answer(1_000), 1_000).is_err_and(|size| size > 1_000));
        assert!(written(&answer(900), 950).is_err_and(|size| size > 950));
    }
}
