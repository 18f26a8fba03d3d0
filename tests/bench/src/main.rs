//! Benchmarks whose figures are ratios: servers run side by side, in alternating rounds, under the
//! same load; the sandbox and the store without a server; what stored tasks cost, tasks that wait, and
//! streams that listen; how soon one is gone that is cancelled, and how soon a server listens; and what
//! several servers do on one database. Every answer is checked, so a server that fails cannot look fast.

mod cancel;
mod contender;
mod count;
mod disk;
mod engine;
mod flame;
mod growth;
mod listens;
mod load;
mod nodes;
mod parked;
mod peers;
mod place;
mod process;
mod report;
mod rounds;
mod start;
mod store;
mod stored;
mod study;
mod train;
mod waiting;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use place::Place;
use rounds::Plan;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about, version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure, and print a table
    Run {
        #[command(flatten)]
        place: Box<Place>,
        /// Print a JSON object instead of the table
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        plan: Plan,
    },
    /// Count instructions of the hot path
    Count(count::Plan),
    /// Let a server work that notes what it does most
    Train(train::Training),
    /// Draw where the time of an inline call goes
    Flame(flame::Plan),
    /// Be the server whose instructions are counted
    #[command(hide = true)]
    Embedded(count::Embedded),
    /// Be one of the servers to compare with
    #[command(hide = true)]
    Serve { peer: peers::Peer },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve { peer } => peers::serve(peer),
        Command::Embedded(embedded) => count::serve(embedded),
        Command::Count(plan) => count::count(&plan),
        Command::Flame(plan) => flame::draw(&plan),
        Command::Train(training) => train::train(&training),
        Command::Run { place, json, plan } => run(&place, &plan, json),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(place: &Place, plan: &Plan, json: bool) -> Result<()> {
    let measured = rounds::measure(place, plan)?;
    if json {
        println!("{:#}", report::json(&measured));
    } else {
        print!("{}", report::table(&measured));
    }
    Ok(())
}
