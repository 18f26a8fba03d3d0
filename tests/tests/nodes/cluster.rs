//! A database and nodes on it.

use cofferdam_postgres::Postgres;
use cofferdam_tests::{Client, Declares, Options, Server, Task, accept};
use serde_json::json;

/// A database that nodes can be started on.
pub(crate) struct Cluster {
    pub(crate) database: Postgres,
    url: String,
    /// How long a node may be silent, milliseconds.
    lease: u64,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self::of(Postgres::start())
    }

    pub(crate) fn of(database: Postgres) -> Self {
        let url = database.database();
        Self {
            database,
            url,
            lease: 15_000,
        }
    }

    /// The same with another lease.
    pub(crate) fn lease(self, lease: u64) -> Self {
        Self { lease, ..self }
    }

    /// What makes a server a node of it.
    pub(crate) fn options(&self, options: Options) -> Options {
        options.store(&self.url).set("tasks.lease-ms", self.lease)
    }

    /// A node, with what else is said of it.
    pub(crate) async fn start(&self, options: Options) -> Server {
        Server::start(self.options(options)).await
    }

    /// A node with the tools of the tests.
    pub(crate) async fn node(&self) -> Server {
        self.start(Options::probe()).await
    }

    /// What a query on the database gives.
    pub(crate) fn sql(&self, query: &str) -> String {
        self.database.sql("tasks0", query)
    }
}

/// A client of a node.
pub(crate) fn client(node: &Server) -> Client {
    node.client().declaring(Declares::TasksAndForms)
}

/// A task of a node that asks `x`.
pub(crate) async fn asking(node: &Server) -> Task {
    let task = client(node).task("ask", json!({"keys": ["x"]})).await;
    task.until("input_required").await;
    task
}

/// Answers it at a node, and sees there that it ends with that.
pub(crate) async fn answer(task: &Task, node: &Server, value: &str) {
    let task = task.through(&client(node));
    task.until("input_required").await;
    task.update(json!({"x": accept(value)})).await;
    let end = task.until("completed").await;
    assert_eq!(end["result"]["structuredContent"]["x"], accept(value));
}

/// A task that runs on a node for some seconds, step by step.
pub(crate) async fn stepping(node: &Server) -> Task {
    let slow = json!({"number": 3, "pause": 1_000});
    let task = client(node).task("steps", slow).await;
    node.until_running(1, 1).await;
    task
}

/// Sees at a node that its steps come to their end.
pub(crate) async fn arrives(task: &Task, node: &Server) {
    let end = task.through(&client(node)).until("completed").await;
    assert_eq!(end["result"]["content"][0]["text"], "done");
}
