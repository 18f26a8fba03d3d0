//! The states of a task, as they come: by `subscriptions/listen`, or by `tasks/get` where the server
//! does not tell.
//!
//! Invariants: after each new stream the task is looked at once, so that nothing that happened before or
//! between streams is missed; no state comes after a later one. What breaks is tried again, at most
//! [`ATTEMPTS`] times without news.

use crate::http::HttpError;
use crate::limits::{
    ANSWER, ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE, LONGEST_POLL, POLL, SHORTEST_POLL, SILENCE,
};
use crate::peer::{Answer, Heard, Peer, PeerError, Request};
use crate::report::Report;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A request about one task.
pub(crate) fn about<'a>(
    method: &'static str,
    id: &'a str,
    more: Map<String, Value>,
) -> Request<'a> {
    let mut params = more;
    params.insert("taskId".to_owned(), id.into());
    Request {
        method,
        params,
        name: Some(id),
        ..Request::default()
    }
}

/// Follows a task.
pub(crate) struct Watcher<'a> {
    peer: &'a Peer,
    id: &'a str,
    report: &'a Report,
    way: Way,
    last: Value,
    failures: u32,
}

/// How its states come.
enum Way {
    /// A stream is to be opened.
    Listen,
    /// By a stream, which has told so much.
    Stream(Box<Answer>, usize),
    /// By looking: now, or after the task's interval.
    Poll(bool),
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(peer: &'a Peer, id: &'a str, report: &'a Report) -> Self {
        Self {
            peer,
            id,
            report,
            way: Way::Listen,
            last: Value::Null,
            failures: 0,
        }
    }

    /// The next state that differs from the last.
    ///
    /// # Errors
    /// [`PeerError`], if it will not pass, or has not after [`ATTEMPTS`].
    pub(crate) async fn next(&mut self) -> Result<Value, PeerError> {
        loop {
            match self.step().await {
                Ok(Some(mut state)) => {
                    if let Some(state) = state.as_object_mut() {
                        state.remove("_meta");
                        state.remove("resultType");
                    }
                    if std::mem::take(&mut self.failures) > 0 {
                        self.report.note("the server answers again");
                    }
                    if state != self.last && !is_older(&state, &self.last) {
                        self.last = state.clone();
                        return Ok(state);
                    }
                }
                Ok(None) => {}
                Err(error) if error.may_pass() => {
                    if let Way::Stream(..) = self.way {
                        self.way = Way::Listen;
                    }
                    self.failures += 1;
                    again(self.failures, error, self.report).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn step(&mut self) -> Result<Option<Value>, PeerError> {
        match &mut self.way {
            Way::Listen => match self.listen().await {
                Ok(Some(stream)) => {
                    let state = self.look().await?;
                    self.way = Way::Stream(stream, 0);
                    Ok(Some(state))
                }
                // Without an answer to this, there is one to tasks/get, or an error that says why.
                Ok(None) | Err(PeerError::Rpc(_) | PeerError::Protocol(..)) => {
                    self.way = Way::Poll(true);
                    Ok(None)
                }
                Err(error) => Err(error),
            },
            Way::Stream(stream, told) => match timeout(SILENCE, stream.next()).await {
                Err(_) => self.look().await.map(Some),
                Ok(heard) => match heard? {
                    Heard::Notification(heard) if heard.method == "notifications/tasks" => {
                        let about = heard.params["taskId"] == self.id;
                        *told += usize::from(about);
                        Ok(about.then_some(heard.params))
                    }
                    Heard::Notification(_) => Ok(None),
                    Heard::Result(_) => {
                        // A server that ends each stream at once is better asked.
                        self.way = if *told == 0 {
                            Way::Poll(true)
                        } else {
                            Way::Listen
                        };
                        self.look().await.map(Some)
                    }
                },
            },
            Way::Poll(now) => {
                if !std::mem::take(now) {
                    sleep(interval(&self.last)).await;
                }
                self.look().await.map(Some)
            }
        }
    }

    async fn look(&self) -> Result<Value, PeerError> {
        self.peer.ask(about("tasks/get", self.id, Map::new())).await
    }

    /// A stream that tells of the task, if the server agrees to tell.
    async fn listen(&self) -> Result<Option<Box<Answer>>, PeerError> {
        let params = json!({ "notifications": { "taskIds": [self.id] } });
        let Value::Object(params) = params else {
            return Ok(None);
        };
        let request = Request {
            method: "subscriptions/listen",
            params,
            ..Request::default()
        };
        let begun = async {
            let mut answer = self.peer.open(request).await?;
            let Heard::Notification(first) = answer.next().await? else {
                return Ok(None);
            };
            let agreed = first.params["notifications"]["taskIds"].as_array();
            let agreed = agreed.is_some_and(|ids| ids.contains(&self.id.into()));
            Ok(agreed.then(|| Box::new(answer)))
        };
        let silent = || HttpError::Silent(self.peer.url().to_string());
        timeout(ANSWER, begun).await.map_err(|_| silent())?
    }
}

/// True for a state that a task was in before another one: what a stream told before a look is heard after
/// it.
fn is_older(state: &Value, than: &Value) -> bool {
    let updated = |state: &Value| {
        let at = state["lastUpdatedAt"].as_str();
        at.and_then(|at| at.parse::<Timestamp>().ok())
    };
    updated(state)
        .zip(updated(than))
        .is_some_and(|(this, that)| this < that)
}

/// How long to wait before looking again.
fn interval(state: &Value) -> Duration {
    let wanted = state["pollIntervalMs"]
        .as_u64()
        .map_or(POLL, Duration::from_millis);
    wanted.clamp(SHORTEST_POLL, LONGEST_POLL)
}

/// Says why, and waits before the next attempt.
///
/// # Errors
/// The reason, after the last.
async fn again(failures: u32, error: PeerError, report: &Report) -> Result<(), PeerError> {
    if failures > ATTEMPTS {
        return Err(error);
    }
    report.note(&format!("{error}\ntrying again ({failures} of {ATTEMPTS})"));
    let pause = FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(16));
    sleep(pause.min(LONGEST_PAUSE)).await;
    Ok(())
}

/// Asks until it goes well, for requests that may be sent twice.
///
/// # Errors
/// [`PeerError`], as [`Watcher::next`].
pub(crate) async fn patiently<'a>(
    peer: &Peer,
    report: &Report,
    request: impl Fn() -> Request<'a>,
) -> Result<Value, PeerError> {
    let mut failures = 0;
    loop {
        match peer.ask(request()).await {
            Err(error) if error.may_pass() => {
                failures += 1;
                again(failures, error, report).await?;
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{interval, is_older};
    use serde_json::{Value, json};
    use std::time::Duration;

    #[test]
    fn a_state_is_older_by_its_time_and_not_for_want_of_one() {
        let at = |time: &str| json!({ "lastUpdatedAt": time });
        let last = at("2026-07-28T10:00:00.100Z");
        for older in ["2026-07-28T10:00:00.099Z", "2026-07-28T11:00:00+02:00"] {
            assert!(is_older(&at(older), &last), "{older}");
        }
        for not in ["2026-07-28T10:00:00.1Z", "2026-07-28T10:00:01Z", "", "x"] {
            assert!(!is_older(&at(not), &last), "{not}");
        }
        assert!(!is_older(&json!({}), &last) && !is_older(&last, &Value::Null));
    }

    #[test]
    fn the_polling_interval_is_the_servers_within_reason() {
        for (state, milliseconds) in [
            (json!({}), 1_000),
            (json!({"pollIntervalMs": 5_000}), 5_000),
            (json!({"pollIntervalMs": 0}), 100),
            (json!({"pollIntervalMs": u64::MAX}), 60_000),
        ] {
            assert_eq!(
                interval(&state),
                Duration::from_millis(milliseconds),
                "{state}"
            );
        }
    }
}
