//! The host's side of an instance: its state, and the functions it imports.
//!
//! Invariant: whatever a guest hands over is checked here before the rest of the server sees it.

use super::convert;
use super::http::{Outside, Requests};
use super::meter::MemoryLimiter;
use super::output::{GuestLog, Stdio, cut};
use super::verbs::{Changed, Verbs, Waiting};
use super::wit::{changes, log, task, types};
use crate::grants::{Grants, Names};
use crate::journal::Journal;
use crate::limits;
use crate::protocol::{Kind, Level, is_uri, parse_guest_json};
use crate::telemetry::{HostCallKind, HostCalls, Span};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use task::{CallStatus, FinalError, InputError, RecordError, StartError};
use wasmtime::Result;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// All that one instance's imports work on.
pub(super) struct Guest {
    /// Made when the guest first asks: many calls never do, and it takes as long as a small one.
    wasi: Option<WasiCtx>,
    grants: Arc<Grants>,
    pub(super) resources: ResourceTable,
    pub(super) memory: MemoryLimiter,
    pub(super) verbs: Arc<dyn Verbs>,
    pub(super) journal: Arc<Mutex<Journal>>,
    pub(super) timers: super::wasi::Timers,
    pub(super) requests: Requests,
    pub(super) names: Names,
    log: GuestLog,
    pub(super) host_calls: HostCalls,
}

impl Guest {
    pub(super) fn new(
        verbs: Arc<dyn Verbs>,
        journal: Arc<Mutex<Journal>>,
        log: GuestLog,
        memory: MemoryLimiter,
        grants: Arc<Grants>,
        outside: Outside,
    ) -> Result<Self> {
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(limits::RESOURCES);
        let names = Names::new(grants.sockets.clone(), &outside.connections);
        let mut guest = Self {
            wasi: None,
            resources,
            memory,
            verbs,
            names,
            host_calls: outside.host_calls.clone(),
            requests: Requests::new(grants.http.clone(), Arc::clone(&journal), outside),
            journal,
            timers: Default::default(),
            log,
            grants,
        };
        if !guest.grants.directories.is_empty() {
            // Folders can be gone, which must be told before the guest runs.
            let mut wasi = context(&guest.grants, &guest.names, &guest.log);
            guest.grants.directories.prepare(&mut wasi)?;
            guest.wasi = Some(wasi.build());
        }
        Ok(guest)
    }

    /// The span of a verb. What a replay answers is nobody's work, and has none.
    fn span(&self, verb: &'static str) -> Span {
        match self.host_calls.is_on() && !self.journal.lock().is_replaying() {
            true => self.host_calls.begin(verb, HostCallKind::Inside),
            false => Span::default(),
        }
    }
}

/// What WASI gives an instance, but for folders.
fn context(grants: &Grants, names: &Names, log: &GuestLog) -> WasiCtxBuilder {
    let mut wasi = WasiCtx::builder();
    wasi.stdout(Stdio::new("stdout", log.clone()))
        .stderr(Stdio::new("stderr", log.clone()));
    names.prepare(&mut wasi);
    grants.environment.prepare(&mut wasi);
    wasi
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let made = || context(&self.grants, &self.names, &self.log).build();
        WasiCtxView {
            ctx: self.wasi.get_or_insert_with(made),
            table: &mut self.resources,
        }
    }
}

impl types::Host for Guest {}

impl task::Host for Guest {
    async fn start_task(
        &mut self,
        options: task::StartOptions,
    ) -> Result<std::result::Result<task::Started, StartError>> {
        let _span = self.span("start-task");
        Ok(self.verbs.start_task(options).await?)
    }

    async fn progress(
        &mut self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Result<std::result::Result<(), FinalError>> {
        let _span = self.span("progress");
        Ok(self.verbs.progress(progress, total, message).await)
    }

    async fn status(&mut self) -> Result<CallStatus> {
        Ok(self.verbs.status().await)
    }

    fn cancelled(&mut self) -> Result<bool> {
        Ok(self.verbs.cancelled())
    }

    async fn complete(
        &mut self,
        result: types::ToolResult,
    ) -> Result<std::result::Result<(), FinalError>> {
        let _span = self.span("complete");
        let answer = convert::answer(result).map_err(malformed)?;
        Ok(self.verbs.complete(answer).await?)
    }

    async fn fail(
        &mut self,
        error: types::RpcError,
    ) -> Result<std::result::Result<(), FinalError>> {
        let _span = self.span("fail");
        let error = convert::rpc_error(error).map_err(malformed)?;
        Ok(self.verbs.fail(error).await?)
    }

    async fn sleep(&mut self, duration_ms: u64) -> Result<std::result::Result<(), FinalError>> {
        let _span = self.span("sleep");
        Ok(self.verbs.wait(Waiting::For(duration_ms)).await?)
    }

    async fn require_input(
        &mut self,
        requests: Vec<(String, task::InputRequest)>,
    ) -> Result<std::result::Result<Vec<(String, task::InputAnswer)>, InputError>> {
        let requests = match checked(requests) {
            Ok(requests) => requests,
            Err(reason) => return Ok(Err(InputError::Invalid(reason))),
        };
        let _span = self.span("require-input");
        let answers = match self.verbs.require_input(requests).await? {
            Ok(answers) => answers,
            Err(error) => return Ok(Err(error)),
        };
        let answers = answers
            .into_iter()
            .map(|(key, answer)| Ok((key, convert::input_answer(&answer)?)));
        Ok(Ok(answers
            .collect::<std::result::Result<_, String>>()
            .map_err(malformed)?))
    }

    async fn record(
        &mut self,
        key: String,
        value: Vec<u8>,
    ) -> Result<std::result::Result<(), RecordError>> {
        if key.is_empty() || key.len() > limits::KEY_BYTES {
            return Ok(Err(RecordError::InvalidKey));
        }
        if value.len() > limits::RECORD_BYTES {
            let limit = format!("a recorded value may have {} bytes", limits::RECORD_BYTES);
            return Ok(Err(RecordError::TooLarge(limit)));
        }
        let _span = self.span("record");
        Ok(self.verbs.record(key, value).await?)
    }

    async fn recall(&mut self, key: String) -> Result<Option<Vec<u8>>> {
        // A key that cannot have been recorded leaves nothing behind either.
        if key.is_empty() || key.len() > limits::KEY_BYTES {
            return Ok(None);
        }
        let _span = self.span("recall");
        Ok(self.verbs.recall(key).await?)
    }
}

/// Number, keys and form of input requests. Gives them as they go on the wire.
fn checked(
    requests: Vec<(String, task::InputRequest)>,
) -> std::result::Result<Vec<(String, Value)>, String> {
    if requests.is_empty() {
        return Err("no request was given".to_owned());
    }
    if requests.len() > limits::INPUTS_AT_ONCE {
        return Err(format!(
            "at most {} requests at once",
            limits::INPUTS_AT_ONCE
        ));
    }
    requests
        .into_iter()
        .map(|(key, request)| {
            if key.is_empty() || key.len() > limits::KEY_BYTES {
                return Err(format!("a key has 1 to {} bytes", limits::KEY_BYTES));
            }
            let request = convert::input_request(request)
                .map_err(|reason| format!("request {key:?}: {reason}"))?;
            let wire = request
                .to_wire()
                .map_err(|reason| format!("request {key:?}: {reason}"))?;
            Ok((key, wire))
        })
        .collect()
}

impl changes::Host for Guest {
    fn resource_updated(&mut self, uri: String) -> Result<()> {
        // What cannot be a resource's is none of its component's.
        if is_uri(&uri) {
            self.verbs.changed(Changed::Resource(&uri));
        }
        Ok(())
    }

    fn list_changed(&mut self, what: changes::ChangedList) -> Result<()> {
        self.verbs.changed(Changed::List(match what {
            changes::ChangedList::Tools => Kind::Tools,
            changes::ChangedList::Prompts => Kind::Prompts,
            changes::ChangedList::Resources => Kind::Resources,
        }));
        Ok(())
    }
}

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String, fields: Option<String>) -> Result<()> {
        let level = match level {
            log::Level::Debug => Level::Debug,
            log::Level::Info => Level::Info,
            log::Level::Notice => Level::Notice,
            log::Level::Warning => Level::Warning,
            log::Level::Error => Level::Error,
            log::Level::Critical => Level::Critical,
            log::Level::Alert => Level::Alert,
            log::Level::Emergency => Level::Emergency,
        };
        let message = cut(&message);
        // Fields that are no JSON, or too long to keep whole, are logged as the text they are.
        let json = fields
            .clone()
            .filter(|fields| fields.len() <= limits::LOG_LINE_BYTES);
        let json = json.and_then(|fields| parse_guest_json(fields).ok());
        if self
            .log
            .line(level, "log", message, fields.as_deref().unwrap_or_default())
        {
            self.verbs
                .log(level, message, json.as_deref().map(|json| json.get()));
        }
        Ok(())
    }
}

fn malformed(reason: String) -> wasmtime::Error {
    wasmtime::Error::msg(format!(
        "the guest handed over something malformed: {reason}"
    ))
}
