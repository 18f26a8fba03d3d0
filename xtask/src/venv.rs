//! Published Python packages: exactly those that a folder of the checkout pins in its
//! `requirements.txt`, in a virtual environment in a folder of `target/tools/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::Checkout;
use crate::debian;
use crate::process::{quiet, say, works};

/// A virtual environment.
pub(crate) struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Its interpreter.
    pub(crate) fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// A command that runs a module as a program.
    pub(crate) fn module(&self, name: &str) -> Command {
        let mut command = Command::new(self.python());
        command.args(["-m", name]);
        command
    }

    /// A command that runs one of the installed programs.
    pub(crate) fn script(&self, name: &str) -> Command {
        // Its first line names the interpreter by a path that may have moved.
        let mut command = Command::new(self.python());
        command.arg(self.folder.join("bin").join(name));
        // It puts the packages of the environment that is active on the component's path.
        command.env("VIRTUAL_ENV", &self.folder);
        command
    }
}

/// Installs what `from` pins into `target/tools/NAME`, unless it is there.
pub(crate) fn install(checkout: &Checkout, from: &str, name: &str) -> Result<Environment> {
    let source = checkout.root.join(from);
    let wanted = fs::read(source.join("requirements.txt")).context("requirements.txt")?;
    let environment = Environment {
        folder: checkout.target.join("tools").join(name),
    };
    let folder = &environment.folder;
    // Written last, so that it stands for a complete installation.
    let installed = folder.join("installed-requirements.txt");
    if fs::read(&installed).is_ok_and(|old| old == wanted) && works(environment.python()) {
        return Ok(environment);
    }
    if !works("python3") {
        bail!("python3 is missing: install Python 3.9 or later");
    }
    say!(
        "installing the Python packages of {from} into {}",
        folder.display()
    );
    let mut pip = create(&environment)?;
    // None is built here: that would run, and fetch, what nobody pinned.
    pip.args([
        "install",
        "--quiet",
        "--require-hashes",
        "--only-binary=:all:",
    ]);
    pip.args(["--requirement", "requirements.txt"]);
    pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    quiet(pip.current_dir(&source))?;
    fs::write(installed, wanted)?;
    Ok(environment)
}

/// Makes an environment, in the place of what is there. Returns its pip.
fn create(environment: &Environment) -> Result<Command> {
    let folder = &environment.folder;
    let venv = |options: &[&str]| {
        let mut python = Command::new("python3");
        python.args(["-m", "venv", "--clear"]).args(options);
        quiet(python.arg(folder))
    };
    let mut pip = Command::new(environment.python());
    pip.args(["-m", "pip"]);
    if let Err(error) = venv(&[]) {
        // Debian's Python lacks the pip that it would copy; a package holds one as a wheel.
        if !debian::is_here() {
            return Err(error);
        }
        venv(&["--without-pip"])?;
        pip.env("PYTHONPATH", pip_wheel(folder)?);
    }
    Ok(pip)
}

/// Unpacks Debian's wheel of pip. Python can run it as it is.
fn pip_wheel(folder: &Path) -> Result<PathBuf> {
    let unpacked = folder.join("debian");
    debian::update();
    debian::unpack(&["python3-pip-whl"], &unpacked)?;
    let wheels = fs::read_dir(unpacked.join("usr/share/python-wheels"))?;
    let mut wheels = wheels.flatten().map(|entry| entry.path());
    let pip = wheels.find(|wheel| {
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("pip-")
    });
    pip.context("python3-pip-whl holds no pip")
}
