//! From a request to its result, through whatever is asked on the way.
//!
//! Invariant: what is not given in a round is asked again; what is not asked in it is not answered; a
//! server that asks without end is left after some rounds.

use crate::answers::Answers;
use crate::ask::ask;
use crate::failure::Failure;
use crate::limits::{BUSY, ROUNDS};
use crate::peer::{Heard, Notification, Peer, Request};
use crate::report::Report;
use serde_json::{Map, Value};
use tokio::time::sleep;

/// Who asks a server, and who answers it.
pub(crate) struct Rounds<'a> {
    /// The server.
    pub(crate) peer: &'a Peer,
    /// What was answered beforehand.
    pub(crate) answers: &'a Answers,
    /// Who asks back, for people.
    pub(crate) who: &'a str,
    /// Where is told what happens.
    pub(crate) report: &'a Report,
}

impl Rounds<'_> {
    /// Sends a request until its result is not another question.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) async fn result(&self, mut request: Request<'_>) -> Result<Value, Failure> {
        for _ in 0..ROUNDS {
            let mut result = self.once(&request).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            let asked = result["inputRequests"].take();
            let state = result["requestState"].take();
            self.answer(asked, state, &mut request.params).await?;
        }
        Err(Failure::Rounds)
    }

    async fn once(&self, request: &Request<'_>) -> Result<Value, Failure> {
        let mut answer = self.peer.open(request.clone()).await?;
        loop {
            match answer.next().await? {
                Heard::Result(result) => return Ok(result),
                Heard::Notification(Notification { method, params }) => match method.as_str() {
                    "notifications/progress" => self.report.progress(&params),
                    "notifications/message" => self.report.log(&params),
                    _ => {}
                },
            }
        }
    }

    /// Answers what was asked, in the parameters of the next round.
    async fn answer(
        &self,
        asked: Value,
        state: Value,
        params: &mut Map<String, Value>,
    ) -> Result<(), Failure> {
        params.remove("inputResponses");
        params.remove("requestState");
        if let Value::Object(requests) = asked {
            let replies = ask(&requests, self.answers, self.who, self.report).await?;
            if !replies.open.is_empty() {
                return Err(Failure::Open(replies.describe()));
            }
            params.insert("inputResponses".to_owned(), Value::Object(replies.answers));
        } else {
            // A server that asks for nothing but another try has much to do.
            sleep(BUSY).await;
        }
        if state.is_string() {
            params.insert("requestState".to_owned(), state);
        }
        Ok(())
    }
}
