//! What is printed of cancelled tasks. The goal is about what lies beyond the grace.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json as value};

use super::{Cancel, Group, Series, Subject};
use crate::report::{ms, round};
use crate::study::Report;

/// For a 99th of a hundred instances to be gone, beyond the grace, milliseconds.
const GOAL_MS: u32 = 100;

impl Report for Cancel {
    fn table(&self, text: &mut String) {
        let grace = self.grace;
        for group in &self.groups {
            let heading = format!("{} at once, {}", group.together, group.store);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "\n{heading:<20}{:>6} {:>11} {:>11} {:>9} {:>9} {:>9} {:>11} {:>11}",
                "tasks",
                "ack p50 ms",
                "ack p99 ms",
                "gone p50",
                "gone p99",
                "gone max",
                "beyond p50",
                "beyond p99",
            );
            for (subject, series) in &group.series {
                let Series { acknowledged, gone } = series;
                let _ = writeln!(
                    text,
                    "{:<20}{:>6} {:>11.2} {:>11.2} {:>9.2} {:>9.2} {:>9.2} {:>11.2} {:>11.2}",
                    subject.name(),
                    gone.number,
                    ms(acknowledged.p50),
                    ms(acknowledged.p99),
                    ms(gone.p50),
                    ms(gone.p99),
                    ms(gone.longest),
                    ms(beyond(gone.p50, grace)),
                    ms(beyond(gone.p99, grace)),
                );
            }
            let _ = writeln!(
                text,
                "floor: a call that finds a free instance is answered after {:.2} ms, p99 {:.2} ms",
                ms(group.floor.p50),
                ms(group.floor.p99),
            );
        }
        let _ = writeln!(
            text,
            "\nfrom the first `tasks/cancel` sent; gone: a call that waited for the place of the instance is answered; \
         the grace is {:.0} ms, the goal a p99 of {GOAL_MS} ms beyond it",
            ms(grace),
        );
        for subject in Subject::ALL {
            let _ = writeln!(text, "{:<6}{}", subject.name(), subject.about());
        }
    }

    fn json(&self) -> Value {
        let series = |group: &Group, subject: Subject, series: &Series| {
            let Series { acknowledged, gone } = series;
            value!({
                "name": subject.name(),
                "about": subject.about(),
                "store": group.store,
                "together": group.together,
                "tasks": gone.number,
                "acknowledged_p50_ms": round(ms(acknowledged.p50)),
                "acknowledged_p99_ms": round(ms(acknowledged.p99)),
                "gone_p50_ms": round(ms(gone.p50)),
                "gone_p99_ms": round(ms(gone.p99)),
                "gone_max_ms": round(ms(gone.longest)),
                "beyond_grace_p99_ms": round(ms(beyond(gone.p99, self.grace))),
                "floor_p99_ms": round(ms(group.floor.p99)),
            })
        };
        let groups = self.groups.iter();
        let all = groups.flat_map(|group| {
            let all = group.series.iter();
            all.map(move |(subject, found)| series(group, *subject, found))
        });
        value!({ "grace_ms": round(ms(self.grace)), "series": all.collect::<Vec<_>>() })
    }
}

fn beyond(time: Duration, grace: Duration) -> Duration {
    time.saturating_sub(grace)
}
