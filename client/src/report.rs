//! What is told while a call runs, on standard error: a bar at a terminal, lines elsewhere.
//!
//! Invariant: standard output is left to results, and a question is never drawn over.

use crate::clean;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use std::cell::RefCell;
use std::io::IsTerminal as _;
use std::time::Duration;

/// Steps of the bar.
const STEPS: u64 = 1_000;

/// Where it is told.
pub(crate) struct Report {
    is_terminal: bool,
    /// While it is drawn.
    bar: RefCell<Option<ProgressBar>>,
    /// The status that was told last.
    status: RefCell<String>,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            bar: RefCell::default(),
            status: RefCell::default(),
        }
    }

    /// A bar is drawn from now on.
    pub(crate) fn begin(&self, what: &str) {
        if !self.is_terminal {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
        bar.set_style(style("{spinner} {wide_msg}"));
        bar.set_message(clean::line(what));
        bar.enable_steady_tick(Duration::from_millis(120));
        self.bar.replace(Some(bar));
    }

    /// The bar goes, so that results or questions can be written.
    pub(crate) fn end(&self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// A line of the client's own.
    pub(crate) fn note(&self, text: &str) {
        match &*self.bar.borrow() {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// `notifications/progress`.
    pub(crate) fn progress(&self, params: &Value) {
        let total = params["total"].as_f64().filter(|total| *total > 0.0);
        let Some(progress) = params["progress"].as_f64() else {
            return;
        };
        let message = params["message"]
            .as_str()
            .map(clean::line)
            .unwrap_or_default();
        let count = total.map_or_else(
            || progress.to_string(),
            |total| format!("{progress}/{total}"),
        );
        let bar = self.bar.borrow();
        let Some(bar) = &*bar else {
            let message = if message.is_empty() {
                message
            } else {
                format!(": {message}")
            };
            eprintln!("progress {count}{message}");
            return;
        };
        if let Some(total) = total {
            bar.set_style(style("{spinner} [{bar:30}] {wide_msg}"));
            let part = (progress / total).clamp(0.0, 1.0);
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            bar.set_position((part * STEPS as f64) as u64);
        }
        bar.set_message(format!("{count} {message}"));
    }

    /// `notifications/message`.
    pub(crate) fn log(&self, params: &Value) {
        let level = params["level"]
            .as_str()
            .map(clean::line)
            .unwrap_or_default();
        let logger = params["logger"]
            .as_str()
            .map(|it| format!(" {}", clean::line(it)));
        let said = match &params["data"] {
            Value::String(text) => clean::line(text),
            data => clean::line(&data.to_string()),
        };
        self.note(&format!("[{level}]{} {said}", logger.unwrap_or_default()));
    }

    /// The state of a task, if it says something new.
    pub(crate) fn state(&self, task: &Value) {
        let status = task["status"].as_str().map(clean::line).unwrap_or_default();
        let message = task["statusMessage"]
            .as_str()
            .map(|it| format!(": {}", clean::line(it)));
        let told = format!("{status}{}", message.unwrap_or_default());
        if *self.status.borrow() == told {
            return;
        }
        match &*self.bar.borrow() {
            Some(bar) => bar.set_message(told.clone()),
            None => eprintln!("{told}"),
        }
        self.status.replace(told);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
