//! Sums by group.

use crate::table::finish;
use cofferdam_guest::prelude::*;
use std::collections::BTreeMap;

/// One group of a report. A group without a number has a count and a sum of 0, and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Group {
    name: String,
    /// How many numbers there are.
    count: u64,
    sum: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
}

/// The groups of the rows so far.
#[derive(Default)]
pub(crate) struct Summary(BTreeMap<String, Sums>);

#[derive(Default)]
struct Sums {
    count: u64,
    sum: f64,
    /// The least and the greatest number.
    bounds: Option<(f64, f64)>,
}

impl Summary {
    pub(crate) fn add(&mut self, name: &str, number: Option<f64>) {
        // Most rows belong to a group that is there already: no name is copied for them.
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Sums::default());
        }
        let (Some(number), Some(sums)) = (number, self.0.get_mut(name)) else {
            return;
        };
        sums.count += 1;
        sums.sum += number;
        let (min, max) = sums.bounds.unwrap_or((number, number));
        sums.bounds = Some((min.min(number), max.max(number)));
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_groups(self) -> Vec<Group> {
        let group = |(name, Sums { count, sum, bounds }): (String, Sums)| Group {
            name,
            count,
            sum,
            mean: bounds.map(|_| sum / count as f64),
            min: bounds.map(|(min, _)| min),
            max: bounds.map(|(_, max)| max),
        };
        self.0.into_iter().map(group).collect()
    }
}

/// The groups as CSV, their names under `column`.
pub(crate) fn to_csv(column: &str, groups: &[Group]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([column, "count", "sum", "mean", "min", "max"])?;
    let cell = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    for group in groups {
        writer.write_record([
            group.name.clone(),
            group.count.to_string(),
            group.sum.to_string(),
            cell(group.mean),
            cell(group.min),
            cell(group.max),
        ])?;
    }
    finish(writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_may_have_no_number() {
        let mut summary = Summary::default();
        summary.add("b", None);
        summary.add("a", Some(-1.0));
        summary.add("a", Some(2.0));
        assert_eq!(summary.len(), 2);
        let groups = summary.into_groups();
        assert_eq!(groups[0].mean, Some(0.5));
        assert_eq!((groups[0].min, groups[0].max), (Some(-1.0), Some(2.0)));
        assert_eq!(
            to_csv("k", &groups).unwrap(),
            "k,count,sum,mean,min,max\na,2,1,0.5,-1,2\nb,0,0,,,\n"
        );
    }
}
