//! `tools/list`.

use super::discover::{CacheHints, Complete};
use super::{MethodResult, Server, sees};
use crate::catalog::{Catalog, Page, Tool};
use crate::protocol::{Request, RpcError, success, text};
use crate::tenants::Caller;
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolList<'a> {
    tools: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(flatten)]
    cache: CacheHints,
}

impl Server {
    pub(super) fn list_tools(&self, caller: &Caller, request: &Request<'_>) -> MethodResult {
        let catalog = self.catalog.now();
        let seen = |tool: &Tool| sees(&caller.tenant, tool);
        let page = self.page(&catalog, request.params.cursor, seen)?;
        let list = ToolList {
            tools: page.tools.iter().map(|tool| &*tool.definition).collect(),
            next_cursor: page.next,
            cache: if self.tenants.differ() {
                CacheHints::PRIVATE
            } else {
                CacheHints::PUBLIC
            },
        };
        Ok(success(request.id, Complete::new(list)))
    }

    /// The page of the tools that are seen which a cursor asks for.
    pub(super) fn page<'a>(
        &self,
        catalog: &'a Catalog,
        cursor: Option<&RawValue>,
        seen: impl Fn(&Tool) -> bool,
    ) -> Result<Page<'a>, RpcError> {
        let cursor = cursor.map(|cursor| {
            text(cursor).ok_or_else(|| RpcError::invalid_params("The cursor must be a string"))
        });
        let cursor = cursor.transpose()?;
        let size = self.settings.server.page_size;
        let page = catalog.page(cursor.as_deref(), size, seen);
        page.ok_or_else(|| RpcError::invalid_params("Invalid cursor"))
    }
}
