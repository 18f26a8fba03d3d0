//! CSV data in memory: every row has as many cells as there are columns.

use cofferdam_guest::prelude::*;
use csv::StringRecord;
use std::collections::BTreeMap;

/// CSV data, as a client gives it.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Csv {
    /// The text itself.
    Text(String),
    /// A resource that the client has read.
    Resource {
        #[allow(dead_code)]
        uri: Option<String>,
        text: String,
    },
}

impl Csv {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Resource { text, .. } => text,
        }
    }
}

pub(crate) struct Table {
    columns: StringRecord,
    pub(crate) rows: Vec<StringRecord>,
}

impl Table {
    /// Reads a line of column names, and rows of the same length.
    pub(crate) fn read(csv: &Csv) -> Result<Self> {
        let mut reader = csv::Reader::from_reader(csv.text().as_bytes());
        let columns = reader.headers()?.clone();
        if columns.is_empty() {
            bail!("The data has no line of column names.");
        }
        let rows = reader.records().collect::<Result<_, _>>()?;
        Ok(Self { columns, rows })
    }

    /// Where a column is.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        self.columns
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| {
                let columns: Vec<&str> = self.columns.iter().collect();
                Error::tool(format!(
                    "There is no column {name}; there are: {}.",
                    columns.join(", ")
                ))
            })
    }

    /// The number in a cell; nothing if it is empty.
    pub(crate) fn number(&self, row: usize, column: usize) -> Result<Option<f64>> {
        let row = &self.rows[row];
        let cell = row[column].trim();
        if cell.is_empty() {
            return Ok(None);
        }
        match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => {
                let line = row.position().map_or(0, csv::Position::line);
                bail!(
                    "{cell:?} in the column {} of line {line} is no number.",
                    &self.columns[column]
                )
            }
        }
    }

    /// The rows by their value in a column, in the order of the values.
    pub(crate) fn by_value_of(&self, column: usize) -> BTreeMap<&str, Vec<&StringRecord>> {
        let mut groups: BTreeMap<&str, Vec<&StringRecord>> = BTreeMap::new();
        for row in &self.rows {
            groups.entry(&row[column]).or_default().push(row);
        }
        groups
    }

    /// Some of the rows, as CSV with the column names.
    pub(crate) fn to_csv(&self, rows: &[&StringRecord]) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in rows {
            writer.write_record(*row)?;
        }
        finish(writer)
    }
}

/// What a writer wrote.
pub(crate) fn finish(writer: csv::Writer<Vec<u8>>) -> Result<String> {
    let bytes = writer
        .into_inner()
        .map_err(|error| Error::tool(error.error()))?;
    Ok(String::from_utf8(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_cells_survive() {
        let text = "name,note\n\"a, b\",\"say \"\"hi\"\"\"\n";
        let table = Table::read(&Csv::Text(text.to_owned())).unwrap();
        assert_eq!(&table.rows[0][1], "say \"hi\"");
        assert_eq!(table.to_csv(&[&table.rows[0]]).unwrap(), text);
    }

    #[test]
    fn a_number_is_finite_and_may_be_absent() {
        let table = Table::read(&Csv::Text("v\n 2.5 \n\"\"\nNaN\n1e999\n".to_owned())).unwrap();
        assert_eq!(table.number(0, 0), Ok(Some(2.5)));
        assert_eq!(table.number(1, 0), Ok(None));
        assert!(matches!(table.number(2, 0), Err(Error::Tool(text)) if text.contains("line 4")));
        assert!(table.number(3, 0).is_err());
    }
}
