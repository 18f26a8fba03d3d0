//! Every limit of the server, in one place: default, unit, and what happens when it is reached.
//!
//! Invariant: nothing that a client or a guest sends can make the server hold more than these
//! numbers allow. The structs below are also the settings an operator may change (`--set`); the
//! constants are fixed.

use crate::task::Retention;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most task ids in one `subscriptions/listen`. More: `-32602`.
pub const LISTEN_TASK_IDS: usize = 1_000;
/// Sessions of clients of earlier revisions of which a node remembers the log level. More: the one that
/// was set first is forgotten, and counts as `info`.
pub const LEGACY_SESSIONS: usize = 10_000;
/// Bytes of the URIs that sessions of earlier revisions subscribed to and that a node remembers. More: those of
/// the session that subscribed first are forgotten, unless its stream is open.
pub const LEGACY_URI_BYTES: usize = 16 << 20;
/// Data folders that processes on standard input take for the same tools, one each. More: the start is
/// refused; `--data` names another.
pub const DATA_FOLDERS: u32 = 1_000;
/// Most requests at once of a client on standard input, or in one session of an earlier revision. More:
/// `-32603`.
pub const REQUESTS_AT_ONCE: usize = 1_024;
/// Changes of tasks that wait for one webhook. More: they are not sent, and the log says so.
pub const WEBHOOK_QUEUE: usize = 10_000;
/// Requests to one webhook at a time.
pub const WEBHOOK_AT_ONCE: usize = 4;
/// Time a webhook has to answer. Longer: it is tried again.
pub const WEBHOOK_TIME: Duration = Duration::from_secs(10);
/// Tries of a delivery. After the last one it is given up, and the log says so.
pub const WEBHOOK_TRIES: u32 = 8;
/// Pause after the first try of a delivery; each is four times as long as the one before it.
pub const WEBHOOK_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between two tries of a delivery.
pub const WEBHOOK_PAUSE_MOST: Duration = Duration::from_secs(600);
/// Spans that wait to be sent to a collector. More: they are dropped.
pub const TELEMETRY_QUEUE: usize = 4_096;
/// Time a collector has to take a batch of spans. Longer: it is dropped.
pub const TELEMETRY_TIME: Duration = Duration::from_secs(5);
/// Spans of host calls in one run of a handler. More host calls have none.
pub const SPANS_PER_ATTEMPT: usize = 256;
/// Most input requests a guest may ask at once. More: the guest gets `invalid`.
pub const INPUTS_AT_ONCE: usize = 32;
/// Most input requests of one call over its life. More: the guest gets `invalid`.
pub const INPUTS_PER_CALL: usize = 1_000;
/// Longest key of an input request or a record, bytes. Longer: a typed error to the guest.
pub const KEY_BYTES: usize = 256;
/// Largest value a guest may `record`, bytes. Larger: the guest gets `too-large`.
pub const RECORD_BYTES: usize = 1 << 20;
/// Largest sum of a call's recorded values, bytes. Larger: the guest gets `too-large`.
pub const RECORDS_BYTES: usize = 16 << 20;
/// Largest sum of a call's input requests and answers, bytes. Larger: the guest gets `invalid`;
/// an update that exceeds it is refused with `-32602`.
pub const INPUT_BYTES: usize = 8 << 20;
/// Longest status message, bytes. A longer one in the start options is refused; a longer one in
/// `progress` is cut, inline as well.
pub const STATUS_MESSAGE_BYTES: usize = 1_024;
/// Longest log line of a guest, bytes. Longer: cut.
pub const LOG_LINE_BYTES: usize = 16 << 10;
/// Log lines a guest may write in a second. More: dropped, and counted in one line.
pub const LOG_LINES_PER_SECOND: u32 = 200;
/// `notifications/progress` a call may send in a second. More: dropped, the next one counts.
pub const PROGRESS_PER_SECOND: u32 = 50;
/// Shortest time between two stored status messages of a task. What comes sooner is held back,
/// and the last one is stored when the time is over.
pub const STATUS_MESSAGE_INTERVAL: Duration = Duration::from_millis(100);
/// Longest id of a request and longest progress token, bytes as JSON. Longer: `-32600`, `-32602`.
pub const ID_BYTES: usize = 1_024;
/// Notifications waiting for a slow client of a stream. More: those of a call are dropped, those of
/// `subscriptions/listen` wait, merged for each task.
pub const STREAM_BACKLOG: usize = 256;
/// Bytes of those notifications. More: the same; but a larger one may wait alone.
pub const STREAM_BACKLOG_BYTES: usize = 256 << 10;
/// Tools one component may offer. More: the component is refused.
pub const TOOLS_PER_COMPONENT: usize = 1_000;
/// Prompts one component may offer. More: the component is refused.
pub const PROMPTS_PER_COMPONENT: usize = 1_000;
/// Arguments of a prompt. More: the component is refused.
pub const PROMPT_ARGUMENTS: usize = 64;
/// Resources one component may tell at load, and in one page of those that it lists later. More: the
/// component is refused; the page is answered with `-32603`.
pub const RESOURCES_PER_COMPONENT: usize = 1_000;
/// Resource templates one component may offer. More: the component is refused.
pub const TEMPLATES_PER_COMPONENT: usize = 64;
/// Variables of a resource template. More: the component is refused.
pub const TEMPLATE_VARIABLES: usize = 16;
/// Longest URI of a resource, and longest template, bytes. Longer: the component is refused; a request
/// with one gets `-32602`.
pub const URI_BYTES: usize = 4_096;
/// Longest cursor of a component that lists resources, bytes. Longer: `-32603`.
pub const CURSOR_BYTES: usize = 1_024;
/// Components that list their resources for one page of `resources/list`. More: `nextCursor`.
pub const LISTINGS_PER_PAGE: usize = 8;
/// Values of a completion. More: the first of them, and `hasMore`.
pub const COMPLETION_VALUES: usize = 100;
/// Largest file of a folder that is served, bytes, unless its `max-file-bytes` says otherwise. Larger: it is
/// not listed, and reading it is answered with `-32603`.
pub const FILE_BYTES: u64 = 1 << 20;
/// Files and folders in a folder that is served and listed, hidden ones included. More: the folder is refused.
pub const FOLDER_ENTRIES: usize = 10_000;
/// Names in the path of a file in such a folder. More: it is not served.
pub const FOLDER_DEPTH: usize = 32;
/// Files of one such folder that are read at once. More: reads wait.
pub const FOLDER_READS: usize = 16;
/// Most URIs in one `subscriptions/listen`, or in one session of an earlier revision. More: `-32602`.
pub const LISTEN_URIS: usize = 1_000;
/// Shortest time between two notifications of one stream about one resource or one list. What changes
/// meanwhile is told once, when the time is over.
pub const CHANGE_INTERVAL: Duration = Duration::from_millis(100);
/// Largest component file, bytes. Larger: the file is refused.
pub const COMPONENT_BYTES: u64 = 256 << 20;
/// Deepest nesting of components, and of types, in a component. Deeper: the file is refused.
pub const COMPONENT_NESTING: usize = 32;
/// Modules and components in a component, itself included. More: the file is refused.
pub const COMPONENT_MODULES: u32 = 1_000;
/// Functions in all modules of a component. More: the file is refused.
pub const COMPONENT_FUNCTIONS: u32 = 500_000;
/// Types in all modules of a component, and its own. More: the file is refused.
pub const COMPONENT_TYPES: u32 = 100_000;
/// Imports of all modules of a component, and its own. More: the file is refused.
pub const COMPONENT_IMPORTS: u32 = 100_000;
/// Exports of all modules of a component, and its own. More: the file is refused.
pub const COMPONENT_EXPORTS: u32 = 100_000;
/// Largest native code of a component with what belongs to it, bytes. Larger: the file is refused.
pub const ARTEFACT_BYTES: u64 = 512 << 20;
/// How long the folders of components must be quiet before what changed in them is loaded.
pub const WATCH_QUIET: Duration = Duration::from_millis(100);
/// Time after the first change after which it is loaded though they are not quiet.
pub const WATCH_LONGEST: Duration = Duration::from_secs(2);
/// Largest JSON schema of a tool or a form, bytes. Larger: refused where it appears.
pub const SCHEMA_BYTES: usize = 256 << 10;
/// Largest JSON text of a guest that the server looks into, bytes: `_meta`, the data of an error,
/// parts of a sampling request. Larger: refused where it appears.
pub const GUEST_VALUE_BYTES: usize = 1 << 20;
/// Deepest nesting of a JSON schema. Deeper: refused where it appears.
pub const SCHEMA_DEPTH: usize = 64;
/// Deepest nesting of JSON that a guest hands over. Deeper: refused where it appears.
pub const GUEST_JSON_DEPTH: usize = 64;
/// Time for reading a component's tools at load. Longer: the component is refused.
pub const LIST_TOOLS_TIME: Duration = Duration::from_secs(5);
/// Body of a request, or a result, from which on it is worked on in the background, off the threads that
/// serve everybody, bytes.
pub const LARGE_BYTES: usize = 64 << 10;
/// Time a client has to send a request's head, and again its body. Longer: the connection closes,
/// or 408.
pub const RECEIVE_TIME: Duration = Duration::from_secs(30);
/// Time for which the body of a request is read on that was refused by its head. Longer: the connection
/// closes.
pub const REFUSED_TIME: Duration = Duration::from_secs(5);
/// Time in which a client takes some of an answer that waits for it. Longer: the connection closes.
pub const SEND_TIME: Duration = Duration::from_secs(30);
/// How often guest code gives way to other work, and how finely CPU time is cut.
pub const EPOCH: Duration = Duration::from_millis(2);
/// CPU time that a run has before it takes turns, in the background, with those that compute all the time.
pub const HEAD_START: Duration = Duration::from_millis(1);
/// Epochs of a window in which tenants' CPU time is looked at: it counts in the present one and the one
/// before.
pub const BUSY_WINDOW: u64 = 4;
/// Part of the cores' time of a window from which on a tenant uses much: one in so many. While there are
/// others, its calls run in the background.
pub const BUSY_SHARE: u64 = 4;
/// Epochs for which a tenant that called counts as another one.
pub const OTHERS_REMEMBERED: u64 = 500;
/// Memory that an instance took beside what it began with, bytes. More: it runs and is taken down in the
/// background.
pub const LARGE_INSTANCE_BYTES: usize = 1 << 20;
/// Time after which a thread of the background that has nothing to do ends.
pub const BACKGROUND_IDLE: Duration = Duration::from_secs(1);
/// Finest step of the clocks that guests read.
pub const CLOCK_TICK: Duration = Duration::from_micros(100);
/// Host memory one host call may take for its arguments, bytes. More: the guest traps.
pub const HOST_CALL_BYTES: usize = 64 << 20;
/// Random bytes one WASI call may ask for. More: the guest traps.
pub const RANDOM_BYTES: u64 = 64 << 10;
/// WASI resources (streams, pollables …) a guest may hold. More: the guest traps.
pub const RESOURCES: usize = 1_000;
/// TCP connections of a call over its life, where sockets are granted and nothing else is said.
/// More: `access-denied`.
pub const SOCKET_CONNECTIONS: usize = 32;
/// Operations one durable commit may carry. More: they go into the next commit.
pub const COMMIT_BATCH: usize = 1_024;
/// Tasks one sweep transaction handles. More: the sweep goes on in the next transaction.
pub const SWEEP_BATCH: usize = 1_000;
/// When a client may try again whose request the task store failed (`data.retryAfterMs`).
pub const STORE_RETRY: Duration = Duration::from_secs(1);
/// Pause before a node tries again itself what its store failed.
pub const STORE_PAUSE: Duration = Duration::from_secs(1);
/// Connections of a server to its database. More statements at once: they wait.
pub const DATABASE_CONNECTIONS: usize = 16;
/// Time to connect to a database, unless its URL says otherwise. Longer: `-32603`.
pub const DATABASE_CONNECT_TIME: Duration = Duration::from_secs(5);
/// Time for a statement in a database, and to wait for a connection. Longer: `-32603`.
pub const DATABASE_TIME: Duration = Duration::from_secs(5);
/// Time to bring a database to the form that this version knows. Longer: the server does not start.
pub const DATABASE_MIGRATION_TIME: Duration = Duration::from_secs(300);
/// Times that something is tried again because it and others in the database were in each other's
/// way. More: `-32603`.
pub const DATABASE_RETRIES: u32 = 3;
/// Times that a change of a task is decided anew because others changed it meanwhile. More:
/// `-32603`.
pub const DATABASE_TRIES: u32 = 100;
/// Time to write or read a component in a database. Longer: `-32603`.
pub const DATABASE_COMPONENT_TIME: Duration = Duration::from_secs(60);
/// How long a component is kept in a database, at least, after a call began with it that may go on on
/// another node. Unfinished tasks keep theirs.
pub const DATABASE_COMPONENT_KEPT: Duration = Duration::from_secs(86_400);
/// Changes that components of a node say and that other nodes are told one by one, at once. More: they are
/// told that any resource of the component may have changed.
pub const CHANGES_TOLD: usize = 256;
/// How far a node's clock and the database's may be apart. More: leases go by the database's, and the
/// log tells.
pub const CLOCK_SKEW: Duration = Duration::from_secs(1);
/// Pause before the line over which nodes tell of changes is tried again; it doubles with each
/// failure, up to [`NEWS_PAUSE_MOST`].
pub const NEWS_PAUSE: Duration = Duration::from_millis(100);
/// Longest such pause.
pub const NEWS_PAUSE_MOST: Duration = Duration::from_secs(5);
/// How long a node leaves the tasks of a component to others that it cannot run.
pub const UNABLE_PAUSE: Duration = Duration::from_secs(60);
/// How long a count of the tasks in a PostgreSQL database is good, which looks at all of them.
pub const DATABASE_COUNT_PAUSE: Duration = Duration::from_secs(10);
/// Most attempts a guest may ask for in its start options. More: `invalid-option`.
pub const ATTEMPTS: u32 = 100;
/// Pause before a task's second attempt; it doubles with each further one, up to
/// [`BACKOFF_MOST`].
pub const BACKOFF: Duration = Duration::from_secs(1);
/// Longest pause between two attempts.
pub const BACKOFF_MOST: Duration = Duration::from_secs(60);
/// Runs of an attempt that the server may begin and lose in a row without anything being kept. More:
/// the attempt is lost, with `-32603` if it was the last one.
pub const IDLE_RUNS: u32 = 20;
/// Largest `requestState`, bytes. Larger: the call is answered with `-32603`.
pub const REQUEST_STATE_BYTES: usize = 1 << 20;
/// How far the clocks of the issuer of access tokens and of this server may be apart.
pub const CLOCK_LEEWAY: Duration = Duration::from_secs(30);
/// Largest set of keys that check access tokens, bytes. Larger: it is not taken.
pub const KEYS_BYTES: u64 = 1 << 20;
/// How long such keys are used before they are fetched again.
pub const KEYS_FRESH: Duration = Duration::from_secs(600);
/// Shortest time between two fetches of such keys, whatever tokens name.
pub const KEYS_PAUSE: Duration = Duration::from_secs(10);
/// Time for such a fetch. Longer: calls are answered with 503 until one succeeds.
pub const KEYS_TIME: Duration = Duration::from_secs(5);
/// Calls that may wait for a free instance, for each instance there is. More: `-32603`.
pub const QUEUE_PER_INSTANCE: usize = 4;
/// Longest reference to a component in a registry, bytes. Longer: it is refused.
pub const REFERENCE_BYTES: usize = 1_024;
/// Largest manifest of a component in a registry, bytes. Larger: it is not taken, or not pushed.
pub const REGISTRY_MANIFEST_BYTES: u64 = 256 << 10;
/// Largest other answer of a registry that is looked into, bytes: tokens, errors. Larger: it counts
/// as none.
pub const REGISTRY_ANSWER_BYTES: u64 = 64 << 10;
/// Times that a registry may lead elsewhere for one request. More: the pull fails.
pub const REGISTRY_REDIRECTS: usize = 5;
/// Time to connect to a registry. Longer: it counts as down.
pub const REGISTRY_CONNECT_TIME: Duration = Duration::from_secs(10);
/// Time for the credential helper of the docker configuration. Longer: the pull or push fails.
pub const REGISTRY_HELPER_TIME: Duration = Duration::from_secs(30);
/// Time for all requests of one pull or push together. Longer: it fails.
pub const REGISTRY_TIME: Duration = Duration::from_secs(300);
/// Largest signature of a component, and largest file of keys, bytes. Larger: it is refused.
pub const SIGNATURE_BYTES: u64 = 16 << 10;
/// Connections to the admin address at once. More: the oldest that waits for no reload is closed.
pub const ADMIN_CONNECTIONS: usize = 256;
/// Largest head of a request to the admin address, bytes. Larger: 431.
pub const ADMIN_HEAD_BYTES: usize = 8 << 10;
/// Time to send such a head, and to take some of an answer. Longer: the connection closes.
pub const ADMIN_TIME: Duration = Duration::from_secs(5);
/// How often what the server counts is kept for the console, and for how long each number stands.
pub const HISTORY_PERIOD: Duration = Duration::from_secs(5);
/// How often the tasks of a database that several nodes share are counted for that.
pub const HISTORY_SHARED_PAUSE: Duration = Duration::from_secs(60);
/// How many of these are kept. More: the oldest is forgotten.
pub const HISTORY_SAMPLES: usize = 720;
/// Tools, and tenants, that one of them tells apart. More that were called meanwhile: those with the
/// fewest calls are told together.
pub const HISTORY_SERIES: usize = 64;

/// How long a client may keep `server/discover` and lists, milliseconds.
pub const CACHE_TTL_MS: u64 = 60_000;

/// Limits of the HTTP side (`server.*`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServerLimits {
    /// Largest request body, bytes. Larger: 413.
    pub max_body_bytes: usize,
    /// Bodies of all requests that were not answered yet together, bytes, at least
    /// `max_body_bytes`. More: 503.
    pub max_bodies_bytes: usize,
    /// Largest request head, bytes, at least 8 192. Larger: 431.
    pub max_head_bytes: usize,
    /// Open connections. More: they wait to be accepted.
    pub max_connections: usize,
    /// Open `subscriptions/listen` streams. More: `-32603`.
    pub max_listens: usize,
    /// Deepest nesting of a request's JSON. Deeper: `-32700`.
    pub max_json_depth: usize,
    /// Values in a request's JSON, counted by its brackets and commas. More: `-32700`.
    pub max_json_values: usize,
    /// Tools in one page of `tools/list`, and likewise of the other lists. More: `nextCursor`.
    pub page_size: usize,
    /// Silence on an event stream before a comment line is sent, milliseconds.
    pub keep_alive_ms: u64,
    /// Time that running calls get to finish when the server stops, milliseconds.
    pub drain_ms: u64,
    /// Origins beside the server's own that browsers may call from. Others: 403.
    pub allowed_origins: Vec<String>,
    /// Host names beside the loopback ones that the server answers to when it listens on a
    /// loopback address. Others: 403.
    pub allowed_hosts: Vec<String>,
    /// Load components that are new or changed, and drop those that are gone, as soon as their files
    /// are. If not: when the server is told to.
    pub watch: bool,
    /// How often registries are asked what the tags of components stand for, milliseconds, at least
    /// 1 000.
    pub registry_poll_ms: u64,
    /// Accept `tasks/*` requests without the `Mcp-Name` header, which some clients omit.
    pub lenient_names: bool,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_body_bytes: 4 << 20,
            max_bodies_bytes: 256 << 20,
            max_head_bytes: 16 << 10,
            max_connections: 10_000,
            max_listens: 1_024,
            max_json_depth: 64,
            max_json_values: 100_000,
            page_size: 100,
            keep_alive_ms: 15_000,
            drain_ms: 5_000,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            watch: true,
            registry_poll_ms: 300_000,
            lenient_names: false,
        }
    }
}

/// Limits of one call's sandbox (`sandbox.*`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SandboxLimits {
    /// Linear memory of an instance, bytes. More: the guest's allocation fails, and a guest that
    /// cannot bear that traps; a component that starts with more is refused at load.
    pub memory_bytes: usize,
    /// Table elements of an instance. More: growing fails.
    pub table_elements: usize,
    /// CPU time of one run of a handler, milliseconds; waiting does not count. More: `-32603`.
    pub cpu_ms: u64,
    /// Wall time of an inline call, milliseconds. More: `-32603`.
    pub wall_ms: u64,
    /// Wall time of one attempt of a task, milliseconds, from its start, waiting included. More:
    /// the attempt fails with `-32603`.
    pub task_wall_ms: u64,
    /// Largest result as JSON, bytes. Larger: `-32603`.
    pub result_bytes: usize,
    /// Instances that run at once. More: calls wait, up to four for each instance; then `-32603`.
    pub instances: u32,
    /// CPU time for compiling a component, on all cores together, milliseconds, counted in whole
    /// seconds. More: the file is refused.
    pub compile_cpu_ms: u64,
    /// Wall time for compiling a component, milliseconds. More: the file is refused.
    pub compile_wall_ms: u64,
    /// Address space of the process that compiles a component, bytes. More: the file is refused.
    pub compile_memory_bytes: u64,
}

/// The limits that a call keeps as they were when it started, wherever it goes on. A source of tools
/// may have its own in place of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RunLimits {
    /// `sandbox.memory-bytes`.
    pub memory_bytes: usize,
    /// `sandbox.table-elements`.
    pub table_elements: usize,
    /// `sandbox.cpu-ms`.
    pub cpu_ms: u64,
    /// `sandbox.result-bytes`, or the tenant's, if that is lower.
    pub result_bytes: usize,
    /// `tasks.journal-bytes`.
    pub journal_bytes: usize,
    /// `sandbox.wall-ms`. A task that was stored without it is past its inline call.
    #[serde(default)]
    pub wall_ms: u64,
    /// `sandbox.task-wall-ms`. A stored task has it in its record.
    #[serde(default)]
    pub task_wall_ms: u64,
}

impl RunLimits {
    /// Those of the settings.
    #[must_use]
    pub fn new(sandbox: &SandboxLimits, tasks: &TaskLimits) -> Self {
        Self {
            memory_bytes: sandbox.memory_bytes,
            table_elements: sandbox.table_elements,
            cpu_ms: sandbox.cpu_ms,
            result_bytes: sandbox.result_bytes,
            journal_bytes: tasks.journal_bytes,
            wall_ms: sandbox.wall_ms,
            task_wall_ms: sandbox.task_wall_ms,
        }
    }
}

/// What a task is given that its tool does not ask for otherwise. A source of tools may have its own
/// in place of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskDefaults {
    /// `tasks.ttl-ms`.
    pub ttl_ms: u64,
    /// `tasks.poll-interval-ms`.
    pub poll_interval_ms: u64,
    /// When the server makes a task of a call, milliseconds, for tools without a
    /// `tasks.detach-after-ms.TOOL`. None: never.
    pub detach_after_ms: Option<u64>,
    /// Attempts, 1 to [`ATTEMPTS`].
    pub max_attempts: u32,
}

impl TaskDefaults {
    /// Those of the settings.
    #[must_use]
    pub fn new(tasks: &TaskLimits) -> Self {
        Self {
            ttl_ms: tasks.ttl_ms,
            poll_interval_ms: tasks.poll_interval_ms,
            detach_after_ms: None,
            max_attempts: 1,
        }
    }
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            table_elements: 40_000,
            cpu_ms: 10_000,
            wall_ms: 60_000,
            task_wall_ms: 7 * 24 * 3_600_000,
            result_bytes: 8 << 20,
            instances: 1_000,
            compile_cpu_ms: 60_000,
            compile_wall_ms: 180_000,
            compile_memory_bytes: 4 << 30,
        }
    }
}

/// Limits of a source's outbound HTTP (`tools.grants.http.limits.*`).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HttpLimits {
    /// Connections of the source at once. More: `connection-limit-reached`.
    pub connections: usize,
    /// Time to look up a name, to connect, and to agree on TLS, milliseconds. Longer:
    /// `connection-timeout`.
    pub connect_ms: u64,
    /// Time from then to the last byte of the answer, milliseconds. Longer:
    /// `HTTP-response-timeout`.
    pub total_ms: u64,
    /// Largest head of an answer, bytes, at least 8 192; and largest headers of a request. Larger:
    /// `HTTP-response-header-section-size`, or the guest traps.
    pub header_bytes: usize,
    /// Largest body of a request, bytes. Larger: writing it fails.
    pub request_bytes: usize,
    /// Largest body of an answer, bytes. Larger: `HTTP-response-body-size`. Answers stand in the
    /// call's journal, which has a limit, too.
    pub response_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 32,
            connect_ms: 5_000,
            total_ms: 30_000,
            header_bytes: 64 << 10,
            request_bytes: 1 << 20,
            response_bytes: 1 << 20,
        }
    }
}

/// Limits of tasks (`tasks.*`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TaskLimits {
    /// Offer the tasks extension. If not, every call runs inline and `tasks/*` is unknown.
    pub enabled: bool,
    /// Tasks held at once, finished ones included. More: `-32603` "Task limit reached".
    pub max: usize,
    /// Life of a task that names no ttl, milliseconds. Over: running work is stopped and fails.
    pub ttl_ms: u64,
    /// How often a client should poll, milliseconds.
    pub poll_interval_ms: u64,
    /// How long `tasks/get` of a task that works waits for it to change, milliseconds. Over: it is
    /// answered as it is.
    pub get_wait_ms: u64,
    /// Time a cancelled handler gets to return, milliseconds. Over: its instance is dropped.
    pub grace_ms: u64,
    /// How often the sweep for expired tasks runs, milliseconds.
    pub sweep_ms: u64,
    /// How long a finished task without ttl is kept, milliseconds. Over: it is gone.
    pub retention_ms: u64,
    /// How long any finished task can be read at least, even past its ttl, milliseconds.
    pub min_retention_ms: u64,
    /// Time a task waits with its instance kept, milliseconds. Longer: it gives the instance back,
    /// and is run again to where it was when the wait is over.
    pub park_after_ms: u64,
    /// Largest journal of a call, bytes. Larger: `-32603`.
    pub journal_bytes: usize,
    /// Where several servers share a database: how long one may be silent, milliseconds. Longer: others
    /// run its tasks.
    pub lease_ms: u64,
    /// How long a client may take to answer questions that were asked before a task began,
    /// milliseconds. Longer: `-32602`, and the call begins anew.
    pub answer_ms: u64,
    /// Tools that the server makes tasks of by itself after so many milliseconds.
    pub detach_after_ms: BTreeMap<String, u64>,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            enabled: true,
            max: 10_000,
            ttl_ms: 600_000,
            poll_interval_ms: 1_000,
            get_wait_ms: 100,
            grace_ms: 2_000,
            sweep_ms: 60_000,
            retention_ms: 3_600_000,
            min_retention_ms: 60_000,
            park_after_ms: 2_000,
            journal_bytes: 4 << 20,
            lease_ms: 15_000,
            answer_ms: 3_600_000,
            detach_after_ms: BTreeMap::new(),
        }
    }
}

impl TaskLimits {
    /// How long final tasks are kept.
    #[must_use]
    pub fn retention(&self) -> Retention {
        Retention {
            without_ttl_ms: self.retention_ms,
            at_least_ms: self.min_retention_ms,
        }
    }
}
