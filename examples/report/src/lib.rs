//! Reports about a CSV: one tool that sums up, and one that exports everything after asking.

mod aggregate;
mod export;
mod table;
#[cfg(test)]
mod tests;

use aggregate::{Aggregate, Report};
use cofferdam_guest::ClientFeatures;
use cofferdam_guest::prelude::*;
use export::Groups;
use table::{Row, Table};

/// From this many bytes on, a client that knows tasks gets one.
const TASK_BYTES: usize = 1 << 20;

/// Rows between two reports of progress.
const STRIDE: u64 = 5000;

/// A resource that the client has read.
#[derive(Deserialize, JsonSchema)]
struct Resource {
    #[expect(dead_code, reason = "it is taken as the client has it")]
    uri: String,
    text: String,
}

/// Sums up a CSV: groups its rows by one column, and works out one number for each group.
#[tool(
    title = "Report on a CSV",
    task = "optional",
    read_only,
    idempotent,
    open_world = false
)]
fn report(
    call: &Call,
    /// The CSV as text. Its first line names the columns.
    csv: Option<String>,
    /// The CSV as a resource, in place of `csv`.
    resource: Option<Resource>,
    /// The column that makes the groups.
    group_by: String,
    /// The column whose numbers count. Empty cells do not.
    column: Option<String>,
    /// What to work out.
    aggregate: Aggregate,
) -> Result<(String, EmbeddedResource, Structured<Report>)> {
    let csv = source(csv, resource)?;
    if csv.len() >= TASK_BYTES {
        call.start_task(TaskOptions::new().status("Reading"))?;
    }
    let table = Table::new(&csv)?;
    let report = Report::of(table, &group_by, column.as_deref(), aggregate, |row| {
        tell(call, row, csv.len())
    })?;
    let file = EmbeddedResource::text("report:///report.csv", "text/csv", report.to_csv()?);
    let text = format!("{} groups from {} rows", report.groups.len(), report.rows);
    Ok((text, file, Structured(report)))
}

/// What the user is asked before an export.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Export everything
    confirm: bool,
}

/// Exports the rows of each group of a CSV as a file of its own, after asking the user, always.
#[tool(
    name = "export-all",
    title = "Export a CSV by groups",
    task = "optional",
    read_only,
    open_world = false
)]
fn export_all(
    call: &Call,
    /// The CSV as text. Its first line names the columns.
    csv: Option<String>,
    /// The CSV as a resource, in place of `csv`.
    resource: Option<Resource>,
    /// The column that makes the groups.
    group_by: String,
) -> Result<Vec<Content>> {
    // A client that cannot be asked learns so before anything is read.
    call.require_features(ClientFeatures::ELICITATION_FORM)?;
    let csv = source(csv, resource)?;
    call.start_task(
        TaskOptions::new()
            .ttl(Duration::from_secs(3600))
            .status("Reading"),
    )?;
    // No step: when the handler is run again with the answer, to read the CSV again costs less than
    // to record what was read.
    let groups = Groups::of(Table::new(&csv)?, &group_by, |row| {
        tell(call, row, csv.len())
    })?;
    let question = format!("Export {} rows to {} files?", groups.rows(), groups.len());
    let why_not = match call.ask_form::<Confirm>("confirm", &question)? {
        Answer::Accepted(Confirm { confirm: true }) => None,
        Answer::Accepted(Confirm { confirm: false }) | Answer::Declined => Some("said no"),
        Answer::Cancelled => Some("did not answer"),
    };
    if let Some(why) = why_not {
        return Ok(vec![
            format!("Nothing was exported: the user {why}.").into(),
        ]);
    }
    let mut content = vec![format!("{} files, one for each {group_by}", groups.len()).into()];
    content.extend(groups.files().map(Content::from));
    Ok(content)
}

cofferdam_guest::export!(report, export_all);

/// The CSV, which comes in one of two ways.
fn source(csv: Option<String>, resource: Option<Resource>) -> Result<String> {
    match (csv, resource) {
        (Some(text), None) | (None, Some(Resource { text, .. })) => Ok(text),
        _ => bail!("give either `csv` or `resource`"),
    }
}

/// Tells now and then how much of the text is read. It is here that a cancelled call ends.
fn tell(call: &Call, row: &Row<'_, '_>, bytes: usize) -> Result<()> {
    if row.number().is_multiple_of(STRIDE) {
        call.progress(row.end(), Some(bytes), &format!("{} rows", row.number()))?;
    }
    Ok(())
}
