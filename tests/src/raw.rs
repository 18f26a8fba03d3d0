//! Bytes as they stand, for what no HTTP library would send.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::patient;

/// Writes `bytes` to a fresh connection and returns all that comes until the server closes it. The
/// request should therefore say `Connection: close`, or be one after which the server closes.
///
/// # Panics
/// If the server cannot be reached, or keeps the connection.
pub async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    patient("the server to answer raw bytes and close", async {
        let mut stream = TcpStream::connect(address)
            .await
            .expect("the server accepts connections");
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    })
    .await
}
