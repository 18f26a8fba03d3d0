//! `server/discover`, and the members that every result has.

use super::sight::{completes, offers};
use super::{MethodResult, Server};
use crate::limits::CACHE_TTL_MS;
use crate::protocol::{
    CacheHints, CacheScope, Kind, PROTOCOL_VERSION, Request, SERVER_INFO_KEY, ServerInfo,
    TASKS_EXTENSION, success,
};
use crate::tenants::{Caller, Tenant};
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Discovery {
    supported_versions: [&'static str; 1],
    capabilities: Value,
    #[serde(flatten)]
    cache: CacheHints,
}

impl Server {
    pub(super) fn discover(&self, caller: &Caller, request: &Request<'_>) -> MethodResult {
        let mut capabilities = self.capabilities(&caller.tenant);
        if self.tasks.is_some() {
            capabilities["extensions"] = json!({ TASKS_EXTENSION: {} });
        }
        let discovery = Discovery {
            supported_versions: [PROTOCOL_VERSION],
            capabilities,
            cache: self.list_hints(),
        };
        Ok(success(request.id, Complete::new(discovery)))
    }

    /// What there is for callers of a tenant, in any revision: of prompts, resources and completions only
    /// what some component offers them.
    pub(super) fn capabilities(&self, tenant: &Tenant) -> Value {
        let catalog = self.catalog.now();
        let list = json!({ "listChanged": true });
        let mut capabilities = json!({ "tools": list, "logging": {} });
        if offers(&catalog, tenant, Kind::Prompts) {
            capabilities["prompts"] = list;
        }
        if offers(&catalog, tenant, Kind::Resources) {
            capabilities["resources"] = json!({ "listChanged": true, "subscribe": true });
        }
        if completes(&catalog, tenant) {
            capabilities["completions"] = json!({});
        }
        capabilities
    }

    /// How long and for whom a list may be cached. What is the same for every caller any cache may keep.
    pub(super) fn list_hints(&self) -> CacheHints {
        CacheHints {
            ttl_ms: CACHE_TTL_MS,
            cache_scope: match self.tenants.differ() {
                true => CacheScope::Private,
                false => CacheScope::Public,
            },
        }
    }
}
