//! What is printed of tasks that wait.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::{Look, Parked};
use crate::report::{mib, ms, round};
use crate::study::Report;

impl Report for Parked {
    fn table(&self, text: &mut String) {
        let heading = format!("{} parked", self.tasks);
        let _ = writeln!(
            text,
            "\n{heading:<16}{:>10} {:>11} {:>10} {:>10} {:>9} {:>9} {:>8} {:>8} {:>8}",
            "RSS B/task",
            "disk B/task",
            "instances",
            "RSS MiB",
            "start ms",
            "resumed",
            "p50 ms",
            "p99 ms",
            "max ms",
        );
        for (name, look) in [
            ("first server", &self.first),
            ("after a kill", &self.second),
        ] {
            let _ = writeln!(
                text,
                "{name:<16}{:>10.0} {:>11.0} {:>10} {:>10.0} {:>9.0} {:>9} {:>8.3} {:>8.3} {:>8.3}",
                look.memory,
                look.disk,
                look.running.instances,
                mib(look.resident),
                ms(look.start),
                look.resumed.number,
                ms(look.resumed.p50),
                ms(look.resumed.p99),
                ms(look.resumed.longest),
            );
        }
        let _ = writeln!(
            text,
            "\n{:.0} tasks/s came to wait, {:.0} us of server CPU each; the goals are under 4096 B of RSS \
         a task, no instance, a p99 under 50 ms",
            self.rate,
            self.cpu.as_secs_f64() * 1e6,
        );
    }

    fn json(&self) -> Value {
        let look = |look: &Look| {
            value!({
                "rss_bytes_per_task": look.memory.round(),
                "disk_bytes_per_task": look.disk.round(),
                "instances": look.running.instances,
                "tasks_running": look.running.tasks,
                "rss_mib": round(mib(look.resident)),
                "start_ms": round(ms(look.start)),
                "resumed": look.resumed.number,
                "p50_ms": round(ms(look.resumed.p50)),
                "p99_ms": round(ms(look.resumed.p99)),
                "max_ms": round(ms(look.resumed.longest)),
            })
        };
        value!({
            "tasks": self.tasks,
            "tasks_per_s": self.rate.round(),
            "server_cpu_us_per_task": round(self.cpu.as_secs_f64() * 1e6),
            "first": look(&self.first),
            "after_kill": look(&self.second),
        })
    }
}
