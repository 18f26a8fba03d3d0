//! Arguments: typed by the tool's schema, and not sent if they do not fit.

use cofferdam_tests::{Options, Program, Request, Server};
use serde_json::json;

use crate::{Ends as _, call};

#[tokio::test]
async fn values_are_typed_by_the_schema() {
    let server = Server::start(Options::probe()).await;
    for (tool, arguments, said) in [
        ("echo", &["--arg", "text=5"][..], "5\n"),
        ("echo", &["-a", "text=@@here"], "@here\n"),
        (
            "add",
            &["-a", "a=1", "-a", "b=2.5"],
            "{\n  \"sum\": 3.5\n}\n",
        ),
        (
            "strict",
            &[
                "-a",
                "word=abc",
                "-a",
                "number=7",
                "-a",
                "list=[true,false]",
            ],
            "abc 7 2\n",
        ),
        (
            "strict",
            &["--json", r#"{"word": "abc", "number": 7}"#],
            "abc 7 0\n",
        ),
        ("progress", &["-a", "steps=0"], "done\n"),
    ] {
        assert_eq!(
            call(&server, tool, arguments).await.with(0),
            said,
            "{tool} {arguments:?}"
        );
    }
}

#[tokio::test]
async fn what_does_not_fit_is_told_and_not_sent() {
    let server = Server::start(Options::probe().admin()).await;
    for (tool, arguments, told) in [
        (
            "echo",
            &["-a", "txet=x"][..],
            "no argument \"txet\" (do you mean \"text\"?); it takes text",
        ),
        ("echo", &[], "the tool needs the argument text (string)"),
        (
            "add",
            &["-a", "a=one", "-a", "b=2"],
            "the argument \"a\" wants number, not \"one\"",
        ),
        (
            "strict",
            &["-a", "word=abc", "-a", "number=11"],
            "number: 11 is greater than the maximum of 10",
        ),
        (
            "strict",
            &["-a", "word=abc", "-a", "number=1", "-a", "list=true"],
            "\"list\" wants array",
        ),
        (
            "strict",
            &["--json", r#"{"word": "abc", "number": "7"}"#],
            "number: \"7\" is not of type \"integer\"",
        ),
        ("strict", &["--json", "[]"], "--json wants a JSON object"),
        ("echo", &["-a", "text"], "--arg wants NAME=VALUE"),
        ("echo", &["-a", "text=@/no/such/file"], "/no/such/file"),
        ("ehco", &[], "no tool \"ehco\" (do you mean \"echo\"?)"),
    ] {
        let ended = call(&server, tool, arguments).await;
        assert!(
            ended.failing(2).contains(told),
            "{tool} {arguments:?}: {ended:?}"
        );
    }
    let response = Request::new("GET", "/status").send(server.admin()).await;
    let status = response.json().await;
    let tools = status["tools"].as_array().expect("tools");
    assert!(tools.iter().all(|tool| tool["calls"] == 0), "{status}");
}

#[tokio::test]
async fn values_come_from_files_and_standard_input() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("text");
    std::fs::write(&file, "two\nlines\n").expect("a file");
    let from_file = format!("text=@{}", file.display());
    let ended = call(&server, "echo", &["-a", &from_file]).await;
    assert_eq!(ended.with(0), "two\nlines\n\n");

    let program = Program::start(&["call", &url, "echo", "-a", "text=@-"], "from elsewhere");
    assert_eq!(program.ended().await.with(0), "from elsewhere\n");
    let both = ["call", &url, "add", "-a", "a=@-", "-a", "b=@-"];
    let ended = Program::start(&both, "1").ended().await;
    assert!(
        ended.failing(2).contains("both want standard input"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn annotated_arguments_are_repeated_as_headers() {
    let server = Server::start(Options::probe()).await;
    // The server refuses a call whose headers are not those of its arguments.
    let arguments = [
        "-a",
        "region=Zürich \t",
        "-a",
        "priority=-3",
        "-a",
        "dry=true",
        "-a",
        r#"zone={"number": 5}"#,
    ];
    let ended = call(&server, "header", &arguments).await;
    let said = r#"region Some("Zürich \t"), priority Some(-3), dry Some(true), zone Some(5)"#;
    assert_eq!(ended.with(0), format!("{said}\n"));
}

#[tokio::test]
async fn the_client_says_what_it_can() {
    let server = Server::start(Options::probe()).await;
    let ended = call(&server, "features", &[]).await;
    assert_eq!(ended.with(0), "elicitation-form, elicitation-url, tasks\n");
}

#[tokio::test]
async fn tools_are_listed_with_their_arguments() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let listed = crate::run(&["tools", &url]).await;
    let add = "add\n  Adds two numbers.\n    a (number)\n    b (number): What to add to it.\n";
    assert!(listed.with(0).contains(add), "{listed:?}");
    let json = crate::run(&["tools", &url, "--output", "json"])
        .await
        .json();
    let tools = json["tools"].as_array().expect("tools");
    let echo = tools
        .iter()
        .find(|tool| tool["name"] == "echo")
        .expect("echo");
    assert_eq!(echo["inputSchema"]["required"], json!(["text"]));
}
