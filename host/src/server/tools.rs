//! `tools/list`.

use super::discover::{CacheHints, Complete};
use super::{MethodResult, Server, sees};
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
        let cursor = match request.params.cursor {
            None => None,
            Some(cursor) => Some(
                text(cursor)
                    .ok_or_else(|| RpcError::invalid_params("The cursor must be a string"))?,
            ),
        };
        let catalog = self.catalog.now();
        let page = catalog
            .page(cursor.as_deref(), self.settings.server.page_size, |tool| {
                sees(&caller.tenant, tool)
            })
            .ok_or_else(|| RpcError::invalid_params("Invalid cursor"))?;
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
}
