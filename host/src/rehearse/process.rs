//! A real server, in a process of its own that kills itself as planned and is started again.

use super::Death;
use super::conversation::{Wire, body, headers};
use anyhow::{Context as _, Result, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// How often a task is looked at.
const POLL: Duration = Duration::from_millis(5);
/// Longest wait for a server to die after it stopped answering.
const DEATH: Duration = Duration::from_secs(10);

/// A server and its data.
pub(super) struct Server {
    component: PathBuf,
    data: TempDir,
    child: Child,
    address: SocketAddr,
    deaths: usize,
}

impl Server {
    /// Starts a server that kills itself there.
    pub(super) async fn start(component: &Path, death: Death) -> Result<Self> {
        let data = tempfile::tempdir().context("cannot make a temporary folder")?;
        let (child, address) = spawn(component, data.path(), death).await?;
        Ok(Self {
            component: component.to_owned(),
            data,
            child,
            address,
            deaths: 0,
        })
    }

    /// How often it died.
    pub(super) fn deaths(&self) -> usize {
        self.deaths
    }

    async fn request(&self, method: &str, params: &Value) -> Result<Value> {
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let mut request = Request::post("/mcp").header("host", self.address.to_string());
        for (name, value) in headers(method, params) {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(bytes::Bytes::from(body(method, params))))?;
        let exchange = async {
            let response = sender.send_request(request).await?;
            anyhow::Ok(response.into_body().collect().await?.to_bytes())
        };
        let body = tokio::select! {
            body = exchange => body?,
            ended = connection => bail!("the connection ended: {ended:?}"),
        };
        Ok(serde_json::from_slice(&body)?)
    }
}

impl Wire for Server {
    async fn send(&mut self, method: &str, params: &Value) -> Result<Option<Value>> {
        let error = match self.request(method, params).await {
            Ok(response) => return Ok(Some(response)),
            Err(error) => error,
        };
        // It died, or the answer is not one.
        if tokio::time::timeout(DEATH, self.child.wait())
            .await
            .is_err()
        {
            return Err(error.context("the server lives, but does not answer as it should"));
        }
        self.deaths += 1;
        (self.child, self.address) = spawn(&self.component, self.data.path(), Death::Never).await?;
        Ok(None)
    }

    async fn changed(&mut self, _id: &str) {
        tokio::time::sleep(POLL).await;
    }
}

async fn spawn(component: &Path, data: &Path, death: Death) -> Result<(Child, SocketAddr)> {
    let program = std::env::current_exe().context("cannot find this program")?;
    // Read if it does not start; of no one else's concern.
    let log = data.join("rehearsal.log");
    let complaints = File::create(&log).context("cannot write the log of a server")?;
    let mut child = Command::new(program)
        .arg("serve")
        .arg(component)
        .args(["--listen", "127.0.0.1:0", "--admin", "off"])
        .args(["--rehearse", &death.to_string()])
        .arg("--data")
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(complaints)
        .kill_on_drop(true)
        .spawn()
        .context("cannot start a server")?;
    let stdout = child.stdout.take().context("a server without output")?;
    let line = BufReader::new(stdout).lines().next_line().await?;
    let address = line.as_deref().and_then(|line| {
        let rest = line.split("http://").nth(1)?;
        rest.split('/').next()?.parse().ok()
    });
    match address {
        Some(address) => Ok((child, address)),
        None => {
            let ended = child.wait().await?;
            let said = fs::read_to_string(&log).unwrap_or_default();
            bail!("the server did not start ({ended}):\n{}", said.trim_end())
        }
    }
}
