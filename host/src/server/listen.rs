//! `subscriptions/listen` (MCP 2026-07-28, subscriptions; SEP-2663, `taskIds`).
//!
//! Invariants: the acknowledgement comes first, and names only what this caller may hear; every
//! message carries the listening request's id; a task's notification is what the store says when
//! it is sent, to a caller who is its owner then.

use super::sight::{find, offers, sees_of};
use super::{MethodResult, Server};
use crate::call::Events;
use crate::catalog::{Update, UpdateListener, What};
use crate::limits::{LISTEN_TASK_IDS, LISTEN_URIS};
use crate::metrics::Limit;
use crate::places::Place;
use crate::protocol::{
    ClientFeatures, Code, Kind, Request, RpcError, SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY,
    ServerInfo, notification, object, success,
};
use crate::task::{Listener, Principal, TaskError, TaskId, TaskView, Tasks};
use crate::tenants::{Caller, Tenant};
use bytes::Bytes;
use indexmap::IndexSet;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Pause after a failure of the store.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// What a client asks to hear.
pub(super) struct Filter {
    /// Changes of these lists.
    kinds: Vec<Kind>,
    /// Changes of what these resources hold; `None` if the member is absent.
    uris: Option<Vec<Arc<str>>>,
    /// `None` if the member is absent, or tasks are not offered.
    tasks: Option<Vec<TaskId>>,
}

/// What a notification says, beside the request it answers to.
#[derive(Serialize)]
struct About<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(rename = "_meta")]
    meta: Subscription<'a>,
}

/// The end of the stream.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Over<'a> {
    result_type: &'static str,
    #[serde(rename = "_meta")]
    meta: Subscription<'a>,
}

/// Which listening request a message belongs to: its id as it came.
struct Subscription<'a> {
    id: &'a RawValue,
    server: Option<ServerInfo>,
}

impl Serialize for Subscription<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(SUBSCRIPTION_ID_KEY, self.id)?;
        if let Some(server) = &self.server {
            map.serialize_entry(SERVER_INFO_KEY, server)?;
        }
        map.end()
    }
}

impl Server {
    pub(super) async fn listen(
        &self,
        caller: &Caller,
        id: &RawValue,
        filter: Filter,
        events: &Arc<Events>,
    ) -> MethodResult {
        if !events.is_open() {
            let reason = "Listening needs \"Accept: text/event-stream\"";
            return Err(RpcError::new(Code::NotAcceptable, reason));
        }
        let _places = self.places(&caller.tenant)?;
        let (tenant, caller) = (&caller.tenant, &caller.principal);
        let mut seen = self.seen(tenant);

        let mut accepted = Map::new();
        let catalog = self.catalog.now();
        let offered = |kind: &Kind| offers(&catalog, tenant, *kind);
        let kinds: Vec<Kind> = filter.kinds.into_iter().filter(offered).collect();
        for kind in &kinds {
            accepted.insert(kind.wish().to_owned(), true.into());
        }
        let uris = filter.uris.filter(|_| offered(&Kind::Resources));
        let hears_changes = !kinds.is_empty() || uris.is_some();
        let mut updates = hears_changes.then(|| Updated::new(self.catalog.updates().listen()));
        if let (Some(uris), Some(updates)) = (&uris, &updates) {
            let known = uris
                .iter()
                .filter(|it| find(&catalog, tenant, it).is_some());
            let known: Vec<_> = known.cloned().collect();
            accepted.insert("resourceSubscriptions".to_owned(), json!(known));
            known.into_iter().for_each(|uri| updates.listener.add(uri));
        }
        drop(catalog);
        let mut following = None;
        if let (Some(ids), Some(tasks)) = (filter.tasks, &self.tasks) {
            let named = !ids.is_empty();
            let visible = visible(tasks, caller, ids).await?;
            accepted.insert("taskIds".to_owned(), json!(visible));
            following = Some(Following::new(tasks, caller, visible, named));
        }
        let about = |accepted| About {
            notifications: accepted,
            uri: None,
            meta: Subscription { id, server: None },
        };
        send(
            events,
            notification(
                "notifications/subscriptions/acknowledged",
                about(Some(accepted)),
            ),
        )
        .await?;

        loop {
            // A stream whose every task is final has nothing more to say.
            if following
                .as_ref()
                .is_some_and(|following| following.is_over())
                && !hears_changes
            {
                break;
            }
            tokio::select! {
                () = self.driver.stopping.cancelled() => break,
                changed = seen.changed(), if !kinds.is_empty() => {
                    for kind in changed.into_iter().filter(|kind| kinds.contains(kind)) {
                        send(events, notification(kind.changed(), about(None))).await?;
                    }
                }
                changed = told(&mut updates), if hears_changes => {
                    for update in changed.into_iter().filter(|it| self.concerns(tenant, it)) {
                        let message = match &update.what {
                            What::List(kind) if !kinds.contains(kind) => continue,
                            What::List(kind) => notification(kind.changed(), about(None)),
                            What::Resource(uri) => {
                                let about = About { uri: Some(uri), ..about(None) };
                                notification("notifications/resources/updated", about)
                            }
                        };
                        send(events, message).await?;
                    }
                }
                message = next(&mut following, id) => {
                    if let Some(message) = message? {
                        send(events, message).await?;
                    }
                }
            }
        }
        let over = Over {
            result_type: "complete",
            meta: Subscription {
                id,
                server: Some(ServerInfo::THIS),
            },
        };
        Ok(success(id, over))
    }

    /// A place among the tenant's open streams, and one among all.
    pub(super) fn places(&self, tenant: &Tenant) -> Result<(Place, Place), RpcError> {
        let full = |most: usize, key: &str| {
            self.driver.metrics.refuse(Limit::Listens);
            RpcError::internal(format!(
                "Too many streams listen: the limit is {most} ({key})"
            ))
        };
        let own = tenant.listen().ok_or_else(|| {
            let most = tenant.limits.max_listens.unwrap_or_default();
            full(most, &tenant.key("max-listens"))
        })?;
        let most = self.settings.server.max_listens;
        let place = self.listens.take();
        Ok((own, place.ok_or_else(|| full(most, "server.max-listens"))?))
    }

    /// True if callers of a tenant may see what changed, now: of a list, something of that source; of a
    /// resource, what its URI leads to, which must be of that source.
    pub(super) fn concerns(&self, tenant: &Tenant, update: &Update) -> bool {
        let catalog = self.catalog.now();
        match &update.what {
            What::List(kind) => {
                let source = update.source.as_deref();
                source.is_none_or(|source| sees_of(&catalog, tenant, *kind, source))
            }
            What::Resource(uri) => {
                let source = update.source.as_deref();
                let is_its = |found: &str| source.is_none_or(|source| found == source);
                find(&catalog, tenant, uri).is_some_and(|found| is_its(found.source()))
            }
        }
    }

    pub(super) fn filter(&self, request: &Request<'_>) -> Result<Filter, RpcError> {
        let bad = |what: &str| RpcError::invalid_params(format!("Invalid params: {what}"));
        let filter = request.params.notifications;
        let filter = filter.ok_or_else(|| bad("\"notifications\" must be an object"))?;
        let filter = object("notifications", filter)?;
        let mut kinds = Vec::new();
        for kind in Kind::ALL {
            let wish = kind.wish();
            match filter.get(wish) {
                None | Some(Value::Bool(false)) => {}
                Some(Value::Bool(true)) => kinds.push(kind),
                Some(_) => return Err(bad(&format!("\"{wish}\" must be true or false"))),
            }
        }
        let uris = filter.get("resourceSubscriptions").map(|uris| {
            let uris = uris.as_array().and_then(|uris| {
                let texts = uris.iter().map(Value::as_str);
                texts.collect::<Option<IndexSet<_>>>()
            });
            let all = "\"resourceSubscriptions\" must be an array of strings";
            let uris = uris.ok_or_else(|| bad(all))?;
            if uris.len() > LISTEN_URIS {
                let most = format!("\"resourceSubscriptions\" may name {LISTEN_URIS} resources");
                return Err(bad(&most));
            }
            Ok(uris.into_iter().map(Arc::from).collect::<Vec<Arc<str>>>())
        });
        let uris = uris.transpose()?;
        let Some(ids) = filter.get("taskIds").filter(|_| self.tasks.is_some()) else {
            return Ok(Filter {
                kinds,
                uris,
                tasks: None,
            });
        };
        let names_any = ids.as_array().is_none_or(|ids| !ids.is_empty());
        if names_any && !request.meta.features.contains(ClientFeatures::TASKS) {
            return Err(RpcError::missing(ClientFeatures::TASKS));
        }
        let ids = ids
            .as_array()
            .filter(|ids| ids.iter().all(Value::is_string));
        let ids = ids.ok_or_else(|| bad("\"taskIds\" must be an array of strings"))?;
        if ids.len() > LISTEN_TASK_IDS {
            return Err(bad(&format!(
                "\"taskIds\" may name {LISTEN_TASK_IDS} tasks"
            )));
        }
        // A text that cannot be an id is an unknown id: left out of the acknowledgement.
        let mut seen = HashSet::new();
        let ids = ids
            .iter()
            .filter_map(|id| TaskId::parse(id.as_str()?))
            .filter(|id| seen.insert(*id));
        Ok(Filter {
            kinds,
            uris,
            tasks: Some(ids.collect()),
        })
    }
}

/// Those of the tasks that the caller may see. The others are left out, whatever the reason.
async fn visible(
    tasks: &Tasks,
    caller: &Principal,
    ids: Vec<TaskId>,
) -> Result<Vec<TaskId>, RpcError> {
    let mut visible = Vec::with_capacity(ids.len());
    for id in ids {
        match tasks.get(caller, id).await {
            Ok(_) => visible.push(id),
            Err(TaskError::Store(error)) => return Err(error.into()),
            Err(_) => {}
        }
    }
    Ok(visible)
}

/// What components say that changed, and when that was looked at last.
pub(super) struct Updated {
    pub(super) listener: UpdateListener,
    last: Option<Instant>,
}

impl Updated {
    pub(super) fn new(listener: UpdateListener) -> Self {
        Self {
            listener,
            last: None,
        }
    }

    pub(super) async fn next(&mut self) -> Vec<Update> {
        self.listener.next(&mut self.last).await
    }
}

/// What components say that changed. Waits for ever if nothing is to be heard.
async fn told(updates: &mut Option<Updated>) -> Vec<Update> {
    match updates {
        Some(updates) => updates.next().await,
        None => std::future::pending().await,
    }
}

async fn send(events: &Events, message: Bytes) -> Result<(), RpcError> {
    events
        .send(message)
        .await
        .map_err(|error| RpcError::internal(error.to_string()))
}

/// The tasks a stream follows until they are final.
struct Following<'a> {
    tasks: &'a Tasks,
    caller: &'a Principal,
    listener: Listener,
    open: HashSet<TaskId>,
    /// Some task was named. An empty list is allowed, and waits for nothing but the client.
    named: bool,
}

impl<'a> Following<'a> {
    fn new(tasks: &'a Tasks, caller: &'a Principal, ids: Vec<TaskId>, named: bool) -> Self {
        let open = ids.iter().copied().collect();
        Self {
            tasks,
            caller,
            listener: tasks.listeners().listen(ids),
            open,
            named,
        }
    }

    fn is_over(&self) -> bool {
        self.named && self.open.is_empty()
    }
}

/// The next notification about a followed task; `None` if a task went away instead. Waits for ever
/// if none is followed.
async fn next(
    following: &mut Option<Following<'_>>,
    subscription: &RawValue,
) -> Result<Option<Bytes>, RpcError> {
    let Some(following) = following else {
        return std::future::pending().await;
    };
    let id = following.listener.next().await;
    if !following.open.contains(&id) {
        return Ok(None);
    }
    match following.tasks.get(following.caller, id).await {
        Ok(task) => {
            if task.status.is_final() {
                following.open.remove(&id);
            }
            let view = TaskView::Notification(id, &task, subscription);
            Ok(Some(notification("notifications/tasks", view)))
        }
        // The stream outlives an outage of the store.
        Err(TaskError::Store(error)) => {
            tracing::warn!(%error, "a task that is listened to cannot be read; trying again soon");
            following.listener.put_back(id);
            tokio::time::sleep(STORE_PAUSE).await;
            Ok(None)
        }
        Err(_) => {
            following.open.remove(&id);
            Ok(None)
        }
    }
}
