//! `cofferdam test`: proves that a tool ends the same wherever its run, or its server, is killed.
//!
//! Invariant: every run of a case begins alike (one seed, a clock that depends on the journal alone),
//! so that whatever comes out differently is the fault of the tool or of the server, never of the
//! world. `cases` is what a tool author writes, `conversation` a client that keeps trying, `local`
//! a server within this process whose runs are dropped, `process` one that is killed.

mod cases;
mod conversation;
mod death;
mod expect;
mod local;
mod process;

pub use cases::{Case, CasesError};
pub use death::Death;

use crate::settings::Settings;
use anyhow::{Context as _, Result, bail};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use conversation::{Came, End, converse};
use local::World;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What is to be tested.
#[derive(clap::Args)]
pub struct TestArguments {
    /// A .wasm component.
    component: PathBuf,
    /// The cases. [default: the component's name with .cases.toml for .wasm]
    cases: Option<PathBuf>,
    /// The same.
    #[arg(
        long = "cases",
        value_name = "FILE",
        hide = true,
        conflicts_with = "cases"
    )]
    cases_option: Option<PathBuf>,
    /// Drop the run at each entry of its journal, one by one and in combinations, and compare what
    /// comes out with the undisturbed run.
    #[arg(long)]
    kill_everywhere: bool,
    /// Disturbed runs for each case, about. One kill at each entry is always tried.
    #[arg(long, value_name = "NUMBER", default_value_t = 300)]
    runs: usize,
    /// Kill so many servers for each case, too, in the middle of runs and of writes.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        requires = "kill_everywhere"
    )]
    processes: usize,
    /// Change a setting, for example sandbox.cpu-ms=60000. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Kills in one series, at most. Fewer than the runs that may come to nothing in a row.
const SERIES_KILLS: u32 = 12;

/// What came of a case.
#[derive(Default)]
struct Tally {
    /// What the undisturbed run gave, if nothing else was done.
    came: Option<String>,
    /// What of it was not expected.
    unexpected: Vec<String>,
    /// It is an error.
    is_error: bool,
    entries: u32,
    runs: usize,
    kills: usize,
    processes: usize,
    differences: Vec<String>,
}

impl Tally {
    /// Notes what came of a run that was disturbed.
    fn note(&mut self, how: &str, kills: usize, expected: &str, got: Result<Came>) {
        self.runs += 1;
        self.kills += kills;
        let got = got.map(|came| came.outcome);
        let got = got.unwrap_or_else(|error| format!("{error:#}"));
        if got != expected {
            self.differences.push(format!(
                "{how}:\n    expected {expected}\n    got      {got}"
            ));
        }
    }
}

/// Runs a tool's cases. False if one came out differently.
///
/// # Errors
/// The component or the cases cannot be used, or a case cannot be run at all.
pub async fn test(options: TestArguments) -> Result<bool> {
    let settings = Settings::from_assignments(&options.set)?;
    let named = options.cases.as_ref().or(options.cases_option.as_ref());
    let path = match named {
        Some(path) => path.clone(),
        None => options.component.with_extension("cases.toml"),
    };
    let cases = cases::read(&path)?;
    let world = World::load(&options.component, settings).await?;
    let mut same = true;
    let mut failed = 0;
    let mut total = Tally::default();
    for case in &cases {
        let tally = rehearse(&world, case, &options)
            .await
            .with_context(|| format!("{}: case {}", path.display(), case.title()))?;
        tell(case, &tally)?;
        same &= tally.differences.is_empty();
        failed += usize::from(!tally.unexpected.is_empty());
        total.runs += tally.runs;
        total.kills += tally.kills;
        total.processes += tally.processes;
    }
    let mut out = std::io::stdout();
    if options.kill_everywhere {
        writeln!(
            out,
            "{} cases, {} runs, {} kills within the process, {} servers killed: {}",
            cases.len(),
            total.runs,
            total.kills,
            total.processes,
            if same { "all the same" } else { "DIFFERENT" }
        )?;
    }
    if failed > 0 {
        writeln!(out, "{failed} of {} cases FAILED", cases.len())?;
    } else if !options.kill_everywhere {
        writeln!(out, "{} cases: all as expected", cases.len())?;
    }
    Ok(same && failed == 0)
}

fn tell(case: &Case, tally: &Tally) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    let title = case.title();
    match (
        &tally.came,
        case.expect.is_some(),
        tally.unexpected.is_empty(),
    ) {
        (_, _, false) => writeln!(out, "{title}: FAILED")?,
        (Some(_), true, true) => writeln!(out, "{title}: as expected")?,
        (Some(came), false, true) => writeln!(out, "{title}: {came}")?,
        (None, ..) => writeln!(
            out,
            "{title}{}: {} entries, {} runs, {} kills, {} servers killed, {} differences",
            if tally.is_error { " (an error)" } else { "" },
            tally.entries,
            tally.runs,
            tally.kills,
            tally.processes,
            tally.differences.len()
        )?,
    }
    for difference in &tally.unexpected {
        writeln!(out, "  {difference}")?;
    }
    for difference in tally.differences.iter().take(5) {
        writeln!(out, "  {difference}")?;
    }
    Ok(())
}

async fn rehearse(world: &World, case: &Case, options: &TestArguments) -> Result<Tally> {
    let mut tally = Tally::default();
    let (expected, undisturbed) = world.run(case, &[], false).await;
    let expected = expected.context("undisturbed")?;
    tally.runs = 1;
    tally.is_error = matches!(expected.end, End::Failed | End::ToolError);
    if let Some(expect) = &case.expect {
        tally.unexpected = expect.differences(&expected);
    }
    let expected = expected.outcome;
    if !options.kill_everywhere {
        tally.came = Some(expected);
        return Ok(tally);
    }
    let disturb = async |kills: &[u32], parked: bool, tally: &mut Tally| {
        let (got, runs) = world.run(case, kills, parked).await;
        let killed = runs.saturating_sub(undisturbed).min(kills.len());
        let how = if parked { "parked, killed" } else { "killed" };
        tally.note(
            &format!("{how} after {kills:?} entries"),
            killed,
            &expected,
            got,
        );
        runs
    };
    disturb(&[], true, &mut tally).await;
    loop {
        let runs = disturb(&[tally.entries], false, &mut tally).await;
        if runs == undisturbed {
            break;
        }
        disturb(&[tally.entries], true, &mut tally).await;
        tally.entries += 1;
    }
    let mut dice = ChaCha12Rng::from_seed([0; 32]);
    let sides = tally.entries + 1;
    for run in tally.runs..options.runs {
        let length = dice.next_u32() % SERIES_KILLS + 1;
        let kills: Vec<u32> = (0..length).map(|_| dice.next_u32() % sides).collect();
        disturb(&kills, run % 2 == 0, &mut tally).await;
    }
    kill_servers(
        &options.component,
        case,
        options.processes,
        &expected,
        &mut tally,
    )
    .await?;
    Ok(tally)
}

/// Kills real servers at places spread over all there are.
async fn kill_servers(
    component: &Path,
    case: &Case,
    processes: usize,
    expected: &str,
    tally: &mut Tally,
) -> Result<()> {
    if processes == 0 {
        return Ok(());
    }
    // A commit has two points; hardly more commits than entries are made, and a few for the task.
    let writes = 2 * (tally.entries + 4);
    let deaths: Vec<Death> = (0..tally.entries)
        .map(Death::Entry)
        .chain((0..writes).map(Death::Write))
        .collect();
    let step = deaths.len().div_ceil(processes).max(1);
    for death in deaths.into_iter().step_by(step) {
        let mut server = process::Server::start(component, death).await?;
        let got = converse(&mut server, case).await;
        let died = server.deaths();
        tally.processes += died;
        if died > 1 {
            bail!("the server died {died} times, and was killed only once ({death})");
        }
        tally.note(&format!("server killed at {death}"), 0, expected, got);
    }
    Ok(())
}
