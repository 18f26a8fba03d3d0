//! What a guest does while its task is cancelled.

use std::net::SocketAddr;

use serde_json::json;

use crate::load::message::Call;

/// Put before the names of the tools that sleep by WASI.
pub(super) const WASI: &str = "wasi.";

/// One kind of task.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Subject {
    Loop,
    Sleep,
    Poll,
    Http,
}

impl Subject {
    pub(super) const ALL: [Self; 4] = [Self::Loop, Self::Sleep, Self::Poll, Self::Http];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Sleep => "sleep",
            Self::Poll => "poll",
            Self::Http => "http",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Loop => "a loop without any call of the host",
            Self::Sleep => "the verb `sleep`, which ends when the call is cancelled",
            Self::Poll => "a WASI poll on a timer",
            Self::Http => "a request to a server that never answers",
        }
    }

    /// A call that becomes such a task; the server that never answers is at this address.
    pub(super) fn call(self, silent: SocketAddr) -> Call {
        const HOUR: u64 = 3_600_000;
        match self {
            Self::Loop => Call::task("wait", r#"{"how":"spin"}"#),
            Self::Sleep => Call::task("wait", r#"{"how":"sleep"}"#),
            Self::Poll => {
                let arguments = json!({ "ms": HOUR, "task": true });
                Call::task(&format!("{WASI}doze"), &arguments.to_string())
            }
            Self::Http => {
                let arguments = json!({ "urls": [format!("http://{silent}/")] });
                Call::task("visit", &arguments.to_string())
            }
        }
    }
}
