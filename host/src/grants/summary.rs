//! What is granted, in words for an operator.
//!
//! Invariant: names and places, and no value of a variable or a secret.

use super::Grants;
use serde::{Deserialize, Serialize};

/// What the components of a source may reach. Nothing that is not here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Names of variables and secrets.
    pub environment: Vec<String>,
    /// Folders: what the guest calls each, where it is, and whether it may be written to.
    pub directories: Vec<String>,
    /// Where HTTP may go.
    pub http: Vec<String>,
    /// Where TCP connections may go.
    pub sockets: Vec<String>,
}

impl Granted {
    /// What these grant.
    #[must_use]
    pub fn of(grants: &Grants) -> Self {
        let directories = grants.directories.iter().map(|directory| {
            let mode = match directory.write {
                true => "read and write",
                false => "read",
            };
            let host = directory.host.display();
            format!("{} from {host} ({mode})", directory.guest)
        });
        let http = grants.http.iter().flat_map(|http| http.destinations());
        let sockets = grants.sockets.iter().flat_map(|it| it.destinations());
        Self {
            environment: grants.environment.names().map(ToOwned::to_owned).collect(),
            directories: directories.collect(),
            http: http.map(ToString::to_string).collect(),
            sockets: sockets.map(ToString::to_string).collect(),
        }
    }
}
