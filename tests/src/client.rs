//! A client of the modern revision: it declares its capabilities with each request, as the
//! protocol wants it, and keeps nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Map, Value, json};

use crate::{Answer, Asked, Call, Listen, Task};

/// The revision that the tests speak.
pub const VERSION: &str = "2026-07-28";
/// The prefix of the protocol's own `_meta` keys.
pub const META: &str = "io.modelcontextprotocol/";
/// The extension's name.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What a client declares that it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declares {
    /// Nothing at all.
    Nothing,
    /// The Tasks extension.
    Tasks,
    /// The Tasks extension, and forms to be filled.
    TasksAndForms,
    /// Everything that the server may ever ask for.
    Everything,
}

impl Declares {
    /// The `clientCapabilities` object.
    pub fn json(self) -> Value {
        match self {
            Self::Nothing => json!({}),
            Self::Tasks => json!({"extensions": {TASKS: {}}}),
            Self::TasksAndForms => json!({"elicitation": {"form": {}}, "extensions": {TASKS: {}}}),
            Self::Everything => json!({
                "elicitation": {"form": {}, "url": {}},
                "sampling": {"tools": {}},
                "roots": {},
                "extensions": {TASKS: {}},
            }),
        }
    }
}

/// A client of one server. Clones share the counter of request ids.
#[derive(Clone)]
pub struct Client {
    pub(crate) address: SocketAddr,
    capabilities: Value,
    token: Option<String>,
    ids: Arc<AtomicI64>,
}

impl Client {
    /// A client of whatever listens there, that declares nothing.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            capabilities: Declares::Nothing.json(),
            token: None,
            ids: Arc::new(AtomicI64::new(1)),
        }
    }

    /// The same client with other capabilities.
    #[must_use]
    pub fn declaring(&self, capabilities: Declares) -> Self {
        self.declaring_json(capabilities.json())
    }

    /// The same client with capabilities as they stand, right or wrong.
    #[must_use]
    pub fn declaring_json(&self, capabilities: Value) -> Self {
        Self {
            capabilities,
            ..self.clone()
        }
    }

    /// The same client with an access token.
    #[must_use]
    pub fn bearing(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    /// A request, ready to be changed and sent.
    pub fn request(&self, method: &str, params: Value) -> Call {
        let Value::Object(mut params) = params else {
            panic!("params are an object, not {params}")
        };
        let mut meta = Map::new();
        meta.insert(format!("{META}protocolVersion"), json!(VERSION));
        meta.insert(
            format!("{META}clientInfo"),
            json!({"name": "cofferdam-tests", "version": "0"}),
        );
        meta.insert(
            format!("{META}clientCapabilities"),
            self.capabilities.clone(),
        );
        params.insert("_meta".to_owned(), Value::Object(meta));
        let id = json!(self.ids.fetch_add(1, Ordering::Relaxed));
        let call = Call::new(self.address, id, method, params);
        match &self.token {
            Some(token) => call.header("Authorization", format!("Bearer {token}")),
            None => call,
        }
    }

    /// A `tools/call`, ready to be changed and sent.
    pub fn tool(&self, name: &str, arguments: Value) -> Call {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Calls a tool and waits for the answer, whatever it is.
    pub async fn call(&self, name: &str, arguments: Value) -> Answer {
        self.tool(name, arguments).answer().await
    }

    /// Calls a tool that answers at once, and returns its result.
    ///
    /// # Panics
    /// If the answer is an error or a task.
    pub async fn result(&self, name: &str, arguments: Value) -> Value {
        let answer = self.call(name, arguments).await;
        let result = answer.result();
        assert_eq!(result["resultType"], "complete", "{result}");
        result.clone()
    }

    /// Calls a tool that becomes a task.
    ///
    /// # Panics
    /// If it does not.
    pub async fn task(&self, name: &str, arguments: Value) -> Task {
        let answer = self.call(name, arguments).await;
        Task::created(self.clone(), answer.result())
    }

    /// Calls a tool that asks before anything else comes of it.
    ///
    /// # Panics
    /// If it does not.
    pub async fn asked(&self, name: &str, arguments: Value) -> Asked {
        let answer = self.call(name, arguments.clone()).await;
        Asked::of(self, name, arguments, answer.result())
    }

    /// `tasks/get`.
    pub async fn task_get(&self, id: &str) -> Answer {
        self.request("tasks/get", json!({"taskId": id}))
            .answer()
            .await
    }

    /// `tasks/update`.
    pub async fn task_update(&self, id: &str, responses: Value) -> Answer {
        let params = json!({"taskId": id, "inputResponses": responses});
        self.request("tasks/update", params).answer().await
    }

    /// `tasks/cancel`.
    pub async fn task_cancel(&self, id: &str) -> Answer {
        self.request("tasks/cancel", json!({"taskId": id}))
            .answer()
            .await
    }

    /// `subscriptions/listen` with this filter, until the acknowledgement is there.
    ///
    /// # Panics
    /// If the server does not begin with one.
    pub async fn listen(&self, filter: Value) -> Listen {
        Listen::open(self.request("subscriptions/listen", json!({"notifications": filter}))).await
    }

    /// Listens to these tasks.
    ///
    /// # Panics
    /// As [`Client::listen`].
    pub async fn listen_to(&self, tasks: &[&Task]) -> Listen {
        let ids: Vec<&str> = tasks.iter().map(|task| task.id()).collect();
        self.listen(json!({"taskIds": ids})).await
    }
}
