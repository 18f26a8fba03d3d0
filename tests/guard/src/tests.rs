//! A guarded `sleep` stands for a server.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Guard, Guarded};

/// Longer than any test waits.
const LONG: &str = "600";
/// Set for the process that is to be killed.
const FOLDER: &str = "GUARDED_FOLDER";

fn start(script: &str, folder: Option<&Path>) -> Guard {
    let mut guarded = Guarded::new("TERM", folder);
    guarded.command().args(["sh", "-c", script]);
    guarded.start().unwrap()
}

fn folder() -> std::path::PathBuf {
    let made = tempfile::Builder::new().prefix("guarded-").tempdir();
    made.unwrap().keep()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn it_and_its_folder_go_when_it_is_dropped() {
    let folder = folder();
    let mut guard = start(&format!("exec sleep {LONG}"), Some(&folder));
    let mut log = guard.take_stderr();
    assert!(folder.is_dir() && Path::new(&format!("/proc/{}", guard.pid())).exists());
    drop(guard);
    assert!(!folder.exists());
    // The last to hold its other end was the server.
    assert_eq!(log.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn signals_are_passed_on_and_a_folder_may_stay() {
    let folder = folder();
    let mut guard = start(&format!("exec sleep {LONG}"), Some(&folder));
    guard.keep_folder();
    // Nothing else ends it, and its log.
    guard.signal("HUP");
    guard.take_stderr().read_to_end(&mut Vec::new()).unwrap();
    drop(guard);
    std::fs::remove_dir(folder).unwrap();
}

#[test]
fn the_log_ends_with_a_server_that_ends_by_itself() {
    let mut guard = start("echo broken >&2; exit 1", None);
    let mut text = String::new();
    guard.take_stderr().read_to_string(&mut text).unwrap();
    assert_eq!(text, "broken\n");
    guard.signal("HUP");
}

#[test]
fn it_ends_when_its_owner_is_killed() {
    if let Some(folder) = env::var_os(FOLDER) {
        let mut guarded = Guarded::new("TERM", Some(folder.as_ref()));
        let command = guarded.command();
        command.args(["sleep", LONG]).stderr(Stdio::inherit());
        let guard = guarded.start().unwrap();
        println!("\nguards {}", guard.pid());
        // Until it is killed.
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        return;
    }
    let folder = folder();
    let mut owner = Command::new(env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("tests::it_ends_when_its_owner_is_killed")
        .env(FOLDER, &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("guards ")));
    owner.kill().unwrap();
    owner.wait().unwrap();
    // Both had it; it ends with the last of them.
    let mut log = owner.stderr.take().unwrap();
    log.read_to_end(&mut Vec::new()).unwrap();
    until("the folder is gone", || !folder.exists());
}
