//! What is printed of stores: medians of rounds; ratios are of one round's rates.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::{MANY, Rates, Row};
use crate::report::{Ratio, bounds};
use crate::rounds::median;
use crate::study::{Goal, Named, Report};

/// Of which row, to which, and what it should be at least.
const RATIOS: [(Row, Row, Option<f64>); 8] = [
    (Row::Sqlite(1), Row::Append, None),
    (Row::Sqlite(16), Row::Append, None),
    (Row::Sqlite(MANY), Row::Append, None),
    (Row::Sqlite(1), Row::RawSqlite, None),
    (Row::Sqlite(MANY), Row::RawSqlite, None),
    (Row::Sqlite(MANY), Row::Sqlite(1), Some(5.0)),
    (Row::Server, Row::Sqlite(MANY), None),
    (Row::Postgres, Row::Autocommit, Some(4.0)),
];

impl Rates {
    fn of(&self, row: Row) -> &[f64] {
        let found = self.0.iter().find(|(other, _)| *other == row);
        found.map_or(&[], |(_, rates)| rates)
    }
}

/// The name of a ratio in the JSON object.
fn name(row: Row, base: Row) -> String {
    match (row, base) {
        (Row::Server, _) => "task_sqlite_vs_store".to_owned(),
        (Row::Sqlite(many), Row::Sqlite(few)) => format!("sqlite_{many}_vs_{few}"),
        _ => format!("{}_vs_{}", row.name(), base.name()),
    }
}

impl Report for Rates {
    fn table(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n{:<16}{:>9} {:>8}",
            "durable tasks", "tasks/s", "spread"
        );
        for (row, rates) in &self.0 {
            let (least, most) = bounds(rates);
            let median = median(rates);
            let _ = writeln!(
                text,
                "{:<16}{median:>9.0} {:>7.0}%  {}",
                row.name(),
                (most - least) / median * 100.0,
                row.about()
            );
        }
        let _ = writeln!(text);
    }

    fn json(&self) -> Value {
        let series = self.0.iter().map(|(row, rates)| {
            value!({
                "name": row.name(),
                "about": row.about(),
                "rounds": rates.iter().map(|rate| rate.round()).collect::<Vec<_>>(),
                "tasks_per_s": median(rates).round(),
            })
        });
        value!({ "series": series.collect::<Vec<_>>() })
    }

    fn ratios(&self) -> Vec<Named> {
        let ratios = RATIOS.iter();
        let named = ratios.map(|&(row, base, goal)| Named {
            name: name(row, base),
            ratio: Ratio::between(self.of(row), self.of(base)),
            goal: goal.map(Goal::AtLeast),
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{RATIOS, Rates, Row};
    use crate::study::Report as _;

    #[test]
    fn every_ratio_is_of_rows_that_are_measured_and_has_a_name_of_its_own() {
        let rates = Rates(Row::ALL.map(|row| (row, vec![2.0, 4.0])).to_vec());
        let ratios = rates.ratios();
        assert!(ratios.iter().all(|named| named.ratio.median == 1.0));
        let mut names: Vec<_> = ratios.into_iter().map(|named| named.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), RATIOS.len());
        assert!(names.contains(&"sqlite_64_vs_1".to_owned()), "{names:?}");
    }
}
