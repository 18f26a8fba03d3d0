//! Where a call's seed and clock come from: the world, or a rehearsal of a tool.
//!
//! Invariant: a server that serves is [`Origin::Live`]. A rehearsal gives every call the same seed
//! and a clock that depends on the journal alone, so that two runs can be compared byte for byte, and
//! ends runs where its plan says.

use super::random::Seed;
use super::time::Time;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where calls begin.
#[derive(Clone, Default)]
pub enum Origin {
    /// Random seeds, the system's clock.
    #[default]
    Live,
    /// As a rehearsal has it.
    Rehearsed(Arc<Rehearsal>),
}

/// How a rehearsal runs calls.
#[derive(Default)]
pub struct Rehearsal {
    /// For each run to come: after how many new entries it is ended. Runs beyond the plan are left
    /// alone.
    plan: Mutex<VecDeque<u32>>,
    runs: AtomicUsize,
    /// End the whole process with the run, by SIGKILL.
    die: bool,
}

impl Rehearsal {
    /// Ends the next runs after so many new entries each.
    #[must_use]
    pub fn new(plan: impl IntoIterator<Item = u32>) -> Arc<Self> {
        Arc::new(Self {
            plan: Mutex::new(plan.into_iter().collect()),
            ..Self::default()
        })
    }

    /// Ends the process when the first run has taken so many entries.
    #[must_use]
    pub fn dying(after: Option<u32>) -> Arc<Self> {
        Arc::new(Self {
            plan: Mutex::new(after.into_iter().collect()),
            die: true,
            ..Self::default()
        })
    }

    /// Runs begun so far.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

impl Origin {
    /// The seed of a call that begins.
    #[must_use]
    pub fn seed(&self) -> Seed {
        match self {
            Self::Live => Seed::random(),
            Self::Rehearsed(_) => Seed::from_bytes(*b"the same seed for each rehearsal"),
        }
    }

    /// The clock.
    #[must_use]
    pub fn time(&self) -> Time {
        match self {
            Self::Live => Time::System,
            Self::Rehearsed(_) => Time::Rehearsed,
        }
    }

    /// After how many new entries the run that begins now is ended.
    #[must_use]
    pub fn kill_after(&self) -> Option<u32> {
        match self {
            Self::Live => None,
            Self::Rehearsed(rehearsal) => {
                rehearsal.runs.fetch_add(1, Ordering::Relaxed);
                rehearsal.plan.lock().pop_front()
            }
        }
    }

    /// A run was ended as planned.
    pub fn killed(&self) {
        if let Self::Rehearsed(rehearsal) = self
            && rehearsal.die
        {
            kill_this_process();
        }
    }
}

/// Ends this process as a power cut would: nothing is flushed, nothing is told.
pub fn kill_this_process() {
    let this = rustix::process::getpid();
    // A process may always signal itself; should it not die, the rehearsal finds out.
    let _ = rustix::process::kill_process(this, rustix::process::Signal::KILL);
}
