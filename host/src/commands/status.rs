//! `cofferdam status`: how a running server is.
//!
//! Invariant: a table has at most 80 columns, whatever names are in it; what is too long is cut where a
//! `…` stands.

use super::clean;
use super::layout::{WIDTH, beginning, ending, json_text, wrapped};
use super::operator::{Operator, OperatorError};
use crate::admin::{LatencyMillis, Status};
use serde_json::Value;
use std::fmt::Write as _;

/// Prints how a server is, as a table or as the server's JSON.
///
/// # Errors
/// [`OperatorError`].
pub fn status(operator: &Operator, json: bool) -> Result<bool, OperatorError> {
    if json {
        let status: Value = operator.get("/status")?;
        println!("{}", json_text(&status));
    } else {
        let status: Status = operator.get("/status")?;
        print!("{}", table(&status));
    }
    Ok(true)
}

fn table(status: &Status) -> String {
    let mut lines = vec![
        format!(
            "cofferdam {}, up {}",
            clean(&status.version),
            duration(status.uptime_seconds)
        ),
        String::new(),
    ];
    let now = &status.instances;
    lines.push(format!(
        "instances    {} of {} run, {} calls wait",
        now.running, now.limit, now.waiting
    ));
    let (connections, listens) = (&status.connections, &status.listens);
    lines.push(format!(
        "connections  {} of {}; {} of {} streams listen",
        connections.open, connections.limit, listens.open, listens.limit
    ));
    match &status.tasks {
        Some(tasks) => lines.extend([
            format!(
                "tasks        {} working, {} input_required; {} of them run",
                tasks.working, tasks.input_required, tasks.running
            ),
            format!(
                "             {} completed, {} failed, {} cancelled",
                tasks.completed, tasks.failed, tasks.cancelled
            ),
        ]),
        None => lines.push("tasks        not offered".to_owned()),
    }
    lines.extend([String::new(), tool_row(&HEAD)]);
    for tool in &status.tools {
        let time = |pick: fn(&LatencyMillis) -> f64| {
            let time = tool.latency_ms.as_ref().map(pick);
            time.map_or_else(|| "-".to_owned(), millis)
        };
        lines.push(tool_row(&[
            &clean(&tool.name),
            &clean(&tool.task_support),
            &tool.calls.to_string(),
            &tool.errors.to_string(),
            &time(|it| it.p50),
            &time(|it| it.p99),
            &time(|it| it.max),
        ]));
    }
    lines.extend([
        String::new(),
        component_row("COMPONENT", "DIGEST", "SERVES SINCE"),
    ]);
    for component in &status.components {
        lines.push(component_row(
            &clean(&component.name),
            component.digest.get(..12).unwrap_or("?"),
            &clean(&component.serving_since),
        ));
    }
    if !status.refused.is_empty() {
        lines.extend([String::new(), "REFUSED".to_owned()]);
    }
    for refused in &status.refused {
        lines.push(format!("  {}", ending(&clean(&refused.name), WIDTH - 2)));
        lines.extend(wrapped(&clean(&refused.reason), 4));
        if let Some(digest) = &refused.serving {
            let digest: String = clean(digest).chars().take(12).collect();
            lines.push(format!("    {digest} serves in its place"));
        }
    }
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

const HEAD: [&str; 7] = ["TOOL", "TASK", "CALLS", "ERRORS", "P50", "P99", "MAX"];

fn tool_row([name, task, calls, errors, p50, p99, max]: &[&str; 7]) -> String {
    let name = beginning(name, 24);
    let task = beginning(task, 8);
    format!("{name:<24} {task:<8} {calls:>10} {errors:>8} {p50:>8} {p99:>8} {max:>8}")
}

fn component_row(name: &str, digest: &str, since: &str) -> String {
    let name = ending(name, 45);
    format!("{name:<45} {digest:<12} {}", beginning(since, 20))
}

/// In its two largest units.
fn duration(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    match hours {
        0 if minutes == 0 => format!("{seconds} s"),
        0 => format!("{minutes} min {} s", seconds % 60),
        1..48 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} days {} h", hours / 24, hours % 24),
    }
}

/// With three digits, about.
fn millis(millis: f64) -> String {
    match millis {
        ..10.0 => format!("{millis:.2} ms"),
        10.0..100.0 => format!("{millis:.1} ms"),
        100.0..10_000.0 => format!("{millis:.0} ms"),
        _ => format!("{:.0} s", millis / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::{Component, Connections, Instances, Listens, Node, Tasks, Tool};
    use crate::catalog::Refused;
    use crate::grants::Granted;

    fn example() -> Status {
        let tool = |name: &str, latency_ms| Tool {
            name: name.to_owned(),
            component: "tools/probe.wasm".to_owned(),
            digest: "0123456789abcdef".repeat(4),
            task_support: "optional".to_owned(),
            calls: 12,
            errors: 3,
            latency_ms,
            cpu_seconds: 0.5,
        };
        let latency = LatencyMillis {
            p50: 0.123,
            p99: 45.67,
            max: 12_345.0,
        };
        Status {
            version: "0.1.0".to_owned(),
            uptime_seconds: 3 * 3_600 + 12 * 60 + 1,
            node: Node {
                host: "here".to_owned(),
                process: 7,
            },
            store: Some("sqlite".to_owned()),
            memory_bytes: Some(1 << 26),
            tenants: Vec::new(),
            refusals: Default::default(),
            tools: vec![tool("echo", Some(latency)), tool("render", None)],
            components: vec![Component {
                name: "tools/probe.wasm".to_owned(),
                digest: "0123456789abcdef".repeat(4),
                serving_since: "2026-01-02T03:04:05Z".to_owned(),
                tools: 2,
                prompts: 0,
                resources: 0,
                signed_by: None,
                grants: Granted::default(),
            }],
            refused: vec![Refused {
                name: "tools/x.wasm".to_owned(),
                reason: "not a component".to_owned(),
                serving: Some("0123456789abcdef".to_owned()),
            }],
            instances: Instances {
                running: 2,
                limit: 1_000,
                waiting: 0,
            },
            listens: Listens {
                open: 1,
                limit: 1_024,
            },
            connections: Connections {
                open: 4,
                limit: 10_000,
            },
            tasks: Some(Tasks {
                working: 5,
                input_required: 1,
                completed: 9,
                failed: 0,
                cancelled: 1,
                running: 2,
            }),
        }
    }

    #[test]
    fn a_table_can_be_read() {
        let expected = "\
cofferdam 0.1.0, up 3 h 12 min

instances    2 of 1000 run, 0 calls wait
connections  4 of 10000; 1 of 1024 streams listen
tasks        5 working, 1 input_required; 2 of them run
             9 completed, 0 failed, 1 cancelled

TOOL                     TASK          CALLS   ERRORS      P50      P99      MAX
echo                     optional         12        3  0.12 ms  45.7 ms     12 s
render                   optional         12        3        -        -        -

COMPONENT                                     DIGEST       SERVES SINCE
tools/probe.wasm                              0123456789ab 2026-01-02T03:04:05Z

REFUSED
  tools/x.wasm
    not a component
    0123456789ab serves in its place
";
        assert_eq!(table(&example()), expected);
    }

    #[test]
    fn a_table_keeps_its_width_and_its_lines() {
        let mut status = example();
        let long = "/a\u{1b}]0;é\n".repeat(60);
        for tool in &mut status.tools {
            tool.name = long.clone();
            tool.task_support = long.clone();
            tool.calls = 1_234_567_890;
            tool.errors = 12_345_678;
            tool.latency_ms = Some(LatencyMillis {
                p50: 9_999.4,
                p99: 86_400_000.0,
                max: 604_800_000.0,
            });
        }
        status.components[0].name = format!("{long}/end.wasm");
        status.components[0].serving_since = long.clone();
        status.refused[0] = Refused {
            name: long.clone(),
            reason: format!("{long} {}", "word ".repeat(40)),
            serving: None,
        };
        status.tasks = None;
        let table = table(&status);
        for line in table.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        assert!(table.contains("/end.wasm 0123456789ab"), "{table}");
        assert!(table.contains("\ntasks        not offered\n"), "{table}");
    }

    #[test]
    fn times_have_the_units_of_people() {
        let seconds = [0, 59, 60, 3_599, 3_600, 172_799, 172_800];
        assert_eq!(
            seconds.map(duration),
            [
                "0 s",
                "59 s",
                "1 min 0 s",
                "59 min 59 s",
                "1 h 0 min",
                "47 h 59 min",
                "2 days 0 h"
            ]
        );
        assert_eq!(
            [0.0, 9.994, 99.94, 9_999.4, 10_000.0].map(millis),
            ["0.00 ms", "9.99 ms", "99.9 ms", "9999 ms", "10 s"]
        );
    }
}
