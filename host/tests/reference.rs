//! `docs/reference.md` tells operators every setting and every limit; here it is held to what the code
//! says.

use cofferdam::limits::{self, SandboxLimits, ServerLimits, TaskLimits};
use cofferdam::settings::Settings;
use serde::Serialize;
use serde_json::{Value, json};

const REFERENCE: &str = include_str!("../../docs/reference.md");
const LIMITS: &str = include_str!("../src/limits.rs");

/// The first two cells of the table rows whose first cell is code that `is_name` accepts.
fn rows(is_name: fn(&str) -> bool) -> Vec<(String, String)> {
    let code = |cell: &str| Some(cell.trim().strip_prefix('`')?.strip_suffix('`')?.to_owned());
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.split('|');
        Some((code(cells.next()?)?, code(cells.next()?)?))
    };
    REFERENCE
        .lines()
        .filter_map(row)
        .filter(|(name, _)| is_name(name))
        .collect()
}

/// The keys of one group of settings, with their defaults as an operator would type them.
fn defaults(group: &str, limits: &impl Serialize) -> Vec<(String, String)> {
    let Value::Object(limits) = json!(limits) else {
        panic!("{group} is no group of settings")
    };
    let setting = |(key, default): (String, Value)| match default {
        // One entry for each tool, and none at first.
        Value::Object(_) => (format!("{group}.{key}.TOOL"), "none".to_owned()),
        default => (format!("{group}.{key}"), default.to_string()),
    };
    limits.into_iter().map(setting).collect()
}

fn is_setting(name: &str) -> bool {
    ["server.", "sandbox.", "tasks."]
        .iter()
        .any(|group| name.starts_with(group))
}

fn is_constant(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

#[test]
fn every_setting_is_told_with_its_default() {
    let mut settings = defaults("server", &ServerLimits::default());
    settings.extend(defaults("sandbox", &SandboxLimits::default()));
    settings.extend(defaults("tasks", &TaskLimits::default()));
    assert_eq!(rows(is_setting), settings);
}

#[test]
fn every_default_can_be_typed() {
    let assignments: Vec<String> = rows(is_setting)
        .into_iter()
        .filter(|(_, default)| default != "none")
        .map(|(key, default)| format!("{key}={default}"))
        .collect();
    assert!(!assignments.is_empty());
    let settings = Settings::from_assignments(&assignments).expect("the defaults are in range");
    assert_eq!(json!(settings.server), json!(ServerLimits::default()));
    assert_eq!(json!(settings.sandbox), json!(SandboxLimits::default()));
    assert_eq!(json!(settings.tasks), json!(TaskLimits::default()));
}

#[test]
fn every_fixed_limit_is_told_with_its_value() {
    macro_rules! values {
        ($($name:ident)*) => { vec![$((stringify!($name).to_owned(), format!("{:?}", limits::$name))),*] };
    }
    let constants = values! {
        LISTEN_TASK_IDS LEGACY_SESSIONS LEGACY_URI_BYTES DATA_FOLDERS REQUESTS_AT_ONCE WEBHOOK_QUEUE WEBHOOK_AT_ONCE
        WEBHOOK_TIME WEBHOOK_TRIES WEBHOOK_PAUSE WEBHOOK_PAUSE_MOST TELEMETRY_QUEUE TELEMETRY_TIME
        SPANS_PER_ATTEMPT INPUTS_AT_ONCE INPUTS_PER_CALL KEY_BYTES RECORD_BYTES RECORDS_BYTES
        INPUT_BYTES STATUS_MESSAGE_BYTES LOG_LINE_BYTES LOG_LINES_PER_SECOND PROGRESS_PER_SECOND
        STATUS_MESSAGE_INTERVAL ID_BYTES STREAM_BACKLOG STREAM_BACKLOG_BYTES TOOLS_PER_COMPONENT
        PROMPTS_PER_COMPONENT PROMPT_ARGUMENTS RESOURCES_PER_COMPONENT TEMPLATES_PER_COMPONENT
        TEMPLATE_VARIABLES URI_BYTES CURSOR_BYTES LISTINGS_PER_PAGE COMPLETION_VALUES FILE_BYTES
        FOLDER_ENTRIES FOLDER_DEPTH FOLDER_READS LISTEN_URIS
        CHANGE_INTERVAL
        COMPONENT_BYTES COMPONENT_NESTING COMPONENT_MODULES COMPONENT_FUNCTIONS COMPONENT_TYPES COMPONENT_IMPORTS COMPONENT_EXPORTS
        ARTEFACT_BYTES WATCH_QUIET WATCH_LONGEST SCHEMA_BYTES GUEST_VALUE_BYTES SCHEMA_DEPTH GUEST_JSON_DEPTH LIST_TOOLS_TIME LARGE_BYTES RECEIVE_TIME REFUSED_TIME SEND_TIME EPOCH HEAD_START BUSY_WINDOW BUSY_SHARE OTHERS_REMEMBERED LARGE_INSTANCE_BYTES BACKGROUND_IDLE
        CLOCK_TICK
        HOST_CALL_BYTES RANDOM_BYTES RESOURCES SOCKET_CONNECTIONS COMMIT_BATCH SWEEP_BATCH STORE_RETRY STORE_PAUSE
        DATABASE_CONNECTIONS DATABASE_CONNECT_TIME DATABASE_TIME DATABASE_MIGRATION_TIME DATABASE_RETRIES
        DATABASE_TRIES DATABASE_COMPONENT_TIME DATABASE_COMPONENT_KEPT CHANGES_TOLD CLOCK_SKEW NEWS_PAUSE
        NEWS_PAUSE_MOST UNABLE_PAUSE DATABASE_COUNT_PAUSE ATTEMPTS BACKOFF
        BACKOFF_MOST IDLE_RUNS REQUEST_STATE_BYTES CLOCK_LEEWAY KEYS_BYTES KEYS_FRESH KEYS_PAUSE
        KEYS_TIME QUEUE_PER_INSTANCE REFERENCE_BYTES REGISTRY_MANIFEST_BYTES REGISTRY_ANSWER_BYTES
        REGISTRY_REDIRECTS REGISTRY_CONNECT_TIME REGISTRY_HELPER_TIME REGISTRY_TIME SIGNATURE_BYTES
        ADMIN_CONNECTIONS ADMIN_HEAD_BYTES ADMIN_TIME HISTORY_PERIOD HISTORY_SHARED_PAUSE HISTORY_SAMPLES HISTORY_SERIES CACHE_TTL_MS
    };
    assert_eq!(rows(is_constant), constants);

    let declared = LIMITS.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("pub const ")?.split_once(':')?;
        Some(name)
    });
    let listed = constants.iter().map(|(name, _)| name.as_str());
    assert!(
        declared.eq(listed),
        "limits.rs has constants that this test does not list"
    );
}
