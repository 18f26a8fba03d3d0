//! To look at the components again.

use super::status::Refused;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// What can look at its components again.
#[async_trait]
pub trait Reload: Send + Sync + 'static {
    /// Serves what is there now. It is not called again before it is done, and goes on when whoever
    /// asked for it is gone.
    ///
    /// # Errors
    /// Why nothing was changed.
    async fn reload(&self) -> Result<Reloaded, String>;
}

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Tools that were not served before.
    pub added: Vec<String>,
    /// Tools that another component serves now.
    pub replaced: Vec<String>,
    /// Tools that are not served any more.
    pub removed: Vec<String>,
    /// Tools that are served as before.
    pub unchanged: usize,
    /// What cannot serve.
    pub refused: Vec<Refused>,
}
