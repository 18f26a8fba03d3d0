//! Servers to compare with: in this program, so that all are built alike, and in other languages.

mod floor;
mod foreign;
mod sdk;

use anyhow::Result;
use clap::ValueEnum;
pub(crate) use foreign::{python, typescript};
use tokio::net::TcpListener;

/// One of them.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Peer {
    /// Bare hyper.
    Hyper,
    /// The official Rust SDK.
    Rmcp,
}

/// Serves on a free port until the process is killed.
pub(crate) fn serve(peer: Peer) -> Result<()> {
    // Threads and all else as the host has it.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}/mcp", listener.local_addr()?);
        match peer {
            Peer::Hyper => floor::serve(listener).await,
            Peer::Rmcp => sdk::serve(listener).await,
        }
    })
}
