//! How often progress is told.
//!
//! Invariant: what is told grows; a flood costs the server nothing but a comparison.

use crate::limits::{PROGRESS_PER_SECOND, STATUS_MESSAGE_BYTES, STATUS_MESSAGE_INTERVAL};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};

/// What to do with a report.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Tell it.
    Now,
    /// Not now: keep it, and tell the last one kept at that time.
    At(Instant),
    /// Not now: keep it; somebody will tell the last one kept.
    Later,
    /// Not at all.
    Never,
}

/// Decides over one call's reports.
#[derive(Debug, Default)]
pub(super) struct ProgressGate {
    last: Option<f64>,
    window: Option<(Instant, u32)>,
    told: Option<Instant>,
    scheduled: bool,
}

impl ProgressGate {
    /// Progress must grow (MCP, progress notifications). Not-a-number never does.
    fn grows(&mut self, progress: f64) -> bool {
        let grows = progress.is_finite() && self.last.is_none_or(|last| progress > last);
        if grows {
            self.last = Some(progress);
        }
        grows
    }

    /// A report that an earlier run told.
    pub(super) fn replayed(&mut self, progress: f64) {
        let _ = self.grows(progress);
    }

    /// A report of an inline call.
    pub(super) fn inline(&mut self, progress: f64, now: Instant) -> Told {
        if !self.grows(progress) {
            return Told::Never;
        }
        let (start, count) = self.window.unwrap_or((now, 0));
        let (start, count) = if now - start >= Duration::from_secs(1) {
            (now, 0)
        } else {
            (start, count)
        };
        self.window = Some((start, count + 1));
        if count < PROGRESS_PER_SECOND {
            Told::Now
        } else {
            Told::Never
        }
    }

    /// A report of a task. Of those that come too soon, only the first asks for a later time; the
    /// caller keeps the last.
    pub(super) fn task(&mut self, progress: f64, now: Instant) -> Told {
        if !self.grows(progress) {
            return Told::Never;
        }
        match self.told {
            Some(told) if now < told + STATUS_MESSAGE_INTERVAL => {
                if std::mem::replace(&mut self.scheduled, true) {
                    Told::Later
                } else {
                    Told::At(told + STATUS_MESSAGE_INTERVAL)
                }
            }
            _ => {
                self.told = Some(now);
                Told::Now
            }
        }
    }

    /// A report of a task that could be told, but for its tenant's limit.
    pub(super) fn held_until(&mut self, time: Instant) -> Told {
        if std::mem::replace(&mut self.scheduled, true) {
            Told::Later
        } else {
            Told::At(time)
        }
    }

    /// What was kept is told now.
    pub(super) fn flushed(&mut self, now: Instant) {
        self.scheduled = false;
        self.told = Some(now);
    }
}

/// The parameters of `notifications/progress`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress<'a> {
    progress_token: &'a RawValue,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> Progress<'a> {
    /// An inline call's report, for the client that gave the token.
    pub(super) fn new(
        progress_token: &'a RawValue,
        progress: f64,
        total: Option<f64>,
        message: Option<&'a str>,
    ) -> Self {
        Self {
            progress_token,
            progress,
            total: total.filter(|total| total.is_finite()),
            message: message.map(cut),
        }
    }
}

/// The status message of a report.
pub(super) fn message(progress: f64, total: Option<f64>, message: Option<String>) -> String {
    let text = message.unwrap_or_else(|| match total {
        Some(total) => format!("{progress}/{total}"),
        None => progress.to_string(),
    });
    cut(&text).to_owned()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(STATUS_MESSAGE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_growing_progress_is_told() {
        let mut gate = ProgressGate::default();
        let now = Instant::now();
        assert_eq!(gate.inline(0.0, now), Told::Now);
        for progress in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(gate.inline(progress, now), Told::Never, "{progress}");
        }
        assert_eq!(gate.inline(0.5, now), Told::Now);
    }

    #[test]
    fn a_flood_is_thinned_out() {
        let mut gate = ProgressGate::default();
        let now = Instant::now();
        let told = (0..1_000)
            .filter(|&i| gate.inline(f64::from(i), now) == Told::Now)
            .count();
        assert_eq!(told, PROGRESS_PER_SECOND as usize);
        assert_eq!(
            gate.inline(2_000.0, now + Duration::from_secs(1)),
            Told::Now
        );
    }

    #[test]
    fn of_a_tasks_flood_the_last_is_kept_for_one_later_time() {
        let mut gate = ProgressGate::default();
        let now = Instant::now();
        assert_eq!(gate.task(1.0, now), Told::Now);
        assert_eq!(gate.task(2.0, now), Told::At(now + STATUS_MESSAGE_INTERVAL));
        assert_eq!(
            gate.task(1.5, now),
            Told::Never,
            "what does not grow is not kept"
        );
        assert_eq!(gate.task(3.0, now), Told::Later);
        gate.flushed(now + STATUS_MESSAGE_INTERVAL);
        assert_eq!(gate.task(4.0, now + STATUS_MESSAGE_INTERVAL * 2), Told::Now);
    }

    #[test]
    fn what_the_tenant_may_not_tell_is_kept_for_one_later_time() {
        let mut gate = ProgressGate::default();
        let now = Instant::now();
        let next = now + Duration::from_secs(1);
        assert_eq!(gate.task(1.0, now), Told::Now);
        assert_eq!(gate.held_until(next), Told::At(next));
        assert_eq!(gate.task(2.0, now), Told::Later);
        // Its own interval is over, but somebody will tell the last one anyway.
        let later = now + STATUS_MESSAGE_INTERVAL;
        assert_eq!(gate.task(3.0, later), Told::Now);
        assert_eq!(gate.held_until(next), Told::Later);
    }

    #[test]
    fn messages_are_cut_at_a_character() {
        assert_eq!(message(3.0, Some(5.0), None), "3/5");
        assert_eq!(
            message(3.0, None, Some("é".repeat(5_000))).len(),
            STATUS_MESSAGE_BYTES
        );
    }

    #[test]
    fn a_token_is_sent_back_to_the_letter() {
        let digits = "9".repeat(400);
        for token in [&*digits, "123456789012345678901234567890", r#""\u0041""#] {
            let raw: &RawValue = serde_json::from_str(token).unwrap();
            let long = "x".repeat(2 * STATUS_MESSAGE_BYTES);
            let progress = Progress::new(raw, 1.0, Some(f64::NAN), Some(&long));
            let told = serde_json::to_string(&progress).unwrap();
            let start = format!(r#"{{"progressToken":{token},"progress":1.0,"message":"#);
            assert!(told.starts_with(&start), "{told}");
            assert_eq!(told.len(), start.len() + STATUS_MESSAGE_BYTES + 3);
        }
    }
}
