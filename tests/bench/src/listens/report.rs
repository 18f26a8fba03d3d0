//! What is printed of streams: medians of rounds, and of the ratios within them.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::{Listens, Round};
use crate::load::Times;
use crate::report::{bounds, mib, ms, round};
use crate::rounds::median;
use crate::study::Report;

impl Round {
    /// Bytes of the server's memory for each stream, with its connection.
    fn memory(&self, streams: usize) -> f64 {
        (self.with as f64 - self.before as f64) / (streams - 1) as f64
    }

    /// The latency among many as a multiple of that alone.
    fn ratio(&self, quantile: fn(&Times) -> f64) -> f64 {
        quantile(&self.among.told) / quantile(&self.alone.told)
    }
}

fn p50(times: &Times) -> f64 {
    ms(times.p50)
}

fn p99(times: &Times) -> f64 {
    ms(times.p99)
}

/// Changes heard of: their name in the table, their key, and their times.
type Row = (String, &'static str, fn(&Round) -> &Times);

impl Listens {
    fn all(&self, figure: impl Fn(&Round) -> f64) -> Vec<f64> {
        self.rounds.iter().map(figure).collect()
    }

    /// The first change of each task, and its end.
    fn rows(&self) -> [Row; 5] {
        let many = |what: &str| format!("{what}, {} open", self.streams);
        [
            ("a change, 1 open".to_owned(), "alone", |it| &it.alone.told),
            (many("a change"), "among", |it| &it.among.told),
            (many("on its own"), "others", |it| &it.others),
            ("the end, 1 open".to_owned(), "alone_end", |it| {
                &it.alone.ended
            }),
            (many("the end"), "among_end", |it| &it.among.ended),
        ]
    }
}

impl Report for Listens {
    fn table(&self, text: &mut String) {
        let memory = self.all(|round| round.memory(self.streams));
        let (least, most) = bounds(&memory);
        let heading = format!("{} streams", self.streams);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n{heading:<26}{:>8} {:>8} {:>8} {:>9} {:>9}",
            "changes", "p50 ms", "p99 ms", "p99 least", "p99 most",
        );
        for (name, _, times) in self.rows() {
            let p99s = self.all(|round| p99(times(round)));
            let (least, most) = bounds(&p99s);
            let _ = writeln!(
                text,
                "{name:<26}{:>8} {:>8.3} {:>8.3} {least:>9.3} {most:>9.3}",
                self.rounds.first().map_or(0, |round| times(round).number),
                median(&self.all(|round| p50(times(round)))),
                median(&p99s),
            );
        }
        let _ = writeln!(
            text,
            "from an answer's first byte sent until its task's change is seen, one at a time; among many, x {:.2} \
             (p99 x {:.2})\na stream, with its connection, takes {:.0} B of RSS, {least:.0} to {most:.0}; \
             with all open {:.0} MiB; {:.0} opened a second",
            median(&self.all(|round| round.ratio(p50))),
            median(&self.all(|round| round.ratio(p99))),
            median(&memory),
            median(&self.all(|round| mib(round.with))),
            median(&self.all(|round| round.rate)),
        );
    }

    fn json(&self) -> Value {
        let memory = self.all(|round| round.memory(self.streams));
        let (least, most) = bounds(&memory);
        let mut all = value!({
            "streams": self.streams,
            "rounds": self.rounds.len(),
            "rss_bytes_per_stream": median(&memory).round(),
            "rss_bytes_per_stream_bounds": [least.round(), most.round()],
            "rss_mib": round(median(&self.all(|round| mib(round.with)))),
            "opened_per_s": median(&self.all(|round| round.rate)).round(),
            "p50_vs_alone": round(median(&self.all(|round| round.ratio(p50)))),
            "p99_vs_alone": round(median(&self.all(|round| round.ratio(p99)))),
        });
        for (_, key, times) in self.rows() {
            let p99s = self.all(|round| p99(times(round)));
            let (least, most) = bounds(&p99s);
            all[key] = value!({
                "changes": self.rounds.first().map_or(0, |round| times(round).number),
                "p50_ms": round(median(&self.all(|round| p50(times(round))))),
                "p99_ms": round(median(&p99s)),
                "p99_bounds_ms": [round(least), round(most)],
            });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Round, p50};
    use crate::load::Times;
    use crate::waiting::resume::Resumed;

    fn times(milliseconds: u64) -> Times {
        let time = Duration::from_millis(milliseconds);
        Times {
            number: 1,
            p50: time,
            p99: time,
            longest: time,
        }
    }

    #[test]
    fn figures_are_of_one_stream_and_of_one_round() {
        let resumed = |told, ended| Resumed {
            told: times(told),
            ended: times(ended),
        };
        let round = Round {
            before: 1_000,
            with: 10_000,
            rate: 1.0,
            alone: resumed(2, 3),
            among: resumed(3, 9),
            others: times(4),
        };
        assert_eq!(round.memory(10), 1_000.0);
        assert_eq!(round.ratio(p50), 1.5);
    }
}
