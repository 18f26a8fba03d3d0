//! What nodes share beside tasks.

use super::news;
use super::pool::{Fault, Values};
use super::statements as sql;
use super::work::Inner;
use crate::limits::DATABASE_COMPONENT_TIME;
use crate::store::{News, Shared, StoreError};
use crate::task::Millis;
use async_trait::async_trait;
use tokio::sync::mpsc;

#[async_trait]
impl Shared for Inner {
    fn news(&self) -> mpsc::UnboundedReceiver<News> {
        news::follow(self.pool.line(), self.sender.clone())
    }

    async fn say(&self, messages: &[String]) -> Result<(), StoreError> {
        let say = async || {
            let connection = self.pool.get().await?;
            let values: Values<'_> = &[&self.sender, &news::SAID, &messages];
            connection.execute(sql::SAY, values).await.map(drop)
        };
        Ok(self.pool.attempt(say).await?)
    }

    async fn promise_component(&self, digest: &str, until: Millis) -> Result<bool, StoreError> {
        let promise = async || {
            let connection = self.pool.get().await?;
            Ok(connection.execute(sql::PROMISE, &[&digest, &until]).await? > 0)
        };
        Ok(self.pool.attempt(promise).await?)
    }

    async fn keep_component(
        &self,
        digest: &str,
        bytes: &[u8],
        until: Millis,
    ) -> Result<(), StoreError> {
        let keep = async || {
            let connection = self.pool.get().await?.patient(DATABASE_COMPONENT_TIME);
            connection.begin().await?;
            let work = async {
                connection.no_timeout().await?;
                let values: Values<'_> = &[&digest, &until, &bytes];
                connection.execute(sql::KEEP, values).await.map(drop)
            };
            let work = work.await;
            connection.end(work).await
        };
        Ok(self.pool.attempt(keep).await?)
    }

    async fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let component = async || {
            let connection = self.pool.get().await?.patient(DATABASE_COMPONENT_TIME);
            connection.begin().await?;
            let work = async {
                connection.no_timeout().await?;
                let row = connection.row(sql::COMPONENT, &[&digest]).await?;
                Ok(row.map(|row| row.try_get(0)).transpose()?)
            };
            let work = work.await;
            connection.end(work).await
        };
        Ok(self.pool.attempt(component).await?)
    }

    async fn key(&self) -> Result<[u8; 32], StoreError> {
        let key = async || {
            let connection = self.pool.get().await?;
            if let Some(row) = connection.row(sql::KEY, &[]).await? {
                return Ok(row.try_get::<_, Vec<u8>>(0)?);
            }
            let new = rand::random::<[u8; 32]>();
            let new = new.as_slice();
            connection.execute(sql::NEW_KEY, &[&new]).await?;
            // Another node may have been faster.
            let row = connection.row(sql::KEY, &[]).await?;
            let row = row.ok_or_else(|| Fault::corrupt("the table keys", "it is empty"))?;
            Ok(row.try_get(0)?)
        };
        let key: Vec<u8> = self.pool.attempt(key).await?;
        let wrong = |_| Fault::corrupt("the table keys", "a key has 32 bytes");
        Ok(key.try_into().map_err(wrong)?)
    }
}
