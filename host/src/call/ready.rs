//! Tasks that are to run now, a line for each tenant.
//!
//! Invariant: a tenant has no more tasks under way than it may have instances; the rest costs a place
//! in its own line. So whatever one tenant's tasks do, another one's are not behind them.

use crate::tenants::Tenant;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// All lines, in which tasks stand as whatever is known of them.
pub(super) struct Ready<T>(HashMap<Arc<str>, Line<T>>);

struct Line<T> {
    under_way: usize,
    most: usize,
    waiting: VecDeque<T>,
}

impl<T> Ready<T> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    /// A task is to run. It comes back if that is at once; it is under way then. Else it stands in line.
    pub(super) fn add(&mut self, tenant: &Tenant, task: T) -> Option<T> {
        let line = self
            .0
            .entry(Arc::clone(&tenant.name))
            .or_insert_with(|| Line {
                under_way: 0,
                most: tenant.limits.share.running.max(1),
                waiting: VecDeque::new(),
            });
        if line.under_way < line.most {
            line.under_way += 1;
            return Some(task);
        }
        line.waiting.push_back(task);
        None
    }

    /// One of a tenant's tasks is not under way any more. Gives the next one, which is now.
    pub(super) fn done(&mut self, tenant: &Arc<str>) -> Option<T> {
        let line = self.0.get_mut(tenant)?;
        let next = line.waiting.pop_front();
        if next.is_none() {
            line.under_way -= 1;
            if line.under_way == 0 {
                self.0.remove(tenant);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Share;
    use crate::tenants::TenantLimits;

    #[test]
    fn a_tenants_tasks_stand_in_its_own_line() {
        let share = Share {
            running: 2,
            waiting: 0,
        };
        let tenant = |name: &str| Tenant::new(name, None, TenantLimits::new(share, 9));
        let (a, b) = (tenant("a"), tenant("b"));
        let mut ready = Ready::new();
        assert_eq!(ready.add(&a, 0), Some(0));
        assert_eq!(ready.add(&a, 1), Some(1));
        assert_eq!(ready.add(&a, 2), None);
        assert_eq!(ready.add(&a, 3), None);
        assert_eq!(
            ready.add(&b, 4),
            Some(4),
            "another tenant is not behind them"
        );
        assert_eq!(ready.done(&a.name), Some(2));
        assert_eq!(ready.done(&a.name), Some(3));
        assert_eq!(ready.done(&a.name), None);
        assert_eq!(ready.done(&a.name), None);
        assert_eq!(ready.done(&b.name), None);
        assert!(ready.0.is_empty());
    }
}
