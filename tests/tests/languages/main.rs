//! Guests in every language play the same scenarios (`tests/guests/scenarios/README.md`) on the real
//! server. One server a language: their engines take seconds to compile.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod examples;
mod plain;
mod questions;
mod stage;
mod tasks;

use std::pin::Pin;
use std::sync::Arc;

use stage::Stage;

type Play = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The scenarios by their names.
macro_rules! scenarios {
    ($($module:ident::$name:ident),+ $(,)?) => {
        &[$((stringify!($name), |stage| Box::pin($module::$name(stage)))),+]
    };
}

type Scenario = (&'static str, fn(Arc<Stage>) -> Play);

const SCENARIOS: &[Scenario] = scenarios![
    plain::the_tools_are_described_alike,
    plain::a_result_holds_every_kind_of_content,
    plain::structured_output_fits_its_schema_or_is_refused,
    plain::arguments_that_do_not_fit_never_reach_the_tool,
    plain::text_arrives_as_it_was,
    plain::a_tool_error_is_a_result,
    plain::a_json_rpc_error_keeps_its_code_and_data,
    plain::a_bug_ends_the_call_and_nothing_else,
    plain::progress_is_streamed,
    plain::log_lines_go_to_the_client_and_to_the_log,
    questions::an_inline_call_asks_before_it_goes_on,
    questions::a_refusal_is_an_answer,
    questions::a_client_that_cannot_be_asked_is_told_what_it_lacks,
    questions::questions_come_one_after_the_other,
    questions::questions_come_together,
    questions::a_run_after_the_answer_sees_what_the_first_saw,
    tasks::a_task_ends_with_its_result,
    tasks::a_task_fails_with_its_error,
    tasks::a_task_that_sleeps_gives_its_instance_back,
    tasks::a_cancelled_task_cleans_up,
];

/// What only the engine with the interfaces of the web can do.
const WEB: &[Scenario] = scenarios![examples::links_of_a_page_are_fetched_once];

/// The example in Python, which is in the same component.
const PROSE: &[Scenario] = scenarios![examples::a_text_is_described_by_chapters_or_paragraphs];

/// Plays all scenarios, and more, with the component of this name.
async fn play(component: &str, more: &[Scenario]) {
    let Some(stage) = Stage::set(component).await else {
        return;
    };
    let stage = Arc::new(stage);
    let mut failed = Vec::new();
    for (name, scenario) in SCENARIOS.iter().chain(more) {
        // In a task of its own, so that one that fails hides none after it.
        if tokio::spawn(scenario(Arc::clone(&stage))).await.is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{component}: {failed:?}");
    let played = SCENARIOS.len() + more.len();
    println!("{component}: {played} scenarios, {}", stage.times());
}

#[tokio::test]
async fn rust() {
    play("scenarios", &[]).await;
}

#[tokio::test]
async fn javascript() {
    play("js", &[]).await;
}

#[tokio::test]
async fn javascript_with_web_interfaces() {
    play("js-web", WEB).await;
}

#[tokio::test]
async fn python() {
    play("python", PROSE).await;
}

#[tokio::test]
async fn c() {
    play("c", &[]).await;
}
