//! The tools, from call to result.

use super::*;
use aggregate::Group;
use cofferdam_guest::testing::Script;
use cofferdam_guest::{CallStatus, ResourceBody};
use serde_json::json;
use std::fmt::Write as _;

const SALES: &str = "city,amount\nOslo,1.5\nRome,2\nOslo,3\n";

fn sales() -> Option<String> {
    Some(SALES.to_owned())
}

fn file(content: &Content) -> (&str, &str) {
    match content {
        Content::EmbeddedResource(EmbeddedResource {
            uri,
            body: ResourceBody::Text(text),
            ..
        }) => (uri, text),
        other => panic!("no file: {other:?}"),
    }
}

#[test]
fn a_report_is_a_structure_and_a_file() {
    let (text, resource, Structured(report)) = report(
        &Script::new().call(),
        None,
        Some(Resource {
            uri: "file:///sales.csv".to_owned(),
            text: SALES.to_owned(),
        }),
        "city".to_owned(),
        Some("amount".to_owned()),
        Aggregate::Sum,
    )
    .unwrap();
    assert_eq!(text, "2 groups from 3 rows");
    assert_eq!(
        report.groups,
        [
            Group {
                group: "Oslo".to_owned(),
                rows: 2,
                value: Some(4.5)
            },
            Group {
                group: "Rome".to_owned(),
                rows: 1,
                value: Some(2.0)
            },
        ]
    );
    assert_eq!(resource.mime_type.as_deref(), Some("text/csv"));
    assert_eq!(
        file(&resource.into()),
        (
            "report:///report.csv",
            "city,sum(amount)\nOslo,4.5\nRome,2\n"
        )
    );
}

#[test]
fn a_long_report_tells_its_progress_and_can_be_cancelled() {
    let mut long = "n\n".to_owned();
    for n in 0..20_000 {
        writeln!(long, "{}", n % 7).unwrap();
    }
    let run = |script: &Script| {
        let csv = Some(long.clone());
        report(
            &script.call(),
            csv,
            None,
            "n".to_owned(),
            None,
            Aggregate::Count,
        )
    };
    let script = Script::new();
    assert_eq!(run(&script).unwrap().2.0.groups.len(), 7);
    let progress = script.progress();
    assert_eq!(progress.len(), 4);
    assert_eq!(progress[3].message, "20000 rows");
    assert_eq!(progress[3].total, Some(progress[3].done));
    let script = Script::new().cancel_after(2);
    assert_eq!(run(&script).unwrap_err(), Error::Final);
}

#[test]
fn there_is_one_source() {
    let resource = || {
        Some(Resource {
            uri: "file:///a.csv".to_owned(),
            text: SALES.to_owned(),
        })
    };
    for (csv, resource) in [(None, None), (sales(), resource())] {
        assert_eq!(
            source(csv, resource).unwrap_err(),
            Error::tool("give either `csv` or `resource`")
        );
    }
}

#[test]
fn an_export_waits_for_its_user() {
    let script = Script::new().accept("confirm", &json!({ "confirm": true }));
    let content = export_all(&script.call(), sales(), None, "city".to_owned()).unwrap();
    assert_eq!(script.status(), CallStatus::Working);
    assert_eq!(script.asked().len(), 1);
    assert_eq!(content[0], Content::text("2 files, one for each city"));
    assert_eq!(
        file(&content[1]),
        (
            "report:///groups/Oslo.csv",
            "city,amount\nOslo,1.5\nOslo,3\n"
        )
    );
    assert_eq!(
        file(&content[2]),
        ("report:///groups/Rome.csv", "city,amount\nRome,2\n")
    );
    assert_eq!(content.len(), 3);
    assert_eq!(script.progress().len(), 2);
}

#[test]
fn a_refused_export_ends_well() {
    let no = Script::new().accept("confirm", &json!({ "confirm": false }));
    for script in [no, Script::new().decline("confirm")] {
        let content = export_all(&script.call(), sales(), None, "city".to_owned()).unwrap();
        assert_eq!(
            content,
            [Content::text("Nothing was exported: the user said no.")]
        );
    }
}

#[test]
fn a_faulty_csv_is_not_worth_a_question() {
    let script = Script::new();
    let result = export_all(
        &script.call(),
        Some("a,b\n1\n".to_owned()),
        None,
        "a".to_owned(),
    );
    assert_eq!(
        result.unwrap_err(),
        Error::tool("line 2, column `b`: there is no such cell")
    );
    assert!(script.asked().is_empty());
}
