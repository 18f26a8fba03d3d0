//! A command while it runs: where it tells what happens, and what ends it early.

use crate::failure::Failure;
use crate::interrupt::{Interrupt, restore_terminal};
use crate::prompt::PromptError;
use crate::report::Report;
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// What ended work early.
pub(crate) enum Stop {
    /// Ctrl-C.
    Pressed,
    /// `--timeout`.
    Late,
}

impl Stop {
    /// The failure, if it closed the stream of this.
    pub(crate) fn closes(self, what: &str) -> Failure {
        let closed = format!("the {what}'s stream is closed, which ends it");
        match self {
            Self::Pressed => Failure::Cancelled(closed),
            Self::Late => Failure::Timeout(closed),
        }
    }
}

/// A command while it runs.
pub(crate) struct Session {
    /// Where is told what happens.
    pub(crate) report: Report,
    /// The task that it is about, once there is one.
    pub(crate) task: RefCell<Option<String>>,
    interrupt: Interrupt,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self {
            report: Report::new(),
            task: RefCell::default(),
            interrupt: Interrupt::listen(),
        }
    }

    /// Does something, unless Ctrl-C or the time ends it.
    ///
    /// # Errors
    /// [`Stop`].
    pub(crate) async fn work<T>(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<Result<T, Failure>, Stop> {
        let mut interrupt = self.interrupt.clone();
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let done = tokio::select! {
            biased;
            () = interrupt.pressed() => Err(Stop::Pressed),
            () = late => Err(Stop::Late),
            done = work => match done {
                // At a prompt, the terminal gives Ctrl-C as a key.
                Err(Failure::Prompt(PromptError::Interrupted)) => Err(Stop::Pressed),
                done => Ok(done),
            },
        };
        restore_terminal();
        done
    }
}

/// When the time of `--timeout` is over.
///
/// # Errors
/// If it is no time.
pub(crate) fn deadline(seconds: Option<f64>) -> Result<Option<Instant>, Failure> {
    let invalid = || Failure::Connect(crate::connect::ConnectError::Timeout);
    let Some(seconds) = seconds else {
        return Ok(None);
    };
    let time = Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero());
    let end = time.and_then(|time| Instant::now().checked_add(time));
    end.map(Some).ok_or_else(invalid)
}
