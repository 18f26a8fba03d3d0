//! Prompts, resources and completions that do what the tests need, and tools that tell of changes.

use cofferdam_guest::changes::ChangedList;
use cofferdam_guest::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Pin {
    pin: String,
}

/// Greets somebody.
#[prompt(title = "Greeting", meta = r#"{"test/kind":"greeting"}"#)]
fn greeting(
    /// Who is greeted.
    #[arg(complete = people)]
    name: String,
    /// How often.
    times: Option<u8>,
) -> Vec<PromptMessage> {
    let greet = |_| PromptMessage::user(format!("Greet {name}."));
    (0..times.unwrap_or(1)).map(greet).collect()
}

/// Tries what a prompt may not do.
#[prompt]
fn forbidden(call: &Call) -> Result<PromptResult> {
    let started = call.start_task(TaskOptions::new());
    let completed = call.complete("nothing");
    let text = format!("{started:?} {completed:?} {:?}", call.status());
    Ok(PromptResult::new()
        .with(PromptMessage::assistant(text))
        .describe("What came of it"))
}

/// Fails in the way that it is asked to.
#[prompt]
fn failing(how: String) -> Result<String> {
    match &*how {
        "tool" => bail!("it cannot be done"),
        "rpc" => Err(Error::rpc(7, "a code of its own")),
        "trap" => panic!("a prompt that panics"),
        _ => Ok("It did not fail.".to_owned()),
    }
}

/// The house rules.
#[resource(
    "house://rules",
    title = "Rules",
    mime_type = "text/plain",
    ttl_ms = 5_000
)]
fn rules() -> &'static str {
    "Be kind."
}

/// A picture of nothing.
#[resource("house://picture", mime_type = "image/png", private, ttl_ms = 7_000)]
fn picture() -> Vec<u8> {
    vec![0, 1, 2, 255]
}

/// A room; those from 0 to 249 exist, and 13 asks who enters.
#[resource("house://rooms/{number}", mime_type = "text/plain", list = rooms)]
fn room(call: &Call, #[arg(complete = numbers)] number: u32) -> Result<Option<String>> {
    if number == 13 {
        let text = match call.ask_form::<Pin>("pin", "Which pin?")? {
            Answer::Accepted(Pin { pin }) => format!("Room 13, entered with {pin}"),
            Answer::Declined | Answer::Cancelled => "Room 13, seen from outside".to_owned(),
        };
        return Ok(Some(text));
    }
    Ok((number < 250).then(|| format!("Room {number}")))
}

/// Whatever lies on a path.
#[resource("house://papers/{+path}", mime_type = "text/plain")]
fn paper(path: String) -> Result<String> {
    match &*path {
        "trap" => panic!("a resource that panics"),
        "huge" => Ok("x".repeat(64 << 20)),
        path => Ok(format!("The paper {path}")),
    }
}

/// A hundred rooms a page; after the last one a page that lists what nobody can read.
fn rooms(_: &Call, cursor: Option<&str>) -> Result<ResourcePage> {
    let from: u32 = match cursor {
        None => 0,
        Some("beyond") => {
            return Ok(ResourcePage {
                resources: vec![ListedResource::new("other://stray", "stray")],
                next_cursor: None,
            });
        }
        Some(cursor) => cursor
            .parse()
            .map_err(|_| Error::rpc(RpcError::INVALID_PARAMS, "no such page"))?,
    };
    let to = (from + 100).min(250);
    Ok(ResourcePage {
        resources: (from..to)
            .map(|n| ListedResource::new(room::uri(n), format!("Room {n}")))
            .collect(),
        next_cursor: match to {
            250 => Some("beyond".to_owned()),
            to => Some(to.to_string()),
        },
    })
}

fn people(typed: &Typed) -> CompletionResult {
    match typed.other("times") {
        Some("2") => typed.among(["Ada and Bob"]),
        _ => typed.among(["Ada", "Adele", "Bob"]),
    }
}

fn numbers() -> Vec<String> {
    (0..250).map(|n| n.to_string()).collect()
}

/// Tells that a resource changed, so many times.
#[tool]
fn touch(uri: String, times: Option<u32>) -> String {
    let times = times.unwrap_or(1);
    (0..times).for_each(|_| changes::resource_updated(&uri));
    format!("told {times} times")
}

/// Tells that a list changed.
#[tool]
fn relist(what: String) -> Result<()> {
    changes::list_changed(match &*what {
        "tools" => ChangedList::Tools,
        "prompts" => ChangedList::Prompts,
        "resources" => ChangedList::Resources,
        _ => bail!("no such list"),
    });
    Ok(())
}

/// Tells that a resource changed, asks, and tells of another one.
#[tool]
fn touch_twice(call: &Call) -> Result<&'static str> {
    changes::resource_updated("house://rules");
    call.ask_form::<Pin>("pin", "Which pin?")?;
    changes::resource_updated("house://picture");
    Ok("told twice")
}

cofferdam_guest::export! {
    tools: [touch, relist, touch_twice],
    prompts: [greeting, forbidden, failing],
    resources: [rules, picture, room, paper],
    completion,
}
