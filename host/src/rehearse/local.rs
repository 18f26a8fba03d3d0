//! A server within this process, whose runs are dropped as planned.

use super::cases::Case;
use super::conversation::{Came, Wire, body, converse, headers};
use crate::auth::Auth;
use crate::call::{Events, Sealer};
use crate::catalog::{Archive, CatalogParts, LiveCatalog};
use crate::config::{Location, Source};
use crate::journal::{Origin, Rehearsal};
use crate::registry::Mirror;
use crate::runtime::{Compiler, Runtime};
use crate::server::{Parts, Server, Via};
use crate::settings::Settings;
use crate::store::{MemoryStore, StoreOptions};
use crate::task::{Listener, NodeId, TaskId};
use crate::telemetry::Telemetry;
use crate::tenants::{TenantLimits, Tenants};
use anyhow::{Context as _, Result};
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// What all runs share: the compiled component.
pub(super) struct World {
    settings: Settings,
    runtime: Arc<Runtime>,
    catalog: Arc<LiveCatalog>,
    _folder: TempDir,
}

impl World {
    /// Compiles a component.
    pub(super) async fn load(component: &Path, settings: Settings) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let runtime = Arc::new(Runtime::new(
            settings.sandbox.clone(),
            Compiler::Thread,
            None,
        )?);
        let source = Source::new(Location::Path(component.to_owned()), &settings);
        let catalog = LiveCatalog::load(CatalogParts {
            sources: vec![source],
            folders: Vec::new(),
            runtime: Arc::clone(&runtime),
            settings: settings.clone(),
            archive: Archive::open(&folder.path().join("components"))?,
            mirror: Mirror::open(&folder.path().join("registry"))?,
            keys: Vec::new(),
            shared: None,
        });
        let catalog = catalog.await?;
        Ok(Self {
            settings,
            runtime,
            catalog: Arc::new(catalog),
            _folder: folder,
        })
    }

    /// Has a case done by a new server whose runs are ended after so many entries each. Gives what
    /// the client got, and how many runs it took.
    pub(super) async fn run(
        &self,
        case: &Case,
        kills: &[u32],
        parked: bool,
    ) -> (Result<Came>, usize) {
        let rehearsal = Rehearsal::new(kills.iter().copied());
        let mut settings = self.settings.clone();
        settings.tasks.park_after_ms = if parked { 0 } else { u64::MAX };
        let store = MemoryStore::new(StoreOptions::new(&settings.tasks));
        let limits = TenantLimits::new(self.runtime.whole_share(), settings.tasks.max);
        let server = Server::new(Parts {
            settings,
            runtime: Arc::clone(&self.runtime),
            catalog: Arc::clone(&self.catalog),
            store: Some(Arc::new(store)),
            node: NodeId::random(),
            sealer: Sealer::new([0; 32]),
            origin: Origin::Rehearsed(Arc::clone(&rehearsal)),
            auth: Auth::None,
            tenants: Tenants::new(Vec::new(), limits),
            notifiers: Vec::new(),
            telemetry: Telemetry::default(),
        });
        let mut wire = Local {
            server: Arc::clone(&server),
            listener: None,
        };
        let outcome = match server.resume().await {
            Ok(_) => converse(&mut wire, case).await,
            Err(error) => Err(error.into()),
        };
        server.stopping().cancel();
        server.drain().await;
        (outcome, rehearsal.runs())
    }
}

struct Local {
    server: Arc<Server>,
    listener: Option<Listener>,
}

impl Wire for Local {
    async fn send(&mut self, method: &str, params: &Value) -> Result<Option<Value>> {
        let mut map = HeaderMap::new();
        for (name, value) in headers(method, params) {
            map.insert(name, HeaderValue::from_str(&value)?);
        }
        let body = Bytes::from(body(method, params));
        let events = Arc::new(Events::new(false));
        let server = Arc::clone(&self.server);
        let caller = server.caller(&map).await?;
        let response = server.handle(caller, Via::Http(map), body, events).await;
        let body = response.body.context("an answer without a body")?;
        Ok(Some(serde_json::from_slice(&body)?))
    }

    async fn changed(&mut self, id: &str) {
        if self.listener.is_none()
            && let (Some(tasks), Some(id)) = (self.server.tasks(), TaskId::parse(id))
        {
            self.listener = Some(tasks.listeners().listen(vec![id]));
        }
        if let Some(listener) = &self.listener {
            listener.next().await;
        }
    }
}
