//! A document whose commands are run as they are written, one after the other in one shell, and compared
//! with the output that it shows.
//!
//! Invariant: nothing in a ```console fence goes unread. What cannot be parsed, or is not run because it
//! builds the project itself and is not known either, fails. `docs/README.md` says how documents are written.

mod known;
mod output;
mod page;
mod said;
mod session;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{compiler_if_installed, guest_if_built, root};
use output::Output;
use page::{Page, Step};
use session::{Ports, Session};

/// A document of the checkout.
pub struct Document {
    path: PathBuf,
}

impl Document {
    /// `README.md` and all of `docs/`, in the order of their names.
    ///
    /// # Panics
    /// If the folder cannot be read.
    pub fn all() -> Vec<Self> {
        let files = fs::read_dir(root().join("docs")).expect("docs/ is readable");
        let files = files.map(|entry| entry.expect("docs/ is readable").path());
        let mut all: Vec<_> = files
            .filter(|path| path.extension().is_some_and(|end| end == "md"))
            .chain([root().join("README.md")])
            .map(|path| Self { path })
            .collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// Its path in the checkout.
    pub fn name(&self) -> String {
        let path = self.path.strip_prefix(root()).unwrap_or(&self.path);
        path.display().to_string()
    }

    /// Runs its commands. A document is left out, and a line says so, if a compiler that it needs could
    /// not be had.
    ///
    /// # Errors
    /// The document and the line, what was expected there, and what came.
    pub fn run(&self) -> Result<(), String> {
        let text = fs::read_to_string(&self.path).map_err(|error| self.at(0, &error))?;
        let ports = Ports::free();
        let page = Page::parse(&ports.put_into(&text));
        let page = page.map_err(|fault| self.at(fault.line, &fault))?;
        if !page
            .steps
            .iter()
            .any(|step| matches!(step, Step::Run(command) if !known::builds_us(&command.text)))
        {
            return self.look(&page);
        }
        let mut session = Session::start(ports);
        for name in &page.tools {
            match guest_if_built(name) {
                Some(file) => session.give_tool(&file),
                None => return Ok(()),
            }
        }
        for step in &page.steps {
            match step {
                Step::Write { line, path, text } => session
                    .write(path, text)
                    .map_err(|error| self.at(*line, &error))?,
                Step::Run(command) if known::builds_us(&command.text) => {
                    known::check(&command.text).map_err(|fault| self.at(command.line, &fault))?;
                }
                Step::Run(command) => {
                    if let Some(language) = known::language(&command.text) {
                        match compiler_if_installed(language) {
                            Some(compiler) => session.use_compiler(language, &compiler),
                            None => return Ok(()),
                        }
                    }
                    let ran = session.run(command);
                    ran.map_err(|fault| {
                        let shown = &command.text;
                        self.at(command.line, &format!("$ {shown}\n{fault}"))
                    })?;
                }
            }
        }
        Ok(())
    }

    /// A document with nothing to run needs no shell.
    fn look(&self, page: &Page) -> Result<(), String> {
        for step in &page.steps {
            if let Step::Run(command) = step {
                known::check(&command.text).map_err(|fault| self.at(command.line, &fault))?;
            }
        }
        Ok(())
    }

    fn at(&self, line: usize, what: &dyn std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.name())
    }
}

/// Is this path one of a document's own folder?
fn is_inside(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, std::path::Component::Normal(_)))
}
