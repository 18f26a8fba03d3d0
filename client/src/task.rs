//! `cofferdam task`.

use crate::answers::Answers;
use crate::arguments::{AnsweringArguments, Format, TaskArguments, TaskCommand};
use crate::ask::ask;
use crate::connect::connect;
use crate::failure::Failure;
use crate::follow::{Following, finish, of_task, outstanding};
use crate::peer::Peer;
use crate::question::Question;
use crate::session::{Session, Stop, deadline};
use crate::watch::{about, patiently};
use crate::{Exit, clean, show};
use serde_json::{Map, Value};

/// Does what is said to a task.
///
/// # Errors
/// [`Failure`].
pub(crate) async fn task(command: &TaskCommand, session: &Session) -> Result<Exit, Failure> {
    let task = command.task();
    session.task.replace(Some(task.id.clone()));
    match command {
        TaskCommand::Get(task) => get(task, session, false).await,
        TaskCommand::Cancel(task) => get(task, session, true).await,
        TaskCommand::Watch(arguments) => answering(arguments, session, true).await,
        TaskCommand::Update(arguments) => answering(arguments, session, false).await,
    }
}

/// `get`, and `cancel`, which looks after it has cancelled.
async fn get(task: &TaskArguments, session: &Session, cancel: bool) -> Result<Exit, Failure> {
    let peer = connect(&task.server)?;
    let work = async {
        if cancel {
            let cancelled = peer.ask(about("tasks/cancel", &task.id, Map::new())).await;
            cancelled.map_err(of_task)?;
            eprintln!("the server knows that the task is to end");
        }
        look(&peer, &task.id, session).await
    };
    let state = session.work(deadline(task.server.timeout)?, work).await;
    show_state(&state.unwrap_or_else(|stop| Err(stopped(stop, "")))?, task)
}

/// `watch` and `update`, which answer what is asked.
async fn answering(
    arguments: &AnsweringArguments,
    session: &Session,
    watch: bool,
) -> Result<Exit, Failure> {
    let AnsweringArguments { task, answers } = arguments;
    let peer = connect(&task.server)?;
    let answers = Answers::read(answers)?;
    let deadline = deadline(task.server.timeout)?;
    let following = Following {
        peer: &peer,
        id: &task.id,
        answers: &answers,
        who: &format!("the task at {}", peer.url().host_str().unwrap_or_default()),
        report: &session.report,
    };
    let ended = if watch {
        session.report.begin("looking");
        session.work(deadline, following.to_its_end()).await
    } else {
        session.work(deadline, update(&following, session)).await
    };
    session.report.end();
    let place = format!("{} {}", task.server.url, clean::line(&task.id));
    match ended {
        Ok(Ok(state)) if watch => finish(&state, &task.output),
        Ok(Ok(state)) => show_state(&state, task),
        Ok(Err(Failure::Open(open))) => Err(Failure::Open(format!(
            "{open}\nanswer with: cofferdam task update {place} --answer …"
        ))),
        Ok(Err(failure)) => Err(failure),
        Err(stop) => Err(stopped(
            stop,
            &format!("; cancel it with: cofferdam task cancel {place}"),
        )),
    }
}

/// Answers what a task asks now, and gives its state after that.
async fn update(following: &Following<'_>, session: &Session) -> Result<Value, Failure> {
    let state = look(following.peer, following.id, session).await?;
    let requests = outstanding(&state);
    if requests.is_empty() && !following.answers.is_empty() {
        return Err(Failure::NothingAsked);
    }
    if requests.is_empty() {
        eprintln!("the task asks nothing now");
        return Ok(state);
    }
    let replies = ask(&requests, following.answers, following.who, &session.report).await?;
    if replies.answers.is_empty() {
        return Err(Failure::Open(replies.describe()));
    }
    let open = replies.describe();
    following.update(replies.answers).await?;
    if !open.is_empty() {
        eprintln!("still open:\n{open}");
    }
    look(following.peer, following.id, session).await
}

async fn look(peer: &Peer, id: &str, session: &Session) -> Result<Value, Failure> {
    let request = || about("tasks/get", id, Map::new());
    patiently(peer, &session.report, request)
        .await
        .map_err(of_task)
}

fn stopped(stop: Stop, more: &str) -> Failure {
    match stop {
        Stop::Pressed => Failure::Cancelled(format!("the task goes on{more}")),
        Stop::Late => Failure::Timeout(format!("the task goes on{more}")),
    }
}

/// Shows the state of a task.
fn show_state(state: &Value, task: &TaskArguments) -> Result<Exit, Failure> {
    if task.output.output == Format::Json {
        show::json(state)?;
        return Ok(Exit::Done);
    }
    let said = |name: &str| state[name].as_str().map(clean::line);
    let mut lines = Vec::new();
    let message = said("statusMessage").map(|message| format!(": {message}"));
    lines.push(format!(
        "status   {}{}",
        said("status").unwrap_or_default(),
        message.unwrap_or_default()
    ));
    lines.extend(said("createdAt").map(|time| format!("created  {time}")));
    lines.extend(said("lastUpdatedAt").map(|time| format!("updated  {time}")));
    lines.extend(
        state["ttlMs"]
            .as_u64()
            .map(|ttl| format!("kept     {} s from when it was created", ttl / 1_000)),
    );
    for (key, request) in &outstanding(state) {
        lines.push(match Question::read(key, request) {
            Ok(question) => format!("asks\n{}", question.describe()),
            Err(error) => format!("asks     {error}"),
        });
    }
    show::line(&lines.join("\n")).map_err(show::ShowError::from)?;
    match state["status"].as_str() {
        Some("completed" | "failed") => finish(state, &task.output).map(|_| Exit::Done),
        _ => Ok(Exit::Done),
    }
}
