//! What is printed of growth: medians of rounds; ratios are to the server with the fewest tasks, the
//! first that is named, in the same round.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::{Growth, Look, Series};
use crate::report::{Ratio, bounds, mib, ms, round};
use crate::rounds::median;
use crate::study::{Goal, Named, Report};

/// So many times more, or less, there may be than with few tasks.
const GOAL: f64 = 1.2;
/// Of what there should be much, and little.
const MUCH: Goal = Goal::AtLeast(1.0 / GOAL);
const LITTLE: Goal = Goal::AtMost(GOAL);

/// One figure of a look.
struct Figure {
    name: &'static str,
    of: fn(&Look) -> f64,
    goal: Goal,
}

const FIGURES: [Figure; 5] = [
    Figure {
        name: "inline",
        of: |look| look.inline.rate,
        goal: MUCH,
    },
    Figure {
        name: "task_sqlite",
        of: |look| look.task.rate,
        goal: MUCH,
    },
    Figure {
        name: "get",
        of: |look| look.get.rate,
        goal: MUCH,
    },
    Figure {
        name: "start_ms",
        of: |look| ms(look.start),
        goal: LITTLE,
    },
    Figure {
        name: "rss_mib",
        of: |look| mib(look.task.resident),
        goal: LITTLE,
    },
];

impl Series {
    fn all(&self, figure: &Figure) -> Vec<f64> {
        self.looks.iter().map(figure.of).collect()
    }
}

impl Report for Growth {
    fn table(&self, text: &mut String) {
        let heading = format!("stored, at {}", self.connections);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{heading:<16}");
        for Figure { name, .. } in FIGURES {
            let _ = write!(text, "{name:>12} {:>7}", "spread");
        }
        let _ = writeln!(text, "{:>9} {:>7}", "disk MiB", "fill s");
        for series in &self.series {
            let _ = write!(text, "{:<16}", series.stored);
            for figure in &FIGURES {
                let all = series.all(figure);
                let ((least, most), median) = (bounds(&all), median(&all));
                let spread = (most - least) / median * 100.0;
                let _ = write!(text, "{median:>12.0} {spread:>6.0}%");
            }
            let (disk, filling) = (mib(series.disk), series.filling.as_secs_f64());
            let _ = writeln!(text, "{disk:>9.0} {filling:>7.1}");
        }
        let _ = writeln!(
            text,
            "\noperations/s, then the time to start and the memory after all three\n"
        );
    }

    fn json(&self) -> Value {
        let series = self.series.iter().map(|series| {
            let mut about = value!({
                "stored": series.stored,
                "disk_mib": round(mib(series.disk)),
                "filling_s": round(series.filling.as_secs_f64()),
            });
            for figure in &FIGURES {
                about[figure.name] = value!(round(median(&series.all(figure))));
            }
            about
        });
        value!({
            "connections": self.connections,
            "series": series.collect::<Vec<_>>(),
        })
    }

    fn ratios(&self) -> Vec<Named> {
        let Some((first, others)) = self.series.split_first() else {
            return Vec::new();
        };
        let mut ratios = Vec::new();
        for series in others {
            for figure in &FIGURES {
                let (name, stored) = (figure.name, series.stored);
                ratios.push(Named {
                    name: format!("growth_{name}_{stored}_vs_{}", first.stored),
                    ratio: Ratio::between(&series.all(figure), &first.all(figure)),
                    goal: Some(figure.goal),
                });
            }
        }
        ratios
    }
}
