//! What a server does when many tasks are stored: its rates, its start and its memory, as multiples of
//! those with few.
//!
//! Invariant: half of the tasks have ended, half wait for their clients. A store is filled once, before
//! any server; each measurement has a copy of it, which is on the disk before the server starts. So
//! tasks of one measurement are not there in the next.

mod report;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cofferdam::task::Status;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::load::{Outcome, Workload};
use crate::parked::bytes;
use crate::place::Place;
use crate::process::Server;
use crate::rounds::Plan;
use crate::stored::{self, Template};
use crate::study::Study;

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "growth",
    is_here: |_| true,
    measure: |place, plan| Ok(Box::new(measure(place, plan)?)),
};

/// Enough writers at once to fill the store's transactions.
const WRITERS: usize = 1_024;

/// What was found.
struct Growth {
    connections: usize,
    series: Vec<Series>,
}

/// With so many tasks.
struct Series {
    stored: u32,
    /// How long it took to store them.
    filling: Duration,
    /// Bytes of the data folder.
    disk: u64,
    /// One for each round.
    looks: Vec<Look>,
}

/// One server.
struct Look {
    /// Until it listened.
    start: Duration,
    /// `tasks/get` of stored tasks.
    get: Outcome,
    inline: Outcome,
    /// The last one: what is resident after it is what all three left.
    task: Outcome,
}

/// Data folders with so many tasks, and what was seen of copies of them.
fn measure(place: &Place, plan: &Plan) -> Result<Growth> {
    let mut folders = Vec::new();
    let mut series = Vec::new();
    for &stored in &plan.stored {
        let start = Instant::now();
        let folder = filled(place, stored).with_context(|| format!("storing {stored} tasks"))?;
        let filling = start.elapsed();
        eprintln!("{stored} tasks stored in {:.1} s", filling.as_secs_f64());
        series.push(Series {
            stored,
            filling,
            disk: bytes(folder.path())?,
            looks: Vec::new(),
        });
        folders.push(folder);
    }
    for round in 1..=plan.rounds {
        for (series, folder) in series.iter_mut().zip(&folders) {
            let stored = series.stored;
            let look = look(place, plan, stored, folder.path());
            let look = look.with_context(|| format!("{stored} stored"))?;
            eprintln!(
                "round {round}/{}: {stored:>8} stored{:>7.0} ms to start{:>9.0} get/s{:>9.0} inline/s{:>9.0} task/s",
                plan.rounds,
                look.start.as_secs_f64() * 1e3,
                look.get.rate,
                look.inline.rate,
                look.task.rate,
            );
            series.looks.push(look);
        }
    }
    Ok(Growth {
        connections: plan.connections[0],
        series,
    })
}

/// A data folder with so many tasks and the component's native code, without a server.
fn filled(place: &Place, tasks: u32) -> Result<TempDir> {
    let data = tempfile::tempdir_in(&place.data)?;
    // It compiles, which no other start should count.
    drop(Server::start(place.serve("sqlite", data.path()))?);
    let template = Arc::new(Template::of(&place.probe)?);
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let store = stored::open("sqlite", data.path()).await?;
        let numbers: Arc<[u64]> = order(tasks).into();
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (store, template) = (Arc::clone(&store), Arc::clone(&template));
            let numbers = Arc::clone(&numbers);
            writers.spawn(async move {
                for &number in numbers.iter().skip(writer).step_by(WRITERS) {
                    template.store(&*store, number).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(ended) = writers.join_next().await {
            ended.context("a writer")??;
        }
        let tally = store.tally().await?;
        let found = tally.of(Status::Completed) + tally.of(Status::InputRequired);
        ensure!(found == tasks as usize, "{found} tasks are stored");
        anyhow::Ok(())
    })?;
    Ok(data)
}

/// The numbers of so many tasks, the first half in the order of their ids: then the index of ids grows at
/// its end, which is quick. The others come as ids do, and leave its pages as full as chance would.
fn order(tasks: u32) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..tasks.into()).collect();
    let half = numbers.len() / 2;
    numbers[..half].sort_by_cached_key(|&number| stored::id(number));
    numbers
}

fn look(place: &Place, plan: &Plan, stored: u32, folder: &Path) -> Result<Look> {
    let data = tempfile::tempdir_in(&place.data)?;
    copy(folder, data.path())?;
    let start = Instant::now();
    let server = [Server::start(place.serve("sqlite", data.path()))?];
    let start = start.elapsed();
    let measure = |workload| plan.load(workload, plan.connections[0]).put_on(&server);
    Ok(Look {
        start,
        get: measure(Workload::Get(stored))?,
        inline: measure(Workload::Call)?,
        task: measure(Workload::Task)?,
    })
}

/// Copies a folder's files to another, and to the disk.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            fs::File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{copy, order};
    use crate::stored::id;
    use std::collections::HashSet;
    use std::fs;

    #[test]
    fn each_task_is_stored_once() {
        let numbers = order(1_000);
        assert!(numbers[..500].is_sorted_by_key(|&number| id(number)));
        let different: HashSet<_> = numbers.into_iter().collect();
        assert_eq!(different, (0..1_000).collect());
    }

    #[test]
    fn a_copy_has_all_files() {
        let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        fs::create_dir(from.path().join("code")).expect("a folder");
        for name in ["store", "code/native"] {
            fs::write(from.path().join(name), name).expect("a file");
        }
        copy(from.path(), to.path()).expect("a copy");
        for name in ["store", "code/native"] {
            let copied = fs::read_to_string(to.path().join(name));
            assert_eq!(copied.expect("a file"), name);
        }
    }
}
