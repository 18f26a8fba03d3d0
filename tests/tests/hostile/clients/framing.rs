//! Where a request begins and ends: lengths that lie, codings that nobody undoes, heads without end,
//! and what is no HTTP/1.1 at all.
//!
//! Each request here may be kept alive and is followed by another one, so that the number of answers
//! shows where the server saw an end, and [`Wire::told`] returns only if the server closes.

use cofferdam_tests::{Arena, Declares};
use serde_json::json;

use super::{Told, Wire, statuses, terms};

/// What the attack needs: how to send, and a good message.
struct Desk {
    wire: Wire,
    body: String,
}

impl Desk {
    fn of(arena: &Arena) -> Self {
        let call = arena
            .mallory(Declares::Nothing)
            .request("server/discover", json!({}));
        Self {
            wire: Wire::of(arena),
            body: call.message().to_string(),
        }
    }

    /// The head, these lines, and what follows them.
    fn with(&self, lines: &str, rest: &str) -> String {
        format!("{}{lines}\r\n{rest}", self.wire.head("server/discover"))
    }

    /// A good request.
    fn good(&self) -> String {
        let length = format!("Content-Length: {}\r\n", self.body.len());
        self.with(&length, &self.body)
    }

    /// The good message in one chunk.
    fn chunked(&self) -> String {
        format!("{:x}\r\n{}\r\n0\r\n\r\n", self.body.len(), self.body)
    }

    /// Sends this and a good request behind it, and compares the statuses of all answers.
    async fn expect(&self, what: &str, request: &str, expected: &[u16]) {
        let told = self.wire.told(format!("{request}{}", self.good())).await;
        assert_eq!(statuses(&told), expected, "{what}: {told:?}");
    }
}

#[tokio::test]
async fn a_length_that_can_be_read_in_two_ways_ends_the_connection() {
    let arena = Arena::start(terms()).await;
    let desk = Desk::of(&arena);
    let length = desk.body.len();
    let attack = async {
        // The request is served, the one behind it is not: another reader would see another end.
        for lines in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\nContent-Length: 4\r\n",
        ] {
            let request = desk.with(lines, &desk.chunked());
            desk.expect(lines, &request, &[200]).await;
        }
        for lines in [
            format!(
                "Content-Length: {length}\r\nContent-Length: {}\r\n",
                length + 1
            ),
            format!("Content-Length: {length}, {length}\r\n"),
            "Content-Length: +5\r\n".to_owned(),
            "Content-Length: -1\r\n".to_owned(),
            "Content-Length: 0x10\r\n".to_owned(),
            "Content-Length: 5 5\r\n".to_owned(),
            "Content-Length: 99999999999999999999\r\n".to_owned(),
            "Content-Length:\r\n".to_owned(),
            "Transfer-Encoding: identity\r\n".to_owned(),
            "Transfer-Encoding: chunked, gzip\r\n".to_owned(),
            "Transfer-Encoding: xchunked\r\n".to_owned(),
            "Transfer-Encoding:\r\n".to_owned(),
            "Transfer-Encoding : chunked\r\n".to_owned(),
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n".to_owned(),
            format!("X: a\r\n folded\r\nContent-Length: {length}\r\n"),
            format!("X: a\rY: b\r\nContent-Length: {length}\r\n"),
            format!("X: a\0b\r\nContent-Length: {length}\r\n"),
            format!("X Y: b\r\nContent-Length: {length}\r\n"),
            format!(": b\r\nContent-Length: {length}\r\n"),
        ] {
            let request = desk.with(&lines, &desk.body);
            desk.expect(&lines, &request, &[400]).await;
        }
        let old = desk.with("Transfer-Encoding: chunked\r\n", &desk.chunked());
        let old = old.replace(" HTTP/1.1\r", " HTTP/1.0\r");
        desk.expect("chunks of HTTP/1.0", &old, &[400]).await;
    };
    arena.under("lengths that lie", attack).await;
}

// RFC 9112, 6.1: chunks are the last coding, once; what else there is nobody here undoes.
#[tokio::test]
async fn codings_that_nobody_undoes_are_refused() {
    let arena = Arena::start(terms()).await;
    let desk = Desk::of(&arena);
    let attack = async {
        for coding in ["gzip, chunked", "chunked, chunked"] {
            let lines = format!("Transfer-Encoding: {coding}\r\n");
            let request = desk.with(&lines, &desk.chunked());
            let close = format!("Connection: close\r\n{lines}");
            let last = desk.with(&close, &desk.chunked());
            let told = statuses(&desk.wire.told(format!("{request}{last}")).await);
            assert!(told == [400] || told == [501], "{coding}: {told:?}");
        }
    };
    arena.under("codings", attack).await;
}

// RFC 9112, 3.2: one Host; and the authority of an absolute target counts before it.
#[tokio::test]
async fn a_request_has_one_host_and_one_origin() {
    let arena = Arena::start(terms()).await;
    let desk = Desk::of(&arena);
    let good = format!(
        "Connection: close\r\nContent-Length: {}\r\n",
        desk.body.len()
    );
    let attack = async {
        let mut wrong = Vec::new();
        for (what, lines, target, expected) in [
            ("two hosts", "Host: evil.example\r\n", "/mcp", 400),
            ("one host twice", "Host: 127.0.0.1\r\n", "/mcp", 400),
            ("a target elsewhere", "", "http://evil.example/mcp", 403),
            (
                "two origins",
                "Origin: http://evil.example\r\n",
                "/mcp",
                403,
            ),
        ] {
            let mut head = desk.wire.head("server/discover");
            if what == "two origins" {
                head.push_str(&format!("Origin: http://{}\r\n", desk.wire.address));
            }
            let head = head.replace("POST /mcp", &format!("POST {target}"));
            let request = format!("{head}{lines}{good}\r\n{}", desk.body);
            let told = desk.wire.told(request).await;
            if statuses(&told) != [expected] {
                wrong.push((what, expected, told));
            }
        }
        wrong
    };
    let wrong = arena.under("hosts", attack).await;
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn what_is_no_http_1_is_refused_and_closed() {
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let good = Desk::of(&arena).good();
    let attack = async {
        let handshake = [
            b"\x16\x03\x01\x00\xf8\x01\x00\x00\xf4\x03\x03".as_slice(),
            &[0x5a; 237],
        ];
        for (what, bytes) in [
            ("HTTP/0.9", b"GET /mcp\r\n\r\n".to_vec()),
            ("a TLS handshake", handshake.concat()),
            (
                "HTTP/1.2",
                good.replace("HTTP/1.1", "HTTP/1.2").into_bytes(),
            ),
            ("another protocol", b"EHLO example.com\r\n".to_vec()),
            ("zeros", vec![0; 4096]),
            ("ones", vec![0xff; 4096]),
            ("no method", b" /mcp HTTP/1.1\r\n\r\n".to_vec()),
            ("no colon", b"POST /mcp HTTP/1.1\r\nHost\r\n\r\n".to_vec()),
        ] {
            let told = wire.told(bytes).await;
            assert_eq!(statuses(&told), [400], "{what}: {told:?}");
        }
        // Whoever speaks HTTP/2 could not read an answer in HTTP/1.
        let told = wire.told(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        assert!(told.is_empty(), "{told:?}");
    };
    arena.under("no HTTP/1", attack).await;
}

#[tokio::test]
async fn a_head_without_end_is_refused_at_its_limit() {
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let head = wire.head("server/discover");
    let attack = async {
        for (what, bytes) in [
            (
                "a line of 1 MiB",
                format!("{head}X: {}", "a".repeat(1 << 20)),
            ),
            ("a name of 1 MiB", format!("{head}{}", "a".repeat(1 << 20))),
            (
                "a million lines",
                format!("{head}{}", "a:b\r\n".repeat(1_000_000)),
            ),
            ("a million empty lines", "\r\n".repeat(1_000_000)),
            (
                "200 short lines",
                format!("{head}{}\r\n", "a:b\r\n".repeat(200)),
            ),
            (
                "a target of 1 MiB",
                format!("POST /{}", "a".repeat(1 << 20)),
            ),
        ] {
            let told = wire.told(bytes).await;
            assert_eq!(statuses(&told), [431], "{what}: {told:?}");
        }
    };
    arena.under("heads without end", attack).await;
}

#[tokio::test]
async fn chunks_without_end_are_refused_at_the_limit_of_bodies() {
    let arena = Arena::start(terms().set("server.max-body-bytes", 1 << 20)).await;
    let desk = Desk::of(&arena);
    let head = desk.with("Transfer-Encoding: chunked\r\n", "");
    let attack = async {
        for (size, chunks) in [(1, 1_200_000), (16 << 10, 100), (1 << 20, 2)] {
            let chunk = format!("{size:x}\r\n{}\r\n", " ".repeat(size));
            let request = format!("{head}{}", chunk.repeat(chunks));
            let told = desk.wire.told(request).await;
            assert_eq!(statuses(&told), [413], "chunks of {size}: {told:?}");
            let message = told[0].message();
            assert!(message.contains("server.max-body-bytes"), "{message}");
        }
        // A chunk that is announced larger than any body.
        let request = format!("{head}fffffffffffffff\r\n{}", " ".repeat(2 << 20));
        let told = desk.wire.told(request).await;
        assert_eq!(statuses(&told), [413], "{told:?}");
        // What is announced too large is refused before it is sent.
        let lines = "Expect: 100-continue\r\nContent-Length: 1048577\r\n";
        let told = desk.wire.told(desk.with(lines, "")).await;
        assert_eq!(statuses(&told), [413], "{told:?}");
    };
    arena.under("chunks without end", attack).await;
}

#[tokio::test]
async fn a_malformed_body_is_refused_at_once_in_words() {
    let arena = Arena::start(terms()).await;
    let desk = Desk::of(&arena);
    let head = desk.with("Transfer-Encoding: chunked\r\n", "");
    let first = format!("{:x}\r\n{}\r\n", desk.body.len(), desk.body);
    let short = format!("Content-Length: {}\r\n", desk.body.len() + 1);
    let attack = async {
        let mut wrong = Vec::new();
        let mut judge = |what: &'static str, told: Vec<Told>| {
            if statuses(&told) != [400] || told[0].message().is_empty() {
                wrong.push(format!("{what}: {told:?}"));
            }
        };
        for (what, rest) in [
            ("no size", "zz\r\n".to_owned()),
            ("a negative size", "-1\r\n".to_owned()),
            ("a size beyond 64 bits", "ffffffffffffffff1\r\n".to_owned()),
            ("a chunk longer than its size", "1\r\nab\r\n".to_owned()),
            (
                "endless extensions",
                format!("1;{}\r\n", "a".repeat(100_000)),
            ),
            (
                "endless trailers",
                format!("{first}0\r\n{}", "a: b\r\n".repeat(100_000)),
            ),
        ] {
            judge(what, desk.wire.told(format!("{head}{rest}")).await);
        }
        for (what, request) in [
            ("a body that ends early", desk.with(&short, &desk.body)),
            ("chunks that end early", format!("{head}{first}")),
        ] {
            judge(what, desk.wire.told_half_closed(request).await);
        }
        wrong
    };
    let wrong = arena.under("malformed bodies", attack).await;
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "wanted 400 and words:\n{wrong}");
}

#[tokio::test]
async fn pipelined_requests_are_served_up_to_the_first_that_is_garbage() {
    let arena = Arena::start(terms()).await;
    let desk = Desk::of(&arena);
    let attack = async {
        for garbage in ["\0\u{1}\u{2} garbage\r\n\r\n", "GET\r\n\r\n", "{}\r\n\r\n"] {
            // Nothing behind it: what is not read when a server closes takes answers along.
            let request = format!("{}{garbage}", desk.good().repeat(200));
            let told = statuses(&desk.wire.told(request).await);
            assert_eq!((told.len(), told.last()), (201, Some(&400)), "{garbage:?}");
            assert!(told[..200].iter().all(|status| *status == 200), "{told:?}");
        }
        // A body longer than it is said to be: its rest is the next request, which is none.
        let rest = desk.good() + "x\r\n\r\n";
        let told = desk.wire.told(rest).await;
        assert_eq!(statuses(&told), [200, 400], "{told:?}");
    };
    arena.under("pipelined garbage", attack).await;
}

#[tokio::test]
async fn a_refused_request_leaves_its_body_to_nobody() {
    let arena = Arena::start(terms()).await;
    let desk = Desk::of(&arena);
    let close = "Connection: close\r\n";
    let last = desk.with(&format!("{close}Content-Length: 2\r\n"), "{}");
    let attack = async {
        // The refused request's body looks like a request: it is answered by nobody.
        let inner = desk.good();
        let lines = format!("Content-Length: {}\r\n", inner.len());
        for (what, from, to, status) in [
            ("another path", "POST /mcp", "POST /x", 404),
            ("another method", "POST /mcp", "PUT /mcp", 405),
            (
                "another type",
                "Type: application/json",
                "Type: text/plain",
                415,
            ),
            ("no token", "Bearer ", "Bearer x", 401),
        ] {
            let request = desk.with(&lines, "").replace(from, to);
            let told = desk.wire.told(format!("{request}{inner}{last}")).await;
            let told = statuses(&told);
            // The server may close instead of reading on.
            assert!(
                told == [status, 400] || told == [status],
                "{what}: {told:?}"
            );
        }
    };
    arena.under("bodies of refused requests", attack).await;
}
