//! `cofferdam prompt` and `read`: what a server has under a name or a URI.
//!
//! Invariant: nothing runs on when this ends early; closing the stream of the request is the end of it.

use crate::answers::Answers;
use crate::arguments::{AnswerArguments, PromptArguments, ReadArguments, ServerArguments};
use crate::connect::connect;
use crate::failure::Failure;
use crate::peer::Request;
use crate::rounds::Rounds;
use crate::session::{Session, deadline};
use crate::{Exit, clean, given, show};
use serde_json::{Map, Value};

/// Gets a prompt, and shows its messages.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn prompt(
    arguments: &PromptArguments,
    session: &Session,
) -> Result<Exit, Failure> {
    let given = given::pairs(&arguments.arguments)?;
    let given = given.into_iter().map(|(name, text)| (name, text.into()));
    let request = Request {
        method: "prompts/get",
        name: Some(&arguments.name),
        params: Map::from_iter([
            ("name".to_owned(), arguments.name.as_str().into()),
            ("arguments".to_owned(), Value::Object(given.collect())),
        ]),
        ..Request::default()
    };
    let result = get(&arguments.server, &arguments.answers, session, request).await?;
    show::prompt(&result, &arguments.output)?;
    Ok(Exit::Done)
}

/// Reads a resource, and shows what it holds.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn read(arguments: &ReadArguments, session: &Session) -> Result<Exit, Failure> {
    let request = Request {
        method: "resources/read",
        name: Some(&arguments.uri),
        params: Map::from_iter([("uri".to_owned(), arguments.uri.as_str().into())]),
        ..Request::default()
    };
    let result = get(&arguments.server, &arguments.answers, session, request).await?;
    show::resource(&result, &arguments.output)?;
    Ok(Exit::Done)
}

async fn get(
    server: &ServerArguments,
    answers: &AnswerArguments,
    session: &Session,
    request: Request<'_>,
) -> Result<Value, Failure> {
    let peer = connect(server)?;
    let answers = Answers::read(answers)?;
    let host = peer.url().host_str().unwrap_or_default();
    let name = clean::line(request.name.unwrap_or_default());
    let who = format!("{name} at {host}");
    session.report.begin(&format!("asking for {who}"));
    let rounds = Rounds {
        peer: &peer,
        answers: &answers,
        who: &who,
        report: &session.report,
    };
    let got = session
        .work(deadline(server.timeout)?, rounds.result(request))
        .await;
    session.report.end();
    got.unwrap_or_else(|stop| Err(stop.closes("request")))
}
