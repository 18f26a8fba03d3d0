//! Requests that are not answered yet, where a client may take them back by their ids
//! (`notifications/cancelled`).
//!
//! Invariant: an id stands for one request at a time; a cancelled request is not answered.

use crate::limits::REQUESTS_AT_ONCE;
use crate::protocol::{Code, Message, RpcError};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Those of one client.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<Box<str>, CancellationToken>>);

/// One of them; dropping it frees its id.
pub(crate) struct Entered {
    running: Arc<Running>,
    id: Box<str>,
    cancelled: CancellationToken,
}

impl Running {
    /// Enters a request.
    ///
    /// # Errors
    /// `-32600`: its id stands for another. `-32603`: too many are not answered yet.
    pub(crate) fn enter(self: &Arc<Self>, id: &RawValue) -> Result<Entered, RpcError> {
        let mut running = self.0.lock();
        if running.contains_key(id.get()) {
            let reason = "The id is that of a request that is not answered yet; use another";
            return Err(RpcError::new(Code::InvalidRequest, reason));
        }
        if running.len() >= REQUESTS_AT_ONCE {
            return Err(RpcError::internal(format!(
                "Too many requests at once: the limit is {REQUESTS_AT_ONCE} (REQUESTS_AT_ONCE)"
            )));
        }
        let (id, cancelled) = (Box::<str>::from(id.get()), CancellationToken::new());
        running.insert(id.clone(), cancelled.clone());
        Ok(Entered {
            running: Arc::clone(self),
            id,
            cancelled,
        })
    }

    /// Takes a notification: `notifications/cancelled` cancels the request that it names, if that is
    /// not answered yet; whatever else there is changes nothing.
    pub(crate) fn notified(&self, message: &Message<'_>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        if message.method != "notifications/cancelled" {
            return;
        }
        let params = message.params.map(RawValue::get).unwrap_or_default();
        if let Ok(cancelled) = serde_json::from_str::<Cancelled<'_>>(params)
            && let Some(request) = self.0.lock().get(cancelled.request_id.get())
        {
            request.cancel();
        }
    }
}

impl Entered {
    /// The work, or `None` as soon as its client takes the request back.
    pub(crate) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.cancelled.run_until_cancelled(work).await
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.running.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[tokio::test]
    async fn an_id_stands_for_one_request_at_a_time() {
        let id = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let cancel = |running: &Running, params: &str| {
            running.notified(&Message {
                id: None,
                method: "notifications/cancelled".into(),
                params: Some(&id(params)),
            });
        };
        let running = Arc::new(Running::default());
        let first = running.enter(&id("1")).unwrap();
        assert!(running.enter(&id("1")).is_err());
        // A number is no string.
        let second = running.enter(&id("\"1\"")).unwrap();
        for params in [r#"{"requestId":1}"#, r#"{"requestId":2}"#, "{}", "5"] {
            cancel(&running, params);
        }
        assert_eq!(first.unless_cancelled(pending::<()>()).await, None);
        assert_eq!(second.unless_cancelled(ready(5)).await, Some(5));
        drop(first);
        assert!(running.enter(&id("1")).is_ok());
    }
}
