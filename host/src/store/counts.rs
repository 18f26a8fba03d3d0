//! How many tasks there are, of each tenant, in each state and in all.
//!
//! Invariant: whatever is kept beside them, the counts are those of the steps that were taken and not
//! undone; a tenant without tasks takes no room.

use super::Full;
use crate::task::{NewTask, Status};
use std::collections::HashMap;

/// The counts of a store.
#[derive(Default)]
pub(super) struct Counts {
    by_tenant: HashMap<String, Count>,
    all: usize,
    tally: Tally,
}

/// How many tasks a store holds in each state, and how often it moved one. It tells nothing of whose
/// they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    states: [usize; Status::ALL.len()],
    moves: [usize; Move::ALL.len()],
}

impl Tally {
    /// Tasks in a state now.
    #[must_use]
    pub fn of(&self, status: Status) -> usize {
        self.states[status as usize]
    }

    /// How often tasks moved so since the store was opened.
    #[must_use]
    pub fn moved(&self, kind: Move) -> usize {
        self.moves[kind as usize]
    }
}

/// What becomes of a task, as clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A call became it.
    Created,
    /// It asks its client.
    Asked,
    /// Its client answered all that it asked.
    Answered,
    /// It has a result.
    Completed,
    /// It has an error.
    Failed,
    /// Its client does not want it any more.
    Cancelled,
    /// It is not kept any more.
    Removed,
}

impl Move {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Created,
        Self::Asked,
        Self::Answered,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Removed,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Asked => "asked",
            Self::Answered => "answered",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Removed => "removed",
        }
    }

    /// To a state from another one.
    fn to(status: Status) -> Self {
        match status {
            Status::Working => Self::Answered,
            Status::InputRequired => Self::Asked,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Count {
    unfinished: usize,
    all: usize,
}

/// What becomes of a task, in this order; it may move more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Created(Status),
    Moved { from: Status, to: Status },
    Removed(Status),
}

impl Step {
    /// The state that a task leaves, and the one that it comes to.
    pub(super) fn states(self) -> (Option<Status>, Option<Status>) {
        match self {
            Self::Created(to) => (None, Some(to)),
            Self::Moved { from, to } => (Some(from), Some(to)),
            Self::Removed(from) => (Some(from), None),
        }
    }
}

impl Counts {
    /// A tenant's tasks in a state, as they were found.
    pub(super) fn found(&mut self, tenant: String, status: Status, number: usize) {
        let count = self.by_tenant.entry(tenant).or_default();
        count.all += number;
        if !status.is_final() {
            count.unfinished += number;
        }
        self.all += number;
        self.tally.states[status as usize] += number;
    }

    /// How many there are in each state.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// A step is taken.
    pub(super) fn take(&mut self, tenant: &str, step: Step) {
        self.count(tenant, step, true);
    }

    /// A step is undone; the last one first.
    pub(super) fn undo(&mut self, tenant: &str, step: Step) {
        self.count(tenant, step, false);
    }

    fn count(&mut self, tenant: &str, step: Step, taken: bool) {
        if !self.by_tenant.contains_key(tenant) {
            self.by_tenant.insert(tenant.to_owned(), Count::default());
        }
        let Some(count) = self.by_tenant.get_mut(tenant) else {
            return;
        };
        match step {
            Step::Created(_) => {
                change(&mut count.unfinished, taken);
                change(&mut count.all, taken);
                change(&mut self.all, taken);
            }
            Step::Moved { from, to } if !from.is_final() && to.is_final() => {
                change(&mut count.unfinished, !taken);
            }
            Step::Moved { .. } => {}
            Step::Removed(_) => {
                change(&mut count.all, !taken);
                change(&mut self.all, !taken);
            }
        }
        if count.all == 0 {
            self.by_tenant.remove(tenant);
        }
        self.tally.count(step, taken);
    }

    /// Which limit is in the way of a new task, in a store of at most so many.
    pub(super) fn full(&self, new: &NewTask, max_tasks: usize) -> Option<Full> {
        let tenant = self.by_tenant.get(&new.task.owner.tenant).copied();
        let count = tenant.unwrap_or_default();
        if count.unfinished >= new.most {
            Some(Full::Unfinished)
        } else if count.all >= new.most_stored {
            Some(Full::Stored)
        } else {
            (self.all >= max_tasks).then_some(Full::Store)
        }
    }
}

impl Tally {
    /// A step was taken by this node, of which others count the states.
    pub(super) fn moved_here(&mut self, step: Step) {
        let mut moved = Self::default();
        moved.count(step, true);
        for (sum, more) in self.moves.iter_mut().zip(moved.moves) {
            *sum += more;
        }
    }

    /// The same moves, with so many tasks in each state.
    pub(super) fn with_states(self, states: impl IntoIterator<Item = (Status, usize)>) -> Self {
        let mut tally = Self {
            states: [0; Status::ALL.len()],
            ..self
        };
        for (status, number) in states {
            tally.states[status as usize] += number;
        }
        tally
    }

    fn count(&mut self, step: Step, taken: bool) {
        let kind = match step {
            Step::Created(_) => Move::Created,
            Step::Moved { to, .. } => Move::to(to),
            Step::Removed(_) => Move::Removed,
        };
        let (from, to) = step.states();
        if let Some(from) = from {
            change(&mut self.states[from as usize], !taken);
        }
        if let Some(to) = to {
            change(&mut self.states[to as usize], taken);
        }
        change(&mut self.moves[kind as usize], taken);
    }
}

/// One more, or one less.
fn change(number: &mut usize, more: bool) {
    *number = if more {
        *number + 1
    } else {
        number.saturating_sub(1)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    use Status::{Cancelled, Completed, InputRequired, Working};

    fn all(counts: &Counts) -> Vec<(usize, usize)> {
        let each = counts.by_tenant.values();
        let mut all: Vec<_> = each.map(|count| (count.unfinished, count.all)).collect();
        all.sort_unstable();
        all.push((0, counts.all));
        all
    }

    #[test]
    fn what_is_undone_was_never_counted() {
        let mut counts = Counts::default();
        counts.found("b".to_owned(), Working, 1);
        counts.found("b".to_owned(), Cancelled, 1);
        let moved = |from, to| Step::Moved { from, to };
        let found = counts.tally();
        let steps = [
            ("a", Step::Created(Working)),
            ("b", Step::Removed(Cancelled)),
            ("a", moved(Working, InputRequired)),
            ("a", moved(InputRequired, Completed)),
            ("b", moved(Working, Cancelled)),
            ("a", Step::Removed(Completed)),
            ("b", Step::Removed(Cancelled)),
        ];
        for (tenant, step) in steps {
            counts.take(tenant, step);
        }
        assert_eq!(all(&counts), [(0, 0)], "no tenant has any");
        let tally = counts.tally();
        assert_eq!(tally.states, [0; 5]);
        let moves = Move::ALL.map(|kind| (kind.name(), tally.moved(kind)));
        assert_eq!(
            moves,
            [
                ("created", 1),
                ("asked", 1),
                ("answered", 0),
                ("completed", 1),
                ("failed", 0),
                ("cancelled", 1),
                ("removed", 3)
            ]
        );
        for (tenant, step) in steps.into_iter().rev() {
            counts.undo(tenant, step);
        }
        assert_eq!(all(&counts), [(1, 2), (0, 2)]);
        assert_eq!(counts.tally(), found);
        assert_eq!((found.of(Working), found.of(Cancelled)), (1, 1));
    }
}
