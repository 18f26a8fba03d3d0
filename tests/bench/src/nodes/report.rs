//! What is printed of nodes: medians of rounds; ratios are to one node in the same round.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::database::{Statement, Used};
use super::{Disk, Nodes, Series};
use crate::report::{Figures, Ratio, round};
use crate::rounds::median;
use crate::study::Report;

/// Statements told of, those that are asked most.
const TOLD: usize = 5;

impl Report for Nodes {
    fn table(&self, text: &mut String) {
        for disk in Disk::ALL {
            let heading = format!("{} connections, {}", self.load.connections, disk.name());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "\n{heading:<26}{:>8} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>12} {:>7} {:>8} {:>6}",
                "tasks/s",
                "spread",
                "x 1 node",
                "p50 ms",
                "p99 ms",
                "nodes us",
                "PG us",
                "statements",
                "transactions",
                "writes",
                "requests",
                "load %",
            );
            for series in self.of(disk) {
                let figures = Figures::of(&series.outcomes);
                let statements = match series.told().is_empty() {
                    true => "-".to_owned(),
                    false => format!("{:.2}", series.used(Used::calls)),
                };
                let _ = writeln!(
                    text,
                    "{:<26}{:>8.0} {:>6.0}% {:>8.3} {:>8.1} {:>8.1} {:>8.0} {:>8.0} {:>10} {:>12.2} {:>7.2} {:>8.2} {:>6.0}",
                    series.name(),
                    figures.rate,
                    figures.spread * 100.0,
                    self.ratio(series).median,
                    figures.p50_ms,
                    figures.p99_ms,
                    figures.cpu_us,
                    series.used(database_us),
                    statements,
                    series.used(|used| used.transactions),
                    series.used(|used| used.writes),
                    figures.requests,
                    figures.load * 100.0,
                );
            }
            statements(text, self, disk);
        }
        let _ = writeln!(
            text,
            "\nper task: CPU of all nodes and of PostgreSQL, statements, transactions, those that wrote, and \
         requests; a statement's ms are without its commit"
        );
    }

    fn json(&self) -> Value {
        let series = |series: &Series| {
            let figures = Figures::of(&series.outcomes);
            let ratio = self.ratio(series);
            let rounds = series.outcomes.iter().map(|outcome| outcome.rate.round());
            let statement = |text| {
                let (calls, ms) = series.statement(text);
                value!({ "text": text, "per_task": round(calls), "ms": round(ms) })
            };
            let told = series.told();
            value!({
                "disk": series.disk.name(),
                "nodes": series.nodes,
                "rounds": rounds.collect::<Vec<_>>(),
                "tasks_per_s": figures.rate.round(),
                "ratio_to_one_node": round(ratio.median),
                "spread": [round(ratio.least), round(ratio.most)],
                "p50_ms": figures.p50_ms,
                "p99_ms": figures.p99_ms,
                "nodes_cpu_us_per_task": round(figures.cpu_us),
                "postgres_cpu_us_per_task": round(series.used(database_us)),
                "statements_per_task": (!told.is_empty()).then(|| round(series.used(Used::calls))),
                "transactions_per_task": round(series.used(|used| used.transactions)),
                "writes_per_task": round(series.used(|used| used.writes)),
                "requests_per_task": round(figures.requests),
                "load_thread_busy": round(figures.load),
                "statements": told.into_iter().map(statement).collect::<Vec<_>>(),
            })
        };
        value!({
            "connections": self.load.connections,
            "series": self.series.iter().map(series).collect::<Vec<_>>(),
        })
    }
}

/// The statements that most nodes ask most, and what each of them was with fewer.
fn statements(text: &mut String, nodes: &Nodes, disk: Disk) {
    let told = nodes.of(disk).last().map(Series::told).unwrap_or_default();
    if told.is_empty() {
        return;
    }
    for _ in nodes.of(disk) {
        let _ = write!(text, "{:>8} {:>7}  ", "a task", "ms");
    }
    let _ = writeln!(text, "with 1, 2 and 3 nodes");
    for statement in told {
        for series in nodes.of(disk) {
            let (calls, ms) = series.statement(statement);
            let _ = write!(text, "{calls:>8.2} {ms:>7.3}  ");
        }
        let _ = writeln!(text, "{statement}");
    }
}

fn database_us(used: &Used) -> f64 {
    used.cpu.as_secs_f64() * 1e6
}

impl Nodes {
    fn of(&self, disk: Disk) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(move |it| it.disk == disk)
    }

    /// Tasks a second as multiples of one node's.
    fn ratio(&self, series: &Series) -> Ratio {
        let one = self.of(series.disk).find(|it| it.nodes == 1);
        let one = one.unwrap_or(series);
        Ratio::of(&series.outcomes, &one.outcomes, |outcome| outcome.rate)
    }
}

impl Series {
    fn used(&self, value: fn(&Used) -> f64) -> f64 {
        median(&self.used.iter().map(value).collect::<Vec<_>>())
    }

    /// Those asked most in the last round.
    fn told(&self) -> Vec<&str> {
        let last = self.used.last().map(|used| used.statements.iter());
        let last = last.into_iter().flatten().take(TOLD);
        last.map(|statement| statement.text.as_str()).collect()
    }

    /// Calls per task and milliseconds of each.
    fn statement(&self, text: &str) -> (f64, f64) {
        let all = |value: fn(&Statement) -> f64| {
            let found = self.used.iter().map(|used| {
                let mut statements = used.statements.iter();
                statements.find(|it| it.text == text).map_or(0.0, value)
            });
            median(&found.collect::<Vec<_>>())
        };
        (all(|it| it.calls), all(|it| it.ms))
    }
}
