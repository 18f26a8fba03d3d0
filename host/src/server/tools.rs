//! `tools/list`, and the pages of every list.

use super::discover::Complete;
use super::{MethodResult, Server};
use crate::catalog::{Page, Sight as _};
use crate::protocol::{CacheHints, Request, RpcError, success, text};
use crate::tenants::Caller;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

/// A page of a list, whatever is listed.
pub(super) struct List<I> {
    /// The member that has it.
    pub(super) member: &'static str,
    pub(super) items: I,
    pub(super) next: Option<String>,
    /// None for clients of earlier revisions.
    pub(super) cache: Option<CacheHints>,
}

impl<I: Serialize> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.member, &self.items)?;
        if let Some(next) = &self.next {
            map.serialize_entry("nextCursor", next)?;
        }
        if let Some(cache) = &self.cache {
            map.serialize_entry("ttlMs", &cache.ttl_ms)?;
            map.serialize_entry("cacheScope", &cache.cache_scope)?;
        }
        map.end()
    }
}

impl Server {
    pub(super) fn list_tools(&self, caller: &Caller, request: &Request<'_>) -> MethodResult {
        let catalog = self.catalog.now();
        let page = page(request.params.cursor, |cursor| {
            let size = self.settings.server.page_size;
            catalog.page(cursor, size, |tool| caller.tenant.tool(tool))
        })?;
        let items: Vec<_> = page.items.iter().map(|tool| &*tool.definition).collect();
        self.list(request.id, "tools", items, page.next)
    }

    /// Answers with a page of a list.
    pub(super) fn list<I: Serialize>(
        &self,
        id: &RawValue,
        member: &'static str,
        items: I,
        next: Option<String>,
    ) -> MethodResult {
        let list = List {
            member,
            items,
            next,
            cache: Some(self.list_hints()),
        };
        Ok(success(id, Complete::new(list)))
    }
}

/// The page that a cursor asks for.
///
/// # Errors
/// `-32602`: it is no cursor.
pub(super) fn page<'a, T>(
    cursor: Option<&RawValue>,
    page: impl FnOnce(Option<&str>) -> Option<Page<'a, T>>,
) -> Result<Page<'a, T>, RpcError> {
    let cursor = cursor_text(cursor)?;
    page(cursor.as_deref()).ok_or_else(no_cursor)
}

/// A cursor as it was given out.
///
/// # Errors
/// `-32602`: it is no text.
pub(super) fn cursor_text(cursor: Option<&RawValue>) -> Result<Option<String>, RpcError> {
    let text = cursor.map(|cursor| {
        let text = text(cursor).map(std::borrow::Cow::into_owned);
        text.ok_or_else(|| RpcError::invalid_params("The cursor must be a string"))
    });
    text.transpose()
}

/// The answer to what is no cursor.
pub(super) fn no_cursor() -> RpcError {
    RpcError::invalid_params("Invalid cursor")
}
