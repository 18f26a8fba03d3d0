//! A client that begins with `initialize`.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};

use cofferdam_tests::{Events, Request, Response, Server};
use serde_json::{Value, json};

/// A session over HTTP.
pub(crate) struct Session {
    address: SocketAddr,
    /// `Mcp-Session-Id`.
    pub(crate) id: String,
    /// What the server answered to `initialize`.
    pub(crate) begun: Value,
    version: String,
    token: Option<String>,
    ids: AtomicI64,
}

impl Session {
    /// Begins one.
    pub(crate) async fn begin(server: &Server, version: &str, capabilities: Value) -> Self {
        Self::begin_at(server.address(), None, version, capabilities).await
    }

    /// The same, with an access token.
    pub(crate) async fn begin_at(
        address: SocketAddr,
        token: Option<&str>,
        version: &str,
        capabilities: Value,
    ) -> Self {
        let mut session = Self {
            address,
            id: String::new(),
            begun: Value::Null,
            version: String::new(),
            token: token.map(str::to_owned),
            ids: AtomicI64::new(1),
        };
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "tests", "version": "0"},
        });
        let response = session.send("initialize", params).await;
        session.id = response.header("mcp-session-id").to_owned();
        session.begun = response.json().await["result"].take();
        let agreed = &session.begun["protocolVersion"];
        session.version = agreed.as_str().expect("a version").to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&initialized).await.status, 202);
        session
    }

    /// The same session at another address.
    pub(crate) fn at(self, address: SocketAddr) -> Self {
        Self { address, ..self }
    }

    /// A request with the headers of the session.
    pub(crate) fn http(&self, method: &str) -> Request {
        let mut request = Request::new(method, "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        if !self.id.is_empty() {
            request = request.header("Mcp-Session-Id", &self.id);
        }
        // The first revision did not repeat it.
        if self.version.as_str() > "2025-03-26" {
            request = request.header("MCP-Protocol-Version", &self.version);
        }
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        request
    }

    /// Sends a message as it is.
    pub(crate) async fn post(&self, message: &Value) -> Response {
        let request = self.http("POST").body(message.to_string());
        request.send(self.address).await
    }

    /// The next request.
    pub(crate) fn message(&self, method: &str, params: Value) -> Value {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    /// Sends a request.
    pub(crate) async fn send(&self, method: &str, params: Value) -> Response {
        self.post(&self.message(method, params)).await
    }

    /// The response to a request, whole or at the end of a stream, and what was streamed before it.
    pub(crate) async fn response(&self, method: &str, params: Value) -> (Value, Vec<Value>) {
        let response = self.send(method, params).await;
        assert_eq!(response.status, 200);
        if response.header("content-type") == "application/json" {
            return (response.json().await, Vec::new());
        }
        let mut messages = all(response.events()).await;
        (messages.pop().expect("a response"), messages)
    }

    /// The result of a request.
    pub(crate) async fn result(&self, method: &str, params: Value) -> Value {
        let (mut response, _) = self.response(method, params).await;
        assert!(response.get("error").is_none(), "{response}");
        response["result"].take()
    }

    /// The error of a request.
    pub(crate) async fn error(&self, method: &str, params: Value) -> Value {
        let (mut response, _) = self.response(method, params).await;
        assert!(response.get("result").is_none(), "{response}");
        response["error"].take()
    }

    /// The result of a call.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.result("tools/call", params).await
    }

    /// Opens the stream of the session.
    pub(crate) async fn stream(&self) -> Response {
        let request = self.http("GET").without("Content-Type");
        let request = request.header("Accept", "text/event-stream");
        request.send(self.address).await
    }

    /// Answers a request of the server's.
    pub(crate) async fn answer(&self, request: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        assert_eq!(self.post(&answer).await.status, 202);
    }
}

async fn all(mut events: Events) -> Vec<Value> {
    let mut messages = Vec::new();
    while let Some(message) = events.message().await {
        messages.push(message);
    }
    messages
}
