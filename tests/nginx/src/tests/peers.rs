//! The two sides of nginx: nodes that do with a request what a test says, and a client that sends one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// No read takes as long, unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request or an answer.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// Reads one whose length is said; none if there is nothing more.
    fn read(from: &mut BufReader<TcpStream>) -> Option<Self> {
        let head = read_head(from)?;
        let length = value(&head, "content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        from.read_exact(&mut body).unwrap();
        Some(Self { head, body })
    }

    /// What a header says.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        value(&self.head, name)
    }

    pub(super) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

fn value<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Reads a head, without the empty line after it.
pub(super) fn read_head(from: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    loop {
        let start = head.len();
        if from.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[start..].trim_end().is_empty() {
            head.truncate(start);
            return Some(head);
        }
    }
}

/// What a node does with a request. It ends the connection by giving it back no more.
type Work = dyn Fn(Message, TcpStream) -> Option<TcpStream> + Send + Sync;

/// A node that works for as long as the test runs. Gives its address.
pub(super) fn node(
    work: impl Fn(Message, TcpStream) -> Option<TcpStream> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let work: &'static Work = Box::leak(Box::new(work));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut requests = BufReader::new(stream.try_clone().unwrap());
                let mut stream = Some(stream);
                while let Some(to) = stream.take() {
                    let Some(request) = Message::read(&mut requests) else {
                        return;
                    };
                    stream = work(request, to);
                }
            });
        }
    });
    address
}

/// A node that answers every request with its name.
pub(super) fn named(name: &'static str) -> SocketAddr {
    node(move |_, to| Some(answer(to, name)))
}

/// Answers with a text.
pub(super) fn answer(mut to: TcpStream, text: &str) -> TcpStream {
    let length = text.len();
    write!(
        to,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}"
    )
    .unwrap();
    to
}

/// Sends a POST, with further lines in its head.
pub(super) fn send(to: SocketAddr, lines: &str, body: &[u8]) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Length: {length}\r\n{lines}\r\n"
    )
    .unwrap();
    // Whoever refuses it may read no further.
    let _ = stream.write_all(body);
    BufReader::new(stream)
}

/// Sends a POST, and reads the answer.
pub(super) fn post(to: SocketAddr, lines: &str, body: &[u8]) -> Message {
    Message::read(&mut send(to, lines, body)).expect("an answer")
}

/// Who answers the next requests.
pub(super) fn names(to: SocketAddr, requests: usize) -> String {
    let names = (0..requests).map(|_| post(to, "", b"{}").text().to_owned());
    names.collect()
}
