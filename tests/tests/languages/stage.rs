//! A server with one component, and what every scenario does with it.

use std::time::{Duration, Instant};

use cofferdam_tests::{
    Asked, Client, Config, Declares, Options, Server, Task, Upstream, guest_if_built,
};
use serde_json::{Value, json};

/// Calls whose times are taken.
const CALLS: usize = 20;

/// A server whose tasks are parked soon, with the component to be tried.
pub(crate) struct Stage {
    pub(crate) server: Server,
    /// What the component may reach.
    pub(crate) upstream: Upstream,
    /// Until the server listened, and until the first call was answered.
    first: (Duration, Duration),
    /// Of calls that do next to nothing, the median.
    warm: Duration,
    // The file must outlive the server.
    _config: Config,
}

impl Stage {
    /// None, and a line that tells so, if the component was not built.
    pub(crate) async fn set(component: &str) -> Option<Self> {
        let component = guest_if_built(component)?;
        let upstream = Upstream::start().await;
        // StarlingMonkey cannot do without HTTP; the others do not ask for it.
        let config = Config::new(&format!(
            "[[tools]]\npath = {component:?}\n[tools.grants.http]\nhosts = [\"http://{}\"]\n\
             private = [\"127.0.0.0/8\"]\n",
            upstream.address()
        ));
        let options = Options::default().config(&config.file());
        let options = options
            .set("tasks.park-after-ms", 50)
            .set("tasks.sweep-ms", 3_600_000)
            .log("info,cofferdam=trace,guest=trace");
        let begun = Instant::now();
        let server = Server::start(options).await;
        let started = begun.elapsed();
        let begun = Instant::now();
        server.client().result("add", json!({"a": 1, "b": 2})).await;
        let called = begun.elapsed();
        let mut calls = Vec::new();
        for _ in 0..CALLS {
            let begun = Instant::now();
            server.client().result("add", json!({"a": 1, "b": 2})).await;
            calls.push(begun.elapsed());
        }
        calls.sort_unstable();
        Some(Self {
            server,
            upstream,
            first: (started, called),
            warm: calls[CALLS / 2],
            _config: config,
        })
    }

    /// How long it took, for those who read the log.
    pub(crate) fn times(&self) -> String {
        let (started, called) = self.first;
        let warm = self.warm;
        format!("listening after {started:.0?}, first call {called:.1?}, then {warm:.1?}")
    }

    /// A client that knows tasks and can fill in forms.
    pub(crate) fn client(&self) -> Client {
        self.server.client().declaring(Declares::TasksAndForms)
    }

    /// Calls a tool that asks before it is a task.
    pub(crate) async fn asked(&self, tool: &str) -> Asked {
        self.client().asked(tool, json!({})).await
    }

    /// Makes a task of a tool.
    pub(crate) async fn task(&self, tool: &str, mut arguments: Value) -> Task {
        arguments["phase"] = json!("task");
        self.client().task(tool, arguments).await
    }
}
