//! A headless Chromium of a test's own: a child process with a folder of its own, driven by the Chrome
//! DevTools Protocol over two pipes, so that there is no port to find.
//!
//! Names that end in `.example` lead to 127.0.0.1, and no others lead anywhere. It ends with the test
//! however the test ends, and its folder goes with it.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod page;
mod pipe;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cofferdam_guard::{Guard, Guarded, Programs};
use serde_json::json;

pub use page::Page;
use pipe::Pipe;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(40);

const PACKAGE: &str = "chromium-headless-shell";

static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| Programs::find(PACKAGE, &[PACKAGE], places));

/// Is it installed, so that none need be unpacked?
#[must_use]
pub fn is_installed() -> bool {
    Programs::installed(&[PACKAGE], places).is_some()
}

/// Where distributions put it. What is on the PATH is a script that runs the installed one.
fn places(root: &Path) -> Vec<PathBuf> {
    vec![root.join("usr/lib/chromium")]
}

/// The pipes of the protocol are its descriptors 3 and 4.
const SHELL: &str = r#"exec "$0" "$@" 3<in 4>out"#;

const OPTIONS: [&str; 12] = [
    "--remote-debugging-pipe",
    // It loads what tests serve, and root cannot have a sandbox.
    "--no-sandbox",
    "--user-data-dir=data",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-breakpad",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP *.example 127.0.0.1,MAP * ~NOTFOUND,EXCLUDE 127.0.0.1,EXCLUDE localhost",
];

/// A running browser. Dropping it ends it.
pub struct Browser {
    pipe: Arc<Pipe>,
    _guard: Guard,
}

impl Browser {
    /// One without a page.
    ///
    /// # Panics
    /// This and all else here panics if it cannot be done.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("cofferdam-browser-")
            .tempdir()
            .expect("a folder for a browser")
            .keep();
        let made = Command::new("mkfifo")
            .args(["in", "out"])
            .current_dir(&folder)
            .status();
        assert!(made.is_ok_and(|status| status.success()), "two pipes");
        // It ends its processes itself, so that none of them writes into the folder any more.
        let mut guarded = Guarded::new("TERM", Some(&folder));
        let command = guarded.command();
        PROGRAMS.prepare(command);
        command.args(["sh", "-c", SHELL]);
        command.arg(PROGRAMS.path(PACKAGE)).args(OPTIONS);
        command.current_dir(&folder);
        let mut guard = guarded.start().expect("a shell can be run");
        let pipe = Pipe::open(&folder, guard.take_stderr());
        Self {
            pipe: Arc::new(pipe),
            _guard: guard,
        }
    }

    /// A page with nothing in it, in a window of its own.
    pub async fn page(&self) -> Page {
        let blank = json!({ "url": "about:blank" });
        let target = self.pipe.ask("Target.createTarget", blank, None).await;
        let target = target["targetId"].as_str().expect("a target");
        let flat = json!({ "targetId": target, "flatten": true });
        let attached = self.pipe.ask("Target.attachToTarget", flat, None).await;
        let session = attached["sessionId"].as_str().expect("a session");
        Page::new(Arc::clone(&self.pipe), session.to_owned()).await
    }

    /// Its version, as it says it.
    pub async fn version(&self) -> String {
        let version = self.pipe.ask("Browser.getVersion", json!({}), None).await;
        version["product"].as_str().expect("a name").to_owned()
    }
}
