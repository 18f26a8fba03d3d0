//! A task, followed to its end.
//!
//! Invariant: what the task asks is answered once; an answer that the server does not take is asked for
//! again only where a person is there to say something else.

use crate::answers::Answers;
use crate::arguments::{Format, OutputArguments};
use crate::ask::ask;
use crate::failure::Failure;
use crate::peer::{Peer, PeerError, RpcError};
use crate::report::Report;
use crate::watch::{Watcher, about, patiently};
use crate::{Exit, clean, prompt, show};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The code of an error that says that a parameter is wrong: a task that is not there.
const INVALID_PARAMS: i64 = -32602;

/// A task, and what is said to it.
pub(crate) struct Following<'a> {
    /// Where it is.
    pub(crate) peer: &'a Peer,
    /// Its id.
    pub(crate) id: &'a str,
    /// Answers that were given beforehand.
    pub(crate) answers: &'a Answers,
    /// Who asks.
    pub(crate) who: &'a str,
    /// Where is told what happens.
    pub(crate) report: &'a Report,
}

impl Following<'_> {
    /// Follows it, and gives its last state.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) async fn to_its_end(&self) -> Result<Value, Failure> {
        let mut watcher = Watcher::new(self.peer, self.id, self.report);
        let mut answered = HashSet::new();
        loop {
            let state = watcher.next().await.map_err(of_task)?;
            self.report.state(&state);
            match state["status"].as_str() {
                Some("completed" | "failed" | "cancelled") => return Ok(state),
                Some("input_required") => self.answer(&state, &mut answered).await?,
                _ => {}
            }
        }
    }

    /// Answers what is asked and was not answered.
    async fn answer(&self, state: &Value, answered: &mut HashSet<String>) -> Result<(), Failure> {
        let mut requests = outstanding(state);
        requests.retain(|key, _| !answered.contains(key));
        while !requests.is_empty() {
            let replies = ask(&requests, self.answers, self.who, self.report).await?;
            if replies.answers.is_empty() {
                return Err(Failure::Open(replies.describe()));
            }
            let keys: Vec<String> = replies.answers.keys().cloned().collect();
            match self.update(replies.answers).await {
                Ok(()) => {
                    requests.retain(|key, _| !keys.contains(key));
                    answered.extend(keys);
                }
                Err(PeerError::Rpc(refused))
                    if prompt::is_possible() && refused.code == INVALID_PARAMS =>
                {
                    self.report.note(&format!("{refused}"));
                }
                Err(error) => return Err(of_task(error)),
            }
        }
        Ok(())
    }

    /// Sends answers.
    ///
    /// # Errors
    /// [`PeerError`].
    pub(crate) async fn update(&self, answers: Map<String, Value>) -> Result<(), PeerError> {
        let params = Map::from_iter([("inputResponses".to_owned(), Value::Object(answers))]);
        let request = || about("tasks/update", self.id, params.clone());
        patiently(self.peer, self.report, request).await.map(drop)
    }
}

/// What a task asks now.
pub(crate) fn outstanding(state: &Value) -> Map<String, Value> {
    match state["status"].as_str() {
        Some("input_required") => state["inputRequests"]
            .as_object()
            .cloned()
            .unwrap_or_default(),
        _ => Map::new(),
    }
}

/// An error of `tasks/get`, and what it mostly means.
pub(crate) fn of_task(error: PeerError) -> Failure {
    match error.code() {
        Some(INVALID_PARAMS) => Failure::NoTask,
        _ => Failure::Peer(error),
    }
}

/// Shows how a task ended.
///
/// # Errors
/// [`Failure::Show`].
pub(crate) fn finish(task: &Value, output: &OutputArguments) -> Result<Exit, Failure> {
    let status = task["status"].as_str().unwrap_or_default();
    if status == "completed" {
        return Ok(show::result(&task["result"], output)?);
    }
    if output.output == Format::Json {
        show::json(task)?;
    }
    if status == "cancelled" {
        eprintln!("cofferdam: the task was cancelled{}", said(task));
        return Ok(Exit::Cancelled);
    }
    let error = RpcError::read(&task["error"]);
    let data = error
        .data
        .map(|data| format!("; {}", clean::line(&data.to_string())));
    let message = clean::line(&error.message);
    let (code, data) = (error.code, data.unwrap_or_default());
    eprintln!("cofferdam: the task failed: {message} ({code}){data}");
    Ok(Exit::ToolError)
}

fn said(task: &Value) -> String {
    let message = task["statusMessage"].as_str().map(clean::line);
    message.map_or_else(String::new, |message| format!(": {message}"))
}
