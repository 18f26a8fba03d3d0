//! `cofferdam call`.
//!
//! Invariant: what does not fit the tool's schema is not sent; a call that ends early is cancelled, its
//! stream or its task, and the caller is told which.

use crate::answers::Answers;
use crate::arguments::{CallArguments, Format};
use crate::connect::connect;
use crate::failure::Failure;
use crate::follow::{Following, finish};
use crate::given::{self, GivenError};
use crate::limits::CANCEL;
use crate::peer::{PeerError, Request};
use crate::rounds::Rounds;
use crate::session::{Session, Stop, deadline};
use crate::watch::about;
use crate::{Exit, clean, headers, show, typed};
use rmcp::model::Tool;
use serde_json::{Map, Value};

/// Calls a tool.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn call(arguments: &CallArguments, session: &Session) -> Result<Exit, Failure> {
    let peer = connect(&arguments.server)?;
    let answers = Answers::read(&arguments.answers)?;
    let deadline = deadline(arguments.server.timeout)?;
    let host = peer.url().host_str().unwrap_or_default().to_owned();
    let who = format!("{} at {host}", clean::line(&arguments.tool));

    session.report.begin(&format!("calling {who}"));
    let rounds = Rounds {
        peer: &peer,
        answers: &answers,
        who: &who,
        report: &session.report,
    };
    let begun = session.work(deadline, begin(&rounds, arguments)).await;
    let begun = begun.map_err(|stop| stop.closes("call"));
    session.report.end();
    let result = begun??;
    if result["resultType"] != "task" {
        return Ok(show::result(&result, &arguments.output)?);
    }

    let id = result["taskId"].as_str().map(str::to_owned);
    let id = id.ok_or(PeerError::Protocol(
        "with a task",
        "it has no id".to_owned(),
    ))?;
    session.task.replace(Some(id.clone()));
    let more = |what: &str| {
        format!(
            "cofferdam task {what} {} {}",
            arguments.server.url,
            clean::line(&id)
        )
    };
    if arguments.detach {
        match arguments.output.output {
            Format::Json => show::json(&result)?,
            Format::Text => show::line(&clean::line(&id)).map_err(show::ShowError::from)?,
        }
        eprintln!("the call became a task; go on with: {}", more("watch"));
        return Ok(Exit::Done);
    }
    session
        .report
        .note(&format!("the call became the task {}", clean::line(&id)));
    session.report.begin("working");
    let report = &session.report;
    let following = Following {
        peer: &peer,
        id: &id,
        answers: &answers,
        who: &who,
        report,
    };
    let ended = session.work(deadline, following.to_its_end()).await;
    session.report.end();
    match ended {
        Ok(Ok(task)) => finish(&task, &arguments.output),
        Ok(Err(Failure::Open(open))) => {
            let open = format!(
                "{open}\nthe task waits; go on with: {} --answer …",
                more("update")
            );
            Err(Failure::Open(open))
        }
        Ok(Err(failure)) => {
            eprintln!("the task may go on; see to it with: {}", more("watch"));
            Err(failure)
        }
        Err(Stop::Late) => Err(Failure::Timeout(format!(
            "the task goes on; follow it with: {}",
            more("watch")
        ))),
        Err(Stop::Pressed) => {
            eprintln!("cancelling the task");
            let cancelled = peer
                .ask_within(CANCEL, about("tasks/cancel", &id, Map::new()))
                .await;
            Err(Failure::Cancelled(match cancelled {
                Ok(_) => "the server knows that the task is to end".to_owned(),
                Err(error) => format!(
                    "but the server does not know ({error}); tell it with: {}",
                    more("cancel")
                ),
            }))
        }
    }
}

/// Calls the tool, answering what it asks, until there is a result or a task.
async fn begin(rounds: &Rounds<'_>, arguments: &CallArguments) -> Result<Value, Failure> {
    let tool = rounds.peer.tool(&arguments.tool).await?;
    let given = given(arguments, &tool)?;
    let request = Request {
        method: "tools/call",
        name: Some(&arguments.tool),
        headers: headers::of_arguments(&tool.input_schema, &given),
        params: Map::from_iter([
            ("name".to_owned(), arguments.tool.as_str().into()),
            ("arguments".to_owned(), Value::Object(given)),
        ]),
        progress: true,
        log: arguments.log.map(crate::arguments::Level::name),
    };
    rounds.result(request).await
}

/// The arguments, as the tool's schema wants them.
fn given(arguments: &CallArguments, tool: &Tool) -> Result<Map<String, Value>, Failure> {
    let schema = Value::Object(tool.input_schema.as_ref().clone());
    let Some(json) = &arguments.json else {
        return Ok(typed::arguments(
            &schema,
            &given::pairs(&arguments.arguments)?,
        )?);
    };
    match serde_json::from_str(json) {
        Ok(Value::Object(given)) => {
            typed::fit(&schema, &given)?;
            Ok(given)
        }
        Ok(_) => Err(GivenError::Json("it is none".to_owned()).into()),
        Err(error) => Err(GivenError::Json(error.to_string()).into()),
    }
}
