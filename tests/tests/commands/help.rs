//! The help of every command.

use crate::{Ends as _, run};

/// The names under "Commands:" of a help.
fn commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| !line.is_empty());
    // What a description goes on with stands further in.
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn every_command_is_told_in_eighty_columns() {
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = Vec::new();
    while let Some(command) = open.pop() {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let ended = run(&arguments).await;
        let help = ended.with(0);
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{command:?}: {line}");
        }
        for name in commands(help).into_iter().filter(|name| name != "help") {
            open.push([command.clone(), vec![name]].concat());
        }
        seen.push(command.join(" "));
    }
    for command in [
        "serve",
        "stdio",
        "call",
        "task watch",
        "new",
        "inspect",
        "test",
    ] {
        assert!(seen.iter().any(|it| it == command), "{command}: {seen:?}");
    }
}
