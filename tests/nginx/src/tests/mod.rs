//! What clients and nodes see of nginx.

mod peers;
mod shipped;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::{Nginx, free_port};
use peers::{answer, named, names, node, post, read_head, send};

/// Nothing takes as long, unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where nobody listens.
fn nobody() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

#[test]
fn nodes_are_asked_in_turn() {
    let nginx = Nginx::start(&[named("a"), named("b")]);
    assert_eq!(nginx.url(), format!("http://{}", nginx.address()));
    assert_eq!(names(nginx.address(), 6).replace("ab", ""), "");
}

#[test]
fn a_node_that_is_down_is_passed_over() {
    let nginx = Nginx::start(&[nobody(), named("b"), nobody()]);
    assert_eq!(names(nginx.address(), 5), "bbbbb");
}

#[test]
fn a_request_that_fails_takes_no_node_away() {
    let fragile = |name: &'static str| {
        node(move |request, to| (request.body != b"fail").then(|| answer(to, name)))
    };
    let nginx = Nginx::start(&[fragile("a"), fragile("b")]);
    for _ in 0..4 {
        assert_eq!(post(nginx.address(), "", b"fail").status(), 502);
    }
    assert_eq!(names(nginx.address(), 4).replace("ab", ""), "");
}

#[test]
fn nodes_come_and_go_while_it_runs() {
    let mut nginx = Nginx::start(&[named("a"), nobody()]);
    assert_eq!(names(nginx.address(), 2), "aa");
    nginx.set_upstreams(&[named("b"), named("c")]);
    let mut asked: Vec<_> = names(nginx.address(), 4).chars().collect();
    asked.sort_unstable();
    assert_eq!(asked, ['b', 'b', 'c', 'c']);
    nginx.set_upstreams(&[named("d")]);
    assert_eq!(names(nginx.address(), 2), "dd");
}

#[test]
fn connections_to_nodes_are_kept() {
    let tells_port = node(|_, to| {
        let port = to.peer_addr().unwrap().port();
        Some(answer(to, &format!("{port} ")))
    });
    let nginx = Nginx::start(&[tells_port]);
    let ports = names(nginx.address(), 4);
    let first = ports.split_inclusive(' ').next().unwrap();
    assert_eq!(ports, first.repeat(4));
}

#[test]
fn a_stream_is_passed_on_as_it_comes_also_while_nodes_change() {
    let (go_on, told) = mpsc::channel::<()>();
    let told = Mutex::new(told);
    let streams = node(move |_, mut to| {
        let told = told.lock().unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        to.write_all(head.as_bytes()).unwrap();
        for event in 0..3 {
            // In one piece, so that its line is in one chunk.
            let chunk = format!("9\r\ndata: {event}\n\n\r\n");
            to.write_all(chunk.as_bytes()).unwrap();
            // Not before the client has it.
            told.recv_timeout(PATIENCE).unwrap();
        }
        to.write_all(b"0\r\n\r\n").unwrap();
        Some(to)
    });
    let mut nginx = Nginx::start(&[streams]);
    let mut stream = send(nginx.address(), "Accept: text/event-stream\r\n", b"{}");
    let head = read_head(&mut stream).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    for event in 0..3 {
        let wanted = format!("data: {event}");
        let mut lines = stream.by_ref().lines().map(Result::unwrap);
        assert!(lines.any(|line| line == wanted), "{wanted}");
        if event == 1 {
            nginx.set_upstreams(&[named("b")]);
            assert_eq!(names(nginx.address(), 1), "b");
        }
        go_on.send(()).unwrap();
    }
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[test]
fn what_a_client_does_not_take_stays_with_its_node() {
    const ALL: usize = 64 << 20;
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let talks = node(move |_, mut to| {
        to.set_write_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {ALL}\r\n\r\n").unwrap();
        let piece = vec![b' '; 1 << 20];
        let mut sent = 0;
        while sent < ALL && to.write_all(&piece).is_ok() {
            sent += piece.len();
        }
        tell.lock().unwrap().send(sent).unwrap();
        None
    });
    let nginx = Nginx::start(&[talks]);
    let _stream = send(nginx.address(), "", b"{}");
    // Some is on the way, in the kernel.
    let sent = told.recv_timeout(PATIENCE).unwrap();
    assert!(sent < ALL / 2, "{sent}");
}

#[test]
fn a_node_hears_at_once_that_its_client_went_away() {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let silent = node(move |request, mut to| {
        let tell = tell.lock().unwrap();
        tell.send("asked").unwrap();
        if request.header("accept").is_some() {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n:\n\r\n";
            to.write_all(head.as_bytes()).unwrap();
        }
        assert_eq!(to.read(&mut [0]).unwrap(), 0);
        tell.send("gone").unwrap();
        None
    });
    let nginx = Nginx::start(&[silent]);
    // Before an answer began.
    let waiting = send(nginx.address(), "", b"{}");
    assert_eq!(told.recv_timeout(PATIENCE), Ok("asked"));
    drop(waiting);
    assert_eq!(told.recv_timeout(PATIENCE), Ok("gone"));
    // And after.
    let mut stream = send(nginx.address(), "Accept: text/event-stream\r\n", b"{}");
    read_head(&mut stream).unwrap();
    drop(stream);
    let told = [told.recv_timeout(PATIENCE), told.recv_timeout(PATIENCE)];
    assert_eq!(told, [Ok("asked"), Ok("gone")]);
}

#[test]
fn a_call_that_was_sent_is_not_sent_again() {
    static SENT: AtomicUsize = AtomicUsize::new(0);
    let dies = || {
        node(|_, _| {
            SENT.fetch_add(1, Ordering::SeqCst);
            None
        })
    };
    let nginx = Nginx::start(&[dies(), dies()]);
    assert_eq!(post(nginx.address(), "", b"{}").status(), 502);
    assert_eq!(SENT.load(Ordering::SeqCst), 1);
}

#[test]
fn heads_and_bodies_reach_a_node_whole() {
    let mirror = node(|request, to| {
        Some(answer(
            to,
            &format!("{}{}", request.head, request.body.len()),
        ))
    });
    // The call comes to its node although another one was asked first.
    let nginx = Nginx::start(&[nobody(), mirror]);
    let largest = vec![b' '; 4 << 20];
    let token = "t".repeat(10_000);
    let lines =
        format!("Authorization: Bearer {token}\r\nMcp-Method: x\r\nMcp-Param-a_b.c!: y\r\n");
    let reply = post(nginx.address(), &lines, &largest);
    assert_eq!(reply.status(), 200);
    let seen = reply.text();
    assert!(seen.ends_with("\n4194304"), "{seen}");
    let host = format!("Host: {}", nginx.address());
    let bearer = format!("Authorization: Bearer {token}");
    for line in [&host, &bearer, "Mcp-Method: x", "Mcp-Param-a_b.c!: y"] {
        assert!(seen.lines().any(|it| it == line), "{line}: {seen}");
    }
    assert_eq!(
        post(nginx.address(), "", &vec![b' '; (4 << 20) + 1]).status(),
        413
    );
}

#[test]
fn it_and_its_folder_go_when_it_is_dropped() {
    let nginx = Nginx::start(&[nobody()]);
    assert!(nginx.folder.is_dir());
    let (folder, pid) = (nginx.folder.clone(), nginx.pid());
    let mut open = BufReader::new(std::net::TcpStream::connect(nginx.address()).unwrap());
    drop(nginx);
    assert!(!folder.exists() && !std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(open.read_until(b'\n', &mut Vec::new()).unwrap_or(0), 0);
}
