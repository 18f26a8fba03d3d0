//! A server under attack: one tenant, `mallory`, does what it likes within its share, while another one,
//! `neighbour`, calls a tool of its own all the time and must not notice.
//!
//! Invariant: after each attack no call of the neighbour has failed, nothing of the attack runs any
//! more, the server answers, and its memory stayed within what the terms allow. How much slower the
//! neighbour became is printed; it depends on the machine, so it is never asserted. With
//! `COFFERDAM_ARENA=apart` the neighbour has a server process of its own, so what is printed is how
//! much of it the machine does by itself.

use std::env;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::memory::mib;
use crate::neighbour::{Neighbour, Seen};
use crate::{Client, Config, Declares, Identity, Memory, Options, Server, files};

/// Put before the names of mallory's tools.
const HOSTILE: &str = "hostile.";
/// The neighbour's tool.
const ECHO: &str = "neighbour.echo";

/// Calls of the neighbour before anything is measured.
const WARM_UP: u64 = 100;
/// Calls of the neighbour in the quiet window.
const QUIET: u64 = 500;
/// Fewest calls of the neighbour that are looked at for an attack: those after a short one count, too.
const LEAST: u64 = 50;

/// Most bytes that a call of a host function hands over (`HOST_CALL_BYTES`).
const HOST_CALL: u64 = 64 << 20;
/// A call's records, its questions and answers, and its journal, each at its limit, bytes.
const KEPT: u64 = (16 << 20) + (8 << 20) + (4 << 20);
/// What an instance's slot keeps for the next one, bytes.
const SLOT: u64 = 2 << 20;
/// Caches of the store and of the allocator, threads, connections: bytes.
const CACHES: u64 = 160 << 20;

/// What `COFFERDAM_ARENA` is set to for a neighbour with a server of its own.
const APART: &str = "apart";

/// How long memory may take to go back to the system: the allocator gives it back after a delay.
const RETURNED: Duration = Duration::from_secs(20);

/// One arena at a time: another one would slow down this one's neighbour.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What mallory may, and with which components.
#[derive(Clone)]
pub struct Terms {
    /// Components (`target/guests/NAME.wasm`) whose tools mallory sees, as `hostile.NAME`.
    pub guests: Vec<&'static str>,
    /// What they are granted, as `[tools.grants.…]` of the configuration.
    pub grants: String,
    /// Its `max-instances`.
    pub instances: u64,
    /// Its `max-waiting`.
    pub waiting: u64,
    /// Its `max-tasks`.
    pub tasks: u64,
    /// `sandbox.memory-bytes`.
    pub memory_bytes: u64,
    /// `sandbox.result-bytes`.
    pub result_bytes: u64,
    /// `sandbox.cpu-ms`.
    pub cpu_ms: u64,
    /// `sandbox.wall-ms`.
    pub wall_ms: u64,
    /// Most bytes that one of its tools hands over at once, up to `HOST_CALL_BYTES`.
    pub handed_over: u64,
    /// Bytes the server may hold for what mallory does without an instance (bodies, streams).
    pub elsewhere: u64,
    /// Other settings.
    pub settings: Vec<(&'static str, String)>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            guests: vec!["hostile"],
            grants: String::new(),
            instances: 4,
            waiting: 64,
            tasks: 64,
            memory_bytes: 64 << 20,
            result_bytes: 4 << 20,
            cpu_ms: 1_000,
            wall_ms: 30_000,
            handed_over: HOST_CALL,
            elsewhere: 0,
            settings: Vec::new(),
        }
    }
}

impl Terms {
    /// These, with another setting.
    #[must_use]
    pub fn set(mut self, key: &'static str, value: impl ToString) -> Self {
        self.settings.push((key, value.to_string()));
        self
    }

    /// Twice as many instances as mallory may have: it never has them all.
    fn all_instances(&self) -> u64 {
        self.instances * 2
    }

    /// Most bytes the server may grow by while mallory attacks. What a tool hands over is there
    /// up to three times: as it came, as it is kept, and as JSON.
    fn most_growth(&self) -> u64 {
        let each = self.memory_bytes + 3 * self.handed_over + 2 * self.result_bytes + KEPT;
        self.instances * each + self.lasting_growth()
    }

    /// Most bytes of this that may stay.
    fn lasting_growth(&self) -> u64 {
        self.all_instances() * SLOT + CACHES + self.elsewhere
    }

    fn config(&self, mallory: &Identity, neighbour: &Identity) -> Config {
        let tools = |prefix: &str, name: &str| {
            let path = files::guest(name);
            format!("[[tools]]\npath = {path:?}\nprefix = {prefix:?}\n")
        };
        let hostile: String = self
            .guests
            .iter()
            .map(|name| tools(HOSTILE, name) + &self.grants)
            .collect();
        let Self {
            instances,
            waiting,
            tasks,
            ..
        } = self;
        Config::new(&format!(
            "{hostile}{}[tools.grants]\nenv = {{ NEIGHBOUR = \"its own\" }}\n\
             [tenants.mallory]\n\
             tools = [\"{HOSTILE}*\"]\n\
             max-instances = {instances}\nmax-waiting = {waiting}\nmax-tasks = {tasks}\n\
             [tenants.neighbour]\ntools = [\"neighbour.*\"]\n{}{}",
            tools("neighbour.", "probe"),
            mallory.entry,
            neighbour.entry,
        ))
    }

    fn options(&self, config: &Config) -> Options {
        let mut options = Options::default()
            .config(&config.file())
            // Lines of every call would be kept here, and cost the server time.
            .log("info")
            .set("sandbox.instances", self.all_instances())
            .set("sandbox.memory-bytes", self.memory_bytes)
            .set("sandbox.result-bytes", self.result_bytes)
            .set("sandbox.cpu-ms", self.cpu_ms)
            .set("sandbox.wall-ms", self.wall_ms);
        for (key, value) in &self.settings {
            options = options.set(key, value);
        }
        options
    }
}

/// A server with the two tenants, one of which is calling.
pub struct Arena {
    // In this order they end: the neighbour's last call breaks off with the server.
    server: Server,
    /// The neighbour's, if it has one of its own.
    _home: Option<Server>,
    busy: Neighbour,
    quiet: Seen,
    terms: Terms,
    mallory: Identity,
    neighbour: Identity,
    _config: Config,
    _alone: tokio::sync::MutexGuard<'static, ()>,
}

impl Arena {
    /// Starts the server, and measures how the neighbour fares in quiet.
    ///
    /// # Panics
    /// If the server does not start, or does not serve the neighbour.
    pub async fn start(terms: Terms) -> Self {
        let alone = ALONE.lock().await;
        let mallory = Identity::new("mallory", "m");
        let neighbour = Identity::new("neighbour", "n");
        let config = terms.config(&mallory, &neighbour);
        let server = Server::start(terms.options(&config)).await;
        let apart = env::var_os("COFFERDAM_ARENA").is_some_and(|value| value == APART);
        let home = if apart {
            Some(Server::start(terms.options(&config)).await)
        } else {
            None
        };
        let client = home.as_ref().unwrap_or(&server).client();
        let busy = Neighbour::calling(client.bearing(&neighbour.token), ECHO);
        busy.calls(WARM_UP).await;
        busy.look();
        busy.calls(QUIET).await;
        let quiet = busy.look();
        assert!(quiet.failures.is_empty(), "in quiet: {:?}", quiet.failures);
        Self {
            server,
            _home: home,
            busy,
            quiet,
            terms,
            mallory,
            neighbour,
            _config: config,
            _alone: alone,
        }
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The attacker. It sees the tools of its components as `hostile.NAME`.
    pub fn mallory(&self, declares: Declares) -> Client {
        let client = self.server.client().bearing(&self.mallory.token);
        client.declaring(declares)
    }

    /// The access token of the attacker.
    pub fn mallorys_token(&self) -> &str {
        &self.mallory.token
    }

    /// Another client of the neighbour's. It sees the tools of the probe as `neighbour.NAME`.
    pub fn neighbour(&self, declares: Declares) -> Client {
        let client = self.server.client().bearing(&self.neighbour.token);
        client.declaring(declares)
    }

    /// Attacks, then sees what became of the neighbour and of the server, and prints it.
    ///
    /// # Panics
    /// If a call of the neighbour failed, if anything of the attack still runs and does not end, or if
    /// the server took more memory than the terms allow.
    pub async fn under<T>(&self, name: &str, attack: impl Future<Output = T>) -> T {
        let pid = self.server.pid();
        let before = Memory::of(pid).now;
        Memory::forget_peak(pid);
        self.busy.look();
        let outcome = attack.await;
        self.busy.calls(LEAST).await;
        let seen = self.busy.look();
        assert!(
            seen.failures.is_empty(),
            "hostile {name}: {} calls of the neighbour, of which failed: {:?}; the server's log ends \
             with\n{}",
            seen.times.len(),
            seen.failures,
            end_of(&self.server.log().text()),
        );

        self.at_rest().await;
        let after = self
            .memory_after(before + self.terms.lasting_growth())
            .await;
        let (quiet, under) = (self.quiet.p99(), seen.p99());
        println!(
            "hostile {name}: neighbour {} calls, 0 failed, p99 {quiet:.1} ms quiet, {under:.1} ms under \
             attack ({:.1} x); server memory {} -> {} MiB, peak {}",
            seen.times.len(),
            under / quiet,
            mib(before),
            mib(after.now),
            mib(after.peak),
        );
        let allowed = |what: &str, bytes: u64, growth: u64| {
            assert!(
                bytes <= before + growth,
                "hostile {name}: {what} the server has {} MiB; before it was {}, and may grow by {}",
                mib(bytes),
                mib(before),
                mib(growth),
            );
        };
        allowed("at its peak", after.peak, self.terms.most_growth());
        allowed("after it", after.now, self.terms.lasting_growth());
        let alive = self.mallory(Declares::Nothing);
        let alive = alive.request("server/discover", json!({})).answer().await;
        alive.result();
        outcome
    }

    /// Waits until nothing runs in the server; the neighbour pauses meanwhile.
    ///
    /// # Panics
    /// If something runs on.
    pub async fn at_rest(&self) {
        self.busy.pause().await;
        self.server.until_running(0, 0).await;
        self.busy.go_on();
    }

    /// The memory once it is at most `wanted`, or has had its time to become so.
    async fn memory_after(&self, wanted: u64) -> Memory {
        let end = Instant::now() + RETURNED;
        loop {
            let memory = Memory::of(self.server.pid());
            if memory.now <= wanted || Instant::now() >= end {
                return memory;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn end_of(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(2_000))..]
}
