//! From the raw file to the checked configuration.

use super::raw::{self, File};
use super::{Arguments, ConfigError};
use crate::auth::{ALGORITHMS, Auth, JwtOptions, Jwts, KeySource, Token, Tokens};
use crate::grants::{Directories, Directory, Environment, GrantError, Grants, Secret};
use crate::limits::QUEUE_PER_INSTANCE;
use crate::runtime::Share;
use crate::settings::Settings;
use crate::task::Principal;
use crate::tenants::{Tenant, Tenants};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything a server needs to know.
pub struct Config {
    /// The address to listen on.
    pub listen: String,
    /// The folder for what must survive.
    pub data: PathBuf,
    /// Where tasks are kept.
    pub store: String,
    /// The file with the key that seals `requestState`.
    pub state_key: PathBuf,
    /// Settings and limits.
    pub settings: Settings,
    /// Components and folders of them, each with what is put before its tools' names.
    pub sources: Vec<Source>,
    /// Who may call.
    pub auth: Auth,
    /// What callers may.
    pub tenants: Tenants,
    /// Serve beyond this machine without telling callers apart.
    pub allow_anonymous: bool,
}

/// A component, or a folder of them.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Put before the names of its tools.
    pub prefix: String,
    /// What its components may reach.
    pub grants: Arc<Grants>,
}

impl Config {
    /// Reads the file, if there is one, and lays the arguments over it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(arguments: Arguments) -> Result<Self, ConfigError> {
        let (file, name) = match &arguments.config {
            None => (File::default(), String::new()),
            Some(path) => (parse(path)?, path.display().to_string()),
        };
        let place = Place { name: &name };
        let folder = arguments.config.as_deref().and_then(Path::parent);
        // What a file names is beside it, wherever the server is started.
        let beside =
            |path: PathBuf| folder.map_or_else(|| path.clone(), |folder| folder.join(&path));

        let settings = Settings {
            server: file.server,
            sandbox: file.sandbox,
            tasks: file.tasks,
        };
        if let Err(error) = settings.check() {
            return Err(ConfigError::Malformed {
                file: name,
                reason: error.to_string(),
            });
        }
        let settings = settings.with_assignments(&arguments.set)?;
        let mut sources = Vec::new();
        for (index, tools) in file.tools.into_iter().enumerate() {
            place.prefix(index, &tools.prefix)?;
            let grants = grants(tools.grants, &beside)
                .or_else(|error| place.bad(&format!("tools[{index}].grants"), error.to_string()))?;
            sources.push(Source {
                path: beside(tools.path),
                prefix: tools.prefix,
                grants: Arc::new(grants),
            });
        }
        sources.extend(arguments.paths.into_iter().map(|path| Source {
            path,
            prefix: String::new(),
            grants: Arc::default(),
        }));
        if sources.is_empty() {
            return Err(ConfigError::NoTools);
        }
        let tenants = place.tenants(file.tenants, &settings)?;
        let auth = place.auth(file.auth, &tenants, &beside)?;
        if tenants.are_named() && !auth.is_some() {
            return place.bad("tenants", "callers are not told apart without [auth]");
        }
        let data = arguments
            .data
            .or_else(|| file.data.map(beside))
            .unwrap_or_else(|| ".cofferdam".into());
        let state_key = arguments
            .state_key
            .or_else(|| file.state_key.map(beside))
            .unwrap_or_else(|| data.join("request-state.key"));
        let listen = arguments.listen.or(file.listen);
        let store = arguments.store.or_else(|| {
            let store = file.store?;
            match store
                .strip_prefix("sqlite:")
                .filter(|path| !path.is_empty())
            {
                Some(path) => Some(format!("sqlite:{}", beside(path.into()).display())),
                None => Some(store),
            }
        });
        Ok(Self {
            listen: listen.unwrap_or_else(|| "127.0.0.1:8080".to_owned()),
            store: store.unwrap_or_else(|| "sqlite".to_owned()),
            data,
            state_key,
            settings,
            sources,
            auth,
            tenants,
            allow_anonymous: arguments.allow_anonymous,
        })
    }
}

fn grants(raw: raw::Grants, beside: &dyn Fn(PathBuf) -> PathBuf) -> Result<Grants, GrantError> {
    let secrets = raw.secrets.into_iter().map(|(name, secret)| {
        let secret = match secret {
            raw::Secret::Env(variable) => Secret::Variable(variable),
            raw::Secret::File(path) => Secret::File(beside(path)),
        };
        (name, secret)
    });
    let directories = raw.directories.into_iter().map(|directory| Directory {
        host: beside(directory.host),
        guest: directory.guest,
        write: directory.write,
    });
    Ok(Grants {
        environment: Environment::new(raw.env, secrets.collect())?,
        directories: Directories::new(directories.collect())?,
    })
}

fn parse(path: &Path) -> Result<File, ConfigError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| ConfigError::Io(path.to_owned(), error))?;
    toml::from_str(&text).map_err(|error| {
        let line = error
            .span()
            .map(|span| text[..span.start].matches('\n').count() + 1);
        ConfigError::Malformed {
            file: match line {
                Some(line) => format!("{}:{line}", path.display()),
                None => path.display().to_string(),
            },
            reason: error.message().to_owned(),
        }
    })
}

/// Where in the file something is, for errors.
struct Place<'a> {
    name: &'a str,
}

impl Place<'_> {
    fn bad<T>(&self, key: &str, reason: impl Into<String>) -> Result<T, ConfigError> {
        Err(ConfigError::Value {
            place: format!("{}: {key}", self.name),
            reason: reason.into(),
        })
    }

    fn prefix(&self, index: usize, prefix: &str) -> Result<(), ConfigError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if prefix.len() > 64 || !prefix.bytes().all(fits) {
            let key = format!("tools[{index}].prefix");
            return self.bad(&key, "must be at most 64 of A-Z a-z 0-9 _ - .");
        }
        Ok(())
    }

    fn tenants(
        &self,
        raw: std::collections::BTreeMap<String, raw::Tenant>,
        settings: &Settings,
    ) -> Result<Tenants, ConfigError> {
        let instances = settings.sandbox.instances as usize;
        let whole = |name: &str| Tenant {
            name: name.into(),
            tools: None,
            share: Share {
                running: instances,
                waiting: instances * QUEUE_PER_INSTANCE,
            },
            max_tasks: settings.tasks.max,
        };
        let mut tenants = Vec::new();
        for (name, raw) in raw {
            let key = |member: &str| format!("tenants.{name}.{member}");
            if name.is_empty() || name.len() > 256 {
                return self.bad("tenants", "a tenant's name has 1 to 256 bytes");
            }
            let mut tenant = whole(&name);
            if let Some(most) = raw.max_instances {
                if most == 0 || most > instances {
                    let rule = format!("must be 1 to sandbox.instances ({instances}), got {most}");
                    return self.bad(&key("max-instances"), rule);
                }
                tenant.share = Share {
                    running: most,
                    waiting: most * QUEUE_PER_INSTANCE,
                };
            }
            if let Some(waiting) = raw.max_waiting {
                tenant.share.waiting = waiting;
            }
            if let Some(most) = raw.max_tasks {
                tenant.max_tasks = most;
            }
            for pattern in raw.tools.iter().flatten() {
                let inner = pattern.strip_suffix('*').unwrap_or(pattern);
                if pattern.is_empty() || inner.contains('*') {
                    let rule = format!("{pattern:?}: a tool's name, or the start of names and a *");
                    return self.bad(&key("tools"), rule);
                }
            }
            tenant.tools = raw.tools;
            tenants.push(tenant);
        }
        Ok(Tenants::new(tenants, whole("")))
    }

    fn auth(
        &self,
        raw: raw::Auth,
        tenants: &Tenants,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Auth, ConfigError> {
        match (raw.tokens.is_empty(), raw.jwt) {
            (true, None) => Ok(Auth::None),
            (false, Some(_)) => self.bad("auth", "use either tokens or jwt, not both"),
            (false, None) => {
                let mut tokens = Vec::new();
                for (index, token) in raw.tokens.into_iter().enumerate() {
                    let key = |member: &str| format!("auth.tokens[{index}].{member}");
                    if tenants.get(&token.tenant).is_none() || token.tenant.is_empty() {
                        let rule = format!("there is no tenant {:?} in [tenants]", token.tenant);
                        return self.bad(&key("tenant"), rule);
                    }
                    let owner = Principal {
                        tenant: token.tenant,
                        subject: token.subject,
                    };
                    match Token::new(&token.sha256, owner) {
                        Ok(token) => tokens.push(token),
                        Err(error) => return self.bad(&key("sha256"), error.to_string()),
                    }
                }
                Ok(Auth::Bearer(Tokens::new(tokens)))
            }
            (true, Some(jwt)) => self.jwt(jwt, tenants, beside),
        }
    }

    fn jwt(
        &self,
        raw: raw::Jwt,
        tenants: &Tenants,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Auth, ConfigError> {
        for (key, value) in [("issuer", &raw.issuer), ("audience", &raw.audience)] {
            if !is_url(value) {
                let rule = format!("{value:?} must be an https URL (http only on this machine)");
                return self.bad(&format!("auth.jwt.{key}"), rule);
            }
        }
        let keys = match raw.keys.split_once("://") {
            None => KeySource::File(beside(PathBuf::from(raw.keys))),
            Some(_) if is_url(&raw.keys) => KeySource::Url(raw.keys),
            Some(_) => {
                let rule = "must be a file or an https URL (http only on this machine)";
                return self.bad("auth.jwt.keys", rule);
            }
        };
        let mut algorithms = Vec::new();
        for name in raw.algorithms {
            let known = ALGORITHMS.iter().find(|(known, _)| *known == name);
            match known {
                Some((_, algorithm)) => algorithms.push(*algorithm),
                None => {
                    let names: Vec<_> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
                    let rule = format!("{name:?} is none of {}", names.join(", "));
                    return self.bad("auth.jwt.algorithms", rule);
                }
            }
        }
        if algorithms.is_empty() {
            return self.bad("auth.jwt.algorithms", "name at least one");
        }
        if let Some(tenant) = raw
            .tenant
            .as_ref()
            .filter(|name| tenants.get(name).is_none())
        {
            let rule = format!("there is no tenant {tenant:?} in [tenants]");
            return self.bad("auth.jwt.tenant", rule);
        }
        if raw.tenant_claim.is_none() && raw.tenant.is_none() {
            return self.bad("auth.jwt", "needs tenant-claim, or tenant, or both");
        }
        Ok(Auth::Jwt(Box::new(Jwts::new(JwtOptions {
            issuer: raw.issuer,
            audience: raw.audience,
            keys,
            algorithms,
            scopes: raw.scopes,
            tenant_claim: raw.tenant_claim,
            tenant: raw.tenant,
            authorization_servers: raw.authorization_servers,
        }))))
    }
}

/// What may carry keys and names: TLS, or no network at all.
fn is_url(text: &str) -> bool {
    let Ok(url) = text.parse::<hyper::Uri>() else {
        return false;
    };
    let local = ["localhost", "127.0.0.1", "[::1]"];
    match (url.scheme_str(), url.host()) {
        (Some("https"), Some(host)) => !host.is_empty(),
        (Some("http"), Some(host)) => local.contains(&host),
        _ => false,
    }
}
