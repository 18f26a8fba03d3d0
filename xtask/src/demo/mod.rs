//! A demonstration: the example tools, served, and a client that shows what each kind of call looks
//! like. It is also a check: a step that does not get what it should fails the command.

mod client;
mod conversation;
mod server;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::checkout::Checkout;
use crate::guests;
use crate::process::{cargo, run, say};
use server::Server;

/// The components that it serves.
pub(crate) const EXAMPLES: [&str; 3] = ["report", "render", "thumbnail"];

#[derive(Args)]
pub(crate) struct Options {
    /// Stop after the conversation instead of serving on
    #[arg(long)]
    once: bool,
    /// The port to serve on; 8080, or with --once any free one
    #[arg(long, value_name = "N")]
    port: Option<u16>,
}

/// Builds the server. Gives its program.
pub(crate) fn build_server(checkout: &Checkout, release: bool) -> Result<PathBuf> {
    say!("building the server");
    // With the features that all members together ask for, as the tests have it: so wasmtime is
    // built once.
    let mut build = cargo(&checkout.root);
    build.args(["build", "--workspace", "--bin", "cofferdam"]);
    if release {
        build.arg("--release");
    }
    run(&mut build)?;
    let profile = if release { "release" } else { "debug" };
    Ok(checkout.target.join(profile).join("cofferdam"))
}

/// Builds what it needs, and shows it.
pub(crate) fn show(checkout: &Checkout, options: &Options) -> Result<()> {
    guests::build(checkout, &EXAMPLES)?;
    build_server(checkout, false)?;

    let port = options.port.unwrap_or(if options.once { 0 } else { 8080 });
    let mut server = Server::start(checkout, &EXAMPLES, port)?;
    println!("{}\n", server.announcement());
    conversation::hold(&mut server)?;
    if options.once {
        return Ok(());
    }
    println!("\nstill serving at {}; Ctrl-C stops it", server.url());
    server.wait()
}
