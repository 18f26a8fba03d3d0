//! Where PostgreSQL is, who runs it, and the folder that each server begins with.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use cofferdam_guard::{Programs, children, tools};

use super::USER;

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

/// Where the distribution puts its programs, below a root.
const VERSIONS: &str = "usr/lib/postgresql";

const NAMES: [&str; 3] = ["initdb", "postgres", "psql"];

static PROGRAMS: LazyLock<Programs> =
    LazyLock::new(|| Programs::find("postgresql", &NAMES, versions));

/// Is it installed, so that none need be unpacked?
#[must_use]
pub fn is_installed() -> bool {
    Programs::installed(&NAMES, versions).is_some()
}

/// Folders of programs below a root, the newest version first.
fn versions(root: &Path) -> Vec<PathBuf> {
    let mut versions = children(&root.join(VERSIONS));
    let number = |path: &PathBuf| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    versions.into_iter().map(|it| it.join("bin")).collect()
}

/// One of its programs.
pub(super) fn program(name: &str) -> PathBuf {
    PROGRAMS.path(name)
}

/// A command that runs one of its programs.
pub(super) fn command(name: &str) -> Command {
    let mut command = Command::new(program(name));
    prepare(&mut command);
    command
}

fn prepare(command: &mut Command) {
    PROGRAMS.prepare(command);
    command.env("LC_ALL", "C").env("TZ", "UTC");
}

/// Can servers load this module? Some packages leave modules out.
pub(super) fn has_module(name: &str) -> bool {
    let folder = command("pg_config").arg("--pkglibdir").output();
    let folder = folder.ok().and_then(|it| String::from_utf8(it.stdout).ok());
    folder.is_some_and(|it| {
        Path::new(it.trim_end())
            .join(format!("{name}.so"))
            .is_file()
    })
}

/// Has root run as nobody a command that runs its programs.
pub(super) fn as_nobody(command: &mut Command) {
    prepare(command);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/");
}

/// Lets nobody have a file, and no other.
pub(super) fn give_away(path: &Path) {
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a file of ours");
    if rustix::process::geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("root gives files away");
    }
}

/// Copies a folder with its owners.
pub(super) fn copy(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.args(["--archive", "--reflink=auto"]).arg(from).arg(to);
    let status = copy.status().expect("cp can be run");
    assert!(status.success(), "cannot copy {}", from.display());
}

/// Waits until a folder of data is on the disk.
pub(super) fn flush(data: &Path) {
    let mut flush = Command::new(program("initdb"));
    as_nobody(&mut flush);
    let output = flush.arg("--sync-only").arg("--pgdata").arg(data).output();
    let output = output.expect("initdb can be run");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "initdb: {complaint}");
}

/// A folder of data as `initdb` makes it. The first test that asks makes it; the others copy.
pub(super) fn template() -> PathBuf {
    let version = command("postgres").arg("--version").output();
    let version = version.expect("postgres can be run").stdout;
    let version = String::from_utf8_lossy(&version);
    // `postgres (PostgreSQL) 15.18 (…)`.
    let version = version.split_whitespace().nth(2).unwrap_or("unknown");
    fs::create_dir_all(tools()).expect("the folder of tools");
    let template = tools().join(format!("postgres-data-{version}"));
    let lock = File::create(tools().join("postgres-data.lock")).expect("a lock");
    lock.lock().expect("a lock");
    if !template.is_dir() {
        let folder = tempfile::Builder::new()
            .prefix("cofferdam-pg-")
            .tempdir()
            .expect("a folder for PostgreSQL");
        make(folder.path());
        let part = template.with_extension("part");
        if part.exists() {
            fs::remove_dir_all(&part).expect("what was left half made");
        }
        copy(&folder.path().join("data"), &part);
        fs::rename(&part, &template).expect("a folder of ours");
    }
    template
}

fn make(folder: &Path) {
    let (user, password) = USER;
    let secret = folder.join("password");
    fs::write(&secret, password).expect("a file can be written");
    give_away(&secret);
    give_away(folder);
    let data = folder.join("data");
    let mut initdb = command("initdb");
    as_nobody(&mut initdb);
    let output = initdb
        .args(["--username", user, "--encoding", "UTF8", "--locale", "C"])
        .args(["--auth-local", "trust", "--auth-host", "scram-sha-256"])
        .args(["--no-sync", "--wal-segsize", "4", "--pwfile"])
        .arg(&secret)
        .arg("--pgdata")
        .arg(&data)
        .stdin(Stdio::null())
        .output()
        .expect("initdb can be run");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "initdb: {complaint}");
    let settings = data.join("postgresql.conf");
    let mut settings = File::options()
        .append(true)
        .open(settings)
        .expect("its settings");
    settings
        .write_all(
            b"fsync = off\nfull_page_writes = off\nwal_level = minimal\nmax_wal_senders = 0\n\
              max_wal_size = 64MB\nmin_wal_size = 8MB\nshared_buffers = 32MB\nmax_connections = 300\n\
              log_line_prefix = ''\nlog_timezone = UTC\ntimezone = UTC\n",
        )
        .expect("its settings can be written");
}
