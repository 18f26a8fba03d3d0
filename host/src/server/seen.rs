//! What a caller sees of the catalog, and when that is different.
//!
//! Invariant: a change of what the caller does not see is none.

use super::Server;
use crate::catalog::LiveCatalog;
use crate::protocol::Kind;
use crate::tenants::Tenant;
use tokio::sync::watch;

/// What callers of a tenant see.
pub(super) struct Seen<'a> {
    catalog: &'a LiveCatalog,
    tenant: &'a Tenant,
    changes: watch::Receiver<()>,
    views: [u64; 3],
}

impl Server {
    /// What callers of a tenant see now.
    pub(super) fn seen<'a>(&'a self, tenant: &'a Tenant) -> Seen<'a> {
        let changes = self.catalog.changes();
        Seen {
            catalog: &self.catalog,
            tenant,
            changes,
            views: views(&self.catalog, tenant),
        }
    }
}

impl Seen<'_> {
    /// Waits until they see something else, and gives of which kinds. Dropping the future misses nothing.
    pub(super) async fn changed(&mut self) -> Vec<Kind> {
        while self.changes.changed().await.is_ok() {
            let now = views(self.catalog, self.tenant);
            let before = std::mem::replace(&mut self.views, now);
            let changed = Kind::ALL.into_iter().zip(before.into_iter().zip(now));
            let changed = changed.filter(|(_, (before, now))| before != now);
            let changed: Vec<_> = changed.map(|(kind, _)| kind).collect();
            if !changed.is_empty() {
                return changed;
            }
        }
        // A catalog that is gone changes no more.
        std::future::pending().await
    }
}

fn views(catalog: &LiveCatalog, tenant: &Tenant) -> [u64; 3] {
    let catalog = catalog.now();
    Kind::ALL.map(|kind| catalog.view(kind, tenant))
}
