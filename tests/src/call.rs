//! One JSON-RPC request over HTTP, right unless the test bends it: the headers are made from the
//! message when the call is made, so what is changed afterwards on either side no longer agrees.

use std::net::SocketAddr;

use hyper::header::HeaderMap;
use serde_json::{Map, Value, json};

use crate::{Kind, META, Request, Response, check};

/// A request that is still to be sent.
#[derive(Clone)]
pub struct Call {
    address: SocketAddr,
    message: Value,
    http: Request,
}

impl Call {
    pub(crate) fn new(
        address: SocketAddr,
        id: Value,
        method: &str,
        params: Map<String, Value>,
    ) -> Self {
        let named = match method {
            "tools/call" | "prompts/get" => params.get("name"),
            "resources/read" => params.get("uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params.get("taskId"),
            _ => None,
        };
        let mut http = Request::new("POST", "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", crate::VERSION)
            .header("Mcp-Method", method);
        if let Some(name) = named.and_then(Value::as_str) {
            http = http.header("Mcp-Name", name);
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        Self {
            address,
            message,
            http,
        }
    }

    /// A header in place of the right one.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.http = self.http.header(name, value);
        self
    }

    /// Without a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.http = self.http.without(name);
        self
    }

    /// Another request id.
    #[must_use]
    pub fn id(self, id: Value) -> Self {
        self.edit(|message| message["id"] = id)
    }

    /// A member of `params._meta`; a short name gets the protocol's prefix unless it is one of those
    /// that have none.
    #[must_use]
    pub fn meta(self, key: &str, value: Value) -> Self {
        let key = match key {
            "progressToken" | "traceparent" | "tracestate" => key.to_owned(),
            key => format!("{META}{key}"),
        };
        self.edit(|message| message["params"]["_meta"][key] = value)
    }

    /// A member of `params`.
    #[must_use]
    pub fn param(self, key: &str, value: Value) -> Self {
        self.edit(|message| message["params"][key] = value)
    }

    /// Changes the message, not the headers.
    #[must_use]
    pub fn edit(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.message);
        self
    }

    /// The message as it would be sent.
    pub fn message(&self) -> &Value {
        &self.message
    }

    /// The HTTP request as it would be sent.
    pub fn http(&self) -> Request {
        self.http.clone().body(self.message.to_string())
    }

    /// Sends it, and returns the response while its body arrives.
    pub async fn send(self) -> Response {
        self.http().send(self.address).await
    }

    /// Sends these bytes as the body instead of the message.
    pub async fn send_body(self, body: impl Into<bytes::Bytes>) -> Response {
        self.http.body(body).send(self.address).await
    }

    /// Sends it, and reads the whole answer.
    ///
    /// # Panics
    /// If the answer has not the shape that the protocol prescribes for it.
    pub async fn answer(self) -> Answer {
        let message = self.message.clone();
        let response = self.send().await;
        Answer::read(&message, response).await
    }
}

/// What came back for a [`Call`].
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// True if it came as a stream of events.
    pub streamed: bool,
    /// The notifications before the response.
    pub notifications: Vec<Value>,
    /// The JSON-RPC response.
    pub response: Value,
    request: Value,
}

impl Answer {
    /// Reads and checks the answer to `request`.
    ///
    /// # Panics
    /// If it has not the shape that the protocol prescribes.
    pub async fn read(request: &Value, response: Response) -> Self {
        let status = response.status;
        let headers = response.headers.clone();
        let streamed = response.header("content-type") == "text/event-stream";
        let mut messages = Vec::new();
        if streamed {
            assert_eq!(status, 200, "a stream of events is a success");
            let mut events = response.events();
            while let Some(message) = events.message().await {
                messages.push(message);
            }
        } else {
            messages.push(response.json().await);
        }
        let last = messages
            .pop()
            .unwrap_or_else(|| panic!("no answer to {request}"));
        let answer = Self {
            status,
            headers,
            streamed,
            notifications: messages,
            response: last,
            request: request.clone(),
        };
        answer.check();
        answer
    }

    /// The result.
    ///
    /// # Panics
    /// If it is an error.
    #[track_caller]
    pub fn result(&self) -> &Value {
        let result = self.response.get("result");
        let result =
            result.unwrap_or_else(|| panic!("{}\nwas answered\n{}", self.request, self.response));
        assert_eq!(self.status, 200);
        result
    }

    /// The error, which must have this status and code.
    ///
    /// # Panics
    /// If it is a result or another error.
    #[track_caller]
    pub fn error(&self, status: u16, code: i64) -> &Value {
        let error = self.response.get("error");
        let error =
            error.unwrap_or_else(|| panic!("{}\nwas answered\n{}", self.request, self.response));
        assert_eq!(
            (self.status, &error["code"]),
            (status, &json!(code)),
            "{}\nwas answered\n{error}",
            self.request
        );
        error
    }

    /// The text of the error, which must have this status and code.
    ///
    /// # Panics
    /// As [`Answer::error`].
    #[track_caller]
    pub fn message(&self, status: u16, code: i64) -> &str {
        self.error(status, code)["message"]
            .as_str()
            .expect("checked by the schema")
    }

    fn check(&self) {
        check(Kind::Response, &self.response);
        assert_eq!(
            self.response.get("id"),
            self.request.get("id"),
            "the answer echoes the request's id"
        );
        for notification in &self.notifications {
            check(Kind::CallNotification, notification);
        }
        if let Some(error) = self.response.get("error") {
            check(Kind::Error, error);
        }
        let Some(result) = self.response.get("result") else {
            return;
        };
        let method = self.request["method"].as_str().unwrap_or_default();
        let kind = match method {
            "server/discover" => Kind::Discover,
            "tools/list" => Kind::ToolList,
            "prompts/list" => Kind::PromptList,
            "prompts/get" => Kind::PromptResult,
            "resources/list" => Kind::ResourceList,
            "resources/templates/list" => Kind::TemplateList,
            "resources/read" => Kind::ReadResult,
            "completion/complete" => Kind::Completion,
            "tools/call" if result["resultType"] == "task" => Kind::CreateTask,
            "tools/call" => Kind::ToolResult,
            "tasks/get" => Kind::GetTask,
            "tasks/update" | "tasks/cancel" => Kind::Acknowledgement,
            _ => panic!("no result is defined for {method}, but: {result}"),
        };
        check(kind, result);
    }
}
