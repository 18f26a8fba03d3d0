//! What the nodes of a store share beside tasks: what they tell one another, components, a key.

use super::StoreError;
use crate::task::{Millis, TaskId};
use async_trait::async_trait;
use tokio::sync::mpsc;

/// What a node hears of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Another node changed a task.
    Changed(TaskId),
    /// Another node says something that is not about tasks: what it gave [`Shared::say`].
    Said(String),
    /// A node is gone: tasks may be due, and what it did last may not have been told.
    Gone,
    /// The line was down, or is up for the first time: anything may have changed.
    Missed,
}

/// What nodes share.
#[async_trait]
pub trait Shared: Send + Sync + 'static {
    /// What others do from now on. [`News::Missed`] comes first, when the line is up. It ends with its
    /// receiver.
    fn news(&self) -> mpsc::UnboundedReceiver<News>;

    /// Says something to the other nodes that hear now.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: it was not said, or perhaps it was.
    async fn say(&self, messages: &[String]) -> Result<(), StoreError>;

    /// Makes sure that a component is kept until some time, and as long as an unfinished task runs it.
    /// False if it is not kept.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn promise_component(&self, digest: &str, until: Millis) -> Result<bool, StoreError>;

    /// Keeps a component as promised.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn keep_component(
        &self,
        digest: &str,
        bytes: &[u8],
        until: Millis,
    ) -> Result<(), StoreError>;

    /// The bytes of a component, if it is kept.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// The key that nodes have in common: whoever is first makes it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn key(&self) -> Result<[u8; 32], StoreError>;
}
