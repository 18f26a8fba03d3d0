//! The kill test: every guest with a file of cases ends the same wherever it, or its server, is
//! killed. `cofferdam test` prints what it did.

use std::process::Command;

use crate::checkout::Checkout;
use crate::guests;
use crate::process::say;

/// A guest, and how much of it is tried. What is slow to start is tried less.
pub(super) struct Subject {
    name: &'static str,
    folder: &'static str,
    runs: u32,
    servers: u32,
}

const fn subject(name: &'static str, folder: &'static str, runs: u32, servers: u32) -> Subject {
    Subject {
        name,
        folder,
        runs,
        servers,
    }
}

const SUBJECTS: [Subject; 9] = [
    subject("replay", "tests/guests/replay", 300, 3),
    subject("js", "tests/guests/js", 60, 1),
    subject("python", "tests/guests/python", 20, 0),
    subject("c", "tests/guests/c", 60, 1),
    subject("contacts", "examples/contacts", 30, 0),
    subject("chart", "examples/chart", 30, 0),
    subject("render", "examples/render", 60, 1),
    subject("report", "examples/report", 60, 1),
    subject("thumbnail", "examples/thumbnail", 10, 1),
];

/// Those whose component is there. Whatever is missing was told when it was not built.
pub(super) fn subjects(checkout: &Checkout) -> impl Iterator<Item = &'static Subject> {
    SUBJECTS.iter().filter(|subject| {
        let built = guests::file(checkout, subject.name).is_file();
        if !built {
            say!("no kill test of {}: it was not built", subject.name);
        }
        built
    })
}

impl Subject {
    /// The command that tests it.
    pub(super) fn test(&self, checkout: &Checkout) -> Command {
        let mut command = Command::new(checkout.target.join("debug/cofferdam"));
        command.arg("test").arg(guests::file(checkout, self.name));
        let cases = checkout.root.join(self.folder).join("cases.toml");
        command.arg("--cases").arg(cases).arg("--kill-everywhere");
        command.args(["--runs", &self.runs.to_string()]);
        command.args(["--processes", &self.servers.to_string()]);
        command
    }
}
