//! A server as a child process: what it costs is read from the kernel, apart from what the load
//! costs. It is killed when dropped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// A server that listens.
pub(crate) struct Server {
    child: Child,
    reports: Mutex<mpsc::Receiver<Said>>,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts it, and waits for the line `listening on http://ADDRESS/mcp`.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let (sender, reports) = mpsc::channel();
        let mut server = Self {
            child,
            reports: Mutex::new(reports),
            address: ([0, 0, 0, 0], 0).into(),
        };
        let stderr = server.child.stderr.take().context("stderr is piped")?;
        std::thread::spawn(move || pass_on(stderr, &sender));
        let address = listening(&mut server.child);
        server.address = address.with_context(|| command.get_program().display().to_string())?;
        Ok(server)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The CPU time it has used so far, to ten milliseconds.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        cpu(self.child.id(), &OWN)
    }

    /// Its memory in RAM now, in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.child.id()))?;
        let pages = text.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok());
        let pages = pages.context("/proc/PID/statm has a second number")?;
        Ok(pages * rustix::param::page_size() as u64)
    }

    /// What the host runs now, as it says when it gets SIGUSR1.
    pub(crate) fn running(&self) -> Result<Running> {
        let id = Pid::from_raw(self.child.id().try_into()?).context("a process has an id")?;
        kill_process(id, Signal::USR1)?;
        let running = |said| match said {
            Said::Running(running) => Some(running),
            Said::Loaded(_) => None,
        };
        self.hear(running)
            .context("the server did not say what it runs")
    }

    /// How long it took to load the compiled code of its next component, in whole milliseconds: one
    /// answer for each, if the host logs `cofferdam::runtime` at the level `debug`.
    pub(crate) fn loaded(&self) -> Result<Duration> {
        let loaded = |said| match said {
            Said::Loaded(time) => Some(time),
            Said::Running(_) => None,
        };
        self.hear(loaded)
            .context("the server loaded no compiled code")
    }

    /// Ends it as an operator does, and waits until it has ended by itself.
    pub(crate) fn stop(mut self) -> Result<()> {
        let id = Pid::from_raw(self.child.id().try_into()?).context("a process has an id")?;
        kill_process(id, Signal::TERM)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }

    /// Waits for it to say something of a kind.
    fn hear<T>(&self, kind: impl Fn(Said) -> Option<T>) -> Result<T> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(said) = kind(reports.recv_timeout(Duration::from_secs(5))?) {
                return Ok(said);
            }
        }
    }
}

/// Where a server listens, once it says so in its first line: `listening on http://ADDRESS/mcp`.
pub(crate) fn listening(server: &mut Child) -> Result<SocketAddr> {
    let stdout = server.stdout.take().context("stdout is piped")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    line.strip_prefix("listening on http://")
        .and_then(|rest| rest.split_once("/mcp")?.0.parse().ok())
        .with_context(|| format!("it does not listen: {line:?}"))
}

/// CPU times among the fields of `/proc/PID/stat`, counted from the one after the name: a process's own
/// in user and system mode, then those of its children that ended.
const OWN: [usize; 2] = [11, 12];
const OWN_AND_ENDED: [usize; 4] = [11, 12, 13, 14];

/// The CPU time that a process and all its children have used so far, to ten milliseconds for each
/// of them.
pub(crate) fn family_cpu(process: u32) -> Result<Duration> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
    let mut sum = cpu(process, &OWN_AND_ENDED)?;
    for child in children.split_whitespace() {
        // One that has ended meanwhile will be among the ended next time.
        sum += cpu(child.parse()?, &OWN).unwrap_or_default();
    }
    Ok(sum)
}

fn cpu(process: u32, times: &[usize]) -> Result<Duration> {
    let ticks = sum_of_fields(process, times)?;
    Ok(Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second())?)
}

/// Page faults of this process so far that needed no disk.
pub(crate) fn page_faults() -> Result<u64> {
    const FAULTS: [usize; 1] = [7];
    sum_of_fields(std::process::id(), &FAULTS)
}

/// Of numbers in `/proc/PID/stat`.
fn sum_of_fields(process: u32, indexes: &[usize]) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field, a name in brackets, may hold anything.
    let (_, fields) = text
        .rsplit_once(") ")
        .context("/proc/PID/stat has a name")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let numbers = indexes.iter();
    let numbers = numbers.map(|&index| fields.get(index)?.parse::<u64>().ok());
    numbers
        .sum::<Option<_>>()
        .context("/proc/PID/stat has numbers")
}

/// What a host runs at one moment.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Running {
    pub(crate) instances: u64,
    pub(crate) tasks: u64,
}

impl Running {
    fn read(line: &str) -> Option<Self> {
        let (_, line) = line.split_once(": running now ")?;
        let number = |name: &str| {
            let mut words = line.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        };
        Some(Self {
            instances: number("instances")?,
            tasks: number("tasks")?,
        })
    }
}

/// What a host's log says that somebody wants to know.
enum Said {
    Running(Running),
    /// Compiled code, in so much time.
    Loaded(Duration),
}

impl Said {
    fn read(line: &str) -> Option<Self> {
        Running::read(line)
            .map(Self::Running)
            .or_else(|| loaded(line).map(Self::Loaded))
    }
}

fn loaded(line: &str) -> Option<Duration> {
    let (_, time) = line.split_once(": loaded in ")?;
    let milliseconds = time.strip_suffix(" ms")?.parse().ok()?;
    Some(Duration::from_millis(milliseconds))
}

/// Takes a server's reports out of its log, and passes on what warns.
fn pass_on(log: ChildStderr, reports: &mpsc::Sender<Said>) {
    for line in BufReader::new(log).lines().map_while(Result::ok) {
        match Said::read(&line) {
            // Nobody asks any more if the server is being dropped.
            Some(said) => drop(reports.send(said)),
            None if line.contains(" DEBUG ") => {}
            None => eprintln!("{line}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{OWN, Running, cpu, family_cpu, loaded, page_faults};
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_report_is_told_from_other_lines() {
        let line =
            "2026-01-01T00:00:00.0Z  INFO cofferdam::serve: running now instances=3 tasks=14";
        let (instances, tasks) = (3, 14);
        assert_eq!(Running::read(line), Some(Running { instances, tasks }));
        assert_eq!(Running::read("INFO cofferdam::serve: stopping"), None);

        let line = "2026-01-01T00:00:00.0Z DEBUG cofferdam::runtime::compile: loaded in 12 ms";
        assert_eq!(loaded(line), Some(Duration::from_millis(12)));
        assert_eq!(
            loaded("DEBUG cofferdam::runtime::compile: compiled in 12 ms"),
            None
        );
    }

    #[test]
    fn what_children_used_counts_after_their_end() {
        let own = std::process::id();
        let before = family_cpu(own).expect("this process");
        let count = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
        let counted = Command::new("sh").args(["-c", count]).status();
        assert!(counted.expect("a shell").success());
        let used = family_cpu(own).expect("this process") - before;
        assert!(used >= Duration::from_millis(20), "{used:?}");
        assert!(family_cpu(own).expect("this process") > cpu(own, &OWN).expect("this process"));
    }

    #[test]
    fn memory_that_is_touched_first_faults() {
        let before = page_faults().expect("this process");
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        let faults = page_faults().expect("this process") - before;
        // Pages may be huge.
        assert!(faults >= 32, "{faults}");
        drop(touched);
    }
}
