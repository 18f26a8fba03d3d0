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

/// 20000 rows in seven groups.
fn long() -> Option<String> {
    let mut text = "n\n".to_owned();
    for n in 0..20_000 {
        writeln!(text, "{}", n % 7).unwrap();
    }
    Some(text)
}

#[test]
fn reading_tells_its_progress_and_can_be_cancelled() {
    let report = |script: &Script| {
        let group_by = "n".to_owned();
        report(
            &script.call(),
            long(),
            None,
            group_by,
            None,
            Aggregate::Count,
        )
        .map(|(_, _, Structured(report))| report.groups.len())
    };
    let export = |script: &Script| {
        export_all(&script.call(), long(), None, "n".to_owned())
            // The first block is a text.
            .map(|content| content.len() - 1)
    };
    for run in [&report as &dyn Fn(&Script) -> Result<usize>, &export] {
        let script = Script::new().accept("confirm", &json!({ "confirm": true }));
        assert_eq!(run(&script), Ok(7));
        let progress = script.progress();
        assert_eq!(progress.len(), 4);
        assert_eq!(progress[3].message, "20000 rows");
        assert_eq!(progress[3].total, Some(progress[3].done));

        let script = Script::new().cancel_after(2);
        assert_eq!(run(&script), Err(Error::Final));
        assert!(script.asked().is_empty());
    }
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
}

#[test]
fn a_lost_server_does_not_change_an_export() {
    let script = Script::new().accept("confirm", &json!({ "confirm": true }));
    let content = script.lost_everywhere(|call| export_all(call, sales(), None, "city".to_owned()));
    assert_eq!(content.unwrap().len(), 3);
}

#[test]
fn a_refused_export_ends_well() {
    let no = Script::new().accept("confirm", &json!({ "confirm": false }));
    for (script, why) in [
        (no, "said no"),
        (Script::new().decline("confirm"), "said no"),
        (Script::new().dismiss("confirm"), "did not answer"),
    ] {
        let content = export_all(&script.call(), sales(), None, "city".to_owned()).unwrap();
        let text = format!("Nothing was exported: the user {why}.");
        assert_eq!(content, [Content::text(text)]);
    }
}

#[test]
fn no_export_goes_without_its_question() {
    let script = Script::new().features(ClientFeatures::TASKS);
    assert_eq!(
        export_all(&script.call(), sales(), None, "city".to_owned()),
        Err(Error::MissingFeatures(ClientFeatures::ELICITATION_FORM))
    );
    assert_eq!(script.status(), CallStatus::Inline);
    // Nor can the form be sent without the answer.
    let form = cofferdam_guest::schema::of_form::<Confirm>();
    assert_eq!(form["required"], json!(["confirm"]));
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
