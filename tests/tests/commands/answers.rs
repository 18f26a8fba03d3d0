//! What a tool asks, answered beforehand, as a script does.

use cofferdam_tests::{Ended, Options, Server};
use serde_json::{Value, json};

use crate::{Ends as _, call};

/// Calls a tool that asks with keys `a` and `b`, and gives what it was told.
async fn ask(server: &Server, begin: &str, more: &[&str]) -> Ended {
    let begin = format!("begin={begin}");
    let arguments = [
        &["-a", r#"keys=["a", "b"]"#, "-a", &begin, "-o", "json"],
        more,
    ]
    .concat();
    call(server, "ask", &arguments).await
}

fn accepted(value: &str) -> Value {
    json!({"action": "accept", "content": {"value": value}})
}

#[tokio::test]
async fn answers_are_given_by_key_field_or_as_json() {
    let server = Server::start(Options::probe()).await;
    for begin in ["first", "never"] {
        for answers in [
            &["--answer", "a=1", "--answer", "b.value=2"][..],
            &["--answers", r#"{"a": {"value": "1"}, "b": "2"}"#],
            &[
                "--answers",
                r#"{"a": {"action": "accept", "content": {"value": "1"}}}"#,
                "--answer",
                "b=2",
            ],
        ] {
            let ended = ask(&server, begin, answers).await;
            let told = &ended.json()["structuredContent"];
            assert_eq!(
                told,
                &json!({"a": accepted("1"), "b": accepted("2")}),
                "{begin} {answers:?}"
            );
        }
        let refusing = [
            "--decline",
            "a",
            "--answers",
            r#"{"b": {"action": "cancel"}}"#,
        ];
        let ended = ask(&server, begin, &refusing).await;
        let told = &ended.json()["structuredContent"];
        assert_eq!(
            told,
            &json!({"a": {"action": "decline"}, "b": {"action": "cancel"}})
        );
    }
}

#[tokio::test]
async fn what_is_open_is_told_with_how_to_answer() {
    let server = Server::start(Options::probe()).await;
    let schema = json!({"type": "object", "required": ["count"], "properties": {
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "color": {"type": "string", "enum": ["red", "blue"]},
    }});
    let schema = format!("schema={schema}");
    let ended = call(
        &server,
        "ask",
        &["-a", r#"keys=["k"]"#, "-a", "begin=never", "-a", &schema],
    )
    .await;
    let expected = "cofferdam: the tool asks, and nobody is at a terminal to answer:
  k: What is it?
    --answer k.count=…  (integer, at least 1, at most 9)
    --answer k.color=…  (one of \"red\", \"blue\", optional)
    --decline k  to refuse
";
    assert_eq!(ended.failing(2), expected);

    let unfit = [
        "-a",
        r#"keys=["k"]"#,
        "-a",
        &schema,
        "--answer",
        "k.count=10",
    ];
    let ended = call(&server, "ask", &unfit).await;
    assert!(
        ended
            .failing(2)
            .contains("the answer to \"k.count\" does not fit: wants integer"),
        "{ended:?}"
    );

    let ended = call(
        &server,
        "ask",
        &["-a", r#"keys=["k"]"#, "-a", "kind=url", "-a", "begin=never"],
    )
    .await;
    let told = ended.failing(2);
    assert!(
        told.contains("visit https://example.com/page (host example.com)"),
        "{told}"
    );
    assert!(told.contains("--answer k=accept"), "{told}");
}

#[tokio::test]
async fn rounds_are_answered_one_after_the_other() {
    let server = Server::start(Options::probe()).await;
    for begin in ["begin=first", "begin=between", "begin=never"] {
        let arguments = [
            "-a",
            r#"keys=["a"]"#,
            "-a",
            r#"again=["b"]"#,
            "-a",
            begin,
            "-o",
            "json",
        ];
        let answers = ["--answer", "a=1", "--answer", "b=2"];
        let ended = call(&server, "ask", &[&arguments[..], &answers].concat()).await;
        let told = &ended.json()["structuredContent"];
        let expected = json!({"a": accepted("1"), "b": accepted("2")});
        assert_eq!(told, &expected, "{begin}");
    }
}

#[tokio::test]
async fn what_was_not_offered_is_not_asked() {
    let server = Server::start(Options::probe()).await;
    for kind in ["kind=sampling", "kind=roots"] {
        let ended = call(&server, "ask", &["-a", r#"keys=["a"]"#, "-a", kind]).await;
        assert!(ended.with(0).starts_with("missing-features: "), "{ended:?}");
    }
    let ended = call(&server, "finish", &["-a", "how=missing"]).await;
    assert!(ended.failing(1).contains("-32021"), "{ended:?}");
}
