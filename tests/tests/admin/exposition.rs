//! A strict reader of Prometheus' text format: what it does not take, a scraper may not take.

use std::collections::{BTreeMap, HashSet};

/// Names and values of labels.
pub(crate) type Labels = BTreeMap<String, String>;

/// What was read.
pub(crate) struct Exposition {
    samples: Vec<(String, Labels, f64)>,
}

struct Family {
    name: String,
    kind: String,
}

impl Exposition {
    /// Reads a whole answer.
    ///
    /// # Panics
    /// If it is malformed; the message names the line.
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has an end");
        let mut families = HashSet::new();
        let mut family: Option<Family> = None;
        let mut helped: Option<String> = None;
        let mut samples: Vec<(String, Labels, f64)> = Vec::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').expect(line);
                assert!(!help.trim().is_empty(), "help: {line}");
                assert!(families.insert(name.to_owned()), "once: {line}");
                helped = Some(name.to_owned());
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect(line);
                assert_eq!(helped.take().as_deref(), Some(name), "after help: {line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(is_name(name) && name.starts_with("cofferdam_"), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                family = Some(Family {
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                });
            } else {
                let (name, labels, value) = sample(line);
                let family = family.as_ref().expect(line);
                let end = name.strip_prefix(&family.name).expect(line);
                let ends: &[&str] = match family.kind.as_str() {
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                assert!(ends.contains(&end), "of its family: {line}");
                assert_eq!(labels.contains_key("le"), end == "_bucket", "{line}");
                if family.kind != "gauge" {
                    assert!(value >= 0.0, "{line}");
                }
                samples.push((name, labels, value));
            }
        }
        assert!(helped.is_none(), "help without a type");
        let unique: HashSet<_> = samples.iter().map(|it| (&it.0, &it.1)).collect();
        assert_eq!(unique.len(), samples.len(), "each series once");
        let read = Self { samples };
        read.check_histograms();
        read
    }

    /// Buckets grow, and the last has all.
    fn check_histograms(&self) {
        for (name, labels, count) in &self.samples {
            let Some(family) = name.strip_suffix("_count") else {
                continue;
            };
            let bucket = format!("{family}_bucket");
            let mut buckets: Vec<(f64, f64)> = Vec::new();
            for (name, of, value) in &self.samples {
                let mut of = of.clone();
                let bound = of.remove("le");
                if *name == bucket && of == *labels {
                    let bound = bound.expect("a bound");
                    buckets.push((bound.replace('+', "").parse().expect("a number"), *value));
                }
            }
            let rises = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
            assert!(buckets.windows(2).all(rises), "{family} {buckets:?}");
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{family}");
        }
    }

    /// The value of a series.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels: Labels = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let sample = self
            .samples
            .iter()
            .find(|it| it.0 == name && it.1 == labels);
        sample
            .unwrap_or_else(|| panic!("no series {name} {labels:?}"))
            .2
    }

    /// The values of a label.
    pub(crate) fn values(&self, label: &str) -> HashSet<&str> {
        let values = self.samples.iter().filter_map(|it| it.1.get(label));
        values.map(String::as_str).collect()
    }

    /// How many series there are.
    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }
}

fn is_name(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(part) && !text.starts_with(|char: char| char.is_ascii_digit())
}

fn sample(line: &str) -> (String, Labels, f64) {
    let (series, value) = line.rsplit_once(' ').expect(line);
    let value = value.parse().expect(line);
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}').expect(line)),
        None => (series, ""),
    };
    assert!(is_name(name), "{line}");
    let mut read = Labels::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").expect(line);
        assert!(is_name(label), "{line}");
        let (value, after) = quoted(after, line);
        assert!(read.insert(label.to_owned(), value).is_none(), "{line}");
        rest = match after.strip_prefix(',') {
            Some(more) if !more.is_empty() => more,
            Some(_) => panic!("a label is missing: {line}"),
            None => {
                assert!(after.is_empty(), "{line}");
                after
            }
        };
    }
    (name.to_owned(), read, value)
}

/// A value up to its quotation mark, and what comes after that.
fn quoted<'a>(text: &'a str, line: &str) -> (String, &'a str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match chars.next().expect(line).1 {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                other => panic!("\\{other} in {line}"),
            }),
            char => value.push(char),
        }
    }
    panic!("no end of a value: {line}")
}

#[test]
fn what_is_malformed_is_not_taken() {
    let good = "# HELP cofferdam_a_total x\n# TYPE cofferdam_a_total counter\n\
                cofferdam_a_total{t=\"q\\\"\\\\,\",u=\"\"} 1\n";
    let read = Exposition::read(good);
    assert_eq!(
        read.get("cofferdam_a_total", &[("t", "q\"\\,"), ("u", "")]),
        1.0
    );
    let histogram = "# HELP cofferdam_h x\n# TYPE cofferdam_h histogram\n\
        cofferdam_h_bucket{le=\"1\"} 2\ncofferdam_h_bucket{le=\"+Inf\"} 3\n\
        cofferdam_h_sum 1.5\ncofferdam_h_count 3\n";
    assert_eq!(Exposition::read(histogram).len(), 4);
    for (from, to) in [
        ("# HELP cofferdam_a_total x\n", ""),
        ("# TYPE cofferdam_a_total counter\n", ""),
        (" counter", " count"),
        (" 1\n", " one\n"),
        (" 1\n", " 1"),
        (" 1\n", " -1\n"),
        ("\"} 1", "\",} 1"),
        ("\"} 1", "} 1"),
        ("u=", "t="),
        ("u=", "u"),
        ("{t", "_more{t"),
        ("cofferdam_", "other_"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        let read = std::panic::catch_unwind(|| Exposition::read(&bad).len());
        assert!(read.is_err(), "{bad}");
    }
    for (from, to) in [("_count 3", "_count 4"), ("le=\"1\"} 2", "le=\"1\"} 4")] {
        let bad = histogram.replace(from, to);
        let read = std::panic::catch_unwind(|| Exposition::read(&bad).len());
        assert!(read.is_err(), "{bad}");
    }
}
