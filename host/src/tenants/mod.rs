//! Tenants: what each may see and use.
//!
//! Invariant: a caller has exactly one tenant. If the operator named tenants, a caller of another one
//! is nobody here.

mod rate;

use crate::places::{Place, Places};
pub use rate::Rate;

use crate::limits::RunLimits;
use crate::metrics::CallMetrics;
use crate::runtime::{Accounts, CpuBudget, MemoryAccount, Share};
use crate::signature::{PublicKey, Signer};
use crate::task::Principal;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// How much a tenant may; `None` is no limit of its own.
#[derive(Clone, Debug)]
pub struct TenantLimits {
    /// Instances at once, and places in the queue for them. More: `-32603`.
    pub share: Share,
    /// Unfinished tasks at once. More: the guest gets `limit-reached`.
    pub max_tasks: usize,
    /// Tasks at once, finished ones included. More: the guest gets `limit-reached`.
    pub max_stored_tasks: usize,
    /// Linear memory of its instances together, bytes. More: growing fails.
    pub memory_bytes: Option<usize>,
    /// CPU time of its runs together in a minute, milliseconds. More: runs are slowed down, new calls
    /// get `-32603`.
    pub cpu_ms_per_minute: Option<u64>,
    /// Largest result as JSON, bytes. Larger: `-32603`.
    pub result_bytes: Option<usize>,
    /// Progress notifications and status messages of its calls together in a second. More: dropped;
    /// the last status message comes later.
    pub progress_per_second: Option<u32>,
    /// Open `subscriptions/listen` streams. More: `-32603`.
    pub max_listens: Option<usize>,
    /// Requests at once that were not answered yet, or whose answer was not taken. More: 503.
    pub max_requests: Option<usize>,
    /// Bytes of the bodies of its requests together that were not answered yet. More: 503.
    pub max_bodies_bytes: Option<usize>,
    /// Outbound connections of its instances at once. More: they are refused.
    pub max_connections: Option<usize>,
}

impl TenantLimits {
    /// No limits but these.
    #[must_use]
    pub fn new(share: Share, max_tasks: usize) -> Self {
        Self {
            share,
            max_tasks,
            max_stored_tasks: max_tasks,
            memory_bytes: None,
            cpu_ms_per_minute: None,
            result_bytes: None,
            progress_per_second: None,
            max_listens: None,
            max_requests: None,
            max_bodies_bytes: None,
            max_connections: None,
        }
    }
}

/// What the callers of one tenant may, and what they use of it now.
#[derive(Debug)]
pub struct Tenant {
    /// Its name; empty for callers that are not told apart.
    pub name: Arc<str>,
    /// Names of the tools it sees; a `*` at the end stands for any rest. None: all.
    pub tools: Option<Vec<String>>,
    /// Names of the prompts it sees, likewise. None: those of components of which it sees a tool; all, if
    /// it sees all tools.
    pub prompts: Option<Vec<String>>,
    /// URIs of the resources it sees, likewise.
    pub resources: Option<Vec<String>>,
    /// Who must have signed the components whose tools it sees. None: whoever signed them, if anybody.
    pub keys: Vec<PublicKey>,
    /// How much.
    pub limits: TenantLimits,
    accounts: Accounts,
    metrics: Arc<CallMetrics>,
    progress: Option<Rate>,
    listens: Places,
    requests: Places,
    bodies: Places,
}

impl Tenant {
    /// A tenant that uses nothing yet.
    #[must_use]
    pub fn new(name: &str, tools: Option<Vec<String>>, limits: TenantLimits) -> Self {
        let accounts = Accounts {
            memory: limits
                .memory_bytes
                .map(|bytes| Arc::new(MemoryAccount::new(key(name, "memory-bytes"), bytes))),
            cpu: limits
                .cpu_ms_per_minute
                .map(|millis| Arc::new(CpuBudget::new(key(name, "cpu-ms-per-minute"), millis))),
            connections: Places::new(limits.max_connections),
            recent: Arc::default(),
        };
        Self {
            name: name.into(),
            tools,
            prompts: None,
            resources: None,
            keys: Vec::new(),
            accounts,
            metrics: Arc::default(),
            progress: limits.progress_per_second.map(Rate::new),
            listens: Places::new(limits.max_listens),
            requests: Places::new(limits.max_requests),
            bodies: Places::new(limits.max_bodies_bytes),
            limits,
        }
    }

    /// The same, which sees the tools of components only that one of these signed.
    #[must_use]
    pub fn with_keys(self, keys: Vec<PublicKey>) -> Self {
        Self { keys, ..self }
    }

    /// The same, which sees these prompts and resources.
    #[must_use]
    pub fn with_offers(self, prompts: Option<Vec<String>>, resources: Option<Vec<String>>) -> Self {
        Self {
            prompts,
            resources,
            ..self
        }
    }

    /// The key of one of its limits in the configuration, for refusals.
    #[must_use]
    pub fn key(&self, limit: &str) -> String {
        key(&self.name, limit)
    }

    /// What its instances use together.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The counters of its calls; those that are not named share theirs.
    #[must_use]
    pub fn metrics(&self) -> &Arc<CallMetrics> {
        &self.metrics
    }

    /// A call's limits, where the tenant's own are not lower.
    #[must_use]
    pub fn bounded(&self, limits: RunLimits) -> RunLimits {
        let most = self.limits.result_bytes.unwrap_or(usize::MAX);
        RunLimits {
            result_bytes: limits.result_bytes.min(most),
            ..limits
        }
    }

    /// The key of the limit of results that is this one, for refusals.
    #[must_use]
    pub fn result_key(&self, limit: usize) -> String {
        match self.limits.result_bytes {
            Some(most) if most <= limit => self.key("result-bytes"),
            _ => "sandbox.result-bytes".to_owned(),
        }
    }

    /// A progress notification or a status message is to be sent.
    ///
    /// # Errors
    /// When it may be tried again.
    pub(crate) fn progress(&self, now: Instant) -> Result<(), Instant> {
        let Some(rate) = &self.progress else {
            return Ok(());
        };
        rate.pass(now).map_err(|refused| {
            if refused.first {
                let key = self.key("progress-per-second");
                tracing::info!("progress is held up or dropped (limit {key})");
            }
            refused.next
        })
    }

    /// A place for a `subscriptions/listen` stream.
    #[must_use]
    pub fn listen(&self) -> Option<Place> {
        self.listens.take()
    }

    /// A place for a request, until its answer was taken.
    #[must_use]
    pub fn request(&self) -> Option<Place> {
        self.requests.take()
    }

    /// Room for the bodies of its requests, in bytes.
    #[must_use]
    pub fn bodies(&self) -> &Places {
        &self.bodies
    }

    /// Does it trust a component of that signer?
    #[must_use]
    pub fn trusts(&self, signer: Option<&Signer>) -> bool {
        self.keys.is_empty() || signer.is_some_and(|signer| signer.is_among(&self.keys))
    }

    /// Does it see a tool?
    #[must_use]
    pub fn sees(&self, tool: &str) -> bool {
        among(self.tools.as_deref(), tool).unwrap_or(true)
    }

    /// Does it see a prompt of a component with these tools?
    #[must_use]
    pub fn sees_prompt(&self, prompt: &str, tools: &[String]) -> bool {
        let named = among(self.prompts.as_deref(), prompt);
        named.unwrap_or_else(|| self.sees_some(tools))
    }

    /// Does it see the resource of a URI, of a component with these tools?
    #[must_use]
    pub fn sees_resource(&self, uri: &str, tools: &[String]) -> bool {
        let named = among(self.resources.as_deref(), uri);
        named.unwrap_or_else(|| self.sees_some(tools))
    }

    /// May it see some resource of a template, of a component with these tools? `start` is what all of
    /// them begin with.
    #[must_use]
    pub fn sees_template(&self, start: &str, tools: &[String]) -> bool {
        let Some(patterns) = &self.resources else {
            return self.sees_some(tools);
        };
        patterns
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(pattern) => pattern.starts_with(start) || start.starts_with(pattern),
                None => pattern.starts_with(start),
            })
    }

    /// Does it see one of a component's tools, or all tools that there may be?
    #[must_use]
    pub fn sees_some(&self, tools: &[String]) -> bool {
        self.tools.is_none() || tools.iter().any(|tool| self.sees(tool))
    }
}

/// Whether a name fits one of these patterns, if there are any; a `*` at the end stands for any rest.
fn among(patterns: Option<&[String]>, name: &str) -> Option<bool> {
    let fits = |pattern: &String| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    patterns.map(|patterns| patterns.iter().any(fits))
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
    /// Callers that are not told apart.
    other: Arc<Tenant>,
}

impl Tenants {
    /// These; or, if there are none, whoever comes, with `other`'s limits.
    #[must_use]
    pub fn new(named: Vec<Tenant>, other: TenantLimits) -> Self {
        let named = named
            .into_iter()
            .map(|tenant| (tenant.name.to_string(), Arc::new(tenant)));
        Self {
            named: named.collect(),
            other: Arc::new(Tenant::new("", None, other)),
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
        if name.is_empty() {
            return Arc::clone(&self.other);
        }
        Arc::new(Tenant {
            metrics: Arc::clone(&self.other.metrics),
            ..Tenant::new(name, None, self.other.limits.clone())
        })
    }

    /// The caller that a principal is; `None` if its tenant is not named.
    #[must_use]
    pub fn caller(&self, principal: Principal) -> Option<Caller> {
        let tenant = self.get(&principal.tenant)?;
        Some(Caller { principal, tenant })
    }

    /// What is counted, by tenant: the named ones, and all others as one, whose name is empty.
    pub fn metrics(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<CallMetrics>)> {
        let all = self.named.values().chain([&self.other]);
        all.map(|tenant| (&tenant.name, &tenant.metrics))
    }

    /// True if the operator named some.
    #[must_use]
    pub fn are_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// The keys that any of them trusts, each once.
    #[must_use]
    pub fn keys(&self) -> Vec<PublicKey> {
        let mut keys: Vec<PublicKey> = Vec::new();
        for key in self.named.values().flat_map(|tenant| &tenant.keys) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }

    /// True if tenants may see different things.
    #[must_use]
    pub fn differ(&self) -> bool {
        let differs = |it: &Arc<Tenant>| {
            let named = [&it.tools, &it.prompts, &it.resources];
            named.into_iter().any(Option::is_some) || !it.keys.is_empty()
        };
        self.named.values().any(differs)
    }
}

fn key(tenant: &str, limit: &str) -> String {
    format!("tenants.{tenant}.{limit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> TenantLimits {
        let share = Share {
            running: 1,
            waiting: 1,
        };
        TenantLimits::new(share, 1)
    }

    fn tenant(name: &str, tools: Option<&[&str]>) -> Tenant {
        let tools = tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect());
        Tenant::new(name, tools, limits())
    }

    #[test]
    fn prompts_and_resources_go_with_tools_unless_they_are_named() {
        let tools = ["a_one".to_owned(), "a_two".to_owned()];
        let all = tenant("all", None);
        assert!(all.sees_prompt("p", &tools) && all.sees_resource("u:1", &[]));
        let some = tenant("some", Some(&["a_*"]));
        assert!(some.sees_prompt("p", &tools) && some.sees_template("u:", &tools));
        assert!(!some.sees_prompt("a_p", &[]) && !some.sees_resource("u:1", &["b".to_owned()]));
        let names = |names: &[&str]| Some(names.iter().map(|&it| it.to_owned()).collect());
        let named = tenant("named", Some(&["a_*"])).with_offers(names(&["p"]), names(&["u:x/*"]));
        assert!(named.sees_prompt("p", &[]) && !named.sees_prompt("q", &tools));
        assert!(named.sees_resource("u:x/1", &[]) && !named.sees_resource("u:y", &tools));
        for (start, seen) in [("u:", true), ("u:x/y/", true), ("u:y/", false), ("", true)] {
            assert_eq!(named.sees_template(start, &[]), seen, "{start}");
        }
    }

    #[test]
    fn connections_are_counted_for_each_tenant() {
        let limits = TenantLimits {
            max_connections: Some(1),
            ..limits()
        };
        let (a, b) = (
            Tenant::new("a", None, limits.clone()),
            Tenant::new("b", None, limits),
        );
        let held = a.accounts().connections.take();
        assert!(held.is_some() && a.accounts().connections.take().is_none());
        assert!(
            b.accounts().connections.take().is_some(),
            "another tenant's are its own"
        );
        drop(held);
        assert!(a.accounts().connections.take().is_some());
        assert!(
            tenant("c", None).accounts().connections.take().is_some(),
            "no limit"
        );
    }

    #[test]
    fn the_lower_limit_of_results_counts() {
        let of = |most| {
            let limits = TenantLimits {
                result_bytes: most,
                ..limits()
            };
            let run = RunLimits::new(&Default::default(), &Default::default());
            let bounded = Tenant::new("a", None, limits).bounded(run);
            (bounded.result_bytes, run.result_bytes)
        };
        assert_eq!(of(Some(5)).0, 5);
        let (bounded, unbounded) = of(Some(usize::MAX));
        assert_eq!(bounded, unbounded);
        assert_eq!(of(None).0, unbounded);
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
    fn a_tenant_with_keys_trusts_their_holders_alone() {
        let pairs = [(); 2].map(|()| minisign::KeyPair::generate_unencrypted_keypair().unwrap());
        let keys = [0, 1].map(|it: usize| {
            let key: PublicKey = pairs[it].pk.to_base64().parse().unwrap();
            key
        });
        let signers = [0, 1].map(|it: usize| {
            let text = minisign::sign(None, &pairs[it].sk, &b"x"[..], None, None).unwrap();
            crate::signature::verify(b"x", Some(&text.into_string()), &keys).unwrap()
        });
        let strict = tenant("a", None).with_keys(vec![keys[0].clone()]);
        assert!(strict.trusts(Some(&signers[0])) && !strict.trusts(Some(&signers[1])));
        assert!(!strict.trusts(None), "nobody signed it");
        let easy = tenant("b", None);
        assert!(easy.trusts(None) && easy.trusts(Some(&signers[1])));
        let tenants = Tenants::new(vec![strict, easy], limits());
        assert_eq!(tenants.keys(), [keys[0].clone()]);
        assert!(tenants.differ(), "they see different tools");
    }

    #[test]
    fn strangers_are_nobody_where_tenants_are_named() {
        let named = Tenants::new(vec![tenant("a", None)], limits());
        assert!(named.get("a").is_some() && named.get("b").is_none() && named.get("").is_none());
        let open = Tenants::new(Vec::new(), limits());
        assert_eq!(&*open.get("b").unwrap().name, "b");
    }
}
