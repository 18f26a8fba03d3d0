//! Outbound HTTP: to which hosts, and how much.
//!
//! Invariant: a grant names every host it allows. What it allows is kept with it, so that two sources
//! share neither connections nor trust.

use super::GrantError;
use super::destinations::{Addresses, Destination, Scheme};
use crate::limits::HttpLimits;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What the components of a source may ask of which hosts.
pub struct Http {
    destinations: Vec<Destination>,
    addresses: Addresses,
    tls: Arc<ClientConfig>,
    limits: HttpLimits,
    connections: Arc<Semaphore>,
}

impl Http {
    /// Checks, and reads the certificates.
    ///
    /// # Errors
    /// [`GrantError`].
    pub fn new(
        hosts: &[String],
        private: &[String],
        ca_file: Option<&Path>,
        limits: HttpLimits,
    ) -> Result<Self, GrantError> {
        for (key, value, least) in [
            ("connections", limits.connections, 1),
            (
                "connect-ms",
                usize::try_from(limits.connect_ms).unwrap_or(usize::MAX),
                1,
            ),
            (
                "total-ms",
                usize::try_from(limits.total_ms).unwrap_or(usize::MAX),
                1,
            ),
            ("header-bytes", limits.header_bytes, 8_192),
        ] {
            if value < least {
                return Err(GrantError::HttpLimit(key, least, value));
            }
        }
        let destinations = hosts.iter().map(|host| Destination::http(host));
        Ok(Self {
            destinations: destinations.collect::<Result<_, _>>()?,
            addresses: Addresses::new(private)?,
            tls: Arc::new(tls(ca_file)?),
            limits,
            connections: Arc::new(Semaphore::new(limits.connections)),
        })
    }

    /// May this be asked? The port is the scheme's if the URL has none.
    #[must_use]
    pub fn covers(&self, scheme: Scheme, host: &str, port: u16) -> bool {
        let covers = |it: &Destination| it.covers(scheme, host, port);
        self.destinations.iter().any(covers)
    }

    /// Where it leads.
    pub(super) fn destinations(&self) -> &[Destination] {
        &self.destinations
    }

    /// Which addresses its names may lead to.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Whom it trusts.
    #[must_use]
    pub fn tls(&self) -> &Arc<ClientConfig> {
        &self.tls
    }

    /// Its limits.
    #[must_use]
    pub fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// Its connections.
    pub(crate) fn connections(&self) -> &Arc<Semaphore> {
        &self.connections
    }
}

/// The usual authorities, or those of a file instead.
fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, GrantError> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(file) => {
            let bad = |reason: String| GrantError::Authorities(file.display().to_string(), reason);
            let certificates = CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| bad(error.to_string()))?;
            let (added, _) = roots.add_parsable_certificates(certificates);
            if added == 0 {
                return Err(bad("no certificate is in it".to_owned()));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = versions.map_err(|error| GrantError::Tls(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("destinations", &self.destinations)
            .field("addresses", &self.addresses)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
