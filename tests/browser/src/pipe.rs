//! The Chrome DevTools Protocol over pipes: JSON messages, each with a zero byte after it.
//!
//! Invariant: every request has its answer, or the test fails, saying what the browser logged.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::ChildStderr;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use crate::PATIENCE;

type Waiting = HashMap<u64, oneshot::Sender<Value>>;

/// Both directions.
pub(crate) struct Pipe {
    writer: Mutex<(File, u64)>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    waiting: Mutex<Waiting>,
    /// All that it told, in order.
    events: Mutex<Vec<Value>>,
    changed: watch::Sender<usize>,
    log: Mutex<String>,
}

impl Pipe {
    /// The pipes `in` and `out` of a folder, whose other ends a browser has or will have.
    pub(crate) fn open(folder: &Path, mut stderr: ChildStderr) -> Self {
        let state = Arc::new(State::default());
        let logged = Arc::clone(&state);
        thread::spawn(move || {
            let mut text = String::new();
            // An end that is not UTF-8 is none of interest.
            let _ = stderr.read_to_string(&mut text);
            *logged.log.lock().expect("no panic") = text;
        });
        let writer = File::options().write(true).open(folder.join("in"));
        let reader = File::open(folder.join("out")).expect("a pipe to read from");
        let reading = Arc::clone(&state);
        thread::spawn(move || {
            for message in BufReader::new(reader).split(0) {
                let Ok(message) = message else { break };
                reading.take(serde_json::from_slice(&message).expect("JSON"));
            }
            // Nobody waits any more for what will not come.
            reading.waiting.lock().expect("no panic").clear();
        });
        Self {
            writer: Mutex::new((writer.expect("a pipe to write to"), 0)),
            state,
        }
    }

    /// The result of a request, to the browser or to a session with a page.
    ///
    /// # Panics
    /// If it fails.
    pub(crate) async fn ask(&self, method: &str, params: Value, session: Option<&str>) -> Value {
        let (sender, answer) = oneshot::channel();
        {
            let mut writer = self.writer.lock().expect("no panic");
            writer.1 += 1;
            let mut message = json!({ "id": writer.1, "method": method, "params": params });
            if let Some(session) = session {
                message["sessionId"] = session.into();
            }
            let mut waiting = self.state.waiting.lock().expect("no panic");
            waiting.insert(writer.1, sender);
            // If it is gone, no answer comes.
            let _ = writer.0.write_all(format!("{message}\0").as_bytes());
        }
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        let Ok(Ok(mut answer)) = answer else {
            let log = self.state.log.lock().expect("no panic");
            panic!("{method} has no answer; the browser logged: {log}");
        };
        if answer["error"].is_object() {
            panic!("{method} failed: {}", answer["error"]);
        }
        answer["result"].take()
    }

    /// What it told of a session so far: methods and their parameters.
    pub(crate) fn told(&self, session: &str) -> Vec<(String, Value)> {
        let events = self.state.events.lock().expect("no panic");
        let events = events.iter().filter(|event| event["sessionId"] == session);
        let method = |event: &Value| event["method"].as_str().unwrap_or_default().to_owned();
        events
            .map(|event| (method(event), event["params"].clone()))
            .collect()
    }

    /// Tells of each event that comes.
    pub(crate) fn news(&self) -> watch::Receiver<usize> {
        self.state.changed.subscribe()
    }
}

impl State {
    fn take(&self, message: Value) {
        match message["id"].as_u64() {
            Some(id) => {
                let sender = self.waiting.lock().expect("no panic").remove(&id);
                // Whoever asked may have given up.
                let _ = sender.map(|sender| sender.send(message));
            }
            None => {
                self.events.lock().expect("no panic").push(message);
                self.changed.send_modify(|number| *number += 1);
            }
        }
    }
}
