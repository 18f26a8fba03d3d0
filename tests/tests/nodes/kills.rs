//! Nodes that are killed while they work, behind a balancer: clients see an error of the balancer now and
//! then, try again, and every task comes to the one end that it would have come to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cofferdam_nginx::Nginx;
use cofferdam_tests::{
    Answer, Call, Client, Declares, Event, FINAL, Options, Server, accept, bare, patient,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cluster::Cluster;

const ROUNDS: usize = 100;
const NODES: usize = 3;
/// How long a node may be silent, milliseconds.
const LEASE: u64 = 1_000;
/// The longest time into a round at which a node is killed, milliseconds.
const LATEST: u64 = 700;

/// What clients met.
#[derive(Default)]
struct Met {
    /// Answers of the balancer in a node's place.
    refused: AtomicUsize,
    /// Streams that broke off.
    broken: AtomicUsize,
}

/// A client behind the balancer, which tries again what a node did not live to answer.
#[derive(Clone)]
struct Caller {
    client: Client,
    met: Arc<Met>,
}

/// A task's end, as its caller saw it.
struct Ended {
    id: String,
    state: Value,
}

impl Caller {
    async fn ask(&self, call: Call) -> Answer {
        patient("an answer of a node", async {
            loop {
                let message = call.message().clone();
                let response = call.clone().send().await;
                if !matches!(response.status, 502 | 504) {
                    return Answer::read(&message, response).await;
                }
                self.met.refused.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// A call that became a task whose id came to us.
    async fn task(&self, tool: &str, arguments: Value) -> String {
        let created = self.ask(self.client.tool(tool, arguments)).await;
        let id = created.result()["taskId"].as_str();
        id.unwrap_or_else(|| panic!("no task: {created:?}"))
            .to_owned()
    }

    async fn about(&self, method: &str, params: Value) -> Value {
        self.ask(self.client.request(method, params))
            .await
            .result()
            .clone()
    }

    async fn get(&self, id: &str) -> Value {
        self.about("tasks/get", json!({"taskId": id})).await
    }

    async fn answer(&self, id: &str, key: &str) {
        let answer = json!({key: accept(key)});
        let params = json!({"taskId": id, "inputResponses": answer});
        self.about("tasks/update", params).await;
    }

    /// Polls until something is so, or the task has ended. What was answered is never asked again.
    async fn when(&self, id: &str, answered: &[&str], so: impl Fn(&Value) -> bool) -> Value {
        patient("a task to go on", async {
            loop {
                let state = self.get(id).await;
                for key in answered {
                    let asked = &state["inputRequests"][key];
                    assert!(asked.is_null(), "{key} is asked twice: {state}");
                }
                if so(&state) || is_final(&state) {
                    return state;
                }
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        })
        .await
    }

    async fn end(&self, id: String, answered: &[&str]) -> Ended {
        let state = self.when(&id, answered, |_| false).await;
        Ended { id, state }
    }

    /// Two questions, one after the other.
    async fn questions(self) -> Ended {
        let call = json!({"keys": ["x"], "again": ["y"]});
        let id = self.task("ask", call).await;
        let listener = tokio::spawn(self.clone().listen(id.clone()));
        let asks = |key: &'static str| move |state: &Value| !state["inputRequests"][key].is_null();
        self.when(&id, &[], asks("x")).await;
        self.answer(&id, "x").await;
        self.when(&id, &["x"], asks("y")).await;
        self.answer(&id, "y").await;
        let ended = self.end(id, &["x", "y"]).await;
        let told = &ended.state["result"]["structuredContent"];
        assert_eq!(
            told,
            &json!({"x": accept("x"), "y": accept("y")}),
            "{}",
            ended.state
        );
        let heard = patient("a listener to hear the end", listener).await;
        assert_eq!(heard.expect("a listener"), bare(&ended.state));
        ended
    }

    /// Hears the end of a task, on as many streams as it takes.
    async fn listen(self, id: String) -> Value {
        let filter = json!({"notifications": {"taskIds": [id]}});
        loop {
            let call = self.client.request("subscriptions/listen", filter.clone());
            let response = call.send().await;
            if response.status != 200 {
                self.met.refused.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            let mut events = response.events();
            while let Some(event) = events.next().await {
                match event {
                    Event::Message(message) if is_final(&message["params"]) => {
                        return bare(&message["params"]);
                    }
                    Event::Message(_) | Event::Comment(_) => {}
                    Event::Broken => break,
                }
            }
            self.met.broken.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sleeps that are parked.
    async fn steps(self) -> Ended {
        let id = self.task("steps", json!({"number": 4, "pause": 150})).await;
        let ended = self.end(id, &[]).await;
        assert_eq!(text(&ended.state), "done", "{}", ended.state);
        ended
    }

    /// A question after something was recorded.
    async fn kept(self) -> Ended {
        let id = self
            .task("ask", json!({"keys": ["k"], "kept": 1_000}))
            .await;
        let asks = |state: &Value| !state["inputRequests"]["k"].is_null();
        self.when(&id, &[], asks).await;
        self.answer(&id, "k").await;
        let ended = self.end(id, &["k"]).await;
        let told = &ended.state["result"]["structuredContent"];
        assert_eq!(told, &json!({"k": accept("k")}), "{}", ended.state);
        ended
    }

    /// A loop.
    async fn work(self) -> Ended {
        let id = self.task("work", json!({"millions": 100})).await;
        let ended = self.end(id, &[]).await;
        assert_eq!(text(&ended.state), "4999999950000000", "{}", ended.state);
        ended
    }

    /// One that is cancelled, by whichever node.
    async fn cancelled(self) -> Ended {
        let id = self.task("wait", json!({})).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        self.about("tasks/cancel", json!({"taskId": id})).await;
        let ended = self.end(id, &[]).await;
        assert_eq!(ended.state["status"], "cancelled");
        ended
    }
}

fn is_final(state: &Value) -> bool {
    FINAL.contains(&state["status"].as_str().unwrap_or_default())
}

fn text(state: &Value) -> &str {
    let text = state["result"]["content"][0]["text"].as_str();
    text.unwrap_or_default()
}

/// The node that holds most tasks; any, if none does.
fn busiest(cluster: &Cluster, nodes: &[Server]) -> usize {
    let most = "SELECT encode(node, 'hex') FROM tasks WHERE node IS NOT NULL
        GROUP BY node ORDER BY count(*) DESC LIMIT 1";
    let most = cluster.sql(most);
    let names = nodes.iter().map(|node| {
        let name = std::fs::read(node.data().join("node")).expect("a node's name");
        name.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    });
    let place = names.into_iter().position(|name| name == most);
    place.unwrap_or_else(|| rand::random_range(0..nodes.len()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_killed_nodes_cost_no_task_and_no_answer() {
    let begun = Instant::now();
    let cluster = Cluster::new().lease(LEASE);
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        let port = cofferdam_guard::free_port();
        let options = Options::probe()
            .listen(&format!("127.0.0.1:{port}"))
            .set("tasks.park-after-ms", 100)
            .log("warn");
        nodes.push(cluster.start(options).await);
    }
    let addresses: Vec<_> = nodes.iter().map(Server::address).collect();
    let nginx = Nginx::start(&addresses);
    let caller = Caller {
        client: Client::new(nginx.address()).declaring(Declares::TasksAndForms),
        met: Arc::default(),
    };
    let (mut all, mut slowest, mut held) = (Vec::new(), Duration::ZERO, 0);
    for round in 0..ROUNDS {
        let mut tasks = JoinSet::new();
        tasks.spawn(caller.clone().questions());
        tasks.spawn(caller.clone().questions());
        tasks.spawn(caller.clone().steps());
        tasks.spawn(caller.clone().kept());
        tasks.spawn(caller.clone().work());
        tasks.spawn(caller.clone().cancelled());
        let moment = rand::random_range(0..LATEST);
        tokio::time::sleep(Duration::from_millis(moment)).await;
        let victim = busiest(&cluster, &nodes);
        nodes[victim].kill();
        held += cluster
            .sql("SELECT count(*) FROM tasks WHERE node IS NOT NULL")
            .parse::<usize>()
            .expect("a number");
        let killed = Instant::now();
        // Every other node comes back at once; else the others have all to do.
        let comes_back = round % 2 == 0;
        if comes_back {
            let node = nodes.remove(victim).restart().await;
            nodes.insert(victim, node);
        }
        all.extend(tasks.join_all().await);
        slowest = slowest.max(killed.elapsed());
        if !comes_back {
            let node = nodes.remove(victim).restart().await;
            nodes.insert(victim, node);
        }
    }
    // Whichever node is asked, much later: each has the end that was seen first.
    for node in &nodes {
        let client = Client::new(node.address()).declaring(Declares::TasksAndForms);
        for ended in &all {
            let now = client.task_get(&ended.id).await;
            assert_eq!(bare(now.result()), bare(&ended.state));
        }
    }
    let replayed = "SELECT count(*) FROM tasks
        WHERE is_final AND (head::json ->> 'lease')::int > 0";
    println!(
        "{ROUNDS} kills of the busiest of {NODES} nodes, {} tasks, {held} of them held when a node died: \
         each ended once, with its result, in {:?}; {} had further runs; {} requests and {} streams had to \
         be tried again; all tasks of a round ended within {slowest:?} of its kill, with a lease of \
         {LEASE} ms",
        all.len(),
        begun.elapsed(),
        cluster.sql(replayed),
        caller.met.refused.load(Ordering::Relaxed),
        caller.met.broken.load(Ordering::Relaxed),
    );
}
