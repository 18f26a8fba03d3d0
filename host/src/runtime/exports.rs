//! What a component exports, and what it tells of it at load.
//!
//! Invariant: a component is known by its exports, not by its world: it has what it exports, and a part
//! that it does not have is never asked for. What it exports has the types of the contract, or it does
//! not serve.

use super::account::Accounts;
use super::engine::{Place, Runtime};
use super::http::Outside;
use super::imports::Guest;
use super::meter::{CpuMeter, MemoryLimiter};
use super::no_call::NoCall;
use super::output::GuestLog;
use super::program::{LoadError, Program, RunError};
use super::wit::{completion, handler, prompts, resources, types};
use crate::journal::{Journal, JournalOptions, Seed, Time};
use crate::limits::{self, RunLimits};
use parking_lot::Mutex;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex as Index, Instance, TypedFunc};

/// Results of a guest's functions.
pub(super) type Answered<T> = (Result<T, types::CallError>,);

/// The functions that are called for a request.
pub(super) type CallTool<'a> = TypedFunc<(&'a handler::ToolCall,), Answered<types::ToolResult>>;
pub(super) type GetPrompt<'a> =
    TypedFunc<(&'a prompts::PromptCall,), Answered<prompts::PromptResult>>;
pub(super) type ListResources<'a> =
    TypedFunc<(&'a resources::ListCall,), Answered<resources::ResourcePage>>;
pub(super) type ReadResource<'a> =
    TypedFunc<(&'a resources::ResourceCall,), Answered<resources::ResourceContents>>;
pub(super) type Complete<'a> =
    TypedFunc<(&'a completion::CompletionCall,), Answered<completion::CompletionResult>>;

/// Functions that answer at load.
type Tell<T> = TypedFunc<(), (T,)>;

/// Where a component's exports are.
pub(super) struct Exports {
    pub(super) handler: Option<Handler>,
    pub(super) prompts: Option<Prompts>,
    pub(super) resources: Option<Resources>,
    pub(super) completion: Option<Index>,
}

pub(super) struct Handler {
    list: Index,
    pub(super) call: Index,
}

pub(super) struct Prompts {
    list: Index,
    pub(super) get: Index,
}

pub(super) struct Resources {
    describe: Index,
    pub(super) list: Index,
    pub(super) read: Index,
}

/// An interface of the contract, by its name among a component's exports.
macro_rules! interface {
    ($name:literal) => {
        concat!("cofferdam:tool/", $name, "@0.1.0")
    };
}

impl Exports {
    /// Finds them.
    ///
    /// # Errors
    /// An interface without one of its functions, or too few of them to serve.
    pub(super) fn of(component: &Component) -> Result<Self, String> {
        let interface = |name: &str| component.get_export_index(None, name);
        let function = |interface: &Index, function: &str, name: &str| {
            let found = component.get_export_index(Some(interface), function);
            found.ok_or_else(|| format!("{name} has no function {function}"))
        };
        let handler = interface(interface!("handler")).map(|at| {
            let find = |name| function(&at, name, interface!("handler"));
            Ok::<_, String>(Handler {
                list: find("list-tools")?,
                call: find("call-tool")?,
            })
        });
        let prompts = interface(interface!("prompts")).map(|at| {
            let find = |name| function(&at, name, interface!("prompts"));
            Ok::<_, String>(Prompts {
                list: find("list-prompts")?,
                get: find("get-prompt")?,
            })
        });
        let resources = interface(interface!("resources")).map(|at| {
            let find = |name| function(&at, name, interface!("resources"));
            Ok::<_, String>(Resources {
                describe: find("describe-resources")?,
                list: find("list-resources")?,
                read: find("read-resource")?,
            })
        });
        let completion = interface(interface!("completion"))
            .map(|at| function(&at, "complete-argument", interface!("completion")));
        let exports = Self {
            handler: handler.transpose()?,
            prompts: prompts.transpose()?,
            resources: resources.transpose()?,
            completion: completion.transpose()?,
        };
        if exports.handler.is_none() && exports.prompts.is_none() && exports.resources.is_none() {
            return Err(format!(
                "it exports none of {}, {} and {}",
                interface!("handler"),
                interface!("prompts"),
                interface!("resources")
            ));
        }
        Ok(exports)
    }

    /// Takes every function as what the contract says it is.
    fn check(&self, instance: &Instance, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        if let Some(handler) = &self.handler {
            let _: CallTool<'_> = instance.get_typed_func(&mut *store, handler.call)?;
        }
        if let Some(prompts) = &self.prompts {
            let _: GetPrompt<'_> = instance.get_typed_func(&mut *store, prompts.get)?;
        }
        if let Some(resources) = &self.resources {
            let _: ListResources<'_> = instance.get_typed_func(&mut *store, resources.list)?;
            let _: ReadResource<'_> = instance.get_typed_func(&mut *store, resources.read)?;
        }
        if let Some(complete) = self.completion {
            let _: Complete<'_> = instance.get_typed_func(&mut *store, complete)?;
        }
        Ok(())
    }
}

/// What a component tells of itself at load.
#[derive(Default)]
pub struct Told {
    /// Its tools.
    pub tools: Vec<handler::Tool>,
    /// Its prompts.
    pub prompts: Vec<prompts::Prompt>,
    /// Its resources, if it has any.
    pub resources: Option<resources::ResourceSet>,
}

impl Runtime {
    /// Asks a component for what it offers, in a short instance with the memory of these limits.
    ///
    /// # Errors
    /// [`LoadError::List`].
    pub async fn told(
        &self,
        program: &Program,
        name: &str,
        limits: &RunLimits,
    ) -> Result<Told, LoadError> {
        let journal = Arc::new(Mutex::new(Journal::new(JournalOptions {
            seed: Seed::random(),
            attempt: 1,
            started: Time::System.start(),
            time: Time::System,
            limit: limits.journal_bytes,
            kill_after: None,
        })));
        let meter = Arc::<CpuMeter>::default();
        let guest = Guest::new(
            Arc::new(NoCall),
            Arc::clone(&journal),
            GuestLog::new(name.into(), journal),
            MemoryLimiter::new(limits, &Accounts::default(), Arc::clone(&meter)),
            Arc::default(),
            Outside::default(),
        );
        // What is asked now, for whoever is told what went wrong.
        let asked = Mutex::new("list-tools");
        let failed = |error| LoadError::List(*asked.lock(), error);
        let guest = guest.map_err(|error| failed(RunError::Trap(error.to_string())))?;
        let place = Place {
            tenant: "".into(),
            share: self.whole_share(),
            accounts: Accounts::default(),
            patient: true,
        };
        let (exports, asks) = (&program.exports, &asked);
        let told = self.run(
            program,
            guest,
            self.limits.cpu_ms,
            &place,
            meter,
            async |instance, store| {
                exports.check(instance, store)?;
                let mut told = Told::default();
                if let Some(handler) = &exports.handler {
                    let list: Tell<Vec<handler::Tool>> =
                        instance.get_typed_func(&mut *store, handler.list)?;
                    (told.tools,) = list.call_async(&mut *store, ()).await?;
                }
                if let Some(prompts) = &exports.prompts {
                    *asks.lock() = "list-prompts";
                    let list: Tell<Vec<prompts::Prompt>> =
                        instance.get_typed_func(&mut *store, prompts.list)?;
                    (told.prompts,) = list.call_async(&mut *store, ()).await?;
                }
                if let Some(resources) = &exports.resources {
                    *asks.lock() = "describe-resources";
                    let describe: Tell<resources::ResourceSet> =
                        instance.get_typed_func(&mut *store, resources.describe)?;
                    let (set,) = describe.call_async(&mut *store, ()).await?;
                    told.resources = Some(set);
                }
                Ok(told)
            },
        );
        let millis = limits::LIST_TOOLS_TIME.as_millis() as u64;
        tokio::time::timeout(limits::LIST_TOOLS_TIME, told)
            .await
            .unwrap_or(Err(RunError::Wall(
                millis,
                "limit for what it tells at load",
            )))
            .map_err(failed)
    }
}
