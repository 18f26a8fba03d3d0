//! The export: the rows of each group as a CSV of their own, just as they were written.

use crate::table::{Row, Table};
use cofferdam_guest::{EmbeddedResource, Result, bail};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;

/// Each file costs a header, so many groups make a result much larger than the CSV.
const MAX_GROUPS: usize = 1000;

/// What a name may hold in the path of a URI besides letters and digits.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The rows of a CSV by the value of a column.
pub(crate) struct Groups<'t> {
    header: &'t str,
    rows: u64,
    groups: BTreeMap<String, Vec<&'t str>>,
}

impl<'t> Groups<'t> {
    /// Reads a table; `each` sees every row, and may stop the work.
    pub(crate) fn of(
        table: Table<'t>,
        group_by: &str,
        mut each: impl FnMut(&Row<'_, 't>) -> Result<()>,
    ) -> Result<Self> {
        let key = table.column(group_by)?;
        let header = table.header();
        let mut groups = BTreeMap::<String, Vec<&str>>::new();
        let rows = table.rows(|row| {
            each(&row)?;
            if let Some(group) = groups.get_mut(row.cell(&key)) {
                group.push(row.written());
            } else if groups.len() < MAX_GROUPS {
                groups.insert(row.cell(&key).to_owned(), vec![row.written()]);
            } else {
                bail!("column `{group_by}` makes more than {MAX_GROUPS} groups");
            }
            Ok(())
        })?;
        Ok(Self {
            header,
            rows,
            groups,
        })
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// How many rows they have together.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// A CSV for each group, in the order of their names.
    pub(crate) fn files(&self) -> impl Iterator<Item = EmbeddedResource> {
        self.groups.iter().map(|(group, rows)| {
            let mut text = String::new();
            for line in std::iter::once(&self.header).chain(rows) {
                text.push_str(line);
                text.push('\n');
            }
            let name = utf8_percent_encode(group, SEGMENT);
            EmbeddedResource::text(format!("report:///groups/{name}.csv"), "text/csv", text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_guest::{Error, ResourceBody};
    use std::fmt::Write as _;

    #[test]
    fn a_file_has_the_rows_of_one_group() {
        let text = "id,tag\r\n1,b c/ä\r\n2,\"a\r\n\"\r\n3,b c/ä\r\n";
        let groups = Groups::of(Table::new(text).unwrap(), "tag", |_| Ok(())).unwrap();
        assert_eq!((groups.len(), groups.rows()), (2, 3));
        let files: Vec<_> = groups.files().map(|file| (file.uri, file.body)).collect();
        assert_eq!(
            files,
            [
                (
                    "report:///groups/a%0D%0A.csv".to_owned(),
                    ResourceBody::Text("id,tag\n2,\"a\r\n\"\n".to_owned())
                ),
                (
                    "report:///groups/b%20c%2F%C3%A4.csv".to_owned(),
                    ResourceBody::Text("id,tag\n1,b c/ä\n3,b c/ä\n".to_owned())
                ),
            ]
        );
    }

    #[test]
    fn groups_are_counted_before_they_are_too_many() {
        let mut text = "n\n".to_owned();
        for n in 0..=MAX_GROUPS {
            writeln!(text, "{n}").unwrap();
        }
        let groups = Groups::of(Table::new(&text).unwrap(), "n", |_| Ok(()));
        assert_eq!(
            groups.err(),
            Some(Error::tool("column `n` makes more than 1000 groups"))
        );
    }
}
