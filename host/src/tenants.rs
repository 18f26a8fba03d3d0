//! Tenants: what each may see and use.
//!
//! Invariant: a caller has exactly one tenant. If the operator named tenants, a caller of another one
//! is nobody here.

use crate::runtime::Share;
use crate::task::Principal;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the callers of one tenant may.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name; empty for callers that are not told apart.
    pub name: Arc<str>,
    /// Names of the tools it sees; a `*` at the end stands for any rest. None: all.
    pub tools: Option<Vec<String>>,
    /// Instances and places in the queue.
    pub share: Share,
    /// Unfinished tasks at once; more: `-32603`.
    pub max_tasks: usize,
}

impl Tenant {
    /// Does it see a tool?
    #[must_use]
    pub fn sees(&self, tool: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => tool == pattern,
        };
        self.tools
            .as_ref()
            .is_none_or(|patterns| patterns.iter().any(fits))
    }
}

/// Who makes a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose the tasks are that it creates.
    pub principal: Principal,
    /// What it may.
    pub tenant: Arc<Tenant>,
}

/// All tenants of a server.
#[derive(Clone, Debug)]
pub struct Tenants {
    named: BTreeMap<String, Arc<Tenant>>,
    /// Callers that are not told apart, and the rights of a tenant that has no name here.
    other: Arc<Tenant>,
}

impl Tenants {
    /// These; or, if there are none, whoever comes, with `other`'s rights.
    #[must_use]
    pub fn new(named: Vec<Tenant>, other: Tenant) -> Self {
        let named = named
            .into_iter()
            .map(|tenant| (tenant.name.to_string(), Arc::new(tenant)));
        Self {
            named: named.collect(),
            other: Arc::new(other),
        }
    }

    /// The tenant of that name; `None` if the operator named others only.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Tenant>> {
        if self.named.is_empty() {
            return Some(self.unnamed(name));
        }
        self.named.get(name).cloned()
    }

    /// The tenant of a task, which may have been named when the task was created.
    #[must_use]
    pub fn of_task(&self, name: &str) -> Arc<Tenant> {
        let named = self.named.get(name).cloned();
        named.unwrap_or_else(|| self.unnamed(name))
    }

    fn unnamed(&self, name: &str) -> Arc<Tenant> {
        if *self.other.name == *name {
            return Arc::clone(&self.other);
        }
        Arc::new(Tenant {
            name: name.into(),
            ..(*self.other).clone()
        })
    }

    /// The caller that a principal is; `None` if its tenant is not named.
    #[must_use]
    pub fn caller(&self, principal: Principal) -> Option<Caller> {
        let tenant = self.get(&principal.tenant)?;
        Some(Caller { principal, tenant })
    }

    /// True if the operator named some.
    #[must_use]
    pub fn are_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// True if tenants may see different tools.
    #[must_use]
    pub fn differ(&self) -> bool {
        self.named.values().any(|tenant| tenant.tools.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str, tools: Option<&[&str]>) -> Tenant {
        Tenant {
            name: name.into(),
            tools: tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect()),
            share: Share {
                running: 1,
                waiting: 1,
            },
            max_tasks: 1,
        }
    }

    #[test]
    fn a_tenant_sees_what_its_patterns_name() {
        let some = tenant("a", Some(&["acme.*", "echo"]));
        assert!(some.sees("acme.x") && some.sees("acme.") && some.sees("echo"));
        assert!(!some.sees("echo2") && !some.sees("acme"));
        assert!(tenant("a", None).sees("anything"));
        assert!(!tenant("a", Some(&[])).sees("anything"));
    }

    #[test]
    fn strangers_are_nobody_where_tenants_are_named() {
        let named = Tenants::new(vec![tenant("a", None)], tenant("", None));
        assert!(named.get("a").is_some() && named.get("b").is_none() && named.get("").is_none());
        let open = Tenants::new(Vec::new(), tenant("", None));
        assert_eq!(&*open.get("b").unwrap().name, "b");
    }
}
