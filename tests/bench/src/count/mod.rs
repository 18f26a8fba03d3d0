//! Instructions of the hot path, counted by callgrind: the same program does the same number again,
//! however busy its machine is, so a change of some percent is seen that no clock would show.
//!
//! Invariant: the server runs on one thread under callgrind, and its client in a process of its own;
//! what one request costs is the difference of two runs by the requests that one has more. So neither
//! start nor stop nor the client are in it.

mod recorded;
mod server;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::load::message::{Call, first_number};
use recorded::Recorded;
pub(crate) use server::{Embedded, serve};

/// Requests before the first that counts, and those that count. What happens once in a while, as
/// growing a table, is spread over many.
const WARM_UP: u64 = 100;
const COUNTED: u64 = 400;

/// What is counted.
#[derive(Args)]
pub(crate) struct Plan {
    /// The component whose tool is called
    #[arg(long, value_name = "FILE")]
    component: PathBuf,
    /// What was recorded; a path that costs more than that by --tolerance is an error
    #[arg(long, value_name = "FILE")]
    recorded: PathBuf,
    /// Record what is counted now instead
    #[arg(long)]
    record: bool,
    /// How much more it may be than recorded, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    tolerance: f64,
    /// Keep the profiles in this folder, for callgrind_annotate
    #[arg(long, value_name = "FOLDER")]
    profiles: Option<PathBuf>,
}

/// One request whose instructions are counted.
struct Route {
    name: &'static str,
    request: fn() -> Call,
}

const ROUTES: [Route; 3] = [
    Route {
        name: "call",
        request: Call::echo,
    },
    Route {
        name: "list",
        request: Call::list,
    },
    Route {
        name: "refusal",
        request: Call::unfit,
    },
];

/// Counts, and compares or records.
pub(crate) fn count(plan: &Plan) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = match &plan.profiles {
        Some(profiles) => {
            fs::create_dir_all(profiles)?;
            profiles.as_path()
        }
        None => folder.path(),
    };
    let mut counted = Vec::new();
    for route in &ROUTES {
        let number = per_request(plan, folder, route).context(route.name)?;
        counted.push((route.name.to_owned(), number));
    }
    let counted = Recorded::new(counted);
    if plan.record {
        counted.write(&plan.recorded)?;
        print!("{}", counted.table(None));
        return Ok(());
    }
    let recorded = Recorded::read(&plan.recorded)?;
    print!("{}", counted.table(Some(&recorded)));
    let worse = counted.worse(&recorded, plan.tolerance);
    ensure!(
        worse.is_empty(),
        "more instructions than recorded: {}; make it cheaper, or record what it costs now",
        worse.join(", ")
    );
    Ok(())
}

fn per_request(plan: &Plan, folder: &Path, route: &Route) -> Result<u64> {
    let few = run(plan, folder, route, WARM_UP)?;
    let many = run(plan, folder, route, WARM_UP + COUNTED)?;
    let more = many.checked_sub(few);
    let more = more.context("more requests took fewer instructions")?;
    Ok(more / COUNTED)
}

/// Instructions of a server's thread that answers so many requests.
fn run(plan: &Plan, folder: &Path, route: &Route, requests: u64) -> Result<u64> {
    let data = tempfile::tempdir()?;
    let profile = folder.join(format!("{}-{requests}.out", route.name));
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--separate-threads=yes", "--quiet"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(std::env::current_exe()?)
        .args(["embedded", "--component"])
        .arg(&plan.component)
        .arg("--data")
        .arg(data.path());
    let mut server = Counted::start(command)?;
    let mut client = TcpStream::connect(server.address)?;
    client.set_nodelay(true)?;
    let mut call = (route.request)();
    for number in 0..requests {
        exchange(&mut client, call.numbered(first_number(0) + number))?;
    }
    drop(client);
    server.stop()?;
    // The first thread is the server's.
    let mut first = profile.into_os_string();
    first.push("-01");
    total(&fs::read_to_string(&first).with_context(|| first.display().to_string())?)
}

/// A server under callgrind.
struct Counted {
    child: Child,
    address: SocketAddr,
}

impl Counted {
    fn start(mut command: Command) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child
            .spawn()
            .with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let Ok(address) = line.trim_end().parse() else {
            bail!("the server does not listen: {line:?}");
        };
        Ok(Self { child, address })
    }

    /// It stops when its standard input ends.
    fn stop(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "the server failed ({status})");
        Ok(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Fails only if it has stopped.
        let _ = self.child.kill();
    }
}

/// Sends a request, and reads its answer, which must bring the number back.
fn exchange(client: &mut TcpStream, request: &[u8]) -> Result<()> {
    client.write_all(request)?;
    let mut received = Vec::with_capacity(4096);
    let mut piece = [0; 4096];
    loop {
        let read = client.read(&mut piece)?;
        ensure!(read > 0, "the server closed the connection");
        received.extend_from_slice(&piece[..read]);
        if let Some(body) = crate::load::connection::body(&received)? {
            let body = &received[body];
            let found = memchr::memmem::find(body, b"\"result\":").is_some();
            ensure!(found, "no result: {}", String::from_utf8_lossy(body));
            return Ok(());
        }
    }
}

/// What a profile says of all instructions in it.
fn total(profile: &str) -> Result<u64> {
    let line = |name| profile.lines().find_map(|line| line.strip_prefix(name));
    let total = line("summary: ").or_else(|| line("totals: "));
    let total = total.context("a profile without a summary")?;
    Ok(total.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_total_is_that_of_the_summary() {
        let profile = "version: 1\nevents: Ir\nsummary: 123456\n\nfn=(1) main\n5 6\n";
        assert_eq!(total(profile).expect("a total"), 123_456);
        assert_eq!(total("events: Ir\ntotals: 7\n").expect("a total"), 7);
        assert!(total("events: Ir\n").is_err());
    }
}
