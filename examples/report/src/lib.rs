//! Reports about CSV data: one tool that sums up, and one that exports everything after asking.

mod groups;
mod table;

use cofferdam_guest::prelude::*;
use groups::{Group, Summary};
use table::{Csv, Table};

/// Groups come from the data, so there may be as many as rows; a report of more is no report.
const MAX_GROUPS: usize = 10_000;
/// Each group is a resource of its own in an export.
const MAX_EXPORTS: usize = 100;
/// Rows between two reports of progress.
const STRIDE: usize = 5_000;

/// What to report about.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The data, with a line of column names first.
    csv: Csv,
    /// The column to group by.
    group_by: String,
    /// The column to sum up; its cells are numbers or empty.
    value: String,
}

/// The groups, in the order of their names.
#[derive(Serialize, JsonSchema)]
struct Report {
    rows: usize,
    groups: Vec<Group>,
}

/// Groups the rows of CSV data by one column, and gives count, sum, mean, least and greatest of another.
#[tool(
    title = "Report",
    task = "optional",
    read_only,
    idempotent,
    open_world = false
)]
fn report(
    call: &Call,
    Args(question): Args<Question>,
) -> Result<(EmbeddedResource, Structured<Report>)> {
    let table = Table::read(&question.csv)?;
    let (key, value) = (
        table.column(&question.group_by)?,
        table.column(&question.value)?,
    );
    if table.rows.len() > STRIDE {
        call.start_task(TaskOptions::new().status("Reading"))?;
    }
    let mut summary = Summary::default();
    for (n, row) in table.rows.iter().enumerate() {
        if n % STRIDE == 0 && n > 0 {
            call.progress(n, Some(table.rows.len()), "Grouping")?;
        }
        summary.add(&row[key], table.number(n, value)?);
        if summary.len() > MAX_GROUPS {
            bail!(
                "The column {} has more than {MAX_GROUPS} different values.",
                question.group_by
            );
        }
    }
    let groups = summary.into_groups();
    let csv = groups::to_csv(&question.group_by, &groups)?;
    let resource = EmbeddedResource::text("report:///report.csv", "text/csv", csv);
    Ok((
        resource,
        Structured(Report {
            rows: table.rows.len(),
            groups,
        }),
    ))
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Export everything
    confirm: bool,
}

/// Exports the rows of each group as a CSV file of its own, after asking the user.
#[tool(
    name = "export-all",
    title = "Export all groups",
    task = "optional",
    read_only,
    open_world = false
)]
fn export_all(
    call: &Call,
    /// The data, with a line of column names first.
    csv: Csv,
    /// The column to group by.
    group_by: String,
) -> Result<ToolResult> {
    let table = Table::read(&csv)?;
    let groups = table.by_value_of(table.column(&group_by)?);
    if groups.len() > MAX_EXPORTS {
        bail!(
            "The column {group_by} has {} different values; at most {MAX_EXPORTS} are exported.",
            groups.len()
        );
    }
    call.start_task(TaskOptions::new().ttl(Duration::from_secs(3600)))?;
    let question = format!(
        "Export {} rows in {} files?",
        table.rows.len(),
        groups.len()
    );
    match call.ask_form::<Confirm>("confirm", &question)? {
        Answer::Accepted(Confirm { confirm: true }) => {}
        _ => return Ok(ToolResult::text("Nothing was exported.")),
    }
    let mut result = ToolResult::text(format!("Exported {} files.", groups.len()));
    for (n, (name, rows)) in groups.iter().enumerate() {
        let file = table.to_csv(rows)?;
        result = result.with(EmbeddedResource::text(
            format!("report:///{}.csv", n + 1),
            "text/csv",
            file,
        ));
        call.progress(n + 1, Some(groups.len()), &format!("Exported {name}"))?;
    }
    Ok(result)
}

cofferdam_guest::export!(report, export_all);

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_guest::testing::Script;
    use cofferdam_guest::{CallStatus, Content, ResourceBody, Tool};
    use serde_json::{Value, json};

    const SALES: &str = "city,amount\nRome,3\nOslo,1.5\nRome,4\nOslo,\n";

    fn structured(arguments: &Value) -> Result<Value> {
        let result = <report as Tool>::run(&Script::new().call(), &arguments.to_string())?;
        Ok(serde_json::from_str(&result.structured.unwrap()).unwrap())
    }

    fn file(content: &Content) -> &str {
        match content {
            Content::EmbeddedResource(EmbeddedResource {
                body: ResourceBody::Text(text),
                ..
            }) => text,
            other => panic!("no file: {other:?}"),
        }
    }

    #[test]
    fn rows_are_grouped() {
        let report =
            structured(&json!({ "csv": SALES, "group_by": "city", "value": "amount" })).unwrap();
        assert_eq!(
            report,
            json!({
                "rows": 4,
                "groups": [
                    { "name": "Oslo", "count": 1, "sum": 1.5, "mean": 1.5, "min": 1.5, "max": 1.5 },
                    { "name": "Rome", "count": 2, "sum": 7.0, "mean": 3.5, "min": 3.0, "max": 4.0 }
                ]
            })
        );
    }

    #[test]
    fn data_may_come_as_a_resource() {
        let csv = json!({ "uri": "file:///sales.csv", "text": SALES });
        assert_eq!(
            structured(&json!({ "csv": csv, "group_by": "city", "value": "amount" })).unwrap()["rows"],
            4
        );
    }

    #[test]
    fn what_is_wrong_with_the_data_is_said() {
        for (csv, named) in [
            ("", "no line of column names"),
            ("town,amount\nRome,1\n", "no column city"),
            ("city,amount\nRome,much\n", "line 2"),
            ("city,amount\nRome\n", "line: 2"),
        ] {
            let told = structured(&json!({ "csv": csv, "group_by": "city", "value": "amount" }));
            assert!(
                matches!(&told, Err(Error::Tool(text)) if text.contains(named)),
                "{csv:?}: {told:?}"
            );
        }
    }

    #[test]
    fn a_large_table_is_a_task_with_progress() {
        let csv = "k,v\n".to_owned() + &"a,1\n".repeat(2 * STRIDE + 1);
        let script = Script::new();
        let arguments = json!({ "csv": csv, "group_by": "k", "value": "v" }).to_string();
        <report as Tool>::run(&script.call(), &arguments).unwrap();
        assert_eq!(script.status(), CallStatus::Working);
        assert_eq!(script.progress().len(), 2);
    }

    #[test]
    fn an_export_is_one_file_a_group() {
        let script = Script::new().accept("confirm", &json!({ "confirm": true }));
        let result = export_all(
            &script.call(),
            Csv::Text(SALES.to_owned()),
            "city".to_owned(),
        )
        .unwrap();
        assert_eq!(result.content[0], Content::text("Exported 2 files."));
        assert_eq!(file(&result.content[1]), "city,amount\nOslo,1.5\nOslo,\n");
        assert_eq!(file(&result.content[2]), "city,amount\nRome,3\nRome,4\n");
        assert_eq!(script.progress().last().unwrap().message, "Exported Rome");
    }

    #[test]
    fn a_declined_export_is_a_normal_end() {
        for script in [
            Script::new().decline("confirm"),
            Script::new().accept("confirm", &json!({ "confirm": false })),
        ] {
            let result = export_all(
                &script.call(),
                Csv::Text(SALES.to_owned()),
                "city".to_owned(),
            )
            .unwrap();
            assert_eq!(result, ToolResult::text("Nothing was exported."));
        }
    }

    #[test]
    fn a_cancelled_export_stops() {
        let script = Script::new()
            .accept("confirm", &json!({ "confirm": true }))
            .cancel_after(1);
        let result = export_all(
            &script.call(),
            Csv::Text(SALES.to_owned()),
            "city".to_owned(),
        );
        assert_eq!(result, Err(Error::Final));
        assert_eq!(script.progress().len(), 1);
    }
}
