//! From the raw file to the checked configuration.

use super::grants::grants;
use super::raw::{File, ToolsItem};
use super::{Arguments, ConfigError, around};
use crate::admin::AdminOptions;
use crate::auth::Auth;
use crate::folders::Folder;
use crate::grants::{GrantPolicy, Grants};
use crate::limits::{RunLimits, TaskDefaults};
use crate::registry::{Client, Reference, ReferenceError};
use crate::settings::Settings;
use crate::signature::{PublicKey, SignatureError};
use crate::telemetry::TelemetryOptions;
use crate::tenants::Tenants;
use crate::webhook::WebhookOptions;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a value stands that was typed.
const COMMAND_LINE: &str = "the command line";

/// Everything a server needs to know.
pub struct Config {
    /// The address to listen on.
    pub listen: String,
    /// The folder for what must survive.
    pub data: DataFolder,
    /// Where tasks are kept.
    pub store: String,
    /// The keys of `requestState`.
    pub keys: StateKeys,
    /// Settings and limits.
    pub settings: Settings,
    /// Components and folders of them, each with what is put before its tools' names.
    pub sources: Vec<Source>,
    /// Folders whose files are served.
    pub folders: Vec<Arc<Folder>>,
    /// Who may call.
    pub auth: Auth,
    /// Where the operator is answered, if anywhere.
    pub admin: Option<AdminOptions>,
    /// What callers may.
    pub tenants: Tenants,
    /// Where changes of tasks are sent.
    pub webhooks: Vec<WebhookOptions>,
    /// Where traces go, if anywhere.
    pub telemetry: Option<TelemetryOptions>,
    /// Serve beyond this machine without telling callers apart.
    pub allow_anonymous: bool,
}

/// Name of the file in the data directory that has the key of `requestState`, if none is named and the
/// store has none.
pub const STATE_KEY: &str = "request-state.key";

/// The folder for what must survive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataFolder {
    /// This one.
    At(PathBuf),
    /// The first in it, of those named 1, 2, …, that no other process uses.
    FirstFreeIn(PathBuf),
}

/// Files with keys that seal `requestState`.
pub struct StateKeys {
    /// What seals it now, if one is named.
    pub now: Option<PathBuf>,
    /// What sealed it before.
    pub old: Vec<PathBuf>,
}

/// Where components are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file, or a folder of them.
    Path(PathBuf),
    /// In a registry.
    Registry(Reference),
}

impl Location {
    /// A reference to a component in a registry, if it begins like one; else a path.
    ///
    /// # Errors
    /// What is wrong with the reference.
    fn read(text: &str, beside: &dyn Fn(PathBuf) -> PathBuf) -> Result<Self, String> {
        match Reference::is_meant(text) {
            false => Ok(Self::Path(beside(PathBuf::from(text)))),
            true => {
                let reference = text.parse().map(Self::Registry);
                reference.map_err(|error: ReferenceError| error.to_string())
            }
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Registry(reference) => reference.fmt(f),
        }
    }
}

/// A component, or a folder of them.
#[derive(Clone)]
pub struct Source {
    /// Where it is.
    pub location: Location,
    /// How its registry is asked, if it is in one.
    pub registry: Client,
    /// Take what a tag in a registry stands for, also if it stood for something else before.
    pub follow: bool,
    /// Its components serve only if one of these signed them; none: whoever signed them, if anybody.
    pub signed_by: Vec<PublicKey>,
    /// Put before the names of its tools.
    pub prefix: String,
    /// What its components may reach.
    pub grants: Arc<Grants>,
    /// Decides that instead, if there is one.
    pub policy: Option<Arc<dyn GrantPolicy>>,
    /// What calls of its tools start with.
    pub limits: RunLimits,
    /// What tasks of its tools are given.
    pub tasks: TaskDefaults,
}

impl Source {
    /// A source that is granted nothing, and has no limits of its own.
    #[must_use]
    pub fn new(location: Location, settings: &Settings) -> Self {
        Self {
            location,
            registry: Client::default(),
            follow: false,
            signed_by: Vec::new(),
            prefix: String::new(),
            grants: Arc::default(),
            policy: None,
            limits: RunLimits::new(&settings.sandbox, &settings.tasks),
            tasks: TaskDefaults::new(&settings.tasks),
        }
    }
}

impl Config {
    /// Reads the file, if there is one, and lays the arguments over it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(arguments: Arguments) -> Result<Self, ConfigError> {
        let text = match &arguments.config {
            None => String::new(),
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| ConfigError::Io(path.to_owned(), error))?,
        };
        Self::from_text(&text, arguments)
    }

    /// The same, with the file's text; public for the fuzz target.
    ///
    /// # Errors
    /// [`ConfigError`].
    #[doc(hidden)]
    pub fn from_text(text: &str, arguments: Arguments) -> Result<Self, ConfigError> {
        let name = arguments.config.as_ref();
        let name = name.map_or_else(String::new, |path| path.display().to_string());
        let file = parse(text, &name)?;
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
        let ca_file = file.registry.ca_file.map(beside);
        let registry = Client::new(ca_file.as_deref())
            .or_else(|error| place.bad("registry.ca-file", error.to_string()))?;
        let mut sources = Vec::new();
        for (index, ToolsItem(tools)) in file.tools.into_iter().enumerate() {
            let key = |member: &str| format!("tools[{index}].{member}");
            let location = Location::read(&tools.path, &beside)
                .or_else(|reason| place.bad(&key("path"), reason))?;
            if tools.follow && !matches!(location, Location::Registry(_)) {
                return place.bad(&key("follow"), "is for tags in a registry (oci://…) only");
            }
            place.prefix(index, &tools.prefix)?;
            let grants = grants(tools.grants, &beside)
                .or_else(|error| place.bad(&format!("tools[{index}].grants"), error.to_string()))?;
            sources.push(Source {
                location,
                registry: registry.clone(),
                follow: tools.follow,
                signed_by: place.keys(&key("signed-by"), tools.signed_by, &beside)?,
                prefix: tools.prefix,
                grants: Arc::new(grants),
                policy: None,
                limits: place.limits(index, &tools.limits, &settings)?,
                tasks: place.tasks(index, &tools.tasks, &settings)?,
            });
        }
        let named = sources.len();
        for path in arguments.paths {
            let location = match path.to_str() {
                Some(text) => Location::read(text, &|path| path),
                None => Ok(Location::Path(path)),
            };
            let location = location.map_err(|reason| ConfigError::Value {
                place: COMMAND_LINE.to_owned(),
                reason,
            })?;
            sources.push(Source {
                registry: registry.clone(),
                ..Source::new(location, &settings)
            });
        }
        let folders = place.folders(file.files, &beside)?;
        if sources.is_empty() && folders.is_empty() {
            return Err(ConfigError::NoTools);
        }
        let tenants = place.tenants(file.tenants, &settings, &beside)?;
        let auth = place.auth(file.auth, &tenants, &beside)?;
        if tenants.are_named() && !auth.is_some() {
            return place.bad("tenants", "callers are not told apart without [auth]");
        }
        let webhooks = place.webhooks(file.webhooks, &beside)?;
        let telemetry = place.telemetry(file.telemetry, &beside)?;
        let admin = place.admin(file.admin, arguments.admin)?;
        let chosen = |key, typed, written, default: &str| {
            place.chosen(key, typed, written, || default.to_owned())
        };
        let (listen, at) = chosen("listen", arguments.listen, file.listen, "127.0.0.1:8080");
        refuse(&at, around::listen(&listen))?;
        let written = file.store.map(|store| match store.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => {
                format!("sqlite:{}", beside(path.into()).display())
            }
            _ => store,
        });
        let (store, at) = chosen("store", arguments.store, written, "sqlite");
        refuse(&at, around::store(&store))?;
        if let Some(typed) = &arguments.data {
            refuse("--data", around::data(typed))?;
        } else if let Some(written) = &file.data {
            refuse(&place.of("data"), around::data(written))?;
        }
        let written = file.data.map(beside);
        let free = arguments.free_data;
        let (data, free) = match (arguments.data.or(written), free) {
            (Some(data), _) => (data, false),
            (None, Some(folder)) => (folder, true),
            (None, None) => (".cofferdam".into(), false),
        };
        let (now, at) = match (arguments.state_key, file.state_key.map(beside)) {
            (Some(typed), _) => (Some(typed), "--state-key".to_owned()),
            (None, written) => (written, place.of("state-key")),
        };
        let key = now.clone().unwrap_or_else(|| data.join(STATE_KEY));
        refuse(&at, around::state_key(&key, &data))?;
        let mut old: Vec<_> = file.old_state_keys.into_iter().map(beside).collect();
        for (index, key) in old.iter().enumerate() {
            let at = place.of(&format!("old-state-keys[{index}]"));
            refuse(&at, around::old_state_key(key))?;
        }
        for key in arguments.old_state_key {
            refuse("--old-state-key", around::old_state_key(&key))?;
            old.push(key);
        }
        let keys = StateKeys { now, old };
        for (index, source) in sources.iter().enumerate() {
            let at = match index < named {
                true => place.of(&format!("tools[{index}].path")),
                false => COMMAND_LINE.to_owned(),
            };
            match &source.location {
                Location::Path(path) => refuse(&at, around::tools(path))?,
                // Asked for when it is loaded: a registry that is down stops no server that has it.
                Location::Registry(_) => {}
            }
        }
        for (index, folder) in folders.iter().enumerate() {
            let at = place.of(&format!("files[{index}].path"));
            let apart = |what, own| refuse(&at, around::apart(folder.path(), what, own));
            apart("the data directory", &data)?;
            for key in keys.old.iter().chain(&keys.now) {
                apart("a key of request states", key)?;
            }
            if let Some(file) = &arguments.config {
                apart("the configuration", file)?;
            }
        }
        for (index, source) in sources.iter().enumerate() {
            let at = place.of(&format!("tools[{index}].grants.directories"));
            for directory in source.grants.directories.iter() {
                let apart = |what, own| refuse(&at, around::apart(&directory.host, what, own));
                apart("the data directory", &data)?;
                for key in keys.old.iter().chain(&keys.now) {
                    apart("a key of request states", key)?;
                }
                // Whoever writes there says what is served.
                for Source { location, .. } in sources.iter().filter(|_| directory.write) {
                    if let Location::Path(path) = location {
                        apart("components that are served", path)?;
                    }
                }
            }
        }
        Ok(Self {
            listen,
            store,
            data: match free {
                true => DataFolder::FirstFreeIn(data),
                false => DataFolder::At(data),
            },
            keys,
            settings,
            sources,
            folders,
            auth,
            admin,
            tenants,
            webhooks,
            telemetry,
            allow_anonymous: arguments.allow_anonymous,
        })
    }
}

pub(super) fn refuse(place: &str, checked: Result<(), String>) -> Result<(), ConfigError> {
    checked.map_err(|reason| ConfigError::Value {
        place: place.to_owned(),
        reason,
    })
}

fn parse(text: &str, name: &str) -> Result<File, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map(|span| text[..span.start].matches('\n').count() + 1);
        ConfigError::Malformed {
            file: match line {
                Some(line) => format!("{name}:{line}"),
                None => name.to_owned(),
            },
            reason: error.message().to_owned(),
        }
    })
}

/// Where in the file something is, for errors.
pub(super) struct Place<'a> {
    name: &'a str,
}

impl Place<'_> {
    pub(super) fn bad<T>(&self, key: &str, reason: impl Into<String>) -> Result<T, ConfigError> {
        Err(ConfigError::Value {
            place: self.of(key),
            reason: reason.into(),
        })
    }

    /// Public keys, each written out or in a file. None if nothing is said.
    pub(super) fn keys(
        &self,
        key: &str,
        raw: Option<Vec<String>>,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Vec<PublicKey>, ConfigError> {
        let Some(raw) = raw else {
            return Ok(Vec::new());
        };
        if raw.is_empty() {
            return self.bad(key, "name at least one key, or leave it out");
        }
        let keys = raw.iter().map(|text| PublicKey::read(text, beside));
        let keys: Result<_, _> = keys.collect();
        keys.or_else(|error: SignatureError| self.bad(key, error.to_string()))
    }

    pub(super) fn of(&self, key: &str) -> String {
        format!("{}: {key}", self.name)
    }

    /// What was typed, else what is written, else the default; and where it stands.
    fn chosen<T>(
        &self,
        key: &str,
        typed: Option<T>,
        written: Option<T>,
        default: impl FnOnce() -> T,
    ) -> (T, String) {
        match (typed, written) {
            (Some(typed), _) => (typed, format!("--{key}")),
            (None, Some(written)) => (written, self.of(key)),
            (None, None) => (default(), format!("the default of --{key}")),
        }
    }

    /// As [`Place::number`].
    pub(super) fn bytes(
        &self,
        key: &str,
        number: u64,
        range: RangeInclusive<u64>,
    ) -> Result<usize, ConfigError> {
        let number = self.number(key, number, range)?;
        Ok(usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// A number that must be in range.
    pub(super) fn number(
        &self,
        key: &str,
        number: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        if range.contains(&number) {
            return Ok(number);
        }
        let (least, most) = (range.start(), range.end());
        match *most {
            u64::MAX => self.bad(key, format!("must be at least {least}, got {number}")),
            most => self.bad(key, format!("must be {least} to {most}, got {number}")),
        }
    }
}
