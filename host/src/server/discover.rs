//! `server/discover`, and the members that every result has.

use super::{MethodResult, Server};
use crate::limits::CACHE_TTL_MS;
use crate::protocol::{
    PROTOCOL_VERSION, Request, SERVER_INFO_KEY, ServerInfo, TASKS_EXTENSION, success,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

/// A complete result: its own members, `resultType` and the server's name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Complete<T> {
    result_type: &'static str,
    #[serde(flatten)]
    members: T,
    #[serde(rename = "_meta")]
    meta: ServerMeta,
}

impl<T> Complete<T> {
    pub(super) fn new(members: T) -> Self {
        Self {
            result_type: "complete",
            members,
            meta: ServerMeta,
        }
    }
}

/// An interim result: its own members, `resultType` among them, and the server's name.
#[derive(Serialize)]
pub(super) struct Interim<T> {
    #[serde(flatten)]
    members: T,
    #[serde(rename = "_meta")]
    meta: ServerMeta,
}

impl<T> Interim<T> {
    pub(super) fn new(members: T) -> Self {
        Self {
            members,
            meta: ServerMeta,
        }
    }
}

struct ServerMeta;

impl Serialize for ServerMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(SERVER_INFO_KEY, &ServerInfo::THIS)?;
        map.end()
    }
}

/// How long and for whom a list may be cached. What is the same for every caller any cache may keep.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CacheHints {
    ttl_ms: u64,
    cache_scope: &'static str,
}

impl CacheHints {
    pub(super) const PUBLIC: Self = Self {
        ttl_ms: CACHE_TTL_MS,
        cache_scope: "public",
    };

    /// What differs from caller to caller.
    pub(super) const PRIVATE: Self = Self {
        ttl_ms: CACHE_TTL_MS,
        cache_scope: "private",
    };
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Discovery {
    supported_versions: [&'static str; 1],
    capabilities: Value,
    #[serde(flatten)]
    cache: CacheHints,
}

impl Server {
    pub(super) fn discover(&self, request: &Request<'_>) -> MethodResult {
        let mut capabilities = json!({ "tools": {}, "logging": {} });
        if self.tasks.is_some() {
            capabilities["extensions"] = json!({ TASKS_EXTENSION: {} });
        }
        let discovery = Discovery {
            supported_versions: [PROTOCOL_VERSION],
            capabilities,
            cache: CacheHints::PUBLIC,
        };
        Ok(success(request.id, Complete::new(discovery)))
    }
}
