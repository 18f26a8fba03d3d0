//! `[tools.grants]`: what the components of a source may reach.

use super::raw;
use crate::grants::{
    Directories, Directory, Environment, GrantError, Grants, Http, Secret, Sockets,
};
use crate::limits::SOCKET_CONNECTIONS;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) fn grants(
    raw: raw::Grants,
    beside: &dyn Fn(PathBuf) -> PathBuf,
) -> Result<Grants, GrantError> {
    let secrets = raw.secrets.into_iter();
    let secrets = secrets.map(|(name, secret)| (name, Secret::from_raw(secret, beside)));
    let directories = raw.directories.into_iter().map(|directory| Directory {
        host: beside(directory.host),
        guest: directory.guest,
        write: directory.write,
    });
    let http = raw.http.map(|http| {
        let ca_file = http.ca_file.map(beside);
        Http::new(&http.hosts, &http.private, ca_file.as_deref(), http.limits).map(Arc::new)
    });
    let sockets = raw.sockets.map(|sockets| {
        let connections = sockets.connections.unwrap_or(SOCKET_CONNECTIONS);
        Sockets::new(&sockets.hosts, &sockets.private, connections).map(Arc::new)
    });
    Ok(Grants {
        environment: Environment::new(raw.env, secrets.collect())?,
        directories: Directories::new(directories.collect())?,
        http: http.transpose()?,
        sockets: sockets.transpose()?,
    })
}

impl Secret {
    /// As it is written in the file.
    pub(super) fn from_raw(raw: raw::Secret, beside: &dyn Fn(PathBuf) -> PathBuf) -> Self {
        match raw {
            raw::Secret::Env(variable) => Self::Variable(variable),
            raw::Secret::File(path) => Self::File(beside(path)),
        }
    }
}
