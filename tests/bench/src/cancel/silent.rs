//! A server that takes requests and never answers.
//!
//! Invariant: a request counts once its whole head is there. It runs on the load's own thread.

use std::net::{SocketAddr, TcpListener};

use anyhow::Result;
use bytes::BytesMut;
use memchr::memmem;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// It is gone when dropped.
pub(super) struct Silent {
    pub(super) address: SocketAddr,
    asked: watch::Receiver<usize>,
    _accepting: JoinSet<()>,
}

impl Silent {
    pub(super) fn listen(listener: TcpListener) -> Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (count, asked) = watch::channel(0);
        let mut accepting = JoinSet::new();
        accepting.spawn_local(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn_local(hear(stream, count.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            asked,
            _accepting: accepting,
        })
    }

    /// How many requests it was asked so far.
    pub(super) fn asked(&self) -> watch::Receiver<usize> {
        self.asked.clone()
    }
}

/// Takes one request, and waits until the client goes.
async fn hear(mut stream: TcpStream, count: watch::Sender<usize>) {
    let mut heard = BytesMut::new();
    let mut whole = false;
    // An error says that the client is gone, as an end does.
    while let Ok(1..) = stream.read_buf(&mut heard).await {
        if !whole && memmem::find(&heard, b"\r\n\r\n").is_some() {
            whole = true;
            count.send_modify(|count| *count += 1);
        }
    }
}
