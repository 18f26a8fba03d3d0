//! What is printed of the sandbox: medians of rounds; ratios are of one round's figures.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::{Calls, Found, Series};
use crate::report::{Ratio, round};
use crate::rounds::median;
use crate::study::Report;

impl Series {
    /// Calls a second on two threads, as a multiple of those on one.
    fn threads(&self) -> Ratio {
        Ratio::between(&all(&self.two, rate), &all(&self.one, rate))
    }

    /// CPU time of a call, as a multiple of plain wasmtime's.
    fn plain(&self) -> Option<Ratio> {
        let ratio = || Ratio::between(&all(&self.one, cpu_us), &all(&self.plain, cpu_us));
        (!self.plain.is_empty()).then(ratio)
    }
}

fn all(calls: &[Calls], figure: fn(&Calls) -> f64) -> Vec<f64> {
    calls.iter().map(figure).collect()
}

fn rate(calls: &Calls) -> f64 {
    calls.rate
}

fn cpu_us(calls: &Calls) -> f64 {
    calls.cpu.as_secs_f64() * 1e6
}

fn faults(calls: &Calls) -> f64 {
    calls.faults
}

/// With its goal, if it has one.
fn against(value: f64, goal: Option<f64>) -> String {
    goal.map_or_else(
        || format!("{value:.2}"),
        |goal| format!("{value:.2} of {goal}"),
    )
}

impl Report for Found {
    fn table(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n{:<16}{:>9} {:>14} {:>10} {:>14} {:>16} {:>16}",
            "sandbox alone",
            "calls/s",
            "2 threads, x 1",
            "CPU us",
            "faults",
            "plain CPU us",
            "CPU to plain's",
        );
        for series in &self.0 {
            let median = |calls, figure| median(&all(calls, figure));
            let goals = &series.guest.goals;
            let (plain, ratio) = match series.plain() {
                Some(ratio) => (
                    format!("{:.1}", median(&series.plain, cpu_us)),
                    against(ratio.median, goals.plain),
                ),
                None => ("-".to_owned(), "-".to_owned()),
            };
            let _ = writeln!(
                text,
                "{:<16}{:>9.0} {:>14} {:>10.1} {:>14} {plain:>16} {ratio:>16}",
                series.guest.name,
                median(&series.one, rate),
                against(series.threads().median, goals.threads),
                median(&series.one, cpu_us),
                against(median(&series.one, faults), goals.faults),
            );
        }
        let _ = writeln!(
            text,
            "\na fresh instance a call, on one thread but for the ratio; plain is wasmtime with its default pool; \
         goals are at least so much on two threads, at most so many page faults and so much of plain's CPU"
        );
    }

    fn json(&self) -> Value {
        let figures = |calls: &[Calls]| {
            let median = |figure| round(median(&all(calls, figure)));
            let rounds = calls.iter().map(|calls| calls.rate.round());
            value!({
                "rounds": rounds.collect::<Vec<_>>(),
                "calls_per_s": median(rate).round(),
                "cpu_us_per_call": median(cpu_us),
                "page_faults_per_call": median(faults),
            })
        };
        let series = self.0.iter().map(|series| {
            value!({
                "name": series.guest.name,
                "one_thread": figures(&series.one),
                "two_threads": figures(&series.two),
                "plain_wasmtime": (!series.plain.is_empty()).then(|| figures(&series.plain)),
            })
        });
        value!({ "series": series.collect::<Vec<_>>() })
    }

    fn ratios(&self) -> Vec<(String, Ratio)> {
        let mut ratios = Vec::new();
        for series in &self.0 {
            let name = series.guest.name;
            ratios.push((format!("engine_{name}_2_threads_vs_1"), series.threads()));
            if let Some(ratio) = series.plain() {
                ratios.push((format!("engine_{name}_cpu_vs_default_pool"), ratio));
            }
        }
        ratios
    }
}
