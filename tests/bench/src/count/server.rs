//! The server whose instructions are counted: the real one, embedded in this program, on one thread.
//! It compiles its component in this process, as none but callgrind can start another.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cofferdam::builder::ServerBuilder;
use cofferdam::config::{Arguments, Config};
use cofferdam::transport::HttpTransport;

/// What it serves.
#[derive(Args)]
pub(crate) struct Embedded {
    #[arg(long)]
    component: PathBuf,
    #[arg(long)]
    data: PathBuf,
}

/// Settings beside the defaults: callgrind has not room for as many instances.
const SETTINGS: [&str; 1] = ["sandbox.instances=1"];

/// Serves until standard input ends. Prints where it listens.
pub(crate) fn serve(embedded: Embedded) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let config = Config::read(Arguments {
            paths: vec![embedded.component],
            data: Some(embedded.data),
            store: Some("memory:".to_owned()),
            set: SETTINGS.map(str::to_owned).to_vec(),
            ..Arguments::default()
        })?;
        let ready = ServerBuilder::new(config).build().await?;
        let running = ready.run().await?;
        let http = HttpTransport::bind("127.0.0.1:0").await?;
        println!("listening on {}", http.url());
        let served = tokio::spawn(http.serve(running.server().clone()));
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        ended.await??;
        running.server().stopping().cancel();
        served.await?;
        running.stop().await;
        anyhow::Ok(())
    })
}
