//! Every command in the documentation does what is written there. Each document is a test of its own, so
//! one that is added is run without being named here.

use std::process::ExitCode;

use cofferdam_tests::Document;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trials = Document::all().into_iter().map(|document| {
        Trial::test(document.name(), move || {
            document.run().map_err(Failed::from)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
