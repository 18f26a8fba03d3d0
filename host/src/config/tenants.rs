//! `[tenants]`: what callers may.

use super::check::Place;
use super::tools::PAGE;
use super::{ConfigError, raw};
use crate::limits::QUEUE_PER_INSTANCE;
use crate::runtime::Share;
use crate::settings::Settings;
use crate::tenants::{Tenant, TenantLimits, Tenants};
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Place<'_> {
    pub(super) fn tenants(
        &self,
        raw: BTreeMap<String, raw::Tenant>,
        settings: &Settings,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Tenants, ConfigError> {
        let instances = settings.sandbox.instances as usize;
        let share = Share {
            running: instances,
            waiting: instances * QUEUE_PER_INSTANCE,
        };
        let whole = TenantLimits::new(share, settings.tasks.max);
        let several = raw.len() > 1;
        let mut tenants = Vec::new();
        for (name, raw) in raw {
            if name.is_empty() || name.len() > 256 {
                return self.bad("tenants", "a tenant's name has 1 to 256 bytes");
            }
            let limits = self.tenant_limits(&name, &raw, &whole, settings, several)?;
            for (member, patterns, what) in [
                ("tools", &raw.tools, "tool's name, or the start of names"),
                (
                    "prompts",
                    &raw.prompts,
                    "prompt's name, or the start of names",
                ),
                (
                    "resources",
                    &raw.resources,
                    "resource's URI, or the start of URIs",
                ),
            ] {
                for pattern in patterns.iter().flatten() {
                    let inner = pattern.strip_suffix('*').unwrap_or(pattern);
                    if pattern.is_empty() || inner.contains('*') {
                        let rule = format!("{pattern:?}: a {what} and a *");
                        return self.bad(&format!("tenants.{name}.{member}"), rule);
                    }
                }
            }
            let keys = format!("tenants.{name}.signed-by");
            let keys = self.keys(&keys, raw.signed_by, beside)?;
            let tenant = Tenant::new(&name, raw.tools, limits).with_keys(keys);
            tenants.push(tenant.with_offers(raw.prompts, raw.resources));
        }
        Ok(Tenants::new(tenants, whole))
    }

    fn tenant_limits(
        &self,
        name: &str,
        raw: &raw::Tenant,
        whole: &TenantLimits,
        settings: &Settings,
        several: bool,
    ) -> Result<TenantLimits, ConfigError> {
        let key = |member: &str| format!("tenants.{name}.{member}");
        let bytes = |member: &str, own: Option<u64>, range| {
            own.map(|own| self.bytes(&key(member), own, range))
                .transpose()
        };
        let mut share = whole.share;
        if let Some(most) = raw.max_instances {
            let instances = share.running;
            if most == 0 || most > instances {
                let rule = format!("must be 1 to sandbox.instances ({instances}), got {most}");
                return self.bad(&key("max-instances"), rule);
            }
            share = Share {
                running: most,
                waiting: most * QUEUE_PER_INSTANCE,
            };
        }
        share.waiting = raw.max_waiting.unwrap_or(share.waiting);
        let max_tasks = raw.max_tasks.unwrap_or(whole.max_tasks);
        // What all share is left to the others by half, unless the operator says otherwise.
        let half = |all: usize| if several { (all / 2).max(1) } else { all };
        let stored = half(settings.tasks.max).max(raw.max_tasks.unwrap_or(0));
        // Room for one of them at least.
        let server = &settings.server;
        let half_of_bodies = half(server.max_bodies_bytes).max(server.max_body_bytes);
        let bodies = server.max_body_bytes as u64..=u64::MAX;
        let bodies = bytes("max-bodies-bytes", raw.max_bodies_bytes, bodies)?;
        let result = 1_024..=settings.sandbox.result_bytes as u64;
        let cpu = raw.cpu_ms_per_minute;
        let cpu = cpu.map(|millis| self.number(&key("cpu-ms-per-minute"), millis, 1..=u64::MAX));
        let progress = raw.progress_per_second.map(u64::from);
        let progress = progress
            .map(|most| self.number(&key("progress-per-second"), most, 1..=u32::MAX.into()))
            .transpose()?;
        Ok(TenantLimits {
            share,
            max_tasks,
            max_stored_tasks: raw.max_stored_tasks.unwrap_or(stored),
            memory_bytes: bytes("memory-bytes", raw.memory_bytes, PAGE..=u64::MAX)?,
            cpu_ms_per_minute: cpu.transpose()?,
            result_bytes: bytes("result-bytes", raw.result_bytes, result)?,
            progress_per_second: progress.map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
            max_listens: Some(raw.max_listens.unwrap_or(half(settings.server.max_listens))),
            max_requests: Some(raw.max_requests.unwrap_or(half(server.max_connections))),
            max_bodies_bytes: bodies.or(Some(half_of_bodies)),
            max_connections: raw.max_connections,
        })
    }
}
