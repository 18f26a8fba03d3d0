//! The project's own commands. Standard output belongs to what a command was asked for; what it
//! does meanwhile is told on standard error.

mod bench;
mod bindings;
mod checkout;
mod cluster;
mod contract;
mod count;
mod debian;
mod demo;
mod deny;
mod docs;
mod flame;
mod fuzz;
mod guests;
mod node;
mod optimise;
mod process;
mod release;
mod servers;
mod test;
mod toolchain;
mod venv;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use checkout::Checkout;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the guests into target/guests/
    Guests {
        /// Only this one
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
    },
    /// Generate the bindings for guests in C anew
    Bindings,
    /// Write the reference of the contract, docs/wit.md, anew
    Docs,
    /// Print a Rust compiler that has the standard library of a target; make one if need be
    Rustc {
        /// For example wasm32-unknown-unknown
        target: String,
    },
    /// Check and test everything; install and build what that needs
    Test,
    /// Serve the examples, and show a conversation with them
    Demo(demo::Options),
    /// Run several nodes on one PostgreSQL behind nginx, until Ctrl-C
    Cluster(cluster::Options),
    /// Build the server once more, optimised by what it does most; needs llvm-profdata
    Optimise,
    /// Compare the server's speed with bare HTTP and with the official SDKs
    Bench(bench::Options),
    /// Count the instructions of the hot path, and compare them with those recorded; needs valgrind
    Count(count::Options),
    /// Draw where the time of a call goes, as a flame graph; needs perf
    Flame(flame::Options),
    /// Fuzz what reads untrusted input; needs a nightly compiler and cargo-fuzz
    Fuzz(fuzz::Options),
    /// Check licences, sources and advisories of all dependencies; needs cargo-deny
    Deny(deny::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let checkout = Checkout::find()?;
    match task {
        Task::Guests { only } => guests::build(&checkout, only.as_deref().as_slice()),
        Task::Rustc { target } => {
            println!("{}", toolchain::find(&target)?.rustc().display());
            Ok(())
        }
        Task::Bindings => bindings::write(&checkout),
        Task::Docs => docs::write(&checkout),
        Task::Demo(options) => demo::show(&checkout, &options),
        Task::Cluster(options) => cluster::run(&checkout, &options),
        Task::Optimise => optimise::optimise(&checkout),
        Task::Bench(options) => bench::measure(&checkout, &options),
        Task::Count(options) => count::count(&checkout, &options),
        Task::Flame(options) => flame::flame(&checkout, &options),
        Task::Fuzz(options) => fuzz::fuzz(&checkout, &options),
        Task::Deny(options) => deny::audit(&checkout, &options),
        Task::Test => test::run_all(&checkout),
    }
}
