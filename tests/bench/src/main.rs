//! Benchmarks whose figures are ratios: servers run side by side, in alternating rounds, under the
//! same load; and what tasks cost that wait. Every answer is checked, so a server that fails cannot
//! look fast.

mod contender;
mod disk;
mod load;
mod parked;
mod peers;
mod process;
mod report;
mod rounds;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

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
        /// The server under test
        #[arg(long)]
        host: PathBuf,
        /// The component whose tools are called
        #[arg(long)]
        guest: PathBuf,
        /// Where data folders of the servers go; their disk counts
        #[arg(long)]
        data: PathBuf,
        /// Print a JSON object instead of the table
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        plan: Plan,
    },
    /// Be one of the servers to compare with
    #[command(hide = true)]
    Serve { peer: peers::Peer },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve { peer } => peers::serve(peer),
        Command::Run {
            host,
            guest,
            data,
            json,
            plan,
        } => run(&contender::Place { host, guest, data }, &plan, json),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(place: &contender::Place, plan: &Plan, json: bool) -> Result<()> {
    let measured = rounds::measure(place, plan)?;
    if json {
        println!("{:#}", report::json(&measured));
    } else {
        print!("{}", report::table(&measured));
    }
    Ok(())
}
