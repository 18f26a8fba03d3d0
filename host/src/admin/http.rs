//! The operator's address: a few connections of one request each, on a thread of its own.
//!
//! Invariant: a connection has so much time for its head, and again for each piece of the answer that
//! its client takes; where there is no room for one more, the oldest that waits for no reload gives way.
//! So whoever comes is answered, however many others hold on; in a flood of others that come, too,
//! perhaps not at the first try.

use super::AdminOptions;
use super::answer::answer;
use super::history::History;
use crate::auth::Auth;
use crate::limits::{ADMIN_CONNECTIONS, ADMIN_HEAD_BYTES, ADMIN_TIME};
use crate::server::Server;
use crate::transport::Patient;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

/// Why the operator's address is not served.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// It cannot be bound.
    #[error(
        "cannot listen on {address} for the operator; choose another address with --admin, or do \
         without one with --admin off"
    )]
    Bind {
        /// What was configured.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Anybody could ask.
    #[error(
        "{0} can be reached from elsewhere, and there is no token for it: use a loopback address with \
         --admin, or set token-sha256 in [admin] of the configuration (`cofferdam token` makes one)"
    )]
    Open(String),
    /// There is no thread for it.
    #[error("cannot start the thread of the operator's address")]
    Thread(#[source] io::Error),
}

/// A bound address.
pub struct AdminServer {
    listener: StdListener,
    address: SocketAddr,
    auth: Auth,
}

/// What all requests share.
pub(super) struct Shared {
    pub(super) server: Arc<Server>,
    pub(super) history: History,
    pub(super) auth: Auth,
    pub(super) loopback: bool,
    /// Where the server itself runs.
    pub(super) main: Handle,
}

/// A served address. Dropping it waits for its thread, which ends when the server stops.
pub struct Admin(Option<JoinHandle<()>>);

impl Drop for Admin {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A panic was told already.
            let _ = thread.join();
        }
    }
}

impl AdminServer {
    /// Binds the address.
    ///
    /// # Errors
    /// [`AdminError::Bind`], [`AdminError::Open`].
    pub async fn bind(options: AdminOptions) -> Result<Self, AdminError> {
        let AdminOptions { listen, auth } = options;
        let bound = async {
            let listener = TcpListener::bind(&listen).await?.into_std()?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = match bound.await {
            Ok(bound) => bound,
            Err(source) => {
                let address = listen;
                return Err(AdminError::Bind { address, source });
            }
        };
        if !address.ip().is_loopback() && !auth.is_some() {
            return Err(AdminError::Open(listen));
        }
        Ok(Self {
            listener,
            address,
            auth,
        })
    }

    /// Where the operator connects. The console is there, too.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers for a server until it stops. To be called where the server runs.
    ///
    /// # Errors
    /// [`AdminError::Thread`].
    pub fn serve(self, server: Arc<Server>) -> Result<Admin, AdminError> {
        // Looking for what has come, each time something was done: a request that is there already is
        // seen before its connection has to give way.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(1)
            .build()
            .map_err(AdminError::Thread)?;
        let shared = Arc::new(Shared {
            server,
            history: History::default(),
            auth: self.auth,
            loopback: self.address.ip().is_loopback(),
            main: Handle::current(),
        });
        let listener = self.listener;
        let thread = thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || runtime.block_on(accept(listener, shared)))
            .map_err(AdminError::Thread)?;
        Ok(Admin(Some(thread)))
    }
}

/// An open connection. Dropping it closes it.
struct Connection {
    task: AbortOnDropHandle<()>,
    /// It waits for a reload.
    busy: Arc<AtomicBool>,
}

async fn accept(listener: StdListener, shared: Arc<Shared>) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the operator's address is not served");
            return;
        }
    };
    let following = Arc::clone(&shared);
    let follow = async move { following.history.follow(&following.server).await };
    let _follow = AbortOnDropHandle::new(tokio::spawn(follow));
    let mut open: VecDeque<Connection> = VecDeque::new();
    loop {
        let accepted = tokio::select! {
            () = shared.server.stopping().cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Most often too many open files: give the connections time to end.
                tracing::warn!(%error, "could not accept a connection of the operator");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        open.retain(|connection| !connection.task.is_finished());
        if open.len() >= ADMIN_CONNECTIONS {
            let idle = |it: &Connection| !it.busy.load(Ordering::Relaxed);
            if let Some(oldest) = open.iter().position(idle) {
                open.remove(oldest);
            }
        }
        let busy = Arc::new(AtomicBool::new(false));
        let serving = serve(stream, Arc::clone(&shared), Arc::clone(&busy));
        let task = AbortOnDropHandle::new(tokio::spawn(serving));
        open.push_back(Connection { task, busy });
        tokio::task::yield_now().await;
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, busy: Arc<AtomicBool>) {
    let service = service_fn(|request: Request<Incoming>| {
        let (shared, busy) = (Arc::clone(&shared), Arc::clone(&busy));
        // No request has a body that says anything.
        let (head, _) = request.into_parts();
        async move { Ok::<_, Infallible>(answer(head, shared, busy).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(ADMIN_TIME)
        .max_buf_size(ADMIN_HEAD_BYTES)
        .keep_alive(false);
    let stream = TokioIo::new(Patient::new(stream, ADMIN_TIME));
    if let Err(error) = builder.serve_connection(stream, service).await {
        tracing::debug!(%error, "a connection of the operator ended early");
    }
}
