//! Instructions of the hot path, counted by callgrind: the same program does the same number again,
//! however busy its machine is, so a change of some percent is seen that no clock would show.
//!
//! Invariant: the server runs on one thread under callgrind, and its client in a process of its own;
//! what one request costs is the difference of two runs by the requests that one has more. So neither
//! start nor stop nor the client are in it.

mod recorded;
mod server;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::load::apart;
use crate::load::connection::Connection;
use crate::load::message::{Call, first_number};
use crate::load::workload::expect;
use crate::process::listening;
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
    let (mut server, address) = Counted::start(command)?;
    apart(async || {
        let mut client = Connection::open(address).await?;
        let mut call = (route.request)();
        for number in 0..requests {
            let request = call.numbered(first_number(0) + number);
            expect(client.exchange(request).await?, "\"result\":")?;
        }
        Ok(())
    })?;
    server.stop()?;
    // The first thread is the server's.
    let mut first = profile.into_os_string();
    first.push("-01");
    total(&fs::read_to_string(&first).with_context(|| first.display().to_string())?)
}

/// A server under callgrind, which writes what it saw when the server has stopped.
struct Counted(Child);

impl Counted {
    fn start(mut command: Command) -> Result<(Self, SocketAddr)> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = child
            .spawn()
            .with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let mut server = Self(child);
        let address = listening(&mut server.0)?;
        Ok((server, address))
    }

    /// It stops when its standard input ends.
    fn stop(&mut self) -> Result<()> {
        drop(self.0.stdin.take());
        let status = self.0.wait()?;
        ensure!(status.success(), "the server failed ({status})");
        Ok(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Fails only if it has stopped.
        let _ = self.0.kill();
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
