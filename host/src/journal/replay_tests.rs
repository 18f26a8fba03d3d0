//! A journal as runs of a handler use it: live, again from its stored rows, and with skips.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

const OPTIONS: JournalOptions = JournalOptions {
    seed: Seed::from_bytes([3; 32]),
    attempt: 1,
    started: 1_000_000,
    time: Time::Rehearsed,
    limit: 1 << 20,
    kill_after: None,
};

/// What a store would hold.
#[derive(Clone, Default)]
struct Disk {
    rows: Vec<Vec<u8>>,
    records: HashMap<String, Vec<u8>>,
}

impl Disk {
    fn write(&mut self, segment: Segment) {
        let row = segment.row as usize;
        assert_eq!(segment.replaces, row < self.rows.len());
        self.rows.truncate(row);
        self.rows.push(segment.entries);
    }

    fn journal(&self) -> Journal {
        Journal::replay(OPTIONS, &self.rows, self.records.clone()).unwrap()
    }
}

/// A guest's step, as the host runs it: answered from the journal, or live and then stored.
fn ask(journal: &mut Journal, disk: &mut Disk, key: &str) -> Result<(), Fault> {
    let request = Digest::of(key.as_bytes());
    let take = |entry: &Entry| match entry {
        Entry::Ask { request: asked, .. } if *asked == request => Some(()),
        _ => None,
    };
    if journal
        .next(|| format!("require-input of {key}"), take)?
        .is_none()
    {
        journal.push(Entry::Ask {
            request,
            keys: vec![key.to_owned()],
        })?;
        disk.write(journal.unstored().unwrap());
        journal.stored();
    }
    Ok(())
}

fn record(journal: &mut Journal, disk: &mut Disk, key: &str, value: &[u8]) -> Result<(), Fault> {
    let digest = Digest::of(value);
    let take = |entry: &Entry| match entry {
        Entry::Record {
            key: recorded,
            value,
            ..
        } if recorded == key && *value == digest => Some(()),
        _ => None,
    };
    if journal
        .next(|| format!("record of {key:?}"), take)?
        .is_none()
    {
        let plan = journal.plan_record(key, value)?;
        disk.write(plan.segment.clone());
        disk.records.insert(key.to_owned(), value.to_vec());
        journal.record(plan, key.to_owned(), value.to_vec(), true);
    }
    Ok(())
}

fn draw(journal: &mut Journal) -> [u8; 8] {
    let mut bytes = [0; 8];
    journal.random().secure(&mut bytes);
    bytes
}

#[test]
fn a_replay_gives_the_same_answers_and_goes_on_live() {
    let mut disk = Disk::default();
    let mut first = Journal::new(OPTIONS);
    let times = [first.clock().unwrap(), first.clock().unwrap()];
    let drawn = draw(&mut first);
    ask(&mut first, &mut disk, "a").unwrap();
    let lost = first.clock().unwrap();
    drop(first);

    let mut again = disk.journal();
    assert!(again.is_replaying());
    assert_eq!([again.clock().unwrap(), again.clock().unwrap()], times);
    assert_eq!(draw(&mut again), drawn);
    ask(&mut again, &mut disk, "a").unwrap();
    assert!(!again.is_replaying());
    assert_eq!(
        again.clock().unwrap(),
        lost,
        "a rehearsed clock reads by place"
    );
    again.end().unwrap();
}

#[test]
fn readings_of_the_same_time_are_one_entry() {
    let mut journal = Journal::new(JournalOptions {
        time: Time::System,
        ..OPTIONS
    });
    let mut times = Vec::new();
    for _ in 0..20_000 {
        times.push(journal.clock().unwrap());
    }
    assert!(times.is_sorted());
    let rows = [journal.encoded()];
    assert!(rows[0].len() < 200_000, "{} bytes", rows[0].len());
    let mut again = Journal::replay(OPTIONS, &rows, HashMap::new()).unwrap();
    let read: Vec<_> = times.iter().map(|_| again.clock().unwrap()).collect();
    assert_eq!(read, times);
    assert!(!again.is_replaying());
}

#[test]
fn a_run_that_does_something_else_is_told_where() {
    let mut disk = Disk::default();
    let mut first = Journal::new(OPTIONS);
    first.clock().unwrap();
    ask(&mut first, &mut disk, "a").unwrap();

    let error = ask(&mut disk.journal(), &mut disk, "a")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("entry 0: expected a clock reading, got require-input of a"),
        "{error}"
    );
    let mut again = disk.journal();
    again.clock().unwrap();
    let error = again.clock().unwrap_err().to_string();
    assert!(
        error.contains("entry 1: expected require-input of a, got a clock reading"),
        "{error}"
    );
    let error = again.end().unwrap_err().to_string();
    assert!(error.contains("got the end of the handler"), "{error}");
    let mut again = disk.journal();
    again.clock().unwrap();
    assert!(matches!(
        ask(&mut again, &mut disk, "b"),
        Err(Fault::Diverged(_))
    ));
}

#[test]
fn a_full_journal_names_its_limit() {
    let mut journal = Journal::new(JournalOptions {
        limit: 100,
        ..OPTIONS
    });
    journal.clock().unwrap();
    journal.clock().unwrap();
    journal.clock().unwrap();
    let error = journal.clock().unwrap_err();
    assert_eq!(error, Fault::Full(100));
    assert!(error.to_string().contains("tasks.journal-bytes"));
}

#[test]
fn a_corrupt_row_is_refused() {
    let rows = [vec![200, 1, 2]];
    assert!(matches!(
        Journal::replay(OPTIONS, &rows, HashMap::new()),
        Err(Fault::Corrupt(_))
    ));
}

/// Ten rounds; each draws, reads the clock, and records where it is.
fn rounds(journal: &mut Journal, disk: &mut Disk, stop: u8) -> Result<Vec<[u8; 8]>, Fault> {
    let start = journal.recall("at").unwrap().map_or(0, |value| value[0]);
    let mut drawn = Vec::new();
    for round in start..stop {
        journal.clock()?;
        drawn.push(draw(journal));
        record(journal, disk, "at", &[round + 1])?;
    }
    Ok(drawn)
}

#[test]
fn a_recall_skips_to_its_record_and_the_journal_stays_small() {
    let mut disk = Disk::default();
    let undisturbed = rounds(&mut Journal::new(OPTIONS), &mut disk.clone(), 10).unwrap();
    let mut first = Journal::new(OPTIONS);
    rounds(&mut first, &mut disk, 6).unwrap();
    assert_eq!(disk.rows.len(), 1, "only the last record is left");

    let mut again = disk.journal();
    let rest = rounds(&mut again, &mut disk, 10).unwrap();
    assert_eq!(rest, undisturbed[6..], "the numbers go on where they were");
    assert!(!again.is_replaying());
}

#[test]
fn keys_recalled_first_and_recorded_one_by_one() {
    fn run(journal: &mut Journal, disk: &mut Disk, last: &str) -> Result<String, Fault> {
        let keys = ["a", "b", "c"];
        let found = keys.map(|key| journal.recall(key).unwrap());
        let mut seen = String::new();
        for (key, value) in keys.into_iter().zip(found) {
            match value {
                Some(value) => seen.push_str(&String::from_utf8_lossy(&value)),
                None => {
                    journal.clock()?;
                    seen.push_str(key);
                    record(journal, disk, key, key.as_bytes())?;
                }
            }
            if key == last {
                break;
            }
        }
        ask(journal, disk, "end")?;
        Ok(seen)
    }
    for last in ["a", "b", "c"] {
        let mut disk = Disk::default();
        let first = run(&mut Journal::new(OPTIONS), &mut disk, last).unwrap();
        let mut again = disk.journal();
        assert_eq!(run(&mut again, &mut disk, last).unwrap(), first);
        assert!(!again.is_replaying());
    }
}

/// One step of a made-up guest.
#[derive(Clone, Debug)]
enum Step {
    Clock,
    Draw,
    Ask(u8),
    Record(u8, u8),
    /// Recall; if there is nothing, do these and record.
    Once(u8, Vec<Step>),
    /// Recall how far it came; do these so many times, and record after each.
    Rounds(u8, Vec<Step>),
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        Just(Step::Clock),
        Just(Step::Draw),
        (0..30u8).prop_map(Step::Ask),
        (100..103u8, any::<u8>()).prop_map(|(key, value)| Step::Record(key, value)),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        let steps = prop::collection::vec(inner, 0..4);
        (0..6u8, 0..4u8, steps).prop_map(|(key, rounds, steps)| match rounds {
            0 => Step::Once(key, steps),
            rounds => Step::Rounds(rounds, steps),
        })
    })
}

/// A step within a step has a key of its own: the value of one must not stand for the other.
fn play(
    path: &str,
    steps: &[Step],
    journal: &mut Journal,
    disk: &mut Disk,
    seen: &mut Vec<String>,
) -> Result<(), Fault> {
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Clock => seen.push(format!("{}", journal.clock()?)),
            Step::Draw => seen.push(format!("{:?}", draw(journal))),
            Step::Ask(key) => ask(journal, disk, &key.to_string())?,
            Step::Record(key, value) => record(journal, disk, &format!("r{key}"), &[*value])?,
            Step::Once(key, inner) => {
                let key = format!("{path}/{key}");
                let value = match journal.recall(&key)? {
                    Some(value) => value,
                    None => {
                        let mut own = Vec::new();
                        play(&key, inner, journal, disk, &mut own)?;
                        let value = own.join(",").into_bytes();
                        record(journal, disk, &key, &value)?;
                        value
                    }
                };
                seen.push(String::from_utf8_lossy(&value).into_owned());
            }
            Step::Rounds(rounds, inner) => {
                let key = format!("{path}/at{index}");
                let mut kept = journal.recall(&key)?.unwrap_or_default();
                for round in kept.len()..usize::from(*rounds) {
                    let mut own = Vec::new();
                    play(&format!("{key}.{round}"), inner, journal, disk, &mut own)?;
                    kept.push(
                        own.join(",")
                            .bytes()
                            .fold(0, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(byte)),
                    );
                    record(journal, disk, &key, &kept)?;
                }
                seen.push(format!("{kept:?}"));
            }
        }
    }
    Ok(())
}

proptest! {
    /// Whatever a handler does, and wherever its run is killed (again and again), it ends as if
    /// nothing had happened.
    #[test]
    fn killed_anywhere_a_run_ends_the_same(
        steps in prop::collection::vec(step(), 1..12),
        kills in prop::collection::vec(0..6u32, 0..12),
    ) {
        let mut undisturbed = Vec::new();
        play("", &steps, &mut Journal::new(OPTIONS), &mut Disk::default(), &mut undisturbed).unwrap();

        let mut disk = Disk::default();
        for kill in kills {
            let options = JournalOptions { kill_after: Some(kill), ..OPTIONS };
            let mut journal = Journal::replay(options, &disk.rows, disk.records.clone()).unwrap();
            match play("", &steps, &mut journal, &mut disk, &mut Vec::new()) {
                Ok(()) | Err(Fault::Killed) => {}
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
        }
        let mut seen = Vec::new();
        let mut last = disk.journal();
        play("", &steps, &mut last, &mut disk, &mut seen).unwrap();
        last.end().unwrap();
        prop_assert_eq!(seen, undisturbed);
    }
}
