//! `resources/list`, `resources/templates/list` and `resources/read`.
//!
//! Invariant: a list has what was told at load, then the files of folders, and then, component after
//! component, what each lists itself. A component that fails while nobody asked for its own page is passed over: it does not keep the
//! others from being listed.

use super::call::{Asking, Prepared, answer, shorten};
use super::sight::{Found, find};
use super::tools::{cursor_text, no_cursor, page};
use super::{MethodResult, Server};
use crate::call::{Events, Read, Reply, SealedCall, Target, unknown_resource};
use crate::catalog::{
    Catalog, Family, Listing, Page, ResourceCursor, Route, Sight as _, file_cursor, listing_cursor,
    resource_cursor,
};
use crate::limits::{LISTINGS_PER_PAGE, URI_BYTES};
use crate::metrics::{CallCounters, Outcome};
use crate::protocol::{Kind, Request, RpcError, string};
use crate::tenants::Caller;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// A page that a component listed, as its call gave it.
#[derive(Deserialize)]
struct ListedPage {
    resources: Vec<Box<RawValue>>,
    next: Option<String>,
}

/// A page of resources.
#[derive(Default)]
pub(super) struct Resources {
    pub(super) items: Vec<Box<RawValue>>,
    pub(super) next: Option<String>,
}

impl Resources {
    /// Fills the page with files, from the first or after one.
    fn add_files(
        &mut self,
        catalog: &Catalog,
        caller: &Caller,
        after: Option<&str>,
        size: usize,
    ) -> Result<(), RpcError> {
        let room = size.saturating_sub(self.items.len());
        let files = catalog.files(after, room, |uri| caller.tenant.file(uri));
        let page = files.ok_or_else(no_cursor)?;
        if page.more {
            let last = page.files.last().map(|(uri, _)| &***uri);
            self.next = Some(file_cursor(last.or(after)));
        }
        let files = page.files.into_iter();
        let items = files.map(|(_, definition)| definition.to_owned());
        self.items.extend(items);
        Ok(())
    }
}

/// A component's list, from where its own cursor says.
type Place = (Arc<Listing>, Option<String>);

impl Server {
    pub(super) async fn list_resources(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let (cursor, call) = (request.params.cursor, Asking::of(request));
        let Resources { items, next } = self.resources(caller, cursor, &call, events).await?;
        self.list(request.id, "resources", items, next)
    }

    pub(super) fn list_templates(&self, caller: &Caller, request: &Request<'_>) -> MethodResult {
        let catalog = self.catalog.now();
        let page = self.page_of_templates(&catalog, caller, request.params.cursor)?;
        let items: Vec<_> = page.items.iter().map(|it| it.definition()).collect();
        self.list(request.id, "resourceTemplates", items, page.next)
    }

    /// The page of templates that a cursor asks for.
    pub(super) fn page_of_templates<'a>(
        &self,
        catalog: &'a Catalog,
        caller: &Caller,
        cursor: Option<&RawValue>,
    ) -> Result<Page<'a, Family>, RpcError> {
        self.offered(&caller.tenant, Kind::Resources)?;
        page(cursor, |cursor| {
            let size = self.settings.server.page_size;
            catalog.page_of_templates(cursor, size, |it| caller.tenant.family(it))
        })
    }

    pub(super) async fn read_resource(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let (uri, call) = (request.params.uri, Asking::of(request));
        let reply = self.read_reply(caller, uri, call, events).await?;
        answer(request.id, reply)
    }

    /// A page of resources.
    pub(super) async fn resources(
        &self,
        caller: &Caller,
        cursor: Option<&RawValue>,
        call: &Asking<'_>,
        events: &Arc<Events>,
    ) -> Result<Resources, RpcError> {
        self.offered(&caller.tenant, Kind::Resources)?;
        let size = self.settings.server.page_size;
        let cursor = cursor_text(cursor)?;
        let at = cursor.as_deref().map(resource_cursor);
        let mut page = Resources::default();
        let mut place: Option<Place> = {
            let catalog = self.catalog.now();
            match at {
                Some(None) => return Err(no_cursor()),
                Some(Some(ResourceCursor::Listed(digest, own))) => {
                    let listing = listings(&catalog, caller);
                    let listing = listing.into_iter().find(|it| it.component.digest == digest);
                    Some((listing.ok_or_else(no_cursor)?, own))
                }
                Some(Some(ResourceCursor::Files(after))) => {
                    page.add_files(&catalog, caller, after.as_deref(), size)?;
                    first_listing(&catalog, caller, &page)
                }
                Some(Some(ResourceCursor::Told)) | None => {
                    let seen = |it: &_| caller.tenant.resource(it);
                    let told = catalog.page_of_resources(cursor.as_deref(), size, seen);
                    let told = told.ok_or_else(no_cursor)?;
                    let items = told.items.iter().map(|it| it.definition.clone());
                    page.items = items.collect();
                    page.next = told.next;
                    if page.next.is_none() {
                        page.add_files(&catalog, caller, None, size)?;
                    }
                    first_listing(&catalog, caller, &page)
                }
            }
        };
        let asked_for = place.as_ref().is_some_and(|(_, own)| own.is_some());
        for turn in 0..LISTINGS_PER_PAGE {
            let Some((listing, own)) = place.take() else {
                return Ok(page);
            };
            // What there is fills the page, and the rest is for the next one.
            if page.items.len() >= size {
                place = Some((listing, own));
                break;
            }
            let listed = self
                .listed(caller, call, events, Arc::clone(&listing), own)
                .await;
            let listed = match listed {
                Ok(listed) => listed,
                Err(error) if turn == 0 && asked_for => return Err(error),
                Err(error) => {
                    let (name, reason) = (&listing.component.name, &error.message);
                    tracing::warn!("{name} does not list its resources: {reason}");
                    ListedPage {
                        resources: Vec::new(),
                        next: None,
                    }
                }
            };
            page.items.extend(listed.resources);
            place = match listed.next {
                Some(next) => Some((listing, Some(next))),
                None => {
                    let all = listings(&self.catalog.now(), caller);
                    let after = |it: &Arc<Listing>| it.component.digest == listing.component.digest;
                    let next = all.iter().position(after).map(|index| index + 1);
                    let next = next.and_then(|index| all.get(index));
                    next.map(|it| (Arc::clone(it), None))
                }
            };
        }
        page.next = place.map(|(it, own)| listing_cursor(&it.component.digest, own.as_deref()));
        Ok(page)
    }

    /// A page of what a component lists, as far as the caller sees it.
    async fn listed(
        &self,
        caller: &Caller,
        call: &Asking<'_>,
        events: &Arc<Events>,
        listing: Arc<Listing>,
        own: Option<String>,
    ) -> Result<ListedPage, RpcError> {
        #[derive(Deserialize)]
        struct Uri {
            uri: String,
        }
        let mut trace = call.trace.clone();
        let component = Arc::clone(&listing.component);
        let (counters, counted) = self.count(caller, "resources/list", &listing.label, &mut trace);
        let call = Asking { trace, ..*call };
        let target = Target::List(listing, own);
        let run = self.run(caller, &call, events, Prepared::new(target, counters));
        let Reply::Outcome(page) = counted.end(run.await)? else {
            return Err(RpcError::internal("A list came to no list"));
        };
        let page = serde_json::from_str::<ListedPage>(page?.get());
        let mut page = page.map_err(|error| RpcError::internal(error.to_string()))?;
        page.resources.retain(|it| {
            let uri = serde_json::from_str::<Uri>(it.get());
            let tools = &component.tool_names;
            uri.is_ok_and(|it| caller.tenant.sees_resource(&it.uri, tools))
        });
        Ok(page)
    }

    /// Reads a resource, and counts what it came to.
    pub(super) async fn read_reply(
        &self,
        caller: &Caller,
        uri: Option<&RawValue>,
        mut call: Asking<'_>,
        events: &Arc<Events>,
    ) -> Result<Reply, RpcError> {
        self.offered(&caller.tenant, Kind::Resources)?;
        let uri = uri.ok_or_else(|| RpcError::invalid_params("Missing uri"))?;
        let uri = string("uri", uri)?;
        if uri.len() > URI_BYTES {
            return Err(RpcError::invalid_params(format!(
                "\"uri\" has {} bytes; the limit is {URI_BYTES} (URI_BYTES): {}",
                uri.len(),
                shorten(&uri)
            )));
        }
        // A resource that the caller does not see is none.
        let found = find(&self.catalog.now(), &caller.tenant, &uri);
        let found = found.ok_or_else(|| unknown_resource(&uri))?;
        let label = Arc::clone(found.label());
        let (counters, counted) = self.count(caller, "resources/read", &label, &mut call.trace);
        let uri = uri.into_owned();
        counted.end(match found {
            Found::Component(route) => self.read(caller, &call, events, uri, route, counters).await,
            Found::File(shelf, path) => self.read_file(caller, &uri, shelf, path).await,
        })
    }

    async fn read(
        &self,
        caller: &Caller,
        call: &Asking<'_>,
        events: &Arc<Events>,
        uri: String,
        route: Route,
        counters: CallCounters,
    ) -> Result<(Outcome, Reply), RpcError> {
        let state = call.request_state;
        let state = state.map(|it| string("requestState", it)).transpose()?;
        let route = match &state {
            None => route,
            Some(state) => {
                let (newer, name) = (route.component(), ("resources/read", &*uri));
                match self.other_version(caller, newer, name, None, state)? {
                    None => route,
                    Some(sealed) => {
                        let digest = SealedCall::digest(state);
                        let source = &sealed.source;
                        let version = self
                            .catalog
                            .version_of_resource(digest, newer, &uri, source);
                        let version = version.await;
                        version.map_err(|error| RpcError::internal(error.to_string()))?
                    }
                }
            }
        };
        let target = Target::Read(Box::new(Read {
            uri,
            route,
            shared: !self.tenants.differ(),
        }));
        let prepared = Prepared {
            state,
            ..Prepared::new(target, counters)
        };
        self.run(caller, call, events, prepared).await
    }
}

/// Where components begin to list, if the page is not at its end before.
fn first_listing(catalog: &Catalog, caller: &Caller, page: &Resources) -> Option<Place> {
    let first = listings(catalog, caller).into_iter().next();
    first.filter(|_| page.next.is_none()).map(|it| (it, None))
}

/// The components that list resources of which the caller may see some.
fn listings(catalog: &Catalog, caller: &Caller) -> Vec<Arc<Listing>> {
    let listings = catalog.listings();
    let listings = listings.filter(|it| caller.tenant.listing(it));
    listings.cloned().collect()
}
