//! How many tests passed: read from the closing lines of the two test runners.

use std::fmt;
use std::ops::AddAssign;

/// Tests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
}

impl Counts {
    /// Reads nextest's closing line:
    /// `Summary [ 1.2s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 2 skipped`.
    pub(super) fn of_nextest(line: &str) -> Option<Self> {
        let (_, tests) = line
            .trim_start()
            .strip_prefix("Summary [")?
            .split_once(" run: ")?;
        Some(Self::of_phrases(&outside_brackets(tests), ','))
    }

    /// Reads the closing line of cargo's own runner:
    /// `test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1s`.
    pub(super) fn of_libtest(line: &str) -> Option<Self> {
        let (_, tests) = line.strip_prefix("test result: ")?.split_once(". ")?;
        Some(Self::of_phrases(tests, ';'))
    }

    /// Reads phrases like `7 passed`; what is neither a pass nor known to be left out is a failure.
    fn of_phrases(text: &str, separator: char) -> Self {
        let mut counts = Self::default();
        for phrase in text.split(separator) {
            let Some((number, outcome)) = phrase.trim().split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match outcome {
                "passed" => counts.passed += number,
                "skipped" | "ignored" | "filtered out" => counts.skipped += number,
                "measured" => {}
                _ => counts.failed += number,
            }
        }
        counts
    }
}

fn outside_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|&letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    outside.collect()
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Option<Counts> {
        Some(Counts {
            passed,
            failed,
            skipped,
        })
    }

    #[test]
    fn nextest_counts_every_kind_of_failure() {
        let all_well = "     Summary [   0.004s] 1 test run: 1 passed, 0 skipped";
        assert_eq!(Counts::of_nextest(all_well), counts(1, 0, 0));
        let mixed = "     Summary [  12.100s] 19/20 tests run: 14 passed (2 slow, 1 flaky), 3 failed, 1 exec failed, 1 timed out, 4 skipped";
        assert_eq!(Counts::of_nextest(mixed), counts(14, 5, 4));
    }

    #[test]
    fn libtest_counts_what_was_ignored() {
        let line = "test result: FAILED. 7 passed; 2 failed; 1 ignored; 0 measured; 3 filtered out; finished in 1.20s";
        assert_eq!(Counts::of_libtest(line), counts(7, 2, 4));
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "        PASS [   0.004s] xtask Summary",
            "running 3 tests",
            "",
        ] {
            assert_eq!(Counts::of_nextest(line), None);
            assert_eq!(Counts::of_libtest(line), None);
        }
    }
}
