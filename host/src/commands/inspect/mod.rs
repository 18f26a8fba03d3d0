//! `cofferdam inspect`: what a component is, and what it takes to serve it.
//!
//! Invariant: a component is looked at as `serve` does it, with the same limits: compiled in a process of
//! its own, asked for its tools without any grant. What a server would refuse is refused in its words.

mod text;

use super::layout::json_text;
use crate::catalog::{Archive, CatalogError, CatalogParts, LiveCatalog, Served, TaskSupport};
use crate::config::{Location, Source};
use crate::grants::{GrantError, Grants, Http, Need, need};
use crate::limits::{COMPONENT_BYTES, HttpLimits};
use crate::registry::{Digest, Mirror};
use crate::runtime::{self, CompileCache, Compiler, Program, Runtime};
use crate::settings::Settings;
use crate::signature;
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What `inspect` is told.
#[derive(Args)]
pub struct InspectArguments {
    /// A .wasm component.
    #[arg(value_name = "FILE")]
    component: PathBuf,
    /// JSON, with the tools' whole descriptions, in place of text.
    #[arg(long)]
    json: bool,
    /// Change a setting, for example sandbox.memory-bytes=1048576. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// What is told of a component.
#[derive(Debug, Serialize)]
struct Report {
    /// As it was typed.
    file: String,
    /// Lower-case hexadecimal sha-256.
    digest: String,
    /// Its size.
    bytes: u64,
    /// What it was compiled to; none if it was not.
    compiled: Option<Compiled>,
    /// The id of the key that the signature beside it names. It is not checked.
    signed_by: Option<String>,
    /// Whether a task of it can be run again to where it was: `always`, or `unless-granted` if that
    /// ends with directories or sockets.
    replays: &'static str,
    imports: Vec<Import>,
    /// What it would be granted in its source, by the key in the configuration.
    grants: BTreeMap<&'static str, Grant>,
    tools: Vec<Tool>,
    /// As clients get them, and so the next two.
    prompts: Vec<Value>,
    resources: Vec<Value>,
    resource_templates: Vec<Value>,
    /// Why a server would not serve it; none if it would.
    refused: Option<String>,
}

#[derive(Debug, Serialize)]
struct Compiled {
    seconds: f64,
    native_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Import {
    name: String,
    /// `provided`, `granted`, `refused` (whatever is granted), `unknown`.
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Grant {
    /// Without it the component does not serve.
    needed: bool,
    imports: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Tool {
    task_support: &'static str,
    /// As clients get it.
    #[serde(flatten)]
    definition: Value,
}

/// Looks at a component, and prints what it is. Gives false if a server would not serve it.
///
/// # Errors
/// It cannot be read, or there is no place to compile it.
pub async fn inspect(arguments: InspectArguments) -> Result<bool> {
    let InspectArguments {
        component,
        json,
        set,
    } = arguments;
    let report = look(&component, Settings::from_assignments(&set)?).await?;
    match json {
        true => println!("{}", json_text(&report)),
        false => print!("{}", text::text(&report)),
    }
    Ok(report.refused.is_none())
}

async fn look(path: &Path, mut settings: Settings) -> Result<Report> {
    let cannot_read = || format!("cannot read {}; name a .wasm file", path.display());
    let metadata = fs::metadata(path).with_context(cannot_read)?;
    ensure!(metadata.is_file(), "{} is no file", path.display());
    let bytes = metadata.len();
    ensure!(
        bytes <= COMPONENT_BYTES,
        "{}: the file has {bytes} bytes; the limit is {COMPONENT_BYTES}",
        path.display()
    );
    let bytes = fs::read(path).with_context(cannot_read)?;
    let signature = signature::beside(path)?;
    let (imports, grants) = imports(&bytes);
    let replays = grants.keys().any(|key| {
        let key = key.rsplit('.').next().unwrap_or_default();
        ["directories", "sockets"].contains(&key)
    });
    let mut report = Report {
        file: path.display().to_string(),
        digest: Digest::of(&bytes).hex().to_owned(),
        bytes: bytes.len() as u64,
        compiled: None,
        signed_by: signature.as_deref().map(signer),
        replays: if replays { "unless-granted" } else { "always" },
        imports,
        grants,
        tools: Vec::new(),
        prompts: Vec::new(),
        resources: Vec::new(),
        resource_templates: Vec::new(),
        refused: None,
    };
    // Its tools are asked for once, in one instance.
    settings.sandbox.instances = 1;
    let folder = tempfile::tempdir().context("cannot make a folder to compile in")?;
    let cache = CompileCache::open(&folder.path().join("compiled"))?;
    let runtime = Runtime::new(settings.sandbox.clone(), Compiler::Process, Some(cache))?;
    let runtime = Arc::new(runtime);
    let start = Instant::now();
    match runtime.load(&report.digest, &bytes).await {
        Ok(program) => report.compiled = Some(Compiled::of(&program, start)),
        Err(error) => {
            report.refused = Some(error.to_string());
            return Ok(report);
        }
    }
    // What was compiled just now is not compiled again.
    let catalog = LiveCatalog::load(CatalogParts {
        sources: vec![source(path, &settings)?],
        folders: Vec::new(),
        runtime,
        settings,
        archive: Archive::open(&folder.path().join("components"))?,
        mirror: Mirror::open(&folder.path().join("registry"))?,
        keys: Vec::new(),
        shared: None,
    });
    match catalog.await {
        Ok(catalog) => {
            let served = catalog.now();
            let components = served.components().iter();
            report.tools = components.flat_map(|it| Tool::all(it)).collect();
            let value = |it: &RawValue| serde_json::from_str(it.get()).unwrap_or_default();
            report.prompts = served.prompts().map(|it| value(&it.definition)).collect();
            report.resources = served.resources().map(|it| value(&it.definition)).collect();
            let templates = served.templates().map(|it| value(&it.definition));
            report.resource_templates = templates.collect();
        }
        Err(CatalogError::NoneServes(refused)) => {
            let mut refused = refused.into_iter();
            report.refused = refused.next().map(|refused| refused.reason);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(report)
}

/// A source of this file alone, which may speak HTTP to nobody: so it is not refused for want of that
/// before it tells its tools.
fn source(path: &Path, settings: &Settings) -> Result<Source, GrantError> {
    let http = Http::new(&[], &[], None, HttpLimits::default())?;
    let grants = Grants {
        http: Some(Arc::new(http)),
        ..Grants::default()
    };
    Ok(Source {
        grants: Arc::new(grants),
        ..Source::new(Location::Path(path.to_owned()), settings)
    })
}

fn signer(signature: &str) -> String {
    let key = signature::key_of(signature);
    key.map_or_else(
        || "nobody: it is no signature".to_owned(),
        |key| key.to_string(),
    )
}

/// What a component imports, and which grants that leads to.
fn imports(bytes: &[u8]) -> (Vec<Import>, BTreeMap<&'static str, Grant>) {
    let mut grants = BTreeMap::<&'static str, Grant>::new();
    let imports = runtime::imports(bytes).into_iter().map(|name| {
        let (from, grant) = match need(&name) {
            Need::Nothing => ("provided", None),
            Need::MayUse(key) => ("granted", Some((key, false))),
            Need::Needs(key) => ("granted", Some((key, true))),
            Need::Refused => ("refused", None),
            Need::Unknown => ("unknown", None),
        };
        if let Some((key, needed)) = grant {
            let grant = grants.entry(key).or_insert_with(|| Grant {
                needed,
                imports: Vec::new(),
            });
            grant.imports.push(name.clone());
        }
        let grant = grant.map(|(key, _)| key);
        Import { name, from, grant }
    });
    (imports.collect(), grants)
}

impl Compiled {
    fn of(program: &Program, start: Instant) -> Self {
        Self {
            seconds: start.elapsed().as_secs_f64(),
            native_bytes: program.native_bytes() as u64,
        }
    }
}

impl Tool {
    fn all(served: &Served) -> impl Iterator<Item = Self> {
        served.offers.tools.iter().map(|tool| Self {
            task_support: match tool.task_support {
                TaskSupport::None => "none",
                TaskSupport::Optional => "optional",
                TaskSupport::Required => "required",
            },
            definition: serde_json::from_str(tool.definition.get()).unwrap_or_default(),
        })
    }
}
