//! The file as it is written. Every key is here, and nothing else is accepted.

use crate::limits::{HttpLimits, SandboxLimits, ServerLimits, TaskLimits};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) listen: Option<String>,
    pub(super) data: Option<PathBuf>,
    pub(super) store: Option<String>,
    pub(super) state_key: Option<PathBuf>,
    pub(super) old_state_keys: Vec<PathBuf>,
    pub(super) server: ServerLimits,
    pub(super) sandbox: SandboxLimits,
    pub(super) tasks: TaskLimits,
    pub(super) tools: Vec<ToolsItem>,
    pub(super) files: Vec<Files>,
    pub(super) registry: Registry,
    pub(super) auth: Auth,
    pub(super) admin: Admin,
    pub(super) tenants: BTreeMap<String, Tenant>,
    pub(super) webhooks: Vec<Webhook>,
    pub(super) telemetry: Telemetry,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Telemetry {
    /// A collector's base URL.
    pub(super) otlp: Option<String>,
    pub(super) headers: BTreeMap<String, Secret>,
    /// Of traces that begin here, 0 to 1.
    pub(super) sample: Option<f64>,
    pub(super) service: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Webhook {
    pub(super) url: String,
    /// Signs what is sent.
    pub(super) secret: Secret,
    /// States of tasks; all if it is empty.
    #[serde(default)]
    pub(super) events: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Registry {
    /// Certificates of authorities, instead of the usual ones.
    pub(super) ca_file: Option<PathBuf>,
}

/// A table, or its `path` alone.
pub(super) struct ToolsItem(pub(super) Tools);

impl<'de> Deserialize<'de> for ToolsItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Item;

        impl<'de> Visitor<'de> for Item {
            type Value = ToolsItem;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, an oci:// reference, or a table with path")
            }

            fn visit_str<E>(self, path: &str) -> Result<ToolsItem, E> {
                Ok(ToolsItem(Tools {
                    path: path.to_owned(),
                    ..Tools::default()
                }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ToolsItem, A::Error> {
                Tools::deserialize(MapAccessDeserializer::new(map)).map(ToolsItem)
            }
        }

        deserializer.deserialize_any(Item)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Tools {
    /// A component, or a folder of them, or a reference to one in a registry.
    pub(super) path: String,
    /// Take what its tag stands for, also if it stood for something else before.
    #[serde(default)]
    pub(super) follow: bool,
    /// Keys of whom its components must be signed by one, or files with them.
    pub(super) signed_by: Option<Vec<String>>,
    /// Put before the names of their tools.
    #[serde(default)]
    pub(super) prefix: String,
    /// What their components may reach.
    #[serde(default)]
    pub(super) grants: Grants,
    /// In place of settings.
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) tasks: TaskOptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Files {
    /// A folder.
    pub(super) path: PathBuf,
    /// What the URIs of its files begin with.
    pub(super) uri: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) max_file_bytes: Option<u64>,
    /// Serve what begins with a dot, too.
    #[serde(default)]
    pub(super) hidden: bool,
    /// List the files; true unless it is said.
    pub(super) index: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Limits {
    pub(super) memory_bytes: Option<u64>,
    pub(super) table_elements: Option<u64>,
    pub(super) cpu_ms: Option<u64>,
    pub(super) wall_ms: Option<u64>,
    pub(super) task_wall_ms: Option<u64>,
    pub(super) result_bytes: Option<u64>,
    pub(super) journal_bytes: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TaskOptions {
    pub(super) ttl_ms: Option<u64>,
    pub(super) poll_interval_ms: Option<u64>,
    pub(super) detach_after_ms: Option<u64>,
    pub(super) max_attempts: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Grants {
    pub(super) env: BTreeMap<String, String>,
    pub(super) secrets: BTreeMap<String, Secret>,
    pub(super) directories: Vec<Directory>,
    pub(super) http: Option<Http>,
    pub(super) sockets: Option<Sockets>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) enum Secret {
    /// In a variable of the server.
    Env(String),
    /// In a file.
    File(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Http {
    /// `[https://|http://]HOST[:PORT]`
    pub(super) hosts: Vec<String>,
    /// Addresses and networks beside the public ones.
    #[serde(default)]
    pub(super) private: Vec<String>,
    /// Certificates of authorities, instead of the usual ones.
    pub(super) ca_file: Option<PathBuf>,
    #[serde(default)]
    pub(super) limits: HttpLimits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Sockets {
    /// `[tcp://]HOST:PORT`
    pub(super) hosts: Vec<String>,
    /// Addresses and networks beside the public ones.
    #[serde(default)]
    pub(super) private: Vec<String>,
    /// Most connections of a call.
    pub(super) connections: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Directory {
    pub(super) host: PathBuf,
    pub(super) guest: String,
    #[serde(default)]
    pub(super) write: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Auth {
    pub(super) tokens: Vec<Token>,
    pub(super) jwt: Option<Jwt>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Admin {
    /// An address, or `off`.
    pub(super) listen: Option<String>,
    /// Of the token that is needed there.
    pub(super) token_sha256: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Token {
    pub(super) tenant: String,
    pub(super) subject: String,
    pub(super) sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Jwt {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) keys: String,
    #[serde(default = "algorithms")]
    pub(super) algorithms: Vec<String>,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    pub(super) tenant_claim: Option<String>,
    pub(super) tenant: Option<String>,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
}

fn algorithms() -> Vec<String> {
    ["RS256", "ES256", "EdDSA"].map(str::to_owned).to_vec()
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Tenant {
    pub(super) tools: Option<Vec<String>>,
    pub(super) prompts: Option<Vec<String>>,
    pub(super) resources: Option<Vec<String>>,
    pub(super) signed_by: Option<Vec<String>>,
    pub(super) max_instances: Option<usize>,
    pub(super) max_waiting: Option<usize>,
    pub(super) max_tasks: Option<usize>,
    pub(super) max_stored_tasks: Option<usize>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) cpu_ms_per_minute: Option<u64>,
    pub(super) result_bytes: Option<u64>,
    pub(super) progress_per_second: Option<u32>,
    pub(super) max_listens: Option<usize>,
    pub(super) max_requests: Option<usize>,
    pub(super) max_bodies_bytes: Option<u64>,
    pub(super) max_connections: Option<usize>,
}
