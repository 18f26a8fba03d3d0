//! Tasks that wait for their client: what each of many costs a server that keeps them in SQLite,
//! and how soon one goes on once it is answered, before and after the server is killed.

mod report;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::load::{GRACE, Times, apart};
use crate::place::Place;
use crate::process::{Running, Server};
use crate::study::Study;
use crate::waiting::{population, resume};

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "parked",
    is_here: |_| true,
    measure: |place, plan| Ok(Box::new(measure(place, plan.parked as usize)?)),
};

/// Tasks made before a look at a server's memory, so that what it takes once is there, and what
/// loading took is given back: allocators do that later, and only when they are asked for more.
const WARM_UP: usize = 500;
const PAUSE: Duration = Duration::from_millis(1_500);
/// Tasks resumed before the server is killed, and as many after.
const RESUMED: usize = 500;

/// What was found.
struct Parked {
    /// Tasks that waited when the server was looked at, those of the warm-up left out.
    tasks: usize,
    /// Tasks a second that came to wait, their call and a look at them included.
    rate: f64,
    /// The server's CPU time for that, per task.
    cpu: Duration,
    /// The server that made them.
    first: Look,
    /// The next one, after the first was killed.
    second: Look,
}

/// A server with all the tasks parked.
struct Look {
    /// From its process's start until it listens.
    start: Duration,
    /// Its memory in RAM, bytes; of the second, after a warm-up.
    resident: u64,
    /// What that is more than the first one's after its warm-up, bytes per task.
    memory: f64,
    /// What the data folder holds more than after the first one's warm-up, bytes per task.
    disk: f64,
    running: Running,
    /// From an answer's first byte sent to the end of its task seen on a stream, one task at a time.
    resumed: Times,
}

/// Parks so many tasks, and resumes some.
fn measure(place: &Place, tasks: usize) -> Result<Parked> {
    let data = tempfile::tempdir_in(&place.data)?;
    let (server, start) = listening(place, data.path())?;
    warm_up(&server)?;
    let (resident_before, disk_before) = (server.resident()?, bytes(data.path())?);
    let per_task = |after: u64, before: u64| (after as f64 - before as f64) / tasks as f64;

    let (begun, cpu) = (Instant::now(), server.cpu()?);
    let ids = apart(|| population::create(server.address, tasks))?;
    let (elapsed, cpu) = (begun.elapsed(), server.cpu()?.saturating_sub(cpu));
    eprintln!("{tasks} tasks parked in {:.0} s", elapsed.as_secs_f64());
    // Evenly over all; every other one is for the second server.
    let (now, later) = halves(&pick(&ids, 2 * RESUMED));
    let running = quiet(&server)?;
    let resident = server.resident()?;
    let first = Look {
        start,
        resident,
        memory: per_task(resident, resident_before),
        disk: per_task(bytes(data.path())?, disk_before),
        running,
        resumed: apart(|| resume::resume(server.address, &now))?.ended,
    };

    drop(server);
    let (server, start) = listening(place, data.path())?;
    // What has answered takes signals, too.
    apart(|| population::look(server.address, &later[..1]))?;
    let running = quiet(&server)?;
    let disk = per_task(bytes(data.path())?, disk_before);
    let resumed = apart(|| resume::resume(server.address, &later)).context("after the kill")?;
    let resumed = resumed.ended;
    warm_up(&server)?;
    let resident = server.resident()?;
    let second = Look {
        start,
        resident,
        memory: per_task(resident, resident_before),
        disk,
        running,
        resumed,
    };
    Ok(Parked {
        tasks,
        rate: tasks as f64 / elapsed.as_secs_f64(),
        cpu: cpu.div_f64(tasks as f64),
        first,
        second,
    })
}

fn warm_up(server: &Server) -> Result<()> {
    apart(|| population::create(server.address, WARM_UP / 2))?;
    std::thread::sleep(PAUSE);
    apart(|| population::create(server.address, WARM_UP / 2))?;
    quiet(server)?;
    Ok(())
}

/// A server that parks at once, and how long it took to listen.
fn listening(place: &Place, data: &Path) -> Result<(Server, Duration)> {
    let mut command = place.serve("sqlite", data);
    command.args(["--set", "tasks.park-after-ms=0"]);
    // Its answer to SIGUSR1.
    command.env("RUST_LOG", "warn,cofferdam::serve=info");
    let start = Instant::now();
    Ok((Server::start(command)?, start.elapsed()))
}

/// Waits until nothing runs, for a while; gives what still does.
fn quiet(server: &Server) -> Result<Running> {
    let start = Instant::now();
    loop {
        let running = server.running()?;
        if running == Running::default() || start.elapsed() > GRACE {
            return Ok(running);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// So many of them, evenly spread; all if there are fewer.
fn pick(all: &[String], most: usize) -> Vec<&str> {
    let number = most.min(all.len());
    (0..number)
        .map(|index| all[index * all.len() / number].as_str())
        .collect()
}

/// Every other one, and the rest.
fn halves<'a>(all: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let half = |first| all.iter().copied().skip(first).step_by(2).collect();
    (half(0), half(1))
}

/// What the files in a folder hold.
pub(crate) fn bytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() {
            bytes(&entry.path())?
        } else {
            about.len()
        };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::{halves, pick};

    #[test]
    fn what_is_picked_is_spread_evenly() {
        let all = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        assert_eq!(pick(&all, 3), ["a", "c", "e"]);
        assert_eq!(pick(&all[..2], 3), ["a", "b"]);
        assert!(pick(&[], 3).is_empty());
        let halves = halves(&["a", "b", "c"]);
        assert_eq!(halves, (vec!["a", "c"], vec!["b"]));
    }
}
