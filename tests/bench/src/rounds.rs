//! Alternating rounds: within one, every contender is measured once, on a fresh process. Figures of
//! one round belong together, so ratios are taken within a round and then their median.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::contender::{ALL, Contender, FLOOR, SDK};
use crate::disk;
use crate::load::{Load, Outcome, Workload};
use crate::place::Place;
use crate::process::Server;
use crate::study::{self, Report, Study};

/// How much is measured.
#[derive(Args)]
pub(crate) struct Plan {
    /// Measure only this: a contender, beside `hyper` and `rmcp`, or a study (`engine`, `store`, `growth`,
    /// `parked`, `listens`, `cancel`, `start`, `nodes`); may be repeated. Who is compared with
    /// `typescript` or `python` is so when both are named
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Seconds of each measurement, after half a second of warm-up, or three for slow servers
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Rounds; figures are their medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// How many connections, each with one request under way; the first number makes the ratios, and
    /// is the only one for slow servers and for `nodes`
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [64, 8, 1, 256])]
    pub(crate) connections: Vec<usize>,
    /// How many tasks are stored for `growth`; the first number is what the others are compared with
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1_000, 100_000, 1_000_000], value_parser = clap::value_parser!(u32).range(100..=2_000_000))]
    pub(crate) stored: Vec<u32>,
    /// Tasks that wait at once for `parked`; of few, the memory is lost in the noise
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1_000..=1_000_000))]
    pub(crate) parked: u32,
    /// Tasks of each kind that `cancel` cancels one by one, and again many at once
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) cancels: u32,
    /// Streams that are open at once for `listens`
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(200..=25_000))]
    pub(crate) listens: u32,
    /// Starts of each kind for `start`
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) starts: u32,
}

impl Plan {
    fn names(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// A load of it.
    pub(crate) fn load(&self, workload: Workload, connections: usize) -> Load {
        Load {
            workload,
            connections,
            warm_up: Duration::from_millis(500),
            time: Duration::from_secs_f64(self.seconds),
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number from 0.1 to 60".to_owned()),
    }
}

/// All that was measured.
pub(crate) struct Measured {
    pub(crate) series: Vec<Series>,
    /// By their names.
    pub(crate) studies: Vec<(&'static str, Box<dyn Report>)>,
    /// What was to be measured and cannot be, for lack of what it needs.
    pub(crate) left_out: Vec<&'static str>,
    /// Durable 4 KiB records a second of a lone appender; the median of the rounds and the studies.
    pub(crate) syncs: f64,
}

/// One contender under one number of connections.
pub(crate) struct Series {
    pub(crate) contender: &'static Contender,
    pub(crate) connections: usize,
    /// One for each round.
    pub(crate) outcomes: Vec<Outcome>,
}

/// Carries out a plan.
pub(crate) fn measure(place: &Place, plan: &Plan) -> Result<Measured> {
    for name in &plan.only {
        let mut names: Vec<_> = ALL.iter().map(|contender| contender.name).collect();
        names.extend(study::ALL.iter().map(|study| study.name));
        ensure!(
            names.contains(&name.as_str()),
            "{name} is none of: {}",
            names.join(", ")
        );
    }
    let contenders = ALL.iter().filter(|it| !it.is_here(place));
    let studies = study::ALL.iter().filter(|it| !(it.is_here)(place));
    let missing = contenders
        .map(|it| it.name)
        .chain(studies.map(|it| it.name));
    let left_out: Vec<_> = missing.filter(|name| plan.names(name)).collect();
    for &connections in &plan.connections {
        ensure!(
            (1..=1000).contains(&connections),
            "--connections must be from 1 to 1000"
        );
    }
    let is_alone = |name: &String| study::ALL.iter().any(|study| study.name == name);
    let only_alone = !plan.only.is_empty() && plan.only.iter().all(is_alone);
    let wanted = |contender: &&Contender| {
        let baseline = [FLOOR, SDK].contains(&contender.name);
        !only_alone && contender.is_here(place) && (baseline || plan.names(contender.name))
    };
    let mut series = Vec::new();
    for (index, &connections) in plan.connections.iter().enumerate() {
        let is_timely = |contender: &&Contender| index == 0 || !contender.is_slow;
        for contender in ALL.iter().filter(wanted).filter(is_timely) {
            series.push(Series {
                contender,
                connections,
                outcomes: Vec::new(),
            });
        }
    }
    let mut syncs = Vec::new();
    let disk = || disk::syncs_per_second(&place.data, Duration::from_millis(500));
    let rounds = if only_alone { 0 } else { plan.rounds };
    for round in 1..=rounds {
        syncs.push(disk()?);
        for series in &mut series {
            let (name, connections) = (series.contender.name, series.connections);
            let outcome = once(place, plan, series.contender, connections);
            let outcome =
                outcome.with_context(|| format!("{name} at {connections} connections"))?;
            eprintln!(
                "round {round}/{}: {name:<14}{connections:>4} connections{:>9.0}/s",
                plan.rounds, outcome.rate
            );
            series.outcomes.push(outcome);
        }
    }
    let mut studies = Vec::new();
    let wanted = |study: &&Study| plan.names(study.name) && (study.is_here)(place);
    for study in study::ALL.iter().filter(wanted) {
        syncs.push(disk()?);
        let report = (study.measure)(place, plan).context(study.name)?;
        studies.push((study.name, report));
    }
    Ok(Measured {
        series,
        studies,
        left_out,
        syncs: median(&syncs),
    })
}

fn once(place: &Place, plan: &Plan, contender: &Contender, connections: usize) -> Result<Outcome> {
    let data = tempfile::tempdir_in(&place.data)?;
    let server = Server::start(contender.command(place, data.path())?)?;
    let mut load = plan.load(contender.workload, connections);
    if contender.is_slow {
        load.warm_up = Duration::from_secs(3);
    }
    load.put_on(&[server])
}

/// The middle one, or the mean of the middle two; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len() / 2, sorted.len() % 2) {
        (0, 0) => 0.0,
        (middle, 0) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        (middle, _) => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_does_not_care_for_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
    }
}
