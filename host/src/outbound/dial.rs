//! From a name to a connection.
//!
//! Invariant: every address of a name is checked before any is dialled, and only checked ones are.

use crate::grants::Addresses;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::net::{TcpStream, lookup_host};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The name is not known.
    #[error("the name cannot be resolved: {0}")]
    NotFound(io::Error),
    /// It leads to an address that may not be dialled.
    #[error(transparent)]
    NotPublic(#[from] crate::grants::NotPublic),
    /// Nobody answers at any of its addresses.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
}

/// All addresses of a host, if all of them may be dialled.
///
/// # Errors
/// [`DialError::NotFound`], [`DialError::NotPublic`].
pub async fn resolve(
    host: &str,
    port: u16,
    allowed: &Addresses,
) -> Result<Vec<SocketAddr>, DialError> {
    let found: Vec<SocketAddr> = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => {
            let found = lookup_host((host, port)).await;
            found.map_err(DialError::NotFound)?.collect()
        }
    };
    for address in &found {
        allowed.check(address.ip())?;
    }
    if found.is_empty() {
        return Err(DialError::NotFound(io::ErrorKind::NotFound.into()));
    }
    Ok(found)
}

/// Connects to the first address that answers.
pub(super) async fn dial(
    host: &str,
    port: u16,
    allowed: &Addresses,
) -> Result<TcpStream, DialError> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in resolve(host, port, allowed).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(DialError::Connect(last))
}
