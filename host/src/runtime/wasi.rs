//! The parts of WASI 0.2 whose answers differ from run to run: clocks, random numbers, polling, and what
//! is said of errors.
//!
//! Invariant: what a guest learns here comes from its journal, or goes into it, so that a later run
//! learns the same. A guest that waits for nothing but the clock waits as `sleep` does, and may give
//! its instance back.

use super::imports::Guest;
use super::verbs::{Halt, Waiting};
use crate::journal::{Entry, Micros, Time};
use crate::limits::{CLOCK_TICK, RANDOM_BYTES};
use std::collections::HashMap;
use std::sync::Arc;
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime::{Result, bail};
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::io::{error, poll};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

/// When each pollable that is a timer becomes ready, by the number of its resource.
pub(super) type Timers = HashMap<u32, Micros>;

/// Links all of WASI 0.2, these parts instead of the usual ones.
pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> Result<()> {
    type This = HasSelf<Guest>;
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    super::http::add_to_linker(linker)?;
    super::names::add_to_linker(linker)?;
    linker.allow_shadowing(true);
    wall_clock::add_to_linker::<_, This>(linker, |guest| guest)?;
    monotonic_clock::add_to_linker::<_, This>(linker, |guest| guest)?;
    error::add_to_linker::<_, This>(linker, |guest| guest)?;
    poll::add_to_linker::<_, This>(linker, |guest| guest)?;
    random::add_to_linker::<_, This>(linker, |guest| guest)?;
    insecure::add_to_linker::<_, This>(linker, |guest| guest)?;
    insecure_seed::add_to_linker::<_, This>(linker, |guest| guest)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl Guest {
    fn clock(&self) -> Result<Micros> {
        Ok(self.journal.lock().clock().map_err(Halt::from)?)
    }

    fn timer(&mut self, deadline: Micros) -> Result<Resource<DynPollable>> {
        let time = self.journal.lock().options().time;
        let timer = self.resources.push(Timer { deadline, time })?;
        let pollable = subscribe(&mut self.resources, timer)?;
        self.timers.insert(pollable.rep(), deadline);
        Ok(pollable)
    }

    async fn wait_until(&mut self, deadline: Micros) -> Result<()> {
        let verbs = Arc::clone(&self.verbs);
        if verbs.wait(Waiting::Until(deadline)).await?.is_err() {
            // A guest that cleans up after its call still has its timers.
            let time = self.journal.lock().options().time;
            tokio::time::sleep(time.until(deadline)).await;
        }
        Ok(())
    }

    /// What a poll answered before; `None` if it must be asked.
    fn polled(&self) -> Result<Option<Vec<u32>>> {
        let take = |entry: &Entry| match entry {
            Entry::Poll { ready } => Some(ready.clone()),
            _ => None,
        };
        let next = self.journal.lock().next(|| "a poll".to_owned(), take);
        Ok(next.map_err(Halt::from)?)
    }

    pub(super) fn keep_poll(&self, ready: Vec<u32>) -> Result<()> {
        let entry = Entry::Poll { ready };
        Ok(self.journal.lock().push(entry).map_err(Halt::from)?)
    }
}

/// A pollable that is ready from a time on.
struct Timer {
    deadline: Micros,
    time: Time,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        let left = self.time.until(self.deadline);
        if !left.is_zero() {
            tokio::time::sleep(left).await;
        }
    }
}

impl wall_clock::Host for Guest {
    fn now(&mut self) -> Result<wall_clock::Datetime> {
        let time = self.clock()?;
        Ok(wall_clock::Datetime {
            seconds: time / 1_000_000,
            nanoseconds: (time % 1_000_000) as u32 * 1_000,
        })
    }

    fn resolution(&mut self) -> Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime {
            seconds: 0,
            nanoseconds: CLOCK_TICK.subsec_nanos(),
        })
    }
}

impl monotonic_clock::Host for Guest {
    fn now(&mut self) -> Result<u64> {
        let time = self.clock()?;
        Ok(self.journal.lock().monotonic(time))
    }

    fn resolution(&mut self) -> Result<u64> {
        Ok(CLOCK_TICK.subsec_nanos().into())
    }

    fn subscribe_instant(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        let deadline = self.journal.lock().at_monotonic(when);
        self.timer(deadline)
    }

    fn subscribe_duration(&mut self, nanos: u64) -> Result<Resource<DynPollable>> {
        let now = self.clock()?;
        self.timer(now.saturating_add(nanos.div_ceil(1_000)))
    }
}

impl error::Host for Guest {}

impl error::HostError for Guest {
    fn to_debug_string(&mut self, error: Resource<wasmtime::Error>) -> Result<String> {
        // Its `Debug` may have the server's own stack in it (RUST_BACKTRACE), which is another one in the
        // next run, is no guest's business, and takes long to name.
        Ok(format!("{:#}", self.resources.get(&error)?))
    }

    fn drop(&mut self, error: Resource<wasmtime::Error>) -> Result<()> {
        error::HostError::drop(&mut self.resources, error)
    }
}

impl poll::Host for Guest {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> Result<Vec<u32>> {
        let deadlines: Option<Vec<Micros>> = pollables
            .iter()
            .map(|pollable| self.timers.get(&pollable.rep()).copied())
            .collect();
        let timers = deadlines.and_then(|all| Some((all.iter().min().copied()?, all)));
        let Some((first, deadlines)) = timers else {
            if let Some(ready) = self.polled()? {
                return Ok(ready);
            }
            let pollables: Vec<u32> = pollables.iter().map(Resource::rep).collect();
            let ready = self.poll_and_send(&pollables).await?;
            self.keep_poll(ready.clone())?;
            return Ok(ready);
        };
        // Timers only: which are ready follows from the clock.
        let mut now = self.clock()?;
        if now < first {
            self.wait_until(first).await?;
            now = first;
        }
        let ready = (0..)
            .zip(deadlines)
            .filter(|(_, deadline)| *deadline <= now);
        Ok(ready.map(|(index, _)| index).collect())
    }
}

impl poll::HostPollable for Guest {
    async fn ready(&mut self, pollable: Resource<DynPollable>) -> Result<bool> {
        if let Some(deadline) = self.timers.get(&pollable.rep()) {
            return Ok(self.clock()? >= *deadline);
        }
        if let Some(ready) = self.polled()? {
            return Ok(!ready.is_empty());
        }
        self.send_ready().await?;
        let ready = poll::HostPollable::ready(&mut self.resources, pollable).await?;
        self.keep_poll(if ready { vec![0] } else { Vec::new() })?;
        Ok(ready)
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        if let Some(deadline) = self.timers.get(&pollable.rep()).copied() {
            if self.clock()? < deadline {
                self.wait_until(deadline).await?;
            }
            return Ok(());
        }
        if self.polled()?.is_none() {
            self.poll_and_send(&[pollable.rep()]).await?;
            self.keep_poll(vec![0])?;
        }
        Ok(())
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        self.timers.remove(&pollable.rep());
        poll::HostPollable::drop(&mut self.resources, pollable)
    }
}

fn bytes(length: u64) -> Result<Vec<u8>> {
    if length > RANDOM_BYTES {
        bail!("{length} random bytes at once; the limit is {RANDOM_BYTES}");
    }
    Ok(vec![0; length as usize])
}

impl random::Host for Guest {
    fn get_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        let mut bytes = bytes(length)?;
        self.journal.lock().random().secure(&mut bytes);
        Ok(bytes)
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.journal.lock().random().secure(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }
}

impl insecure::Host for Guest {
    fn get_insecure_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        let mut bytes = bytes(length)?;
        self.journal.lock().random().insecure(&mut bytes);
        Ok(bytes)
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.journal.lock().random().insecure(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }
}

impl insecure_seed::Host for Guest {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        Ok(self.journal.lock().random().insecure_seed())
    }
}
