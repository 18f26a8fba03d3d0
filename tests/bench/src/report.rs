//! What is printed: absolute figures for the curious, ratios for comparison between machines.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::contender::{FLOOR, PAIRS, SDK};
use crate::load::Outcome;
use crate::rounds::{Measured, Series, median};
use crate::study::{Goal, Named};

/// A table for people.
pub(crate) fn table(measured: &Measured) -> String {
    let mut text = String::new();
    let mut connections = None;
    for series in &measured.series {
        if connections.replace(series.connections) != Some(series.connections) {
            let heading = format!("{} connections", series.connections);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "\n{heading:<16}{:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>9} {:>6}",
                "ops/s",
                "spread",
                "x hyper",
                "x rmcp",
                "p50 ms",
                "p99 ms",
                "CPU us/op",
                "RSS MiB",
                "requests",
                "load %"
            );
        }
        let figures = Figures::of(&series.outcomes);
        let ratio = |base| match ratio(measured, series, base, |outcome| outcome.rate) {
            Some(ratio) => format!("{:.3}", ratio.median),
            None => "-".to_owned(),
        };
        let _ = writeln!(
            text,
            "{:<16}{:>9.0} {:>8.0}% {:>8} {:>8} {:>8.3} {:>8.3} {:>10.1} {:>8.0} {:>9.2} {:>6.0}",
            series.contender.name,
            figures.rate,
            figures.spread * 100.0,
            ratio(FLOOR),
            ratio(SDK),
            figures.p50_ms,
            figures.p99_ms,
            figures.cpu_us,
            figures.rss_mib,
            figures.requests,
            figures.load * 100.0,
        );
    }
    ratio_table(measured, &mut text);
    for (_, report) in &measured.studies {
        report.table(&mut text);
        ratios(&mut text, &report.ratios());
    }
    if !measured.left_out.is_empty() {
        let names = measured.left_out.join(", ");
        let _ = writeln!(text, "\nleft out, for lack of what they need: {names}");
    }
    let _ = writeln!(
        text,
        "\ndisk: {:.0} durable 4 KiB appends/s, one after the other",
        measured.syncs
    );
    text
}

/// Medians of ratios, from the least to the most of the rounds, and their goals.
fn ratios(text: &mut String, ratios: &[Named]) {
    let longest = ratios.iter().map(|named| named.name.len()).max();
    for Named { name, ratio, goal } in ratios {
        let longest = longest.unwrap_or_default();
        let goal = match goal {
            Some(Goal::AtLeast(least)) => format!(", the goal is at least {least:.3}"),
            Some(Goal::AtMost(most)) => format!(", the goal is at most {most:.3}"),
            None => String::new(),
        };
        let Ratio {
            median,
            least,
            most,
        } = ratio;
        let _ = writeln!(
            text,
            "{name:<longest$}{median:>9.3} ({least:.3} to {most:.3}){goal}"
        );
    }
}

/// An object for programs, with ratios at the first number of connections: `ratios` of operations
/// a second and those of the studies, and `cpu_ratios` of operations a second of server CPU, which a busy machine disturbs
/// less.
pub(crate) fn json(measured: &Measured) -> Value {
    let mut ratios = Map::new();
    let mut spreads = Map::new();
    let mut cpu_ratios = Map::new();
    for (name, rate, cpu) in all_ratios(measured) {
        cpu_ratios.insert(name.clone(), json!(round(cpu.median)));
        ratios.insert(name.clone(), json!(round(rate.median)));
        spreads.insert(name, json!([round(rate.least), round(rate.most)]));
    }
    for (_, report) in &measured.studies {
        for Named { name, ratio, .. } in report.ratios() {
            ratios.insert(name.clone(), json!(round(ratio.median)));
            spreads.insert(name, json!([round(ratio.least), round(ratio.most)]));
        }
    }
    let series: Vec<_> = measured.series.iter().map(figures).collect();
    let mut all = json!({
        "ratios": ratios,
        "spreads": spreads,
        "cpu_ratios": cpu_ratios,
        "connections": first(measured),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "durable_appends_per_s": measured.syncs.round(),
        "series": series,
        "left_out": measured.left_out,
    });
    for (name, report) in &measured.studies {
        all[name] = report.json();
    }
    all
}

/// The first number of connections, if any contender was measured.
fn first(measured: &Measured) -> Option<usize> {
    measured.series.first().map(|series| series.connections)
}

/// All ratios at that number: `ONE_vs_OTHER`, of operations a second, and of those a second of CPU.
fn all_ratios(measured: &Measured) -> Vec<(String, Ratio, Ratio)> {
    let mut all = Vec::new();
    let at_first = |series: &&Series| Some(series.connections) == first(measured);
    for series in measured.series.iter().filter(at_first) {
        let name = series.contender.name;
        let pairs = PAIRS.iter().filter(|(one, _)| *one == name);
        for base in [FLOOR, SDK].into_iter().chain(pairs.map(|(_, base)| *base)) {
            let rate = ratio(measured, series, base, |outcome| outcome.rate);
            let cpu = ratio(measured, series, base, per_cpu_second);
            if let (Some(rate), Some(cpu)) = (rate, cpu) {
                all.push((format!("{name}_vs_{base}"), rate, cpu));
            }
        }
    }
    all
}

fn ratio_table(measured: &Measured, text: &mut String) {
    let Some(connections) = first(measured) else {
        return;
    };
    let heading = format!("{connections} connections");
    let _ = writeln!(
        text,
        "\n{heading:<32}{:>9} {:>9} {:>9} {:>9}",
        "x ops/s", "least", "most", "x by CPU"
    );
    for (name, rate, cpu) in all_ratios(measured) {
        let Ratio {
            median,
            least,
            most,
        } = rate;
        let cpu = cpu.median;
        let _ = writeln!(
            text,
            "{name:<32}{median:>9.3} {least:>9.3} {most:>9.3} {cpu:>9.3}"
        );
    }
    let slow = measured.series.iter().map(|series| series.contender);
    let slow: Vec<_> = slow.filter(|it| it.is_slow).map(|it| it.name).collect();
    if !slow.is_empty() {
        let names = slow.join(", ");
        let _ = writeln!(text, "measured at {connections} connections only: {names}");
    }
}

fn figures(series: &Series) -> Value {
    let figures = Figures::of(&series.outcomes);
    json!({
        "name": series.contender.name,
        "about": series.contender.about,
        "connections": series.connections,
        "rounds": series.outcomes.iter().map(|outcome| outcome.rate.round()).collect::<Vec<_>>(),
        "ops_per_s": figures.rate.round(),
        "p50_ms": round(figures.p50_ms),
        "p99_ms": round(figures.p99_ms),
        "server_cpu_us_per_op": round(figures.cpu_us),
        "rss_mib": round(figures.rss_mib),
        "requests_per_op": round(figures.requests),
        "load_thread_busy": round(figures.load),
    })
}

/// Medians of rounds.
pub(crate) struct Figures {
    pub(crate) rate: f64,
    /// Largest less smallest rate, as a part of the median.
    pub(crate) spread: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) cpu_us: f64,
    pub(crate) rss_mib: f64,
    pub(crate) requests: f64,
    pub(crate) load: f64,
}

impl Figures {
    pub(crate) fn of(outcomes: &[Outcome]) -> Self {
        let all = |value: fn(&Outcome) -> f64| -> Vec<f64> { outcomes.iter().map(value).collect() };
        let rates = all(|outcome| outcome.rate);
        let (least, most) = bounds(&rates);
        let rate = median(&rates);
        Self {
            rate,
            spread: (most - least) / rate,
            p50_ms: median(&all(|outcome| ms(outcome.p50))),
            p99_ms: median(&all(|outcome| ms(outcome.p99))),
            cpu_us: median(&all(|outcome| outcome.cpu.as_secs_f64() * 1e6)),
            rss_mib: median(&all(|outcome| mib(outcome.resident))),
            requests: median(&all(|outcome| outcome.requests)),
            load: median(&all(|outcome| outcome.load)),
        }
    }
}

pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Ratio {
    /// A figure as a multiple of another's, round by round.
    pub(crate) fn of(
        outcomes: &[Outcome],
        others: &[Outcome],
        figure: fn(&Outcome) -> f64,
    ) -> Self {
        let all = |outcomes: &[Outcome]| outcomes.iter().map(figure).collect::<Vec<_>>();
        Self::between(&all(outcomes), &all(others))
    }

    /// Figures as multiples of others, round by round.
    pub(crate) fn between(ours: &[f64], theirs: &[f64]) -> Self {
        let pairs = ours.iter().zip(theirs);
        let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
        let (least, most) = bounds(&ratios);
        let median = median(&ratios);
        Self {
            median,
            least,
            most,
        }
    }
}

fn per_cpu_second(outcome: &Outcome) -> f64 {
    // A server that used no measurable time would make the ratio infinite.
    1.0 / outcome.cpu.as_secs_f64().max(1e-9)
}

/// A figure of a series as a multiple of another series', if that was measured.
fn ratio(
    measured: &Measured,
    series: &Series,
    base: &str,
    figure: fn(&Outcome) -> f64,
) -> Option<Ratio> {
    if series.contender.name == base {
        return None;
    }
    let base = measured
        .series
        .iter()
        .find(|other| other.contender.name == base && other.connections == series.connections)?;
    Some(Ratio::of(&series.outcomes, &base.outcomes, figure))
}

/// The least and the most of them.
pub(crate) fn bounds(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// To three digits after the point: more would be noise.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::ALL;

    fn series(name: &str, connections: usize, rates: &[f64]) -> Series {
        let outcome = |&rate: &f64| Outcome {
            rate,
            requests: 1.0,
            p50: Duration::ZERO,
            p99: Duration::ZERO,
            cpu: Duration::from_secs_f64(1.0 / rate),
            resident: 0,
            all: 1,
            load: 0.0,
        };
        Series {
            contender: ALL.iter().find(|it| it.name == name).expect("a contender"),
            connections,
            outcomes: rates.iter().map(outcome).collect(),
        }
    }

    #[test]
    fn ratios_are_within_rounds_at_the_first_number_of_connections() {
        let measured = Measured {
            series: vec![
                series("hyper", 64, &[100.0, 200.0, 400.0]),
                series("inline", 64, &[50.0, 50.0, 300.0]),
                series("typescript", 64, &[5.0, 10.0, 10.0]),
                series("hyper", 8, &[1.0, 1.0, 1.0]),
                series("inline", 8, &[9.0, 9.0, 9.0]),
            ],
            studies: Vec::new(),
            left_out: vec!["python"],
            syncs: 0.0,
        };
        let told = json(&measured);
        let ratios = json!({
            "inline_vs_hyper": 0.5,
            "inline_vs_typescript": 10.0,
            "typescript_vs_hyper": 0.05,
        });
        assert_eq!(told["ratios"], ratios);
        assert_eq!(told["cpu_ratios"], ratios);
        assert_eq!(told["spreads"]["inline_vs_typescript"], json!([5.0, 30.0]));
        assert_eq!(told["connections"], 64);
        let text = table(&measured);
        assert!(text.contains("64 connections only: typescript"), "{text}");
        assert!(text.contains("lack of what they need: python"), "{text}");
    }

    #[test]
    fn who_is_compared_is_measured() {
        for name in PAIRS.iter().flat_map(|(one, other)| [one, other]) {
            assert!(ALL.iter().any(|it| it.name == *name), "{name}");
        }
    }
}
