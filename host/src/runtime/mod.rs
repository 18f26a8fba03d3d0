//! The sandbox: one engine, and a fresh instance for every call.
//!
//! Invariants: nothing of one call is left for the next; a guest reaches nothing but the verbs of
//! its call, the log, and WASI with nothing granted; every resource a guest uses is bounded, and a
//! refusal names its limit. This folder knows no transport and no store.

mod account;
mod background;
mod cache;
mod compile;
mod convert;
mod engine;
mod exports;
mod http;
mod imports;
mod inspect;
mod invoke;
mod load;
mod meter;
mod names;
mod no_call;
mod offers;
mod output;
mod program;
mod queue;
mod verbs;
mod wasi;

pub use account::{Accounts, CpuBudget, MemoryAccount};
pub use background::Movable;
pub use cache::CompileCache;
pub use compile::{CompileError, Compiler, CompilerArguments, compile_standard_input};
pub use convert::{features_from_wit, features_to_wit};
pub use engine::{EngineError, Place, Runtime};
pub use exports::Told;
pub use inspect::Defect;
#[doc(hidden)] // For the fuzz target.
pub use inspect::{imports, inspect};
pub use invoke::{Invocation, Output, Reference};
pub use load::Recent;
pub use meter::CpuMeter;
pub use no_call::NoCall;
pub(crate) use offers::{definition as resource_definition, template as template_definition};
pub use output::GuestLog;
pub use program::{Call, LoadError, Program, Returned, RunError};
pub use queue::Share;
pub use verbs::{Changed, Halt, Verbs, Waiting};

/// The guest contract of `wit/`, as Rust types.
#[allow(missing_docs, reason = "documented in wit/")]
#[allow(
    clippy::all,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]
pub mod wit {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "everything",
        imports: {
            "cofferdam:tool/log.write": trappable,
            "cofferdam:tool/changes.resource-updated": trappable,
            "cofferdam:tool/changes.list-changed": trappable,
            "cofferdam:tool/task.cancelled": trappable,
            default: async | trappable,
        },
        exports: { default: async },
    });

    pub use self::cofferdam::tool::{changes, log, task, types};
    pub use exports::cofferdam::tool::{completion, handler, prompts, resources};
}
