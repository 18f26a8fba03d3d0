//! A stored journal, and what a run does with it. The first byte is the number of bytes, in fours, that
//! are operations of the run (see [`Operation`]; any bytes are some); the rest is a row of the journal.
//! The last bit of the second byte says whether the row is stored, the one before it which clock
//! there is.
//!
//! What is read is written down again as the same; a run takes no more than its limit; what was handed
//! out to be stored is, put together, the journal. A row is also read as the kept answer of a server.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use cofferdam::journal::{
    Digest, Entry, Fault, Journal, JournalOptions, Seed, Segment, StartAnswer, Time,
};
use cofferdam::outbound::{Answer, head};
use cofferdam_fuzz::memory;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::collections::HashMap;

/// What a run's new entries may have, bytes.
const LIMIT: usize = 4 << 10;
const KEYS: [&str; 4] = ["", "a", "key", "another key"];

#[derive(Arbitrary, Debug)]
enum Operation {
    Clock,
    /// Takes whatever is next, or diverges from it.
    Next {
        fits: bool,
    },
    Sleep {
        until: u64,
    },
    Poll {
        ready: Vec<u32>,
    },
    Http {
        bytes: u16,
    },
    /// A question that is not asked after all.
    Withdrawn,
    Recall {
        key: u8,
    },
    Record {
        key: u8,
        bytes: u8,
    },
    /// A record that the store did not take.
    Planned {
        key: u8,
        bytes: u8,
    },
    Store,
    Draw {
        bytes: u8,
    },
    Mark,
    End,
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((count, data)) = data.split_first() else {
        return Corpus::Reject;
    };
    let (operations, row) = data.split_at(data.len().min(4 * usize::from(*count)));
    let most = (1 << 20) + 512 * data.len();
    memory::within(most, || {
        let read = answer(row) | run(operations, row);
        if read { Corpus::Keep } else { Corpus::Reject }
    })
});

fn answer(bytes: &[u8]) -> bool {
    let Some(answer) = Answer::decode(bytes) else {
        return false;
    };
    assert_eq!(Answer::decode(&answer.encode()), Some(answer.clone()));
    if let Answer::Response {
        status, headers, ..
    } = &answer
    {
        let (_, map) = head(*status, headers);
        assert!(map.len() <= headers.len());
    }
    true
}

fn options(time: Time, limit: usize) -> JournalOptions {
    JournalOptions {
        seed: Seed::from_bytes([3; 32]),
        attempt: 1,
        started: 1_700_000_000_000_000,
        time,
        limit,
        kill_after: None,
    }
}

/// False if the row is none.
fn run(operations: &[u8], row: &[u8]) -> bool {
    let flags = operations.first().copied().unwrap_or_default();
    let is_stored = flags & 1 == 1;
    let time = if flags & 2 == 2 {
        Time::Rehearsed
    } else {
        Time::System
    };
    let Ok(read) = Journal::unstored_replay(options(time, LIMIT), row, HashMap::new()) else {
        return false;
    };
    let row = read.encoded();
    let options = options(time, row.len() + LIMIT);
    let mut stored = Stored::default();
    let mut journal = if is_stored && !row.is_empty() {
        stored.rows.push(row.clone());
        Journal::replay(options, &stored.rows, HashMap::new())
    } else {
        Journal::unstored_replay(options, &row, HashMap::new())
    }
    .expect("what was read once is read again");
    assert_eq!(
        journal.encoded(),
        row,
        "what was read is written as the same"
    );

    let mut bytes = Unstructured::new(operations);
    while !bytes.is_empty() {
        let Ok(operation) = Operation::arbitrary(&mut bytes) else {
            break;
        };
        if operate(&mut journal, &mut stored, operation).is_err_and(|fault| ends(&fault)) {
            break;
        }
    }

    // Sizes are estimates: an entry takes less than twice what it is said to.
    let encoded = journal.encoded();
    assert!(
        encoded.len() <= row.len() + 2 * (row.len() + LIMIT),
        "{} bytes",
        encoded.len()
    );
    stored.store(&mut journal);
    assert!(journal.unstored().is_none());
    assert_eq!(
        stored.rows.concat(),
        encoded,
        "what is stored is the journal"
    );
    let records = stored.records;
    assert_eq!(journal.records(), &records);
    let again = Journal::replay(options, &stored.rows, records).expect("it can be read");
    assert_eq!(again.encoded(), encoded);
    true
}

/// After a fault the run ends.
fn ends(fault: &Fault) -> bool {
    assert!(!fault.to_string().is_empty());
    match fault {
        Fault::Full(_) | Fault::Diverged(_) => true,
        Fault::Corrupt(_) | Fault::Killed => panic!("{fault}"),
    }
}

/// What a store keeps.
#[derive(Default)]
struct Stored {
    rows: Vec<Vec<u8>>,
    records: HashMap<String, Vec<u8>>,
}

impl Stored {
    fn store(&mut self, journal: &mut Journal) {
        if let Some(segment) = journal.unstored() {
            self.keep(segment);
            journal.stored();
        }
    }

    fn keep(&mut self, segment: Segment) {
        let row = segment.row as usize;
        assert_eq!(
            segment.replaces,
            row < self.rows.len(),
            "rows from {row} on"
        );
        assert!(row <= self.rows.len(), "a gap before row {row}");
        self.rows.truncate(row);
        self.rows.push(segment.entries);
    }
}

/// Does what a guest's call of the host comes to (`call/verbs.rs`, `runtime/wasi.rs`).
fn operate(journal: &mut Journal, stored: &mut Stored, operation: Operation) -> Result<(), Fault> {
    let request = Digest::of(b"request");
    let key = |key: u8| KEYS[usize::from(key) % KEYS.len()].to_owned();
    let entry = match operation {
        Operation::Clock => {
            let before = journal.now();
            let now = journal.clock()?;
            let _ = (before, journal.at_monotonic(journal.monotonic(now)));
            return Ok(());
        }
        Operation::Next { fits } => {
            let taken = journal.next(|| "it".to_owned(), |entry| fits.then(|| entry.clone()));
            let shown = journal.peek().map(Entry::to_string);
            assert_eq!(shown.is_some(), journal.is_replaying());
            taken?;
            return Ok(());
        }
        Operation::Recall { key: number } => {
            let value = journal.recall(&key(number))?;
            assert_eq!(value.as_ref(), journal.records().get(&key(number)));
            return Ok(());
        }
        Operation::Record { key: number, bytes } => {
            let (key, value) = (key(number), vec![number; bytes.into()]);
            if journal.is_replaying() {
                return journal.next(|| "record".to_owned(), |_| Some(())).map(drop);
            }
            let plan = journal.plan_record(&key, &value)?;
            let is_stored = !stored.rows.is_empty();
            if is_stored {
                stored.keep(plan.segment.clone());
            }
            stored.records.insert(key.clone(), value.clone());
            journal.record(plan, key, value, is_stored);
            return Ok(());
        }
        Operation::Planned { key: number, bytes } => {
            if !journal.is_replaying() {
                journal.plan_record(&key(number), &vec![number; bytes.into()])?;
            }
            return Ok(());
        }
        Operation::Store => {
            stored.store(journal);
            return Ok(());
        }
        Operation::Draw { bytes } => {
            let mut drawn = vec![0; bytes.into()];
            journal.random().secure(&mut drawn);
            journal.random().insecure(&mut drawn);
            return Ok(());
        }
        Operation::Mark => {
            journal.random().mark();
            return Ok(());
        }
        Operation::End => {
            let over = journal.end();
            assert_eq!(over.is_err(), journal.is_replaying());
            return Ok(());
        }
        Operation::Withdrawn => {
            if !journal.is_replaying() {
                journal.push(Entry::Start {
                    request,
                    answer: StartAnswer::Task,
                })?;
                journal.pop();
            }
            return Ok(());
        }
        Operation::Sleep { until } => Entry::Sleep { request, until },
        Operation::Poll { ready } => Entry::Poll { ready },
        Operation::Http { bytes } => Entry::Http {
            request,
            answer: vec![1; bytes.into()],
        },
    };
    match journal.is_replaying() {
        true => journal.next(|| entry.to_string(), |_| Some(())).map(drop),
        false => journal.push(entry),
    }
}
