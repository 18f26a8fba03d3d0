//! What was counted, as it is kept in the repository: a line for each route, so that a change of it
//! reads well in a review.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const HEAD: &str = "\
# Instructions of the server for one request, on one thread, as callgrind counts them in a release build.
# Written by `cargo xtask count --record`.
";

/// Instructions by the name of a route.
#[derive(Debug, PartialEq)]
pub(super) struct Recorded(BTreeMap<String, u64>);

impl Recorded {
    pub(super) fn new(counted: Vec<(String, u64)>) -> Self {
        Self(counted.into_iter().collect())
    }

    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read {}; record it first", file.display()))?;
        Self::parse(&text).with_context(|| file.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pair = |line: &str| {
            let (name, number) = line.split_once(" = ").context("not NAME = NUMBER")?;
            let number = number.parse().with_context(|| number.to_owned())?;
            anyhow::Ok((name.to_owned(), number))
        };
        lines
            .map(|line| pair(line).with_context(|| line.to_owned()))
            .collect::<Result<_>>()
            .map(Self)
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let lines = self
            .0
            .iter()
            .map(|(name, number)| format!("{name} = {number}\n"));
        let text: String = std::iter::once(HEAD.to_owned()).chain(lines).collect();
        fs::write(file, text).with_context(|| file.display().to_string())
    }

    /// All of it, beside what was recorded.
    pub(super) fn table(&self, recorded: Option<&Self>) -> String {
        let mut text = String::new();
        for (name, number) in &self.0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{name:<12}{number:>10} instructions");
            if let Some(before) = recorded.and_then(|recorded| recorded.0.get(name)) {
                let _ = write!(text, " {:>+7.2} % of {before}", more(*number, *before));
            }
            text.push('\n');
        }
        text
    }

    /// Those that are more than recorded by so many percent, and those never recorded.
    pub(super) fn worse(&self, recorded: &Self, tolerance: f64) -> Vec<&str> {
        let is_worse = |(name, number): &(&String, &u64)| {
            let before = recorded.0.get(*name);
            before.is_none_or(|before| more(**number, *before) > tolerance)
        };
        let worse = self.0.iter().filter(is_worse);
        worse.map(|(name, _)| name.as_str()).collect()
    }
}

/// By how many percent a number is more than another.
fn more(number: u64, before: u64) -> f64 {
    (number as f64 / before as f64 - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(pairs: &[(&str, u64)]) -> Recorded {
        Recorded::new(
            pairs
                .iter()
                .map(|(name, number)| ((*name).to_owned(), *number))
                .collect(),
        )
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("instructions.txt");
        let all = recorded(&[("call", 50_000), ("list", 7)]);
        all.write(&file).expect("written");
        assert_eq!(Recorded::read(&file).expect("read"), all);
        assert!(Recorded::parse("call 5").is_err() && Recorded::parse("call = x").is_err());
    }

    #[test]
    fn worse_is_what_is_more_than_the_tolerance_or_was_never_recorded() {
        let before = recorded(&[("a", 1000), ("b", 1000)]);
        let now = recorded(&[("a", 1019), ("b", 1021), ("c", 1)]);
        assert_eq!(now.worse(&before, 2.0), ["b", "c"]);
        let table = now.table(Some(&before));
        assert!(table.contains("+1.90 % of 1000"), "{table}");
    }
}
