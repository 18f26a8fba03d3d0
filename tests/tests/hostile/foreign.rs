//! What is another tenant's, by every path: for mallory it is not there, word for word.

use std::time::Instant;

use cofferdam_tests::{Arena, Call, Client, Declares, KeptAlive, Task, Terms, accept};
use serde_json::{Value, json};

/// Mallory has the same tools as the neighbour, under its own names.
fn alike() -> Terms {
    Terms {
        guests: vec!["hostile", "probe"],
        ..Terms::default()
    }
}

/// An id that no task has, of the same shape.
fn missing(id: &str) -> String {
    let first = if id.starts_with('A') { "B" } else { "A" };
    format!("{first}{}", &id[1..])
}

/// A task of the neighbour's that waits for an answer.
async fn waiting(neighbour: &Client) -> Task {
    let task = neighbour
        .task("neighbour.ask", json!({"keys": ["k"]}))
        .await;
    task.until("input_required").await;
    task
}

/// Status and body of an answer that is the same each time.
async fn told(call: Call) -> (u16, String) {
    let response = call.id(json!("same")).send().await;
    let status = response.status;
    let body = response.bytes().await;
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_foreign_tool_is_an_unknown_tool() {
    let arena = Arena::start(alike()).await;
    let mallory = arena.mallory(Declares::Everything);
    let attack = async {
        let list = mallory.request("tools/list", json!({})).answer().await;
        let tools = list.result()["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert!(tools.len() > 40, "{}", tools.len());
        for tool in tools {
            let name = tool["name"].as_str().unwrap_or_default();
            assert!(name.starts_with("hostile."), "{name}");
        }
        let arguments = json!({"text": "x"});
        for name in ["neighbour.echo", "neighbour.ask", "neighbour.required"] {
            let other = name.replace("neighbour", "n3ighbour");
            let foreign = told(mallory.tool(name, arguments.clone())).await;
            let unknown = told(mallory.tool(&other, arguments.clone())).await;
            assert_eq!(foreign.1.replace(name, &other), unknown.1);
            assert_eq!(foreign.0, unknown.0);
            assert!(unknown.1.contains("-32602"), "{}", unknown.1);
        }
        // Names that only look like one's own.
        for name in [
            "hostile.neighbour.echo",
            "hostile.../neighbour.echo",
            "neighbour.echo ",
        ] {
            let answer = mallory.call(name, arguments.clone()).await;
            assert!(
                answer.response.get("error").is_some(),
                "{}",
                answer.response
            );
        }
    };
    arena.under("tools of the neighbour", attack).await;
}

#[tokio::test]
async fn a_foreign_task_is_a_missing_task() {
    let arena = Arena::start(alike()).await;
    let mallory = arena.mallory(Declares::Everything);
    let neighbour = arena.neighbour(Declares::TasksAndForms);
    let theirs = waiting(&neighbour).await;
    let attack = async {
        let id = theirs.id();
        let update = |id: &str| json!({"taskId": id, "inputResponses": {"k": accept("mallory's")}});
        for round in 0..50 {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let params = |id: &str| match method {
                    "tasks/update" => update(id),
                    _ => json!({"taskId": id}),
                };
                let foreign = told(mallory.request(method, params(id))).await;
                let none = told(mallory.request(method, params(&missing(id)))).await;
                assert_eq!(foreign, none, "{method}, {round}");
                assert!(none.1.contains("-32602"), "{}", none.1);
            }
        }
        for id in [id.to_owned(), missing(id)] {
            let listen = mallory.listen(json!({"taskIds": [id]})).await;
            assert_eq!(listen.accepted(), &json!({"taskIds": []}));
            assert_eq!(listen.rest().await, Vec::<Value>::new());
        }
        // Beside a task of one's own, the foreign one is not heard of either.
        let own = mallory.task("hostile.ask", json!({"keys": ["k"]})).await;
        own.until("input_required").await;
        let listen = mallory.listen(json!({"taskIds": [id, own.id()]})).await;
        assert_eq!(listen.accepted(), &json!({"taskIds": [own.id()]}));
        assert_eq!(theirs.status().await, "input_required");
        theirs.update(json!({"k": accept("its own")})).await;
        let end = theirs.until("completed").await.to_string();
        assert!(end.contains("its own") && !end.contains("mallory"), "{end}");
        own.update(json!({"k": accept("x")})).await;
        for state in listen.rest().await {
            assert_eq!(state["taskId"], own.id());
        }
    };
    arena.under("a task of the neighbour", attack).await;
}

#[tokio::test]
async fn a_foreign_state_is_a_broken_state() {
    let arena = Arena::start(alike()).await;
    let mallory = arena.mallory(Declares::TasksAndForms);
    let neighbour = arena.neighbour(Declares::TasksAndForms);
    let arguments = json!({"keys": ["k"], "begin": "never"});
    let theirs = neighbour.asked("neighbour.ask", arguments.clone()).await;
    let own = mallory.asked("hostile.ask", arguments.clone()).await;
    let attack = async {
        let answers = || json!({"k": accept("mallory's")});
        // Of the same component, with the same arguments: only whose it is differs.
        let with = |state: &str| own.call(answers()).param("requestState", json!(state));
        let broken = told(with("broken")).await;
        assert!(broken.1.contains("-32602"), "{}", broken.1);
        assert_eq!(told(with(theirs.state())).await, broken);
        // Its first half with the other's second half, and one's own with a letter changed.
        let (head, tail) = (theirs.state(), own.state());
        let spliced = format!("{}{}", &head[..head.len() / 2], &tail[tail.len() / 2..]);
        assert_eq!(told(with(&spliced)).await, broken);
        for place in (0..tail.len()).step_by(7) {
            let mut bent = tail.to_owned();
            let other = if bent[place..].starts_with('A') {
                "B"
            } else {
                "A"
            };
            bent.replace_range(place..=place, other);
            assert_eq!(told(with(&bent)).await, broken, "{place}");
        }
        // And by the neighbour's own tool, which is unknown here.
        let unknown = theirs.through(&mallory).answer(answers()).await;
        unknown.error(200, -32602);
    };
    arena.under("a state of the neighbour", attack).await;
    let result = theirs.result(json!({"k": accept("its own")})).await;
    assert!(result.to_string().contains("its own"), "{result}");
    own.result(json!({"k": accept("mallory's")})).await;
}

/// Pairs of requests in the measurement.
const PAIRS: usize = 2_000;

// What it takes is printed: a difference that the network lets nobody see is none. What is said is
// asserted.
#[tokio::test]
async fn a_foreign_task_takes_no_longer_than_a_missing_one() {
    let arena = Arena::start(alike()).await;
    let mallory = arena.mallory(Declares::Tasks);
    let theirs = waiting(&arena.neighbour(Declares::TasksAndForms)).await;
    let ids = [theirs.id().to_owned(), missing(theirs.id())];
    let attack = async {
        let mut connection = KeptAlive::open(arena.server().address()).await;
        let mut times = [Vec::new(), Vec::new()];
        let mut words = None;
        for pair in 0..PAIRS {
            // In turn, so that what is before does not matter.
            for which in [pair % 2, 1 - pair % 2] {
                let call = mallory.request("tasks/get", json!({"taskId": ids[which]}));
                let request = call.id(json!("same")).http();
                let start = Instant::now();
                let answer = connection.send(request).await.expect("an answer");
                times[which].push(start.elapsed());
                assert_eq!(words.get_or_insert_with(|| answer.clone()), &answer);
            }
        }
        times
    };
    let [foreign, missing] = arena
        .under("guesses of ids", attack)
        .await
        .map(|mut times| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e6
        });
    println!(
        "hostile timing: tasks/get of a foreign id {foreign:.0} µs, of a missing one {missing:.0} µs, \
         difference {:.0} µs (medians of {PAIRS})",
        foreign - missing
    );
}
