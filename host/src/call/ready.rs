//! Tasks that are to run now, a line for each tenant.
//!
//! Invariant: a tenant has no more tasks under way than it may have instances; the rest costs a place
//! in its own line. So whatever one tenant's tasks do, another one's are not behind them.

use crate::task::TaskId;
use crate::tenants::Tenant;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// All lines.
#[derive(Default)]
pub(super) struct Ready(HashMap<Arc<str>, Line>);

struct Line {
    under_way: usize,
    most: usize,
    waiting: VecDeque<TaskId>,
}

impl Ready {
    /// A task is to run. True: at once; it is under way now. False: it stands in line.
    pub(super) fn add(&mut self, tenant: &Tenant, id: TaskId) -> bool {
        let line = self
            .0
            .entry(Arc::clone(&tenant.name))
            .or_insert_with(|| Line {
                under_way: 0,
                most: tenant.limits.share.running.max(1),
                waiting: VecDeque::new(),
            });
        let now = line.under_way < line.most;
        if now {
            line.under_way += 1;
        } else {
            line.waiting.push_back(id);
        }
        now
    }

    /// One of a tenant's tasks is not under way any more. Gives the next one, which is now.
    pub(super) fn done(&mut self, tenant: &Arc<str>) -> Option<TaskId> {
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
        let ids: Vec<_> = (0..4).map(|_| TaskId::random()).collect();
        let mut ready = Ready::default();
        assert!(ready.add(&a, ids[0]) && ready.add(&a, ids[1]));
        assert!(!ready.add(&a, ids[2]) && !ready.add(&a, ids[3]));
        assert!(
            ready.add(&b, TaskId::random()),
            "another tenant is not behind them"
        );
        assert_eq!(ready.done(&a.name), Some(ids[2]));
        assert_eq!(ready.done(&a.name), Some(ids[3]));
        assert_eq!(ready.done(&a.name), None);
        assert_eq!(ready.done(&a.name), None);
        assert_eq!(ready.done(&b.name), None);
        assert!(ready.0.is_empty());
    }
}
