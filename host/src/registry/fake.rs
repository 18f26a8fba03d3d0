//! A registry for tests, which does what it is told, also what none should.

use super::{Digest, Manifest, Reference};
use jiff::Timestamp;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What it answers.
#[derive(Clone, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    /// Only to those who say this.
    pub(super) authorization: Option<String>,
    /// Nothing at all, while the connection is open.
    pub(super) silent: bool,
}

impl Answer {
    pub(super) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200, body)
    }

    pub(super) fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            body: body.into(),
            ..Self::default()
        }
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn only_to(mut self, authorization: &str) -> Self {
        self.authorization = Some(authorization.to_owned());
        self
    }
}

/// What it was asked: the path, and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) authorization: Option<String>,
}

#[derive(Default)]
struct State {
    answers: Mutex<HashMap<String, Answer>>,
    challenge: Mutex<Option<String>>,
    asked: Mutex<Vec<Asked>>,
    held: Mutex<Vec<TcpStream>>,
    stopping: AtomicBool,
}

/// A registry on a port of this machine, until it is dropped.
pub(super) struct Fake {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

impl Fake {
    pub(super) fn start() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap())
    }

    pub(super) fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(stream.unwrap()));
            }
        });
        Self {
            address,
            state,
            accepting: Some(accepting),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn reference(&self, rest: &str) -> Reference {
        format!("oci://{}/{rest}", self.address).parse().unwrap()
    }

    pub(super) fn put(&self, path: &str, answer: Answer) {
        self.state
            .answers
            .lock()
            .unwrap()
            .insert(path.to_owned(), answer);
    }

    /// A component in `acme/tool`, by a tag and by its digests. Gives its manifest.
    pub(super) fn hold(&self, tag: &str, component: &[u8]) -> Manifest {
        let (manifest, _) = Manifest::of(component, Some("signed"), Timestamp::UNIX_EPOCH).unwrap();
        self.lay(tag, manifest.bytes());
        let blob = format!("/v2/acme/tool/blobs/{}", manifest.component);
        self.put(&blob, Answer::ok(component));
        manifest
    }

    /// A manifest, whatever it says.
    pub(super) fn lay(&self, tag: &str, manifest: &[u8]) {
        let digest = Digest::of(manifest).to_string();
        for name in [tag, &digest] {
            let answer = Answer::ok(manifest).header("Docker-Content-Digest", &digest);
            self.put(&format!("/v2/acme/tool/manifests/{name}"), answer);
        }
    }

    /// What it answers to whoever is refused.
    pub(super) fn challenge(&self, text: String) {
        *self.state.challenge.lock().unwrap() = Some(text);
    }

    /// All that it was asked since the last time.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.state.asked.lock().unwrap())
    }
}

impl State {
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let path = lines[0].split(' ').nth(1).unwrap_or_default().to_owned();
        let authorization = lines.iter().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_it = name.eq_ignore_ascii_case("authorization");
            is_it.then(|| value.to_owned())
        });
        let (plain, _) = path.split_once('?').unwrap_or((&path, ""));
        let answer = self.answers.lock().unwrap().get(plain).cloned();
        let asked = Asked {
            path: path.clone(),
            authorization: authorization.clone(),
        };
        self.asked.lock().unwrap().push(asked);
        let mut answer = answer.unwrap_or_else(|| Answer::status(404, "{}"));
        if answer.authorization.is_some() && answer.authorization != authorization {
            answer = Answer::status(401, "{}");
            if let Some(challenge) = self.challenge.lock().unwrap().clone() {
                answer = answer.header("WWW-Authenticate", challenge);
            }
        }
        let mut stream = reader.into_inner();
        if answer.silent {
            self.held.lock().unwrap().push(stream);
            return;
        }
        let mut head = format!("HTTP/1.1 {} Some\r\nConnection: close\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", answer.body.len()));
        // Whoever asked may have gone, having read enough.
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&answer.body);
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.state.stopping.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// A small component that is not like another of another name.
pub(super) fn component(name: &str) -> Vec<u8> {
    wat::parse_str(format!(r#"(component (import "{name}" (instance)))"#)).unwrap()
}
