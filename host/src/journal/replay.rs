//! A journal in use: it answers from its entries until they end, and then takes new ones.

use super::entry::{Digest, Entry};
use super::random::{Random, Seed};
use super::time::{Micros, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// A replay asked for something else than the journal holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Replay diverged at journal entry {index}: expected {expected}, got {got}. The tool did not do \
     the same again with the same answers"
)]
pub struct Diverged {
    /// The entry's place, from 0.
    pub index: usize,
    /// What the journal holds there.
    pub expected: String,
    /// What the guest asked for.
    pub got: String,
}

/// Why a run cannot go on with its journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It does not fit.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// It is too large.
    #[error("The journal of the call has more than {0} bytes (limit tasks.journal-bytes)")]
    Full(usize),
    /// A stored row is not what was written.
    #[error("The stored journal of the task cannot be read: {0}")]
    Corrupt(String),
    /// A rehearsal ends the run here.
    #[error("The run was ended by a rehearsal")]
    Killed,
}

/// Entries to be stored: they replace what is stored from `row` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The row of the journal that these entries are.
    pub row: u32,
    /// True if rows from `row` on are stored already, and go.
    pub replaces: bool,
    /// The entries' form on disk.
    pub entries: Vec<u8>,
}

/// What a journal starts with.
#[derive(Clone, Copy, Debug)]
pub struct JournalOptions {
    /// Seed of the random numbers.
    pub seed: Seed,
    /// The attempt, from 1.
    pub attempt: u32,
    /// When the attempt started; the guest's monotonic clock counts from here.
    pub started: Micros,
    /// Where live clock readings come from.
    pub time: Time,
    /// Most bytes of entries.
    pub limit: usize,
    /// Ends the run when so many more entries were taken (rehearsals).
    pub kill_after: Option<u32>,
}

/// The journal of one run.
pub struct Journal {
    options: JournalOptions,
    entries: Vec<Entry>,
    size: usize,
    /// The entry that answers next; at the end of `entries` the run is live.
    cursor: usize,
    /// Readings that the clock entry at the cursor has given already.
    reads: u32,
    /// The last entry is a clock entry that may count more readings.
    counting: bool,
    /// The last time the guest saw.
    last: Micros,
    /// A recorded value was recalled during the replay: what surrounds it may have been skipped.
    skipped: bool,
    /// Rows that are stored: how many entries the first so many rows hold together.
    rows: Vec<usize>,
    /// Where each key was first recalled.
    recalled: HashMap<String, usize>,
    recalled_size: usize,
    records: HashMap<String, Vec<u8>>,
    random: Random,
    taken: u32,
    /// Held by whatever was begun outside and has not been answered to the guest.
    effects: Arc<()>,
}

/// About what a recalled key takes beside its own bytes.
const KEY_SIZE: usize = 64;

/// Something was begun outside whose answer the guest has not taken. Dropped when it has.
#[derive(Debug)]
pub struct Effect(#[allow(dead_code, reason = "counted")] Arc<()>);

impl Journal {
    /// An empty journal.
    #[must_use]
    pub fn new(options: JournalOptions) -> Self {
        Self {
            entries: Vec::new(),
            size: 0,
            cursor: 0,
            reads: 0,
            counting: false,
            last: options.started,
            skipped: false,
            rows: Vec::new(),
            recalled: HashMap::new(),
            recalled_size: 0,
            records: HashMap::new(),
            random: Random::new(options.seed, options.attempt),
            taken: 0,
            effects: Arc::default(),
            options,
        }
    }

    /// A journal to replay: the stored rows, and the recorded values.
    ///
    /// # Errors
    /// [`Fault::Corrupt`].
    pub fn replay(
        options: JournalOptions,
        rows: &[Vec<u8>],
        records: HashMap<String, Vec<u8>>,
    ) -> Result<Self, Fault> {
        let mut journal = Self::new(options);
        journal.records = records;
        for row in rows {
            journal.read(row)?;
            journal.rows.push(journal.entries.len());
        }
        Ok(journal)
    }

    /// A journal to replay of which nothing is stored.
    ///
    /// # Errors
    /// [`Fault::Corrupt`].
    pub fn unstored_replay(
        options: JournalOptions,
        entries: &[u8],
        records: HashMap<String, Vec<u8>>,
    ) -> Result<Self, Fault> {
        let mut journal = Self::new(options);
        journal.records = records;
        journal.read(entries)?;
        Ok(journal)
    }

    fn read(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        while !bytes.is_empty() {
            let (entry, rest) = postcard::take_from_bytes::<Entry>(bytes)
                .map_err(|error| Fault::Corrupt(error.to_string()))?;
            self.size += entry.size();
            self.entries.push(entry);
            bytes = rest;
        }
        Ok(())
    }

    /// What it started with.
    #[must_use]
    pub fn options(&self) -> &JournalOptions {
        &self.options
    }

    /// True while answers come from the entries.
    #[must_use]
    pub fn is_replaying(&self) -> bool {
        self.cursor < self.entries.len()
    }

    /// The entry that answers next.
    #[must_use]
    pub fn peek(&self) -> Option<&Entry> {
        self.entries.get(self.cursor)
    }

    /// Something is begun outside.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect(Arc::clone(&self.effects))
    }

    /// True while something that was begun outside is not answered: a run in this one's place would
    /// begin it again.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        Arc::strong_count(&self.effects) > 1
    }

    /// The random numbers.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The recorded values.
    #[must_use]
    pub fn records(&self) -> &HashMap<String, Vec<u8>> {
        &self.records
    }

    /// Answers from the entry that is next. `None`: the entries have ended, and the run is live.
    ///
    /// # Errors
    /// [`Fault::Diverged`] if `take` does not know the entry.
    pub fn next<T>(
        &mut self,
        got: impl FnOnce() -> String,
        take: impl FnOnce(&Entry) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(entry) = self.entries.get(self.cursor) else {
            return Ok(None);
        };
        let answer = if self.reads == 0 { take(entry) } else { None };
        match answer {
            Some(answer) => {
                if let Entry::Sleep { until, .. } = entry {
                    self.last = self.last.max(*until);
                }
                self.cursor += 1;
                Ok(Some(answer))
            }
            None => Err(self.diverged(got())),
        }
    }

    /// The handler ends.
    ///
    /// # Errors
    /// [`Fault::Diverged`] if there are entries left.
    pub fn end(&self) -> Result<(), Fault> {
        if self.is_replaying() {
            return Err(self.diverged("the end of the handler".to_owned()));
        }
        Ok(())
    }

    fn diverged(&self, got: String) -> Fault {
        let expected = self.entries.get(self.cursor);
        Fault::Diverged(Diverged {
            index: self.cursor,
            expected: expected.map_or_else(|| "nothing".to_owned(), Entry::to_string),
            got,
        })
    }

    /// Takes an answer that a live run was given.
    ///
    /// # Errors
    /// [`Fault::Full`], [`Fault::Killed`]; the entry was not taken.
    pub fn push(&mut self, entry: Entry) -> Result<(), Fault> {
        self.may_take(self.size, entry.size())?;
        if let Entry::Sleep { until, .. } = &entry {
            self.last = self.last.max(*until);
        }
        self.add(entry);
        Ok(())
    }

    fn may_take(&mut self, kept: usize, new: usize) -> Result<(), Fault> {
        if kept + new > self.options.limit {
            return Err(Fault::Full(self.options.limit));
        }
        if self.options.kill_after == Some(self.taken) {
            return Err(Fault::Killed);
        }
        self.taken += 1;
        Ok(())
    }

    fn add(&mut self, entry: Entry) {
        self.counting = false;
        self.size += entry.size();
        self.entries.push(entry);
        self.cursor = self.entries.len();
    }

    /// Takes the last entry back: it came to nothing.
    pub fn pop(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.size -= entry.size();
        }
        self.cursor = self.entries.len();
        self.counting = false;
    }

    /// Reads the clock.
    ///
    /// # Errors
    /// A [`Fault`].
    pub fn clock(&mut self) -> Result<Micros, Fault> {
        if let Some(entry) = self.entries.get(self.cursor) {
            match entry {
                Entry::Clock { time, reads } => {
                    self.last = self.last.max(*time);
                    self.reads += 1;
                    if self.reads >= *reads {
                        self.cursor += 1;
                        self.reads = 0;
                    }
                    return Ok(self.last);
                }
                // A reading between a recall and its record was skipped with its entry.
                _ if self.skipped => return Ok(self.last),
                _ => return Err(self.diverged("a clock reading".to_owned())),
            }
        }
        let now = self.options.time.read(self.last);
        match self.entries.last_mut() {
            Some(Entry::Clock { time, reads }) if self.counting && *time == now => *reads += 1,
            _ => {
                let entry = Entry::Clock {
                    time: now,
                    reads: 1,
                };
                self.may_take(self.size, entry.size())?;
                self.add(entry);
                self.counting = true;
            }
        }
        self.last = now;
        Ok(now)
    }

    /// The time a live wait counts from. Not a reading: the guest does not see it.
    #[must_use]
    pub fn now(&self) -> Micros {
        match self.options.time {
            Time::System => Time::System.read(self.last),
            Time::Rehearsed => self.last,
        }
    }

    /// The monotonic clock's form of a time, nanoseconds.
    #[must_use]
    pub fn monotonic(&self, time: Micros) -> u64 {
        time.saturating_sub(self.options.started)
            .saturating_mul(1_000)
    }

    /// The time of a monotonic instant.
    #[must_use]
    pub fn at_monotonic(&self, nanos: u64) -> Micros {
        self.options.started.saturating_add(nanos.div_ceil(1_000))
    }

    /// The last recorded value of a key. If the entry that is next recorded it, the run goes on as
    /// if it had just done so.
    ///
    /// # Errors
    /// [`Fault::Full`]: keys that are recalled take room, too.
    pub fn recall(&mut self, key: &str) -> Result<Option<Vec<u8>>, Fault> {
        if !self.recalled.contains_key(key) {
            self.recalled_size += key.len() + KEY_SIZE;
            if self.recalled_size > self.options.limit {
                return Err(Fault::Full(self.options.limit));
            }
            self.counting = false;
            // Inside a run of clock readings, what follows them is skipped as a whole or not at all.
            let place = self.cursor + usize::from(self.reads > 0);
            self.recalled.insert(key.to_owned(), place);
        }
        match self.entries.get(self.cursor) {
            Some(Entry::Record {
                key: recorded,
                random,
                time,
                ..
            }) if recorded == key && self.reads == 0 => {
                self.random.restore(*random);
                self.last = self.last.max(*time);
                self.cursor += 1;
                self.skipped = true;
            }
            _ => {}
        }
        Ok(self.records.get(key).cloned())
    }

    /// Prepares to keep a value. Entries since the key was first recalled are not needed any more:
    /// a later run skips from that recall to here.
    ///
    /// # Errors
    /// [`Fault::Full`], [`Fault::Killed`].
    pub fn plan_record(&mut self, key: &str, value: &[u8]) -> Result<RecordPlan, Fault> {
        let entry = Entry::Record {
            key: key.to_owned(),
            value: Digest::of(value),
            random: self.random.positions(),
            time: self.last,
        };
        let recalled = self.recalled.get(key).copied();
        let keep = recalled.unwrap_or(self.entries.len());
        let kept = match recalled {
            Some(_) => self.entries[..keep].iter().map(Entry::size).sum(),
            None => self.size,
        };
        self.may_take(kept, entry.size())?;
        let row = self.rows.partition_point(|end| *end <= keep);
        let start = if row == 0 { 0 } else { self.rows[row - 1] };
        let mut entries = encode(&self.entries[start..keep]);
        entries.extend(entry.encode());
        Ok(RecordPlan {
            keep,
            entry,
            segment: Segment {
                row: u32::try_from(row).unwrap_or(u32::MAX),
                replaces: row < self.rows.len(),
                entries,
            },
        })
    }

    /// Keeps a value whose segment was stored, or needs no storing.
    pub fn record(&mut self, plan: RecordPlan, key: String, value: Vec<u8>, stored: bool) {
        let RecordPlan {
            keep,
            entry,
            segment,
        } = plan;
        for dropped in self.entries.drain(keep..) {
            self.size -= dropped.size();
        }
        self.rows.truncate(segment.row as usize);
        for place in self.recalled.values_mut() {
            if *place > keep {
                *place = keep + 1;
            }
        }
        self.add(entry);
        if stored {
            self.rows.push(self.entries.len());
        }
        self.records.insert(key, value);
    }

    /// The entries that are not stored yet; `None` without any.
    #[must_use]
    pub fn unstored(&self) -> Option<Segment> {
        let start = self.rows.last().copied().unwrap_or(0);
        (start < self.entries.len()).then(|| Segment {
            row: u32::try_from(self.rows.len()).unwrap_or(u32::MAX),
            replaces: false,
            entries: encode(&self.entries[start..]),
        })
    }

    /// What [`Journal::unstored`] gave is stored.
    pub fn stored(&mut self) {
        self.counting = false;
        if self.rows.last().copied().unwrap_or(0) < self.entries.len() {
            self.rows.push(self.entries.len());
        }
    }

    /// All entries, for another journal that replays them.
    #[must_use]
    pub fn encoded(&self) -> Vec<u8> {
        encode(&self.entries)
    }
}

/// How a value will be recorded.
#[derive(Debug)]
pub struct RecordPlan {
    keep: usize,
    entry: Entry,
    /// What is to be stored with the value.
    pub segment: Segment,
}

fn encode(entries: &[Entry]) -> Vec<u8> {
    entries.iter().flat_map(Entry::encode).collect()
}
