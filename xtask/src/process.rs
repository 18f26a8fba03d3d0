//! Child processes: one that fails becomes an error that shows its command line.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Tells what is done, and when since the first such line, on standard error.
macro_rules! say {
    ($($text:tt)*) => { $crate::process::tell(format_args!($($text)*)) };
}
pub(crate) use say;

/// What [`say`] does.
pub(crate) fn tell(text: std::fmt::Arguments<'_>) {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let seconds = START.elapsed().as_secs();
    eprintln!("xtask {:>2}:{:02}: {text}", seconds / 60, seconds % 60);
}

/// Runs a command; what it prints goes to standard error, so that standard output stays ours.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("cannot run `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a command that shows nothing; what it complains of is part of the error.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run `{}`", line(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({}): {}",
            line(command),
            output.status,
            complaint.trim()
        );
    }
    Ok(())
}

/// Runs a command and returns what it printed on standard output.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{}`", line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", line(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed something else than text", line(command)))
}

/// Is this program here, and does it run?
pub(crate) fn works(program: impl AsRef<OsStr>) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Cargo, the one that runs us, in a folder.
///
/// What the caller's environment says of flags and targets is meant for the host.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    command
}

/// A command line as one would type it where its program is on PATH.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str())];
    words.extend(command.get_args());
    let words: Vec<_> = words.into_iter().map(OsStr::to_string_lossy).collect();
    words.join(" ")
}
