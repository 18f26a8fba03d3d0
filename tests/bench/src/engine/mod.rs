//! The sandbox without a server: calls of one tool, each in a fresh instance, as the host's runtime makes
//! them and as plain wasmtime does with its own default pool.
//!
//! Invariant: within a round a guest is measured in all ways one after the other. CPU time and page
//! faults are those of this whole process, whatever its threads do for the calls. Every answer is
//! checked.

mod guest;
mod plain;
mod report;
mod sandbox;
mod spin;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::load::{Load, Workload};
use crate::place::Place;
use crate::rounds::Plan;
use crate::study::Study;
use guest::Guest;
use plain::Plain;
use sandbox::{Component, Sandbox};

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "engine",
    is_here: |_| true,
    measure: |place, plan| Ok(Box::new(measure(place, plan)?)),
};

/// What was found, guest by guest.
struct Found(Vec<Series>);

struct Series {
    guest: &'static Guest,
    /// One for each round, as are the others: on one thread, and on two.
    one: Vec<Calls>,
    two: Vec<Calls>,
    /// Plain wasmtime on one thread; nothing of a guest that needs what it imports.
    plain: Vec<Calls>,
}

/// Calls that were made.
#[derive(Clone, Copy)]
struct Calls {
    /// A second.
    rate: f64,
    /// CPU time of each.
    cpu: Duration,
    /// Page faults of each.
    faults: f64,
}

fn measure(place: &Place, plan: &Plan) -> Result<Found> {
    let load = plan.load(Workload::Call, 1);
    let sandbox = Sandbox::new(&place.data)?;
    let plain = Plain::new()?;
    let mut subjects = Vec::new();
    for guest in &guest::ALL {
        let Some(file) = (guest.file)(place) else {
            eprintln!("{} is left out: it is not built here", guest.name);
            continue;
        };
        let loaded = Subject::load(guest, file, &sandbox, &plain);
        subjects.push(loaded.with_context(|| guest.name)?);
    }
    for round in 1..=plan.rounds {
        for subject in &mut subjects {
            let calls = subject.measure(load).context(subject.series.guest.name)?;
            eprintln!(
                "round {round}/{}: {:<12}{:>9.0} calls/s{:>9.1} us{:>9.2} faults",
                plan.rounds,
                subject.series.guest.name,
                calls.rate,
                calls.cpu.as_secs_f64() * 1e6,
                calls.faults
            );
        }
    }
    Ok(Found(subjects.into_iter().map(|it| it.series).collect()))
}

/// A guest in both engines.
struct Subject<'a> {
    component: Component<'a>,
    plain: Option<plain::Component<'a>>,
    series: Series,
}

impl<'a> Subject<'a> {
    fn load(
        guest: &'static Guest,
        file: &Path,
        sandbox: &'a Sandbox,
        plain: &'a Plain,
    ) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| file.display().to_string())?;
        let plain = match guest.imports {
            true => None,
            false => Some(plain.load(&bytes)?),
        };
        Ok(Self {
            component: sandbox.load(&bytes)?,
            plain,
            series: Series {
                guest,
                one: Vec::new(),
                two: Vec::new(),
                plain: Vec::new(),
            },
        })
    }

    /// Measures it in all ways; gives what it did on one thread.
    fn measure(&mut self, load: Load) -> Result<Calls> {
        let (guest, component) = (self.series.guest, &self.component);
        let call = async |number| component.call(guest, number).await;
        let one = spin::on_threads(1, load, call)?;
        self.series.one.push(one);
        self.series.two.push(spin::on_threads(2, load, call)?);
        if let Some(plain) = &self.plain {
            let call = async |number| plain.call(guest, number).await;
            self.series.plain.push(spin::on_threads(1, load, call)?);
        }
        Ok(one)
    }
}
