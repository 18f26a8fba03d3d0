//! A client that has the process to itself (MCP, "stdio").

use super::running::Running;
use super::session::Session;
use std::sync::{Arc, OnceLock};

/// What belongs to the one client of a pipe.
#[derive(Default)]
pub struct Pipe {
    running: Arc<Running>,
    /// Once it said `initialize`.
    session: OnceLock<Arc<Session>>,
}

impl Pipe {
    /// True once the client began as those of earlier revisions do.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.session.get().is_some()
    }

    /// The requests that it may take back.
    pub(crate) fn running(&self) -> &Arc<Running> {
        &self.running
    }

    pub(super) fn session(&self) -> Option<&Arc<Session>> {
        self.session.get()
    }

    /// False if a session began already.
    pub(super) fn begin(&self, session: Session) -> bool {
        self.session.set(Arc::new(session)).is_ok()
    }
}
