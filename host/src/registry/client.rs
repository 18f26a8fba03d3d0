//! A component from a registry, and to one.
//!
//! Invariant: what is handed on has the digest that the manifest names, and the manifest the one
//! that was asked for; no more is read than they may have.

use super::manifest::MANIFEST;
use super::session::{Access, Ask, Session};
use super::{Digest, Manifest, Reference, RegistryError};
use crate::limits::{
    COMPONENT_BYTES, REGISTRY_CONNECT_TIME, REGISTRY_MANIFEST_BYTES, REGISTRY_TIME,
};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use std::io::{Read as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::Method;
use ureq::http::header::CONTENT_TYPE;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy};

/// The largest manifest, and the limit's name.
const MANIFEST_LIMIT: (u64, &str) = (REGISTRY_MANIFEST_BYTES, "REGISTRY_MANIFEST_BYTES");

/// How registries are asked. Everything in here blocks.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    /// For this machine: past the proxy that the environment may name.
    direct: Agent,
    encrypted: bool,
    /// For all requests of one pull or push.
    time: Duration,
}

impl Default for Client {
    /// One that trusts the usual authorities.
    fn default() -> Self {
        Self::trusting(RootCerts::WebPki, false)
    }
}

impl Client {
    /// One that trusts the usual authorities, or those of a file (PEM) instead. With such a file, a
    /// registry on this machine is asked with TLS, too; else it is not.
    ///
    /// # Errors
    /// [`RegistryError::Authorities`].
    pub fn new(ca_file: Option<&Path>) -> Result<Self, RegistryError> {
        let Some(file) = ca_file else {
            return Ok(Self::default());
        };
        let bad = |reason: String| RegistryError::Authorities(file.to_owned(), reason);
        let text = std::fs::read(file).map_err(|error| bad(error.to_string()))?;
        let roots = RootCerts::Specific(Arc::new(certificates(&text).map_err(bad)?));
        Ok(Self::trusting(roots, true))
    }

    fn trusting(roots: RootCerts, encrypted: bool) -> Self {
        let agent = |proxy| {
            let config = Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .timeout_connect(Some(REGISTRY_CONNECT_TIME))
                .user_agent(concat!("cofferdam/", env!("CARGO_PKG_VERSION")))
                .tls_config(TlsConfig::builder().root_certs(roots.clone()).build())
                .proxy(proxy);
            Agent::from(config.build())
        };
        Self {
            agent: agent(Proxy::try_from_env()),
            direct: agent(None),
            encrypted,
            time: REGISTRY_TIME,
        }
    }

    /// The same, with less patience.
    #[cfg(test)]
    pub(super) fn with_time(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    fn session(&self, reference: &Reference, access: Access) -> Result<Session<'_>, RegistryError> {
        let agent = match reference.is_loopback() {
            true => &self.direct,
            false => &self.agent,
        };
        Session::new(agent, self.encrypted, self.time, reference, access)
    }

    /// Asks what a reference stands for now.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn pull(&self, reference: &Reference) -> Result<Pull<'_>, RegistryError> {
        let mut session = self.session(reference, Access::Pull)?;
        let manifest = match (session.manifest(reference), reference.digest()) {
            (Err(missing @ RegistryError::Missing(_)), Some(pinned)) => {
                return Err(session.instead(reference, pinned).unwrap_or(missing));
            }
            (manifest, _) => manifest?,
        };
        Ok(Pull { session, manifest })
    }

    /// Pushes a component, with its signature if it has one. Gives the reference that pins it.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn push(
        &self,
        reference: &Reference,
        component: &[u8],
        signature: Option<&str>,
    ) -> Result<Reference, RegistryError> {
        let (Some(tag), None) = (reference.tag(), reference.digest()) else {
            return Err(RegistryError::NotATag(reference.to_string()));
        };
        let (manifest, config) = Manifest::of(component, signature, Timestamp::now())?;
        at_most(
            COMPONENT_BYTES,
            component,
            "the component",
            "COMPONENT_BYTES",
        )?;
        let (limit, name) = MANIFEST_LIMIT;
        at_most(limit, manifest.bytes(), "the manifest", name)?;
        let mut session = self.session(reference, Access::Push)?;
        session.blob(&manifest.component, component, "the component")?;
        session.blob(&Digest::of(&config), &config, "the configuration")?;
        let to = format!("/manifests/{tag}");
        session.ask(&Ask {
            header: Some((CONTENT_TYPE, MANIFEST)),
            ..Ask::send(Method::PUT, &to, manifest.bytes(), "the manifest")
        })?;
        Ok(reference.pinned(manifest.digest))
    }
}

/// A component that can be had.
pub struct Pull<'a> {
    session: Session<'a>,
    manifest: Manifest,
}

impl Pull<'_> {
    /// What the registry says of it.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`RegistryError`]; what was written then is worth nothing.
    pub fn component(mut self, out: impl Write) -> Result<Manifest, RegistryError> {
        self.session.component(&self.manifest, out)?;
        Ok(self.manifest)
    }
}

fn at_most(limit: u64, bytes: &[u8], what: &str, name: &'static str) -> Result<(), RegistryError> {
    if bytes.len() as u64 <= limit {
        return Ok(());
    }
    let what = what.to_owned();
    Err(RegistryError::TooLarge { what, limit, name })
}

fn certificates(text: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut certificates = Vec::new();
    for item in parse_pem(text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            certificates.push(certificate);
        }
    }
    match certificates.is_empty() {
        true => Err("no certificate is in it".to_owned()),
        false => Ok(certificates),
    }
}

impl Session<'_> {
    fn manifest(&mut self, reference: &Reference) -> Result<Manifest, RegistryError> {
        let digest = reference.digest();
        let name = match (digest, reference.tag()) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.unwrap_or_default().to_owned(),
        };
        let what = reference.to_string();
        let answer = self.ask(&Ask::get(&format!("/manifests/{name}"), MANIFEST, &what))?;
        let told = answer.headers().get("Docker-Content-Digest");
        let told = told.and_then(|it| it.to_str().ok()).map(str::to_owned);
        let bytes = self.text(answer, &format!("the manifest of {what}"), MANIFEST_LIMIT)?;
        let actual = Digest::of(&bytes).to_string();
        let told = told.filter(|told| told.starts_with("sha256:"));
        for expected in digest.map(Digest::to_string).into_iter().chain(told) {
            if expected != actual {
                return Err(RegistryError::Digest {
                    what: format!("the manifest of {what}"),
                    expected,
                    actual,
                });
            }
        }
        Manifest::read(bytes).map_err(|error| RegistryError::Manifest(what, error))
    }

    /// There is nothing of that digest: what there is by the tag is worth knowing.
    fn instead(&mut self, reference: &Reference, pinned: &Digest) -> Option<RegistryError> {
        let tagged = reference.unpinned()?;
        Some(RegistryError::Pin {
            reference: reference.to_string(),
            tag: tagged.tag()?.to_owned(),
            pinned: pinned.clone(),
            actual: self.manifest(&tagged).ok()?.digest,
        })
    }

    fn component(&mut self, manifest: &Manifest, mut out: impl Write) -> Result<(), RegistryError> {
        let what = format!("the component {}", manifest.component);
        let to = format!("/blobs/{}", manifest.component);
        let mut answer = self.ask(&Ask::get(&to, "*/*", &what))?;
        let mut hash = Sha256::new();
        let mut left = manifest.size;
        let mut reader = answer.body_mut().with_config().limit(u64::MAX).reader();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = reader
                .read(&mut buffer)
                .map_err(|error| self.broken(&ureq::Error::from(error)))?;
            let Some(rest) = left.checked_sub(read as u64) else {
                return Err(RegistryError::Digest {
                    what,
                    expected: format!("{} bytes, as the manifest says", manifest.size),
                    actual: "more than that".to_owned(),
                });
            };
            left = rest;
            if read == 0 {
                break;
            }
            let bytes = &buffer[..read];
            hash.update(bytes);
            out.write_all(bytes).map_err(RegistryError::Write)?;
        }
        let actual = Digest::from_hash(hash);
        if actual != manifest.component {
            return Err(RegistryError::Digest {
                what,
                expected: "its digest".to_owned(),
                actual: actual.to_string(),
            });
        }
        out.flush().map_err(RegistryError::Write)
    }

    /// Lays bytes into the registry, unless they are there.
    fn blob(&mut self, digest: &Digest, bytes: &[u8], what: &str) -> Result<(), RegistryError> {
        let there = self.ask(&Ask {
            method: Method::HEAD,
            ..Ask::get(&format!("/blobs/{digest}"), "*/*", what)
        });
        match there {
            Ok(_) => return Ok(()),
            Err(RegistryError::Missing(_)) => {}
            Err(error) => return Err(error),
        }
        let begun = self.ask(&Ask::send(Method::POST, "/blobs/uploads/", &[], what))?;
        let to = self.next(begun.headers(), what)?;
        let between = if to.contains('?') { '&' } else { '?' };
        let to = format!("{to}{between}digest={digest}");
        self.ask(&Ask::send(Method::PUT, &to, bytes, what))?;
        Ok(())
    }
}
