//! What the client says, and what it must hear.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::client::{Client, received, short};
use super::server::Server;

/// How often the client polls. A server asks for less (`pollIntervalMs`); this shows progress.
const POLL: Duration = Duration::from_millis(20);
/// No step takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

const CSV: &str = "city,sold\nOslo,3\nRome,5\nOslo,4\nLima,1\n";

/// Goes through all kinds of calls.
pub(crate) fn hold(server: &mut Server) -> Result<()> {
    let client = &Client::new(server.url());
    inline(client).context("the inline call")?;
    let picture = task(client).context("the task")?;
    another_inline(client, &picture).context("the call with the task's picture")?;
    cancel(client).context("the cancelled task")?;
    killed(server).context("the task whose server was killed")
}

fn inline(client: &Client) -> Result<()> {
    heading("A call that is answered at once");
    let result = client.call(
        "report",
        json!({"csv": CSV, "group_by": "city", "column": "sold", "aggregate": "sum"}),
    )?;
    let report = structured(&result)?;
    let groups = report["groups"]
        .as_array()
        .context("a report without groups")?;
    for group in groups {
        received(group);
    }
    let oslo = groups
        .iter()
        .any(|group| group["group"] == "Oslo" && group["value"].as_f64() == Some(7.0));
    ensure!(groups.len() == 3 && oslo, "wrong: {report}");
    Ok(())
}

/// Returns the picture, as base64.
fn task(client: &Client) -> Result<String> {
    heading("A call that becomes a task, asks its user, and tells its progress");
    let id = start(client)?;
    let end = until(client, &id, "completed")?;
    let result = &end["result"];
    for block in result["content"].as_array().into_iter().flatten() {
        received(short(block));
    }
    let mut blocks = result["content"].as_array().into_iter().flatten();
    let picture = blocks.find(|block| block["mimeType"] == "image/png");
    let picture = picture.with_context(|| format!("no picture in {}", short(result)))?;
    picture["data"]
        .as_str()
        .map(str::to_owned)
        .context("the picture has no data")
}

fn another_inline(client: &Client, picture: &str) -> Result<()> {
    heading("Another tool, given that picture");
    let result = client.call("thumbnail", json!({"image": picture, "max_width": 64}))?;
    let told = structured(&result)?;
    received(told);
    ensure!(told["thumbnail"]["width"] == 64, "wrong: {told}");
    Ok(())
}

fn cancel(client: &Client) -> Result<()> {
    heading("A task that is cancelled while it works");
    let id = start(client)?;
    client.about(&id, "tasks/cancel", json!({}))?;
    until(client, &id, "cancelled")?;
    Ok(())
}

fn killed(server: &mut Server) -> Result<()> {
    heading("A task whose server is killed while it waits for its user");
    let client = Client::new(server.url());
    let (id, waiting) = ask(&client)?;
    server.kill_and_start_again()?;
    received(format!("killed, and back: {}", server.announcement()));
    let client = Client::new(server.url());
    answer(&client, &id, &waiting)?;
    until(&client, &id, "completed")?;
    Ok(())
}

/// Calls `render`, and answers what it asks, so that it has work to do. Returns the task's id.
fn start(client: &Client) -> Result<String> {
    let (id, waiting) = ask(client)?;
    answer(client, &id, &waiting)?;
    Ok(id)
}

/// Calls `render`, and waits for its question. Returns the task's id, and what it looks like then.
fn ask(client: &Client) -> Result<(String, Value)> {
    let created = client.call("render", json!({}))?;
    ensure!(
        created["resultType"] == "task",
        "no task, but: {}",
        short(&created)
    );
    let id = created["taskId"].as_str().context("a task without id")?;
    received(format!("task {id}"));

    let waiting = until(client, id, "input_required")?;
    Ok((id.to_owned(), waiting))
}

/// Answers a task's question.
fn answer(client: &Client, id: &str, waiting: &Value) -> Result<()> {
    let questions = waiting["inputRequests"]
        .as_object()
        .context("no questions")?;
    let (key, question) = questions.iter().next().context("no question")?;
    ensure!(
        question["method"] == "elicitation/create",
        "no form: {question}"
    );
    let message = question["params"]["message"]
        .as_str()
        .context("a form without message")?;
    let answer = fill(&question["params"]["requestedSchema"])?;
    received(format!("{message} (the user chooses {answer})"));
    let answer = json!({"action": "accept", "content": answer});
    client.about(id, "tasks/update", json!({"inputResponses": {key: answer}}))?;
    Ok(())
}

/// Fills in a form as a user would who takes the first choice and the largest number.
fn fill(schema: &Value) -> Result<Value> {
    let properties = schema["properties"]
        .as_object()
        .context("a form without fields")?;
    let fields = properties.iter().map(|(name, field)| {
        let first = |key: &str| field[key].as_array().and_then(|choices| choices.first());
        let value = if let Some(choice) = first("oneOf") {
            choice["const"].clone()
        } else if let Some(choice) = first("enum") {
            choice.clone()
        } else if field["maximum"].is_number() {
            field["maximum"].clone()
        } else {
            bail!("no way to fill in {name}: {field}");
        };
        Ok((name.clone(), value))
    });
    Ok(Value::Object(fields.collect::<Result<_>>()?))
}

/// Polls until the task has this status, and shows each change on the way.
fn until(client: &Client, id: &str, status: &str) -> Result<Value> {
    println!("--> tasks/get {id} …");
    let start = Instant::now();
    let mut shown = String::new();
    while start.elapsed() < PATIENCE {
        let now = client.task(id)?;
        let word = now["status"].as_str().context("a task without status")?;
        let message = now["statusMessage"].as_str().unwrap_or_default();
        let line = format!("{word:<14} {message}");
        if line != shown {
            received(line.trim_end());
            shown = line;
        }
        if word == status {
            return Ok(now);
        }
        let underway = ["working", "input_required"].contains(&word);
        ensure!(underway, "it should be {status}, but: {}", short(&now));
        thread::sleep(POLL);
    }
    bail!("it was not {status} within {PATIENCE:?}")
}

/// The structured content of an answer, which is no task, no question and no error.
fn structured(result: &Value) -> Result<&Value> {
    let good = result["resultType"] == "complete" && result["isError"] != true;
    ensure!(good, "no answer, but: {}", short(result));
    result
        .get("structuredContent")
        .with_context(|| format!("no structure in {}", short(result)))
}

fn heading(text: &str) {
    println!("\n# {text}");
}
