//! `cofferdam test`: a tool's own cases, what is expected of them, and how a difference is told.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

use std::path::Path;

use cofferdam_tests::{Config, cofferdam, guest};

/// Runs cases of a component. Gives whether they passed, and what was printed.
async fn test(component: &str, cases: &str, more: &[&str]) -> (bool, String) {
    let folder = Config::new("");
    folder.put("cases.toml", cases);
    let file = folder.folder().join("cases.toml");
    let component = guest(component);
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (component, file) = (text(&component), text(&file));
    let mut arguments = vec!["test", &component, &file];
    arguments.extend(more);
    let output = cofferdam(&arguments, &[]).await;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    (output.status.success(), format!("{stdout}{stderr}"))
}

#[tokio::test]
async fn cases_that_come_to_what_is_expected_pass() {
    let cases = r#"
[[case]]
tool = "echo"
arguments = { text = "hello" }
expect = { end = "completed", task = false, text = "hello", asks = [] }

[[case]]
name = "two questions, the second one after the task began"
tool = "ask"
arguments = { keys = ["a"], again = ["b"], begin = "between" }
[case.answers]
a = { action = "accept", content = { value = "x" } }
b = { action = "decline" }
[case.expect]
end = "completed"
task = true
asks = ["a", "b"]
structured = { a = { action = "accept", content = { value = "x" } }, b = { action = "decline" } }

[[case]]
name = "an hour is skipped"
tool = "sleep"
arguments = { ms = 3_600_000 }
expect = { contains = ["slept"] }

[[case]]
tool = "finish"
arguments = { how = "trap" }
expect = { end = "failed", task = true, code = -32603, message = "stopped unexpectedly" }

[[case]]
tool = "finish"
arguments = { how = "tool-error" }
expect = { end = "tool-error" }

[[case]]
name = "a client that has enough"
tool = "ask"
arguments = { keys = ["a"] }
cancel = "a"
expect = { end = "cancelled", asks = ["a"] }
"#;
    let (passed, told) = test("probe", cases, &[]).await;
    assert!(
        passed && told.contains("6 cases: all as expected"),
        "{told}"
    );
}

#[tokio::test]
async fn a_difference_is_told_and_fails() {
    let cases = r#"
[[case]]
name = "other words"
tool = "echo"
arguments = { text = "hello" }
expect = { text = "bye", task = true }

[[case]]
tool = "echo"
arguments = { text = "fine" }
expect = { text = "fine" }
"#;
    let (passed, told) = test("probe", cases, &[]).await;
    assert!(!passed, "{told}");
    for part in [
        "other words: FAILED",
        "task: expected true, got false",
        "text: expected \"bye\", got \"hello\"",
        "1 of 2 cases FAILED",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[tokio::test]
async fn expectations_hold_where_runs_are_killed_everywhere() {
    let cases = r#"
[[case]]
tool = "ask"
arguments = { keys = ["a"], begin = "never" }
answers = { a = { action = "accept", content = { value = "x" } } }
expect = { end = "completed", asks = ["a"] }
"#;
    let (passed, told) = test("probe", cases, &["--kill-everywhere", "--runs", "20"]).await;
    assert!(passed && told.contains("all the same"), "{told}");
}

#[tokio::test]
async fn what_is_wrong_with_a_file_of_cases_is_told_with_its_place() {
    for (cases, part) in [
        ("", "there is no [[case]]"),
        (
            "[[case]]\ntool = \"echo\"\nexpect = { ends = \"completed\" }",
            "ends",
        ),
        (
            "[[case]]\ntool = \"echo\"\nexpect = { end = \"done\" }",
            "done",
        ),
        (
            "[[case]]\ntool = \"ask\"\narguments = { keys = [\"q\"] }",
            "no answer for \"q\"",
        ),
    ] {
        let (passed, told) = test("probe", cases, &[]).await;
        assert!(!passed && told.contains(part), "{part}: {told}");
    }
    let output = cofferdam(&["test", "nothing.wasm"], &[]).await;
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && told.contains("nothing.cases.toml"),
        "{told}"
    );
}
