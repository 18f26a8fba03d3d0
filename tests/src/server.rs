//! The real server as a child process: started on a free port with a data folder of its own,
//! killed when dropped. Starting waits for the line that says where it listens, never for time.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use crate::{Client, Log, PATIENCE, files, patient};

/// How long a server may take to listen. Before it does, it compiles its components, and the engine of
/// a language is large.
const STARTING: Duration = PATIENCE.saturating_mul(4);

/// What a server is started with.
#[derive(Clone, Default)]
pub struct Options {
    components: Vec<PathBuf>,
    settings: Vec<String>,
    store: Option<String>,
    state_key: Option<PathBuf>,
    config: Option<PathBuf>,
    listen: Option<String>,
    admin: Admin,
    as_configured: bool,
    arguments: Vec<String>,
    log: Option<&'static str>,
    environment: Vec<(&'static str, &'static str)>,
}

/// What is said of the admin address.
#[derive(Clone, Default)]
enum Admin {
    /// That there is none.
    #[default]
    Off,
    /// This one.
    At(String),
    /// Nothing.
    AsConfigured,
}

impl Options {
    /// A server with the component `target/guests/NAME.wasm`.
    pub fn guest(name: &str) -> Self {
        Self::default().and(files::guest(name))
    }

    /// A server with the component of the tests.
    pub fn probe() -> Self {
        Self::guest("probe")
    }

    /// One more component.
    #[must_use]
    pub fn and(mut self, component: PathBuf) -> Self {
        self.components.push(component);
        self
    }

    /// One setting (`--set KEY=VALUE`); the value is written as TOML.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        self.settings.push(format!("{key}={value}"));
        self
    }

    /// Another store than the default (`--store`).
    #[must_use]
    pub fn store(mut self, store: &str) -> Self {
        self.store = Some(store.to_owned());
        self
    }

    /// The file with the key that seals `requestState` (`--state-key`), which servers may share.
    #[must_use]
    pub fn state_key(mut self, file: &Path) -> Self {
        self.state_key = Some(file.to_owned());
        self
    }

    /// A configuration (`--config`).
    #[must_use]
    pub fn config(mut self, file: &Path) -> Self {
        self.config = Some(file.to_owned());
        self
    }

    /// Another address than a free port of the loopback interface (`--listen`).
    #[must_use]
    pub fn listen(mut self, address: &str) -> Self {
        self.listen = Some(address.to_owned());
        self
    }

    /// An admin address, on a free port of the loopback interface.
    #[must_use]
    pub fn admin(self) -> Self {
        self.admin_at("127.0.0.1:0")
    }

    /// This admin address (`--admin`). Without it there is none.
    #[must_use]
    pub fn admin_at(mut self, address: &str) -> Self {
        self.admin = Admin::At(address.to_owned());
        self
    }

    /// The admin address of the configuration, or the default one.
    #[must_use]
    pub fn admin_as_configured(mut self) -> Self {
        self.admin = Admin::AsConfigured;
        self
    }

    /// Another filter of log lines than one that shows all of the server's own (`RUST_LOG`).
    #[must_use]
    pub fn log(mut self, filter: &'static str) -> Self {
        self.log = Some(filter);
        self
    }

    /// A variable of the server's environment.
    #[must_use]
    pub fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// A further argument of the command.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Listens and keeps its data where its configuration says. [`Server::data`] does not know.
    #[must_use]
    pub fn as_configured(mut self) -> Self {
        self.as_configured = true;
        self
    }

    fn command(&self, data: &Path) -> Command {
        let mut command = Command::new(files::binary());
        command.arg("serve").args(&self.components);
        if let Some(file) = &self.config {
            command.arg("--config").arg(file);
        }
        if !self.as_configured {
            let listen = self.listen.as_deref().unwrap_or("127.0.0.1:0");
            command.args(["--listen", listen, "--data"]).arg(data);
        }
        match &self.admin {
            Admin::Off => drop(command.args(["--admin", "off"])),
            Admin::At(address) => drop(command.args(["--admin", address])),
            Admin::AsConfigured => {}
        }
        command.args(&self.arguments);
        if let Some(store) = &self.store {
            command.args(["--store", store]);
        }
        if let Some(file) = &self.state_key {
            command.arg("--state-key").arg(file);
        }
        for setting in &self.settings {
            command.args(["--set", setting]);
        }
        command
            .env("RUST_LOG", self.log.unwrap_or("info,cofferdam=trace"))
            .env("NO_COLOR", "1")
            .envs(self.environment.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// What runs in a server at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Instances of components, whatever they run.
    pub instances: usize,
    /// Tasks that have a run; one that is parked has none.
    pub tasks: usize,
}

/// A running server. Dropping it kills the process.
pub struct Server {
    options: Options,
    data: Arc<TempDir>,
    child: Child,
    address: SocketAddr,
    admin: Option<SocketAddr>,
    console: Option<String>,
    announcement: String,
    log: Log,
}

impl Server {
    /// Starts a server and waits until it listens.
    ///
    /// # Panics
    /// If it does not come to listen; the message holds what it logged.
    pub async fn start(options: Options) -> Self {
        Self::start_in(options, Arc::new(data_folder())).await
    }

    /// Starts a server that should refuse to start; returns how it exited and what it wrote to
    /// standard error.
    ///
    /// # Panics
    /// If it listens instead.
    pub async fn refuse(options: Options) -> (ExitStatus, String) {
        refusal(&options, data_folder().path()).await
    }

    /// Starts a further server that should refuse to start in the data folder of `other`.
    ///
    /// # Panics
    /// As [`Server::refuse`].
    pub async fn refuse_in(options: Options, other: &Self) -> (ExitStatus, String) {
        refusal(&options, other.data()).await
    }

    async fn start_in(options: Options, data: Arc<TempDir>) -> Self {
        let mut command = options.command(data.path());
        let mut child = command.spawn().expect("the server's binary can be run");
        let log = Log::of(child.stderr.take().expect("stderr is piped"));
        let stdout = child.stdout.take().expect("stdout is piped");
        // Until it is known where the server listens, a panic must not leave it behind.
        let mut child = Guard(Some(child));

        let first = spawn_blocking(move || {
            let mut lines = BufReader::new(stdout);
            let (mut line, mut operator) = (String::new(), String::new());
            let read = lines.read_line(&mut line).and_then(|_| {
                // They come in one piece with the line before them, or not at all.
                while !lines.buffer().is_empty() {
                    lines.read_line(&mut operator)?;
                }
                Ok((line, operator))
            });
            // Standard output is read on, and dropped, so that the server can never block on it.
            std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
            read
        });
        let (announcement, operator) = match tokio::time::timeout(STARTING, first).await {
            Ok(lines) => lines.expect("the reading thread").unwrap_or_default(),
            Err(_) => Default::default(),
        };
        let after = |words: &str| operator.lines().find_map(|line| line.strip_prefix(words));
        let admin = after("admin on http://").and_then(|address| address.parse().ok());
        let console = after("console on ").map(ToOwned::to_owned);
        let address = announcement
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.split_once("/mcp"))
            .and_then(|(address, _)| address.parse().ok());
        let Some(address) = address else {
            panic!(
                "the server did not come to listen.\nstdout: {announcement}\nstderr: {}",
                log.text()
            );
        };
        let child = child.0.take().expect("not taken before");
        Self {
            options,
            data,
            child,
            address,
            admin,
            console,
            announcement: announcement.trim_end().to_owned(),
            log,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The admin address.
    ///
    /// # Panics
    /// If it was started without one.
    pub fn admin(&self) -> SocketAddr {
        self.admin.expect("a server with an admin address")
    }

    /// The URL of the console.
    ///
    /// # Panics
    /// If it was started without an admin address.
    pub fn console(&self) -> &str {
        self.console.as_deref().expect("a server with a console")
    }

    /// The endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The line it announced itself with.
    pub fn announcement(&self) -> &str {
        &self.announcement
    }

    /// What it logged.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// The operating system's id of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A client that declares nothing.
    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Kills the process at once, as a power cut would.
    pub fn kill(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks the process to look at its components again (SIGHUP), and goes on.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Asks the process to stop, and goes on.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Halts the process (SIGSTOP), as a machine that stands still would.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on (SIGCONT).
    pub fn unpause(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(Pid::from_raw)
            .expect("a process id");
        kill_process(pid, signal).expect("the server runs");
    }

    /// What runs in it now.
    ///
    /// # Panics
    /// If it does not say so when it is asked (SIGUSR1).
    pub async fn running(&self) -> Running {
        let told = self.log.count(&["running now"]);
        self.signal(Signal::USR1);
        let line = self.log.nth_line(told, &["running now"]).await;
        let number = |name: &str| -> Option<usize> {
            let (_, rest) = line.split_once(name)?;
            rest.split_whitespace().next()?.parse().ok()
        };
        match (number(" instances="), number(" tasks=")) {
            (Some(instances), Some(tasks)) => Running { instances, tasks },
            _ => panic!("not what runs: {line}"),
        }
    }

    /// Asks what runs in it until that is `wanted`.
    ///
    /// # Panics
    /// If it never is.
    pub async fn until_running(&self, instances: usize, tasks: usize) {
        let wanted = Running { instances, tasks };
        let asked = async { while self.running().await != wanted {} };
        patient(&format!("a server with {wanted:?}"), asked).await;
    }

    /// Waits until the process is gone.
    ///
    /// # Panics
    /// If it does not go.
    pub async fn gone(&mut self) -> ExitStatus {
        // std has no waiting with a deadline; the child must stay here to be killed on drop.
        let polled = async {
            loop {
                if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        patient("the server to exit", polled).await
    }

    /// Stops it as an operator would.
    ///
    /// # Panics
    /// If it does not exit, or not cleanly.
    pub async fn stop(&mut self) {
        self.terminate();
        let status = self.gone().await;
        assert!(status.success(), "{status}: {}", self.log.text());
    }

    /// Starts it again with the same options and data, after killing what runs.
    pub async fn restart(self) -> Self {
        let options = self.options.clone();
        self.restart_with(options).await
    }

    /// Starts it again with other options and the same data, after killing what runs.
    pub async fn restart_with(mut self, options: Options) -> Self {
        self.kill();
        Self::start_in(options, Arc::clone(&self.data)).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn refusal(options: &Options, data: &Path) -> (ExitStatus, String) {
    let mut child = options
        .command(data)
        .spawn()
        .expect("the server's binary can be run");
    let log = Log::of(child.stderr.take().expect("stderr is piped"));
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut child = Guard(Some(child));
    // Its standard output ends when it does.
    let written = spawn_blocking(move || std::io::read_to_string(stdout));
    let what = format!(
        "a server with {:?} to refuse to start",
        options.command(data)
    );
    let Ok(stdout) = tokio::time::timeout(PATIENCE, written).await else {
        drop(child);
        panic!("waited in vain for {what}: {}", log.text());
    };
    let stdout = stdout.expect("the reading thread").expect("UTF-8");
    assert!(stdout.is_empty(), "{what}, but it wrote {stdout}");
    let mut child = child.0.take().expect("not taken before");
    let status = child.wait().expect("the child can be waited for");
    (status, log.whole().await)
}

struct Guard(Option<Child>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn data_folder() -> TempDir {
    tempfile::Builder::new()
        .prefix("cofferdam-test-")
        .tempdir()
        .expect("a folder for temporary data")
}
