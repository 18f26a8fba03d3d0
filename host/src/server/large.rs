//! Work on what is large, which would be noticed by whoever shares the thread.
//!
//! Invariant: threads that serve do none of it. Requests with large bodies are answered in the background
//! from their first byte ([`Server::handle`]); here is what only comes to be large on the way.

use super::Server;
use crate::limits::LARGE_BYTES;
use crate::tenants::Caller;

impl Server {
    /// Works on so many bytes for this caller: at once if they are few, else in the background.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        caller: &Caller,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if bytes <= LARGE_BYTES {
            return work();
        }
        let runtime = &self.driver.runtime;
        runtime
            .aside(&caller.tenant.name, async move { work() })
            .await
    }
}
