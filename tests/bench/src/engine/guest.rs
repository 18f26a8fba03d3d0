//! The guests: a small call of each, and its answer.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::place::Place;

pub(super) struct Guest {
    pub(super) name: &'static str,
    /// Where it is, if it could be built here.
    pub(super) file: fn(&Place) -> Option<&Path>,
    pub(super) tool: &'static str,
    call: Call,
    /// Does its code call what it imports, before the tool or in it? Then nothing else can run it.
    pub(super) imports: bool,
    pub(super) goals: Goals,
}

/// What its figures should be.
pub(super) struct Goals {
    /// Calls a second on two threads to those on one, at least.
    pub(super) threads: Option<f64>,
    /// Page faults a call, at most.
    pub(super) faults: Option<f64>,
    /// CPU time to that of plain wasmtime, at most.
    pub(super) plain: Option<f64>,
}

#[derive(Clone, Copy)]
enum Call {
    /// `echo` of a text.
    Echo,
    /// `say` without lines, which is answered alike each time.
    Say,
}

pub(super) const ALL: [Guest; 6] = [
    Guest {
        name: "probe",
        file: |place| Some(&place.probe),
        tool: "echo",
        call: Call::Echo,
        imports: false,
        goals: Goals {
            plain: Some(0.5),
            ..RUST
        },
    },
    Guest {
        name: "probe_wasi",
        file: |place| Some(&place.probe_wasi),
        tool: "say",
        call: Call::Say,
        imports: true,
        goals: RUST,
    },
    Guest {
        name: "image",
        file: |place| Some(&place.image),
        tool: "echo",
        call: Call::Echo,
        imports: true,
        goals: RUST,
    },
    Guest {
        name: "js",
        file: |place| place.echo_js.as_deref(),
        tool: "echo",
        call: Call::Echo,
        imports: false,
        goals: JAVASCRIPT,
    },
    Guest {
        name: "js_web",
        file: |place| place.echo_js_web.as_deref(),
        tool: "echo",
        call: Call::Echo,
        imports: true,
        goals: JAVASCRIPT,
    },
    Guest {
        name: "python",
        file: |place| place.echo_python.as_deref(),
        tool: "echo",
        call: Call::Echo,
        imports: true,
        goals: Goals {
            threads: None,
            faults: None,
            plain: None,
        },
    },
];

const RUST: Goals = Goals {
    threads: Some(1.4),
    faults: Some(0.1),
    plain: None,
};

const JAVASCRIPT: Goals = Goals {
    threads: Some(1.8),
    faults: Some(1.0),
    plain: None,
};

impl Guest {
    pub(super) fn arguments(&self, number: u64) -> String {
        match self.call {
            Call::Echo => {
                let prose = "The quick brown fox jumps over the lazy dog. ".repeat(4);
                format!(r##"{{"text":"{prose}#{number}."}}"##)
            }
            Call::Say => r#"{"lines":0}"#.to_owned(),
        }
    }

    /// Is the text of its first block the answer to this number?
    pub(super) fn check(&self, number: u64, text: Option<&str>) -> Result<()> {
        let right = match self.call {
            Call::Echo => text.is_some_and(|text| text.ends_with(&format!("#{number}."))),
            Call::Say => text == Some("said"),
        };
        ensure!(right, "call {number} was answered {text:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn an_answer_to_another_call_is_none() {
        let [echo, say, ..] = &ALL;
        echo.check(12, Some("fox. #12.")).expect("its answer");
        echo.check(2, Some("fox. #12.")).expect_err("another one's");
        say.check(3, Some("said")).expect("its answer");
        say.check(3, None).expect_err("nothing");
    }
}
