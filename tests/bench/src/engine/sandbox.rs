//! The host's runtime, with the settings that a server has, driven by its own interface.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use cofferdam::call;
use cofferdam::grants::Grants;
use cofferdam::journal::Origin;
use cofferdam::limits::{RunLimits, SandboxLimits, TaskLimits};
use cofferdam::metrics::{CallCounters, Metrics};
use cofferdam::protocol::{ClientFeatures, Content};
use cofferdam::runtime::{
    Accounts, Call, CompileCache, Compiler, GuestLog, Invocation, NoCall, Output, Place, Program,
    Returned, Runtime, Verbs,
};
use cofferdam::telemetry::HostCalls;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::guest::Guest;

pub(super) struct Sandbox {
    runtime: Runtime,
    metrics: Arc<Metrics>,
    grants: Arc<Grants>,
    verbs: Arc<dyn Verbs>,
    limits: RunLimits,
    _code: TempDir,
}

/// A component in it.
pub(super) struct Component<'a> {
    sandbox: &'a Sandbox,
    program: Program,
    place: Place,
    counters: CallCounters,
}

impl Sandbox {
    pub(super) fn new(data: &Path) -> Result<Self> {
        let limits = SandboxLimits::default();
        let code = tempfile::tempdir_in(data)?;
        // With one, native code is mapped from a file, as a server does it.
        let cache = CompileCache::open(&code.path().join("compiled"))?;
        Ok(Self {
            limits: RunLimits::new(&limits, &TaskLimits::default()),
            runtime: Runtime::new(limits, Compiler::Thread, Some(cache))?,
            metrics: Arc::default(),
            grants: Arc::default(),
            verbs: Arc::new(NoCall),
            _code: code,
        })
    }

    pub(super) fn load(&self, bytes: &[u8]) -> Result<Component<'_>> {
        let digest = Sha256::digest(bytes);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let loading = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Component {
            program: loading.block_on(self.runtime.load(&digest, bytes))?,
            place: Place {
                tenant: "".into(),
                share: self.runtime.whole_share(),
                accounts: Accounts::default(),
                patient: false,
            },
            counters: CallCounters::new(Arc::default(), Arc::default()),
            sandbox: self,
        })
    }
}

impl Component<'_> {
    /// One call, with all that belongs to it.
    pub(super) async fn call(&self, guest: &Guest, number: u64) -> Result<()> {
        let sandbox = self.sandbox;
        let (_, journal) = call::begin(sandbox.limits, &Origin::Live);
        let journal = Arc::new(parking_lot::Mutex::new(journal));
        let log = GuestLog::new(guest.name.into(), Arc::clone(&journal));
        let call = Call {
            what: Invocation::Tool {
                name: guest.tool.to_owned(),
                arguments: guest.arguments(number),
            },
            features: ClientFeatures::empty(),
            limits: sandbox.limits,
            journal,
            grants: Arc::clone(&sandbox.grants),
            place: self.place.clone(),
            meter: sandbox
                .runtime
                .meter(&self.place.accounts, self.counters.clone()),
            refusals: Arc::clone(&sandbox.metrics),
            host_calls: HostCalls::default(),
        };
        let verbs = Arc::clone(&sandbox.verbs);
        match sandbox
            .runtime
            .call(&self.program, call, verbs, log)
            .await?
        {
            Returned::Output(Output::Tool(answer)) => {
                let text = match answer.content.first() {
                    Some(Content::Text { text, .. }) => Some(&**text),
                    _ => None,
                };
                guest.check(number, text)
            }
            Returned::Output(_) => bail!("no tool's answer"),
            Returned::Error(error) => bail!("{}", error.message),
        }
    }
}
