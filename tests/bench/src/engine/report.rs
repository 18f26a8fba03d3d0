//! What is printed of the sandbox: medians of rounds; ratios are of one round's figures.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::{Calls, Found, Series};
use crate::report::{Ratio, bounds, round};
use crate::rounds::median;
use crate::study::{Goal, Named, Report};

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

impl Report for Found {
    fn table(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n{:<14}{:>9} {:>8} {:>10} {:>10} {:>14} {:>14} {:>13}",
            "sandbox alone",
            "calls/s",
            "spread",
            "2 threads",
            "CPU us",
            "2 threads us",
            "faults",
            "plain CPU us",
        );
        for series in &self.0 {
            let median = |calls, figure| median(&all(calls, figure));
            let (least, most) = bounds(&all(&series.one, rate));
            let plain = match series.plain.is_empty() {
                true => "-".to_owned(),
                false => format!("{:.1}", median(&series.plain, cpu_us)),
            };
            let goal = series.guest.goals.faults;
            let goal = goal.map_or(String::new(), |goal| format!(" of {goal}"));
            let faults = format!("{:.2}{goal}", median(&series.one, faults));
            let _ = writeln!(
                text,
                "{:<14}{:>9.0} {:>7.0}% {:>10.0} {:>10.1} {:>14.1} {faults:>14} {plain:>13}",
                series.guest.name,
                median(&series.one, rate),
                (most - least) / median(&series.one, rate) * 100.0,
                median(&series.two, rate),
                median(&series.one, cpu_us),
                median(&series.two, cpu_us),
            );
        }
        let _ = writeln!(
            text,
            "\na fresh instance a call, on one thread where nothing else is said; CPU time and page faults are a \
         call's, the latter of their goal; plain is wasmtime with its default pool\n"
        );
    }

    fn json(&self) -> Value {
        let figures = |calls: &[Calls]| {
            let median = |figure| round(median(&all(calls, figure)));
            let rounds = calls.iter().map(|calls| calls.rate.round());
            let (least, most) = bounds(&all(calls, faults));
            value!({
                "rounds": rounds.collect::<Vec<_>>(),
                "calls_per_s": median(rate).round(),
                "cpu_us_per_call": median(cpu_us),
                "page_faults_per_call": median(faults),
                "page_faults_spread": [round(least), round(most)],
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

    fn ratios(&self) -> Vec<Named> {
        let mut ratios = Vec::new();
        for series in &self.0 {
            let Series {
                guest,
                one,
                two,
                plain,
            } = series;
            let mut add = |what, ours, theirs, figure: fn(&Calls) -> f64, goal| {
                ratios.push(Named {
                    name: format!("engine_{}_{what}", guest.name),
                    ratio: Ratio::between(&all(ours, figure), &all(theirs, figure)),
                    goal,
                });
            };
            let goals = &guest.goals;
            let at_least = goals.threads.map(Goal::AtLeast);
            add("2_threads_vs_1", two, one, rate, at_least);
            // What a busy machine disturbs less: at 1, a second thread costs the first one nothing.
            add("2_threads_cpu_vs_1", two, one, cpu_us, None);
            if !plain.is_empty() {
                let at_most = goals.plain.map(Goal::AtMost);
                add("cpu_vs_default_pool", one, plain, cpu_us, at_most);
            }
        }
        ratios
    }
}
