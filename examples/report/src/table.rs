//! A CSV, read row by row without a copy of the whole.
//!
//! Invariant: a row that is handed out has a cell for each column.

use cofferdam_guest::{Error, Result, bail};
use csv::{Position, Reader, ReaderBuilder, StringRecord};

/// A CSV whose first line names its columns.
pub(crate) struct Table<'t> {
    text: &'t str,
    header: &'t str,
    names: StringRecord,
    reader: Reader<&'t [u8]>,
}

/// One of its columns.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    index: usize,
}

impl<'t> Table<'t> {
    /// Reads the names of the columns.
    pub(crate) fn new(text: &'t str) -> Result<Self> {
        // The mark that some programs put first is no part of a name.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // A row of another length is told in our own words.
        let mut reader = ReaderBuilder::new()
            .flexible(true)
            .from_reader(text.as_bytes());
        let names = reader.headers()?.clone();
        if names.is_empty() {
            bail!("there is no line with the names of the columns");
        }
        let header = between(text, 0, place(reader.position()));
        Ok(Self {
            text,
            header,
            names,
            reader,
        })
    }

    /// The column of this name; the first, if there are several.
    pub(crate) fn column(&self, name: &str) -> Result<Column> {
        let index = self
            .names
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| {
                let names: Vec<&str> = self.names.iter().collect();
                Error::tool(format!(
                    "there is no column `{name}`, but: {}",
                    names.join(", ")
                ))
            })?;
        Ok(Column {
            name: name.to_owned(),
            index,
        })
    }

    /// The names of the columns as they were written.
    pub(crate) fn header(&self) -> &'t str {
        self.header
    }

    /// Hands each row to `each`, which may stop the work, and returns how many there were.
    pub(crate) fn rows(mut self, mut each: impl FnMut(Row<'_, 't>) -> Result<()>) -> Result<u64> {
        let mut cells = StringRecord::new();
        let mut number = 0;
        while self.reader.read_record(&mut cells)? {
            number += 1;
            let start = cells.position().map_or(0, place);
            if let Some(missing) = self.names.get(cells.len()) {
                let line = line_number(self.text, start);
                bail!("line {line}, column `{missing}`: there is no such cell");
            }
            if cells.len() > self.names.len() {
                let line = line_number(self.text, start);
                bail!(
                    "line {line}: {} cells for {} columns",
                    cells.len(),
                    self.names.len()
                );
            }
            let end = place(self.reader.position());
            each(Row {
                text: self.text,
                cells: &cells,
                start,
                number,
                end,
                written: between(self.text, start, end),
            })?;
        }
        Ok(number)
    }
}

/// One row.
pub(crate) struct Row<'r, 't> {
    text: &'t str,
    cells: &'r StringRecord,
    start: usize,
    number: u64,
    end: usize,
    written: &'t str,
}

impl<'r, 't> Row<'r, 't> {
    /// The text of a cell.
    pub(crate) fn cell(&self, column: &Column) -> &'r str {
        &self.cells[column.index]
    }

    /// The number in a cell, if it is not empty.
    pub(crate) fn value(&self, column: &Column) -> Result<Option<f64>> {
        let cell = self.cell(column).trim();
        if cell.is_empty() {
            return Ok(None);
        }
        match cell.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            _ => bail!(
                "line {}, column `{}`: `{cell}` is no number",
                line_number(self.text, self.start),
                column.name
            ),
        }
    }

    /// The row as it was written, without the end of its line.
    pub(crate) fn written(&self) -> &'t str {
        self.written
    }

    /// Its number, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Where it ends in the text, in bytes.
    pub(crate) fn end(&self) -> usize {
        self.end
    }
}

/// A place in the text. There is none beyond it, so it fits.
fn place(position: &Position) -> usize {
    usize::try_from(position.byte()).unwrap_or(usize::MAX)
}

/// The line, from 1, of the row that begins at a place or after the ends of lines there: where a
/// record begins, the reader has not yet counted the empty lines before it.
fn line_number(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let start = text.len() - rest.trim_start_matches(['\r', '\n']).len();
    let before = text.bytes().take(start);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// What stands between two places, without the ends of lines around it.
fn between(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end)
        .unwrap_or_default()
        .trim_matches(['\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<T>(result: Result<T>) -> String {
        match result {
            Err(Error::Tool(text)) => text,
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("it was accepted"),
        }
    }

    fn read(text: &str) -> Result<Vec<(u64, usize, String, String)>> {
        let table = Table::new(text)?;
        let last = Column {
            name: "b".to_owned(),
            index: 1,
        };
        let mut rows = Vec::new();
        table.rows(|row| {
            rows.push((
                row.number(),
                row.end(),
                row.cell(&last).to_owned(),
                row.written().to_owned(),
            ));
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn rows_are_as_they_were_written() {
        let expected = |ends: [usize; 2]| {
            vec![
                (1, ends[0], "x\ny".to_owned(), "1,\"x\ny\"".to_owned()),
                (2, ends[1], " z".to_owned(), "2, z".to_owned()),
            ]
        };
        assert_eq!(read("a,b\n1,\"x\ny\"\n2, z").unwrap(), expected([12, 16]));
        assert_eq!(
            read("a,b\n\n1,\"x\ny\"\n\n2, z\n").unwrap(),
            expected([13, 19])
        );
        // The end of a line may have two characters.
        let rows = read("a,b\r\n1,\"x\ny\"\r\n2, z\r\n").unwrap();
        assert_eq!(
            (rows[0].3.as_str(), rows[1].3.as_str()),
            ("1,\"x\ny\"", "2, z")
        );
    }

    #[test]
    fn columns_are_found_by_name() {
        let table = Table::new("a,\"b,c\"\r\n1,2\r\n").unwrap();
        assert_eq!(table.header(), "a,\"b,c\"");
        assert_eq!(table.column("b,c").unwrap().index, 1);
        assert_eq!(
            told(table.column("b")),
            "there is no column `b`, but: a, b,c"
        );
    }

    #[test]
    fn numbers_may_be_absent_but_not_infinite() {
        let mut values = Vec::new();
        let table = Table::new("v,w\n 2.5 ,\n-1e3,\n,\n").unwrap();
        let column = table.column("v").unwrap();
        table
            .rows(|row| {
                values.push(row.value(&column)?);
                Ok(())
            })
            .unwrap();
        assert_eq!(values, [Some(2.5), Some(-1000.0), None]);
        for bad in ["NaN", "inf", "1e999", "1,5", "12 apples"] {
            let text = format!("v\n1\n\"{bad}\"\n");
            let table = Table::new(&text).unwrap();
            let column = table.column("v").unwrap();
            let outcome = table.rows(|row| row.value(&column).map(drop));
            assert_eq!(
                told(outcome),
                format!("line 3, column `v`: `{bad}` is no number")
            );
        }
    }

    #[test]
    fn faults_are_told_with_their_place() {
        assert_eq!(
            told(Table::new("")),
            "there is no line with the names of the columns"
        );
        assert_eq!(
            told(read("a,b\n1,2\n3\n")),
            "line 3, column `b`: there is no such cell"
        );
        assert_eq!(told(read("a,b\n1,2,3\n")), "line 2: 3 cells for 2 columns");
        // Empty lines are lines, and so are those within a cell.
        for (text, line) in [
            ("a,b\r\n1,2\r\n\r\n\r\n3\r\n", 5),
            ("a,b\n1,\"x\ny\"\n3\n", 4),
        ] {
            assert_eq!(
                told(read(text)),
                format!("line {line}, column `b`: there is no such cell")
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let text = "\u{feff}a,b\n1,2\n";
        assert_eq!(read(text).unwrap()[0].3, "1,2");
        assert_eq!(Table::new(text).unwrap().header(), "a,b");
    }
}
