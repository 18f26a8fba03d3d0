//! Grants that a program which embeds the server decides on, one component at a time.

use super::Grants;
use crate::signature::Signer;
use std::sync::Arc;

/// A component that is about to serve.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// What it is called: its file, or its reference in a registry.
    pub name: &'a str,
    /// Lower-case hexadecimal sha-256 of its bytes.
    pub digest: &'a str,
    /// What it imports, for example `wasi:http/outgoing-handler@0.2.0`.
    pub imports: &'a [String],
    /// Who signed it, of those who are trusted.
    pub signer: Option<&'a Signer>,
}

/// Decides what components may reach, in place of what their source grants. Functions can.
pub trait GrantPolicy: Send + Sync {
    /// What a component may reach.
    ///
    /// # Errors
    /// Why it may not serve at all; the operator is told.
    fn grants(&self, component: &Candidate<'_>) -> Result<Arc<Grants>, String>;
}

impl<F> GrantPolicy for F
where
    F: Fn(&Candidate<'_>) -> Result<Arc<Grants>, String> + Send + Sync,
{
    fn grants(&self, component: &Candidate<'_>) -> Result<Arc<Grants>, String> {
        self(component)
    }
}
