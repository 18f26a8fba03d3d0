//! What a caller sees of the catalog, and when that is different.
//!
//! Invariant: a change of what the caller does not see is none.

use super::{Server, sees};
use crate::catalog::LiveCatalog;
use crate::tenants::Tenant;
use tokio::sync::watch;

/// The tools that callers of a tenant see.
pub(super) struct Seen<'a> {
    catalog: &'a LiveCatalog,
    tenant: &'a Tenant,
    changes: watch::Receiver<()>,
    view: u64,
}

impl Server {
    /// What callers of a tenant see now.
    pub(super) fn seen<'a>(&'a self, tenant: &'a Tenant) -> Seen<'a> {
        let changes = self.catalog.changes();
        Seen {
            catalog: &self.catalog,
            tenant,
            changes,
            view: view(&self.catalog, tenant),
        }
    }
}

impl Seen<'_> {
    /// Waits until they see something else. Dropping the future misses nothing.
    pub(super) async fn changed(&mut self) {
        while self.changes.changed().await.is_ok() {
            let now = view(self.catalog, self.tenant);
            if std::mem::replace(&mut self.view, now) != now {
                return;
            }
        }
        // A catalog that is gone changes no more.
        std::future::pending::<()>().await;
    }
}

fn view(catalog: &LiveCatalog, tenant: &Tenant) -> u64 {
    catalog.now().view(|tool| sees(tenant, tool))
}
