//! What is printed of starts: medians, and all of them between the least and the most.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::Start;
use crate::report::{bounds, mib, round};
use crate::rounds::median;
use crate::study::Report;

/// For loading the compiled code of a large component, milliseconds.
const GOAL_MS: u32 = 5;

impl Start {
    fn rows(&self) -> [(&'static str, &'static str, &[f64]); 3] {
        [
            ("compiling", "compiled", &self.compiled),
            ("from compiled code", "cached", &self.cached),
            ("a small one, alone", "alone", &self.alone),
        ]
    }

    /// What the component adds to a start from compiled code.
    fn adds(&self) -> f64 {
        median(&self.cached) - median(&self.alone)
    }
}

impl Report for Start {
    fn table(&self, text: &mut String) {
        let heading = format!("start, {:.0} MiB", mib(self.component));
        let (times, least, most) = ("median ms", "least", "most");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{heading:<20}{times:>10} {least:>9} {most:>9}");
        for (name, _, times) in self.rows() {
            let (least, most) = bounds(times);
            let median = median(times);
            let _ = writeln!(text, "{name:<20}{median:>10.1} {least:>9.1} {most:>9.1}");
        }
        let (least, most) = bounds(&self.loaded);
        let _ = writeln!(
            text,
            "until the server listens, {} starts of each in turn. From compiled code the component adds \
             {:.1} ms;\nloading the code takes {:.0} ms of it, {least:.0} to {most:.0}, as the server's log \
             says, which leaves out\nfractions of a millisecond; the goal is {GOAL_MS} ms",
            self.cached.len(),
            self.adds(),
            median(&self.loaded),
        );
    }

    fn json(&self) -> Value {
        let times = |times: &[f64]| {
            let (least, most) = bounds(times);
            value!({
                "median_ms": round(median(times)),
                "least_ms": round(least),
                "most_ms": round(most),
            })
        };
        let mut all = value!({
            "component_bytes": self.component,
            "starts": self.cached.len(),
            "component_adds_ms": round(self.adds()),
            "load_whole_ms": times(&self.loaded),
        });
        for (_, key, found) in self.rows() {
            all[key] = times(found);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Start;

    #[test]
    fn what_a_component_adds_is_the_difference_of_medians() {
        let start = Start {
            component: 1,
            compiled: vec![9_000.0],
            cached: vec![70.0, 50.0, 60.0],
            loaded: vec![2.0],
            alone: vec![35.0, 90.0, 20.0],
        };
        assert_eq!(start.adds(), 25.0);
    }
}
