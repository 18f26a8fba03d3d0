//! `prompts/list` and `prompts/get`.

use super::call::{Asking, Prepared, answer, shorten};
use super::sight::offers;
use super::tools::page;
use super::{MethodResult, Server};
use crate::call::{Events, Reply, SealedCall, Target};
use crate::catalog::{Catalog, Page, Prompt, Sight as _};
use crate::metrics::{CallCounters, Outcome};
use crate::protocol::{Kind, Request, RpcError, object, raw, string};
use crate::tenants::{Caller, Tenant};
use serde_json::Map;
use serde_json::value::RawValue;
use std::sync::Arc;

impl Server {
    pub(super) fn list_prompts(&self, caller: &Caller, request: &Request<'_>) -> MethodResult {
        let catalog = self.catalog.now();
        let page = self.page_of_prompts(&catalog, caller, request.params.cursor)?;
        let items: Vec<_> = page.items.iter().map(|it| &*it.definition).collect();
        self.list(request.id, "prompts", items, page.next)
    }

    /// The page of prompts that a cursor asks for.
    pub(super) fn page_of_prompts<'a>(
        &self,
        catalog: &'a Catalog,
        caller: &Caller,
        cursor: Option<&RawValue>,
    ) -> Result<Page<'a, Prompt>, RpcError> {
        self.offered(&caller.tenant, Kind::Prompts)?;
        page(cursor, |cursor| {
            let size = self.settings.server.page_size;
            catalog.page_of_prompts(cursor, size, |prompt| caller.tenant.prompt(prompt))
        })
    }

    /// The methods of what no component offers to a tenant are not there.
    ///
    /// # Errors
    /// `-32601`.
    pub(super) fn offered(&self, tenant: &Tenant, kind: Kind) -> Result<(), RpcError> {
        match offers(&self.catalog.now(), tenant, kind) {
            true => Ok(()),
            false => Err(RpcError::method_not_found()),
        }
    }

    pub(super) async fn get_prompt(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let (name, call) = (request.params.name, Asking::of(request));
        let reply = self.prompt_reply(caller, name, call, events).await?;
        answer(request.id, reply)
    }

    /// Gets a prompt, and counts what it came to.
    pub(super) async fn prompt_reply(
        &self,
        caller: &Caller,
        name: Option<&RawValue>,
        mut call: Asking<'_>,
        events: &Arc<Events>,
    ) -> Result<Reply, RpcError> {
        self.offered(&caller.tenant, Kind::Prompts)?;
        let name = name.ok_or_else(|| RpcError::invalid_params("Missing name"))?;
        let name = string("name", name)?;
        // A prompt that the caller does not see is none.
        let catalog = self.catalog.now();
        let prompt = catalog.prompt(&name);
        let prompt = prompt.filter(|it| caller.tenant.prompt(it)).cloned();
        drop(catalog);
        let unknown = || RpcError::invalid_params(format!("Unknown prompt: {}", shorten(&name)));
        let prompt = prompt.ok_or_else(unknown)?;
        let (counters, counted) = self.count(caller, "prompts/get", &prompt.label, &mut call.trace);
        let result = self.prompt(caller, &call, events, prompt, counters).await;
        counted.end(result)
    }

    async fn prompt(
        &self,
        caller: &Caller,
        call: &Asking<'_>,
        events: &Arc<Events>,
        prompt: Arc<Prompt>,
        counters: CallCounters,
    ) -> Result<(Outcome, Reply), RpcError> {
        let state = call.request_state;
        let state = state.map(|it| string("requestState", it)).transpose()?;
        let prompt = match &state {
            None => prompt,
            Some(state) => {
                let (component, name) = (&prompt.component, ("prompts/get", &*prompt.name));
                match self.other_version(caller, component, name, call.arguments, state)? {
                    None => prompt,
                    Some(sealed) => {
                        let digest = SealedCall::digest(state);
                        let version =
                            self.catalog
                                .version_of_prompt(digest, &prompt, &sealed.source);
                        let version = version.await;
                        version.map_err(|error| RpcError::internal(error.to_string()))?
                    }
                }
            }
        };
        let arguments = call.arguments;
        let members = arguments.map(|arguments| object("arguments", arguments));
        let checked = prompt.check(members.transpose()?.unwrap_or_default())?;
        let arguments = arguments.map_or_else(|| raw(&Map::new()), ToOwned::to_owned);
        let prepared = Prepared {
            target: Target::Prompt(prompt, checked),
            arguments,
            state,
            counters,
        };
        self.run(caller, call, events, prepared).await
    }
}
