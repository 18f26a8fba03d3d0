//! A database and nodes on it.

use cofferdam_postgres::Postgres;
use cofferdam_tests::{Client, Declares, Options, Server};

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
