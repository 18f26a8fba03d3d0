//! The program's commands, beside those that serve.

use std::process::{Command, Output, Stdio};

use tokio::task::spawn_blocking;

use crate::{files, patient};

/// Runs the program with these arguments and variables, and waits for its end.
///
/// # Panics
/// If it cannot be run, or does not end.
pub async fn cofferdam(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(files::binary());
    command.args(arguments).envs(variables.iter().copied());
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    let what = format!("cofferdam {arguments:?} to end");
    let output = spawn_blocking(move || command.output());
    let output = patient(&what, output).await.expect("the waiting thread");
    output.expect("the program can be run")
}
