//! The server in another program, with that program's own store, notifiers, callers and grants.

#![allow(
    clippy::unwrap_used,
    reason = "a test that meets the unexpected should fail"
)]

use async_trait::async_trait;
use cofferdam::auth::{Authenticator, HeaderMap, Identity, Refused};
use cofferdam::builder::{RunningServer, ServerBuilder};
use cofferdam::grants::{Candidate, Grants};
use cofferdam::store::{MemoryStore, Store, StoreOptions};
use cofferdam::task::{Notifier, Principal, Task, TaskId};
use cofferdam::transport::HttpTransport;
use cofferdam::webhook::{SigningSecret, Webhook, WebhookOptions};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tempfile::TempDir;

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn probe() -> PathBuf {
    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests/probe.wasm");
    assert!(probe.is_file(), "run `cargo xtask guests` first");
    probe
}

/// A server that another program runs, and where it listens.
struct Embedded {
    running: RunningServer,
    url: String,
    served: tokio::task::JoinHandle<()>,
    _data: TempDir,
}

impl Embedded {
    async fn start(change: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Self {
        let data = tempfile::tempdir().unwrap();
        let builder = ServerBuilder::serving([probe()], data.path()).unwrap();
        let ready = change(builder).build().await.unwrap();
        let running = ready.run().await.unwrap();
        let http = HttpTransport::bind("127.0.0.1:0").await.unwrap();
        let url = http.url();
        let served = tokio::spawn(http.serve(Arc::clone(running.server())));
        Self {
            running,
            url,
            served,
            _data: data,
        }
    }

    /// The status and the body of a request.
    async fn send(&self, method: &str, mut params: Value, user: Option<&str>) -> (u16, Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {
                "elicitation": {},
                "extensions": { "io.modelcontextprotocol/tasks": {} },
            },
        });
        let name = params.get("name").or_else(|| params.get("taskId"));
        let name = name.and_then(Value::as_str).map(str::to_owned);
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (url, method) = (self.url.clone(), method.to_owned());
        let user = user.map(str::to_owned);
        let sent = tokio::task::spawn_blocking(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder()
                .http_status_as_error(false)
                .build()
                .into();
            let mut request = agent
                .post(&url)
                .header("content-type", "application/json")
                .header("accept", "application/json")
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", method);
            if let Some(name) = name {
                request = request.header("mcp-name", name);
            }
            if let Some(user) = user {
                request = request.header("x-user", user);
            }
            let mut response = request.send(body.to_string()).unwrap();
            let text = response.body_mut().read_to_string().unwrap();
            (
                response.status().as_u16(),
                serde_json::from_str(&text).unwrap(),
            )
        });
        sent.await.unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send("tools/call", params, None).await.1["result"].take()
    }

    async fn stop(self) {
        self.running.server().stopping().cancel();
        self.served.await.unwrap();
        self.running.stop().await;
    }
}

/// Keeps what it is told.
#[derive(Clone)]
struct Heard(mpsc::Sender<(TaskId, &'static str)>);

#[async_trait]
impl Notifier for Heard {
    async fn changed(&self, id: TaskId, task: &Task) {
        self.0.send((id, task.status.name())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_store_keeps_the_tasks_and_an_own_notifier_hears_of_each() {
    let store = Arc::new(MemoryStore::new(StoreOptions::default()));
    let (sender, heard) = mpsc::channel();
    let kept: Arc<dyn Store> = store.clone();
    let server = Embedded::start(|builder| builder.store(kept).notify(Heard(sender))).await;
    let created = server.call("finish", json!({})).await;
    let id = TaskId::parse(created["taskId"].as_str().unwrap()).unwrap();
    let mut states = Vec::new();
    while states.last() != Some(&"completed") {
        let (of, state) = heard.recv_timeout(PATIENCE).unwrap();
        assert_eq!(of, id);
        states.push(state);
    }
    assert!(store.get(id).await.unwrap().is_some());

    // One that waits for its client is told of, too; and that it was cancelled.
    let asked = server.call("ask", json!({ "keys": ["a"] })).await;
    let task = asked["taskId"].clone();
    let told = || heard.recv_timeout(PATIENCE).unwrap().1;
    while told() != "input_required" {}
    server
        .send("tasks/cancel", json!({ "taskId": task }), None)
        .await;
    while told() != "cancelled" {}
    server.stop().await;
}

/// Callers are who they say.
struct Named;

#[async_trait]
impl Authenticator for Named {
    async fn identify(&self, headers: &HeaderMap) -> Result<Identity, Refused> {
        let user = headers.get("x-user").and_then(|user| user.to_str().ok());
        Ok(Identity {
            principal: Principal {
                tenant: String::new(),
                subject: user.ok_or(Refused::Unauthorized)?.to_owned(),
            },
            in_scope: user != Some("guest"),
        })
    }

    fn challenge(&self, _: Refused) -> String {
        "Named realm=\"tests\"".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn own_callers_own_their_tasks() {
    let server = Embedded::start(|builder| builder.auth(Named)).await;
    let call = json!({ "name": "wait", "arguments": {} });
    assert_eq!(server.send("tools/call", call.clone(), None).await.0, 401);
    assert_eq!(
        server
            .send("tools/call", call.clone(), Some("guest"))
            .await
            .0,
        403
    );
    let (status, created) = server.send("tools/call", call, Some("ada")).await;
    assert_eq!(status, 200);
    let get = json!({ "taskId": created["result"]["taskId"] });
    let (_, hers) = server.send("tasks/get", get.clone(), Some("ada")).await;
    assert_eq!(hers["result"]["status"], "working");
    let (_, foreign) = server.send("tasks/get", get, Some("bob")).await;
    assert_eq!(foreign["error"]["code"], -32602);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_policy_sees_each_component_and_may_refuse_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let server = Embedded::start(|builder| {
        builder.grants(move |component: &Candidate<'_>| {
            assert_eq!(component.digest.len(), 64);
            log.lock().push(component.name.to_owned());
            Ok(Arc::new(Grants::default()))
        })
    })
    .await;
    assert!(
        seen.lock().iter().any(|name| name.contains("probe")),
        "{:?}",
        seen.lock()
    );
    server.stop().await;

    let data = tempfile::tempdir().unwrap();
    let builder = ServerBuilder::serving([probe()], data.path()).unwrap();
    let refused = builder.grants(|_: &Candidate<'_>| Err("not here".to_owned()));
    let error = refused.build().await.err().unwrap();
    assert!(error.to_string().contains("not here"), "{error}");
}

/// A receiver of webhooks that answers the first requests with these statuses, and then with 204.
fn receiver(statuses: Vec<u16>) -> (String, mpsc::Receiver<(Vec<String>, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        let mut statuses = statuses.into_iter();
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                match line.trim() {
                    "" => break,
                    line => head.push(line.to_ascii_lowercase()),
                }
            }
            let length = head
                .iter()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.unwrap().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            let status = statuses.next().unwrap_or(204);
            let answer =
                format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            if sender
                .send((head, serde_json::from_slice(&body).unwrap()))
                .is_err()
            {
                return;
            }
        }
    });
    (url, received)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_signed_and_tried_again_until_it_is_taken() {
    let (url, received) = receiver(vec![500]);
    let secret = SigningSecret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let events = vec![cofferdam::task::Status::Completed];
    let webhook = Webhook::new(WebhookOptions {
        url,
        secret,
        events,
    });
    let server = Embedded::start(|builder| builder.notify(webhook)).await;
    let created = server.call("finish", json!({})).await;
    let first = received.recv_timeout(PATIENCE).unwrap();
    let second = received.recv_timeout(PATIENCE).unwrap();
    let header = |(head, _): &(Vec<String>, Value), name: &str| {
        let line = head
            .iter()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name}: {head:?}"))
            .to_owned()
    };
    assert_eq!(header(&first, "webhook-id"), header(&second, "webhook-id"));
    assert!(header(&second, "webhook-signature").starts_with("v1,"));
    header(&second, "webhook-timestamp").parse::<u64>().unwrap();
    let (_, message) = &second;
    assert_eq!(message["type"], "task.completed");
    assert_eq!(message["data"]["taskId"], created["taskId"]);
    assert_eq!(message["data"]["tool"], "finish");
    // Nothing of what the task holds.
    assert!(message["data"].get("result").is_none() && message["data"].get("arguments").is_none());
    server.stop().await;
}
