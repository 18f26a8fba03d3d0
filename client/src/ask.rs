//! From the input requests of a tool to the answers that are sent.
//!
//! Invariant: an answer that was given beforehand goes before asking; a question is asked at most once.

use crate::answers::Answers;
use crate::failure::Failure;
use crate::prompt;
use crate::question::Question;
use crate::report::Report;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

/// Answers, and what is open.
#[derive(Default)]
pub(crate) struct Replies {
    /// By key, as results of elicitations.
    pub(crate) answers: Map<String, Value>,
    /// The questions that nobody answers.
    pub(crate) open: Vec<Question>,
}

impl Replies {
    /// What a person has to know to answer what is open.
    pub(crate) fn describe(&self) -> String {
        let open: Vec<_> = self.open.iter().map(Question::describe).collect();
        open.join("\n")
    }
}

/// Answers what is asked, as far as answers were given or a person is there to give them.
///
/// # Errors
/// [`Failure`], if a question or an answer cannot be read.
pub(crate) async fn ask(
    requests: &Map<String, Value>,
    answers: &Answers,
    who: &str,
    report: &Report,
) -> Result<Replies, Failure> {
    let mut replies = Replies::default();
    for (key, request) in requests {
        let question = Question::read(key, request)?;
        if let Some(answer) = answers.to(&question)? {
            replies.answers.insert(key.clone(), answer);
        } else if prompt::is_possible() {
            report.end();
            let asker = who.to_owned();
            let asked = spawn_blocking(move || prompt::ask(&question, &asker)).await;
            let answer = asked.map_err(|error| Failure::Setup(error.into()))??;
            replies.answers.insert(key.clone(), answer);
            report.begin(who);
        } else {
            replies.open.push(question);
        }
    }
    Ok(replies)
}
