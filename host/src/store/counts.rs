//! How many tasks there are, of each tenant and in all.
//!
//! Invariant: whatever is kept beside them, the counts are those of the steps that were taken and not
//! undone; a tenant without tasks takes no room.

use super::Full;
use crate::task::NewTask;
use std::collections::HashMap;

/// The counts of a store.
#[derive(Default)]
pub(super) struct Counts {
    by_tenant: HashMap<String, Count>,
    all: usize,
}

#[derive(Clone, Copy, Default)]
struct Count {
    unfinished: usize,
    all: usize,
}

/// What becomes of a task, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Created,
    Ended,
    Removed,
}

impl Counts {
    /// A tenant's tasks, as they were found.
    pub(super) fn found(&mut self, tenant: String, unfinished: usize, all: usize) {
        self.by_tenant.insert(tenant, Count { unfinished, all });
        self.all += all;
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
        let change = |number: &mut usize, more: bool| {
            *number = if more {
                *number + 1
            } else {
                number.saturating_sub(1)
            };
        };
        match step {
            Step::Created => {
                change(&mut count.unfinished, taken);
                change(&mut count.all, taken);
                change(&mut self.all, taken);
            }
            Step::Ended => change(&mut count.unfinished, !taken),
            Step::Removed => {
                change(&mut count.all, !taken);
                change(&mut self.all, !taken);
            }
        }
        if count.all == 0 {
            self.by_tenant.remove(tenant);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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
        counts.found("b".to_owned(), 1, 2);
        let steps = [
            ("a", Step::Created),
            ("b", Step::Removed),
            ("a", Step::Ended),
            ("b", Step::Ended),
            ("a", Step::Removed),
            ("b", Step::Removed),
        ];
        for (tenant, step) in steps {
            counts.take(tenant, step);
        }
        assert_eq!(all(&counts), [(0, 0)], "no tenant has any");
        for (tenant, step) in steps.into_iter().rev() {
            counts.undo(tenant, step);
        }
        assert_eq!(all(&counts), [(1, 2), (0, 2)]);
    }
}
