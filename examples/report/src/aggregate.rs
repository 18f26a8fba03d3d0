//! The report: one number for each group.

use crate::table::{Row, Table};
use cofferdam_guest::{Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What is worked out for each group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Aggregate {
    Sum,
    Mean,
    Min,
    Max,
    /// The values of `column`, or all rows if there is none.
    Count,
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::Count => "count",
        })
    }
}

/// A CSV, summed up.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    pub(crate) group_by: String,
    pub(crate) column: Option<String>,
    pub(crate) aggregate: Aggregate,
    /// How many rows were read.
    pub(crate) rows: u64,
    /// In the order of their names.
    pub(crate) groups: Vec<Group>,
}

/// The rows that have the same value in the column that makes the groups.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Group {
    pub(crate) group: String,
    pub(crate) rows: u64,
    /// The aggregate; null if no row has a value.
    pub(crate) value: Option<f64>,
}

/// What is known of a group so far.
#[derive(Clone, Copy)]
struct Totals {
    rows: u64,
    values: u32,
    sum: f64,
    min: f64,
    max: f64,
}

impl Totals {
    const NONE: Self = Self {
        rows: 0,
        values: 0,
        sum: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
    };

    fn add(&mut self, value: f64) {
        self.values += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn get(&self, aggregate: Aggregate) -> Option<f64> {
        match aggregate {
            Aggregate::Count => Some(f64::from(self.values)),
            _ if self.values == 0 => None,
            Aggregate::Sum => Some(self.sum),
            Aggregate::Mean => Some(self.sum / f64::from(self.values)),
            Aggregate::Min => Some(self.min),
            Aggregate::Max => Some(self.max),
        }
    }
}

impl Report {
    /// Sums up a table; `each` sees every row, and may stop the work.
    pub(crate) fn of(
        table: Table<'_>,
        group_by: &str,
        column: Option<&str>,
        aggregate: Aggregate,
        mut each: impl FnMut(&Row<'_, '_>) -> Result<()>,
    ) -> Result<Self> {
        let key = table.column(group_by)?;
        let column = column.map(|name| table.column(name)).transpose()?;
        if column.is_none() && aggregate != Aggregate::Count {
            bail!("a {aggregate} needs a `column`");
        }

        let mut totals = BTreeMap::<String, Totals>::new();
        let rows = table.rows(|row| {
            each(&row)?;
            let group = match totals.get_mut(row.cell(&key)) {
                Some(group) => group,
                None => totals
                    .entry(row.cell(&key).to_owned())
                    .or_insert(Totals::NONE),
            };
            group.rows += 1;
            match &column {
                None => group.values += 1,
                Some(column) if aggregate == Aggregate::Count => {
                    group.values += u32::from(!row.cell(column).trim().is_empty());
                }
                Some(column) => {
                    if let Some(value) = row.value(column)? {
                        group.add(value);
                    }
                }
            }
            Ok(())
        })?;

        let mut groups = Vec::with_capacity(totals.len());
        for (group, totals) in totals {
            let value = totals.get(aggregate);
            // JSON has no infinity.
            if value.is_some_and(|value| !value.is_finite()) {
                bail!("the {aggregate} of `{group}` is too large");
            }
            groups.push(Group {
                group,
                rows: totals.rows,
                value,
            });
        }
        Ok(Self {
            group_by: key.name,
            column: column.map(|column| column.name),
            aggregate,
            rows,
            groups,
        })
    }

    /// The groups and their values as CSV.
    pub(crate) fn to_csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let column = self.column.as_deref().unwrap_or("*");
        writer.write_record([&self.group_by, &format!("{}({column})", self.aggregate)])?;
        for group in &self.groups {
            let value = group.value.map(|value| value.to_string());
            writer.write_record([&group.group, &value.unwrap_or_default()])?;
        }
        let bytes = writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_guest::Error;

    const STOCK: &str = "kind,price,note\nfruit,3,\nnut,10,new\nfruit,1,\nfruit,,old\nroot,,\n";

    fn report(column: Option<&str>, aggregate: Aggregate) -> Result<Report> {
        Report::of(Table::new(STOCK)?, "kind", column, aggregate, |_| Ok(()))
    }

    fn values(column: Option<&str>, aggregate: Aggregate) -> Vec<Option<f64>> {
        let report = report(column, aggregate).unwrap();
        report.groups.iter().map(|group| group.value).collect()
    }

    #[test]
    fn each_aggregate_is_of_the_values_that_are_there() {
        let price = Some("price");
        assert_eq!(values(price, Aggregate::Sum), [Some(4.0), Some(10.0), None]);
        assert_eq!(
            values(price, Aggregate::Mean),
            [Some(2.0), Some(10.0), None]
        );
        assert_eq!(values(price, Aggregate::Min), [Some(1.0), Some(10.0), None]);
        assert_eq!(values(price, Aggregate::Max), [Some(3.0), Some(10.0), None]);
        assert_eq!(
            values(price, Aggregate::Count),
            [Some(2.0), Some(1.0), Some(0.0)]
        );
    }

    #[test]
    fn a_count_takes_rows_or_cells_of_any_kind() {
        assert_eq!(
            values(None, Aggregate::Count),
            [Some(3.0), Some(1.0), Some(1.0)]
        );
        assert_eq!(
            values(Some("note"), Aggregate::Count),
            [Some(1.0), Some(1.0), Some(0.0)]
        );
    }

    #[test]
    fn other_aggregates_need_a_column_of_numbers() {
        let text = |result: Result<Report>| result.unwrap_err();
        assert_eq!(
            text(report(None, Aggregate::Mean)),
            Error::tool("a mean needs a `column`")
        );
        assert_eq!(
            text(report(Some("note"), Aggregate::Min)),
            Error::tool("line 3, column `note`: `new` is no number")
        );
    }

    #[test]
    fn infinity_is_not_hidden() {
        let table = Table::new("a,b\nx,1e308\nx,1e308\n").unwrap();
        let report = Report::of(table, "a", Some("b"), Aggregate::Sum, |_| Ok(()));
        assert_eq!(
            report.unwrap_err(),
            Error::tool("the sum of `x` is too large")
        );
    }

    #[test]
    fn the_file_quotes_what_must_be() {
        let table = Table::new("\"a,b\",c\n\"x \"\"y\"\"\",0.5\nz,\n").unwrap();
        let report = Report::of(table, "a,b", Some("c"), Aggregate::Max, |_| Ok(())).unwrap();
        assert_eq!(
            report.to_csv().unwrap(),
            "\"a,b\",max(c)\n\"x \"\"y\"\"\",0.5\nz,\n"
        );
    }
}
