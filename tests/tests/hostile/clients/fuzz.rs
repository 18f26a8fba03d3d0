//! Faults in every place of every request, alone and in combinations drawn from a seed.
//!
//! Invariant: whatever comes, the answer is well-formed HTTP with a status that is documented, a
//! well-formed JSON-RPC message in it, and the id of the request if that could be read. Nothing that a
//! client says is an internal error.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use cofferdam_tests::{Arena, Declares, Event, Kind, META, Request, Response, Task, accept, fits};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::mutate::{Base, Change, Random, changed};
use super::terms;

/// The seed, unless `HOSTILE_SEED` says another.
const SEED: u64 = 0x5eed;
/// Combinations that are drawn.
const DRAWN: usize = 1_500;
/// Time for one answer: only a hang reaches it.
const ANSWERED: Duration = Duration::from_secs(20);
/// Faults that are told of; the others are counted.
const TOLD: usize = 25;

/// What came for one request: a name for the table of counts, and what is wrong with it.
struct Verdict {
    came: String,
    fault: Option<String>,
}

/// Valid requests for all methods.
async fn bases(arena: &Arena) -> Vec<Base> {
    let client = arena.mallory(Declares::Everything);
    let full = |call: cofferdam_tests::Call| {
        call.meta("progressToken", json!("t"))
            .meta("logLevel", json!("error"))
    };
    let open = || async {
        let task: Task = client.task("hostile.ask", json!({"keys": ["k"]})).await;
        task.until("input_required").await;
        task
    };
    let (read, updated, cancelled) = (open().await, open().await, open().await);
    let list = client.request("tools/list", json!({})).answer().await;
    let cursor = list.result()["nextCursor"].clone();
    let asked = client
        .asked("hostile.ask", json!({"keys": ["k"], "begin": "never"}))
        .await;
    let header = client
        .tool(
            "hostile.header",
            json!({"region": "eu", "priority": 4, "dry": true, "zone": {"number": 7}}),
        )
        .header("Mcp-Param-Region", "eu")
        .header("Mcp-Param-Priority", "4")
        .header("Mcp-Param-Dry", "true")
        .header("Mcp-Param-Zone", "7");
    let strict = json!({"word": "abc", "number": 5, "list": [true, false]});
    let filter = json!({"toolsListChanged": true, "promptsListChanged": false,
                        "taskIds": [read.id(), cancelled.id()]});
    let id = |task: &Task| json!({"taskId": task.id()});
    let named: &[&str] = &["Mcp-Name"];
    vec![
        Base::new(
            "discover",
            &full(client.request("server/discover", json!({}))),
            &[],
        ),
        Base::new(
            "list",
            &full(client.request("tools/list", json!({"cursor": cursor}))),
            &[],
        ),
        Base::new("call", &full(client.tool("hostile.strict", strict)), named),
        Base::new(
            "call with headers",
            &header,
            &[
                "Mcp-Name",
                "Mcp-Param-Region",
                "Mcp-Param-Priority",
                "Mcp-Param-Dry",
                "Mcp-Param-Zone",
            ],
        ),
        Base::new("call again", &asked.call(json!({"k": accept("x")})), named),
        Base::new("get", &full(client.request("tasks/get", id(&read))), named),
        Base::new(
            "update",
            &client.request(
                "tasks/update",
                json!({"taskId": updated.id(), "inputResponses": {"k": accept("x")}}),
            ),
            named,
        ),
        Base::new(
            "cancel",
            &client.request("tasks/cancel", id(&cancelled)),
            named,
        ),
        Base::new(
            "listen",
            &full(client.request("subscriptions/listen", json!({"notifications": filter}))),
            &[],
        ),
    ]
}

async fn arena() -> Arena {
    Arena::start(terms().set("server.page-size", 5)).await
}

#[tokio::test]
async fn a_fault_in_any_place_is_answered_in_words_that_name_it() {
    let arena = arena().await;
    let bases = bases(&arena).await;
    let mut tally = Tally::default();
    let attack = async {
        for base in &bases {
            let valid = send(&arena, base, &[]).await;
            let (came, fault) = (valid.came, valid.fault);
            assert!(
                came.ends_with("200 result") && fault.is_none(),
                "{}: {came} {fault:?}",
                base.name
            );
            for change in base.changes() {
                let verdict = send(&arena, base, std::slice::from_ref(&change)).await;
                tally.add(base, &[change], verdict);
            }
        }
    };
    arena.under("faults alone", attack).await;
    tally.conclude(&arena);
}

#[tokio::test]
async fn combined_faults_are_answered_too() {
    let arena = arena().await;
    let bases = bases(&arena).await;
    let seed = std::env::var("HOSTILE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(SEED);
    println!("seed: HOSTILE_SEED={seed}");
    let mut random = Random(seed);
    let changes: Vec<Vec<Change>> = bases.iter().map(Base::changes).collect();
    let pairs: Vec<(&Base, &Vec<Change>)> = bases.iter().zip(&changes).collect();
    let mut tally = Tally::default();
    let attack = async {
        for _ in 0..DRAWN {
            let (base, changes) = *random.pick(&pairs);
            let count = *random.pick(&[2, 3]);
            let drawn: Vec<Change> = (0..count).map(|_| random.pick(changes).clone()).collect();
            let verdict = send(&arena, base, &drawn).await;
            tally.add(base, &drawn, verdict);
        }
    };
    arena.under("combined faults", attack).await;
    tally.conclude(&arena);
}

/// What came, counted, and what was wrong with it.
#[derive(Default)]
struct Tally {
    sent: usize,
    came: BTreeMap<String, usize>,
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, base: &Base, changes: &[Change], verdict: Verdict) {
        self.sent += 1;
        *self.came.entry(verdict.came).or_default() += 1;
        if let Some(fault) = verdict.fault {
            let changes: Vec<String> = changes.iter().map(Change::describe).collect();
            self.faults.push(format!(
                "{} with {}: {fault}",
                base.name,
                changes.join(" and ")
            ));
        }
    }

    fn conclude(self, arena: &Arena) {
        println!("{} requests: {:?}", self.sent, self.came);
        let text = arena.server().log().text();
        let mut faults = self.faults;
        let panics = text.lines().filter(|line| line.contains("panicked at"));
        faults.splice(0..0, panics.map(str::to_owned));
        let count = faults.len();
        faults.truncate(TOLD);
        assert!(
            count == 0,
            "{count} wrong answers or panics, among them\n{}",
            faults.join("\n")
        );
    }
}

/// Sends a base with changes, and judges the answer.
async fn send(arena: &Arena, base: &Base, changes: &[Change]) -> Verdict {
    let (request, body) = changed(base, changes);
    let what: Vec<String> = changes.iter().map(Change::describe).collect();
    let what = format!("{} with {}", base.name, what.join(" and "));
    let exchange = exchange(request, arena.server().address(), &body, changes);
    match tokio::time::timeout(ANSWERED, exchange).await {
        Ok(verdict) => verdict,
        Err(_) => panic!("no answer in {ANSWERED:?} to {what}"),
    }
}

async fn exchange(
    request: Request,
    address: std::net::SocketAddr,
    body: &str,
    changes: &[Change],
) -> Verdict {
    // It panics if there is no answer; that is a fault like others.
    let Ok(response) = tokio::spawn(request.send(address)).await else {
        return wrong(0, "nothing", "closed without an answer".to_owned());
    };
    let status = response.status;
    let kind = response.header("content-type").to_owned();
    let (kind, message) = match &*kind {
        "text/event-stream" => match last_event(response).await {
            Ok(message) => ("stream", message),
            Err(fault) => return wrong(status, "stream", fault),
        },
        "application/json" => (
            "json",
            String::from_utf8_lossy(&response.bytes().await).into_owned(),
        ),
        _ => {
            let length = response.bytes().await.len();
            let right = status == 202 && length == 0 && id_of(body).is_none();
            let fault = (!right).then(|| format!("no message, but {length} bytes of {kind:?}"));
            let came = format!("{status} nothing");
            return Verdict { came, fault };
        }
    };
    let Ok(members) = serde_json::from_str::<HashMap<String, Box<RawValue>>>(&message) else {
        return wrong(status, kind, format!("no object: {message:.300}"));
    };
    let Ok(value) = serde_json::from_str::<Value>(&message) else {
        return wrong(
            status,
            kind,
            format!("nobody can read this JSON: {message:.300}"),
        );
    };
    if kind == "stream" && value["method"] == "notifications/subscriptions/acknowledged" {
        let named = &value["params"]["_meta"][format!("{META}subscriptionId")];
        let right = fits(Kind::ListenAcknowledgement, &value)
            && id_of(body).is_some_and(|id| serde_json::from_str(&id).ok().as_ref() == Some(named));
        let fault = (!right).then(|| format!("acknowledged by {message:.300}"));
        let came = "200 result".to_owned();
        return Verdict { came, fault };
    }
    let code = value["error"]["code"].as_i64();
    let came = match code {
        Some(code) => format!("{status} {code}"),
        None => format!("{status} result"),
    };
    let told = members.get("id").map(|id| id.get());
    let sent = id_of(body);
    let said = value["error"]["message"].as_str().unwrap_or_default();
    let two_hosts = status == 400 && said.contains("Host");
    let fault = if !fits(Kind::Response, &value) {
        Some("not the shape of a response".to_owned())
    } else if value
        .get("error")
        .is_some_and(|error| !fits(Kind::Error, error))
    {
        Some("not the shape of an error".to_owned())
    } else if !(documented(status, code) || kind == "stream") {
        Some("not a documented pair of status and code".to_owned())
    } else if told.is_none() && needs_id(status, code, two_hosts, sent.as_deref()) {
        Some("the id is missing".to_owned())
    } else if told.is_some() && told != sent.as_deref() {
        Some(format!("another id than {sent:?}"))
    } else {
        unnamed(changes, value["error"]["message"].as_str())
    };
    let fault = fault.map(|fault| format!("{fault}: {came}: {message:.300}"));
    Verdict { came, fault }
}

fn wrong(status: u16, kind: &str, fault: String) -> Verdict {
    let came = format!("{status} {kind} malformed");
    let fault = Some(fault);
    Verdict { came, fault }
}

/// The last message of a stream, or the acknowledgement of one without end.
async fn last_event(response: Response) -> Result<String, String> {
    let mut events = response.events();
    let mut last = None;
    while let Some(event) = events.next().await {
        match event {
            Event::Message(message) => {
                let listens = message["method"] == "notifications/subscriptions/acknowledged";
                last = Some(message.to_string());
                if listens {
                    break;
                }
            }
            Event::Comment(_) => {}
            Event::Broken => return Err("the stream broke off".to_owned()),
        }
    }
    last.ok_or_else(|| "an empty stream".to_owned())
}

/// The id in a body, to the letter, if it can be read and is one.
fn id_of(body: &str) -> Option<String> {
    let members: HashMap<String, Box<RawValue>> = serde_json::from_str(body).ok()?;
    let id = members.get("id")?.get();
    let text = id.starts_with('"') && serde_json::from_str::<String>(id).is_ok();
    let digits = id.strip_prefix('-').unwrap_or(id);
    let number = digits.bytes().all(|byte| byte.is_ascii_digit());
    (text || number).then(|| id.to_owned())
}

/// The statuses and codes of README and specification. None of them is the server's own failure.
fn documented(status: u16, code: Option<i64>) -> bool {
    match code {
        None | Some(-32602) if status == 200 => true,
        Some(-32602 | -32020 | -32021 | -32022 | -32700 | -32600) if status == 400 => true,
        Some(-32601) => status == 404,
        Some(-32600) => matches!(status, 401 | 403 | 406 | 415),
        _ => false,
    }
}

/// True unless the request was refused before its id was read, or has none.
fn needs_id(status: u16, code: Option<i64>, two_hosts: bool, sent: Option<&str>) -> bool {
    let before = matches!(status, 401 | 403 | 406 | 415) || code == Some(-32700);
    !before && !two_hosts && sent.is_some()
}

/// A single fault that is refused must be named: by its member or one around it, or by its header.
fn unnamed(changes: &[Change], message: Option<&str>) -> Option<String> {
    let ([change], Some(message)) = (changes, message) else {
        return None;
    };
    let lower = message.to_ascii_lowercase();
    let names: Vec<String> = match change {
        Change::Put(path, text) if text.starts_with("[[") && !path.is_empty() => {
            vec!["deeper than 64".to_owned()]
        }
        Change::Put(path, _) | Change::Delete(path) => names_of(path),
        // Refused only where what may be there is said by somebody, such as a form.
        Change::Add(_) => vec!["com.example/unknown".to_owned()],
        Change::Header("Authorization", _)
        | Change::MoreHeader("Authorization", _)
        | Change::NoHeader("Authorization") => vec!["token".to_owned()],
        Change::Header(name, _) | Change::MoreHeader(name, _) | Change::NoHeader(name) => {
            vec![name.to_ascii_lowercase()]
        }
    };
    let named = names.iter().any(|name| lower.contains(name));
    (!named).then(|| format!("the words name none of {names:?}"))
}

/// What may be named for a fault at a path: a member on it, or what repeats it in the head.
fn names_of(path: &[String]) -> Vec<String> {
    let mut names: Vec<String> = path
        .iter()
        .skip(1)
        .map(|step| step.to_ascii_lowercase())
        .collect();
    match path.first().map(String::as_str) {
        None => names.extend(["json-rpc object", "jsonrpc"].map(str::to_owned)),
        Some("params") if path.len() == 1 => names.push("params".to_owned()),
        Some("params") => {}
        Some(member) => names.push(member.to_owned()),
    }
    let repeated = [
        ("method", "mcp-method"),
        (
            "io.modelcontextprotocol/protocolversion",
            "mcp-protocol-version",
        ),
        ("name", "mcp-name"),
        ("name", "unknown tool"),
        ("taskid", "mcp-name"),
        ("region", "mcp-param-region"),
        ("priority", "mcp-param-priority"),
        ("dry", "mcp-param-dry"),
        ("number", "mcp-param-zone"),
        ("zone", "mcp-param-zone"),
        // A state is for the arguments that it was given for.
        ("arguments", "requeststate"),
        (
            "io.modelcontextprotocol/clientcapabilities",
            "client capability",
        ),
    ];
    for (member, header) in repeated {
        if names.iter().any(|name| name == member) {
            names.push(header.to_owned());
        }
    }
    names
}
