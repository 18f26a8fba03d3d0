//! Hostile clients: bytes that are no HTTP, JSON that is no request, and requests without end.
//!
//! Invariant of every test here: what is refused is refused in words that name what is wrong, a
//! connection closes where its next bytes could be read in two ways, and the neighbour of the
//! [`Arena`] does not notice.

mod abandoned;
mod framing;
mod fuzz;
mod ids;
mod json;
mod mutate;
mod slow;
mod streams;
mod weight;

use std::net::SocketAddr;

use cofferdam_tests::{Arena, Call, Terms, VERSION, patient};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// What these attacks need: the tools of the probe, few instances, little memory.
fn terms() -> Terms {
    Terms {
        guests: vec!["probe"],
        memory_bytes: 32 << 20,
        ..Terms::default()
    }
}

/// The attacker, writing bytes as they stand.
#[derive(Clone)]
struct Wire {
    address: SocketAddr,
    token: String,
}

impl Wire {
    fn of(arena: &Arena) -> Self {
        Self {
            address: arena.server().address(),
            token: arena.mallorys_token().to_owned(),
        }
    }

    /// The head of a request for a method, up to the lines that tell of its body.
    fn head(&self, method: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: {VERSION}\r\nMcp-Method: {method}\r\n",
            self.address, self.token,
        )
    }

    /// A whole request.
    fn request(&self, call: &Call) -> String {
        let message = call.message();
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let name = params["name"].as_str().or(params["taskId"].as_str());
        let name = name.map_or(String::new(), |name| format!("Mcp-Name: {name}\r\n"));
        let body = message.to_string();
        format!(
            "{}{name}Content-Length: {}\r\n\r\n{body}",
            self.head(method),
            body.len(),
        )
    }

    /// A connection on which these bytes were written.
    async fn open(&self, bytes: &[u8]) -> TcpStream {
        let connected = TcpStream::connect(self.address).await;
        let mut stream = connected.expect("the server accepts connections");
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(bytes).await;
        stream
    }

    /// The same on one that takes as little as can be before it is read.
    async fn reluctant(&self, request: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4_096).expect("a small buffer");
        let connected = socket.connect(self.address).await;
        let mut stream = connected.expect("the server accepts connections");
        let written = stream.write_all(request.as_bytes());
        let written = patient("a request to be taken", written).await;
        written.expect("the server reads");
        stream
    }

    /// Writes, and reads at the same time, until the server closes.
    async fn told(&self, bytes: impl AsRef<[u8]>) -> Vec<Told> {
        self.exchange(bytes.as_ref(), false).await
    }

    /// The same, with an end of what is written.
    async fn told_half_closed(&self, bytes: impl AsRef<[u8]>) -> Vec<Told> {
        self.exchange(bytes.as_ref(), true).await
    }

    async fn exchange(&self, bytes: &[u8], half_close: bool) -> Vec<Told> {
        let mut stream = self.open(&[]).await;
        let (mut reader, mut writer) = stream.split();
        let write = async {
            let _ = writer.write_all(bytes).await;
            if half_close {
                let _ = writer.shutdown().await;
            }
        };
        let mut text = Vec::new();
        let read = async {
            let _ = reader.read_to_end(&mut text).await;
        };
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
        let what = format!("the server to close after {start:?}");
        patient(&what, async { tokio::join!(write, read) }).await;
        answers(&text)
    }
}

/// Reads what has come on a connection until a whole answer is there.
async fn first_answer(stream: &mut TcpStream) -> Told {
    let mut text = Vec::new();
    patient("an answer", async {
        loop {
            if let Some((answer, _)) = answer(&text) {
                return answer;
            }
            let read = stream.read_buf(&mut text).await;
            let read = read.expect("the connection stays until its answer is there");
            assert!(
                read > 0,
                "closed after {:?}",
                String::from_utf8_lossy(&text)
            );
        }
    })
    .await
}

/// One answer: its status and its body.
#[derive(Debug, PartialEq)]
struct Told {
    status: u16,
    body: String,
}

impl Told {
    /// The message of its error; empty if there is none.
    fn message(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

fn statuses(told: &[Told]) -> Vec<u16> {
    told.iter().map(|answer| answer.status).collect()
}

/// All answers on a connection that has ended.
fn answers(text: &[u8]) -> Vec<Told> {
    let mut rest = text;
    let mut told = Vec::new();
    while let Some((answer, length)) = answer(rest) {
        told.push(answer);
        rest = &rest[length..];
    }
    let rest = String::from_utf8_lossy(rest);
    assert!(rest.is_empty(), "no whole answer: {rest:?}");
    told
}

/// The first answer if it is there whole, and its length.
fn answer(text: &[u8]) -> Option<(Told, usize)> {
    let end = text.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&text[..end]).expect("a head is text");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status: {head}"));
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == "content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.unwrap_or(0);
    let body = text.get(end..end + length)?;
    let body = String::from_utf8(body.to_vec()).expect("a body is text");
    Some((Told { status, body }, end + length))
}
