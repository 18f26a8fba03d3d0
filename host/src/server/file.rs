//! Reads of files of folders that are served.
//!
//! Invariant: what is not there, not to be read, or hidden is answered alike; a result is held to the same
//! limits as that of a component.

use super::Server;
use crate::call::{Reply, unknown_resource};
use crate::folders::{FilePath, ReadError, Shelf};
use crate::limits::RunLimits;
use crate::metrics::{Limit, Outcome};
use crate::protocol::{CacheScope, RpcError, Weighty as _, written};
use crate::tenants::Caller;
use std::sync::Arc;

impl Server {
    /// Reads a file.
    pub(super) async fn read_file(
        &self,
        caller: &Caller,
        uri: &str,
        shelf: Arc<Shelf>,
        path: FilePath,
    ) -> Result<(Outcome, Reply), RpcError> {
        let (settings, metrics) = (&self.settings, &self.driver.metrics);
        let limits = RunLimits::new(&settings.sandbox, &settings.tasks);
        let most = caller.tenant.bounded(limits).result_bytes;
        let answer = shelf.read(path).await.map_err(|error| match error {
            ReadError::Missing => unknown_resource(uri),
            ReadError::TooLarge(_) => {
                metrics.refuse(Limit::Result);
                RpcError::internal(error.to_string())
            }
            // What exactly is wrong is for the operator.
            ReadError::Io(_) => {
                tracing::warn!("{uri}: {error}");
                RpcError::internal("The file cannot be read")
            }
        });
        let mut answer = answer?;
        if self.tenants.differ() {
            answer.cache.cache_scope = CacheScope::Private;
        }
        let weight = answer.weight();
        let result = self
            .work(caller, weight, move || written(&answer, most))
            .await;
        let result = result.map_err(|size| {
            metrics.refuse(Limit::Result);
            let key = caller.tenant.result_key(most);
            RpcError::internal(format!(
                "The file's result has {size} bytes; the limit is {most} ({key})"
            ))
        })?;
        Ok((Outcome::Result, Reply::Outcome(Ok(result))))
    }
}
