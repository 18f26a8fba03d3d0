//! Outbound HTTP and TCP: what is granted is reached, nothing else is, and a task learns each answer
//! once.

use cofferdam_tests::{Config, Declares, Options, Server, Upstream, guest};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The component that speaks to others, with these grants.
fn config(grants: &str) -> Config {
    let component = guest("outbound");
    Config::new(&format!(
        "[[tools]]\npath = \"{}\"\n{grants}\n",
        component.display()
    ))
}

/// Grants of HTTP to these, at addresses of this machine.
fn local(hosts: &[String], limits: &str) -> String {
    format!(
        "[tools.grants.http]\nhosts = {hosts:?}\nprivate = [\"127.0.0.0/8\", \"::1\"]\n\
         [tools.grants.http.limits]\n{limits}"
    )
}

async fn start(config: &Config) -> Server {
    Server::start(config.probe()).await
}

async fn fetch(server: &Server, request: Value) -> Value {
    let result = server.client().result("fetch", request).await;
    result["structuredContent"].clone()
}

#[tokio::test]
async fn what_is_granted_is_asked_and_answers() {
    let upstream = Upstream::start().await;
    let host = format!("http://{}", upstream.address());
    let config = config(&local(&[host], ""));
    let server = start(&config).await;
    let url = upstream.url("/hello");
    let answer = fetch(
        &server,
        json!({"url": url, "method": "POST", "body": 100_000}),
    )
    .await;
    assert_eq!(answer["status"], 200);
    assert_eq!(answer["body"], "/hello 1");
    let [asked] = &upstream.asked("/hello")[..] else {
        panic!("asked more than once")
    };
    assert_eq!((asked.method.as_str(), asked.length), ("POST", 100_000));
    assert_eq!(asked.headers["host"], upstream.address().to_string());
}

#[tokio::test]
async fn a_component_that_needs_a_grant_is_refused_by_name() {
    let config = config("");
    let server = start(&config).await;
    let line = server.log().line(&["refused", "outbound"]).await;
    assert!(
        line.contains("wasi:http/outgoing-handler@") && line.contains("[tools.grants.http]"),
        "{line}"
    );
}

#[tokio::test]
async fn other_hosts_ports_and_schemes_are_denied() {
    let upstream = Upstream::start().await;
    let port = upstream.port();
    let config = config(&local(&[format!("http://localhost:{port}")], ""));
    let server = start(&config).await;
    assert_eq!(
        fetch(
            &server,
            json!({"url": format!("http://LOCALHOST:{port}/a")})
        )
        .await["status"],
        200
    );
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        format!("http://localhost.:{}/", port ^ 1),
        "http://localhost/".to_owned(),
        format!("http://localhost.evil.example:{port}/"),
        format!("http://evil.example@127.0.0.1:{port}/"),
    ] {
        let answer = fetch(&server, json!({"url": url})).await;
        let error = answer["error"].as_str().unwrap_or_default();
        let denied = ["HttpRequestDenied", "HttpRequestUriInvalid"].iter();
        assert!(
            denied.clone().any(|it| error.contains(it)) || error.contains("cannot be made"),
            "{url}: {answer}"
        );
    }
    assert_eq!(upstream.asked("/").len(), 0);
}

// Whoever controls a granted name can point it anywhere; and `*` grants every public host only.
#[tokio::test]
async fn addresses_that_are_not_public_are_not_dialled() {
    let upstream = Upstream::start().await;
    let port = upstream.port();
    let config = config("[tools.grants.http]\nhosts = [\"http://*:*\", \"https://*:*\"]\n");
    let server = start(&config).await;
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
        "[::]",
        "2130706433",
        "127.1",
        "0x7f.1",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "[fd00:ec2::254]",
    ] {
        let url = format!("http://{host}:{port}/");
        let answer = fetch(&server, json!({"url": url})).await;
        let error = answer["error"].as_str().unwrap_or_default();
        let refused = ["DestinationIpProhibited", "DestinationNotFound"];
        assert!(
            refused.iter().any(|it| error.contains(it)),
            "{host}: {answer}"
        );
    }
    let asked = upstream.asked("/");
    assert!(asked.is_empty(), "{asked:?}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_leads_nowhere() {
    let upstream = Upstream::start().await;
    let hosts = [
        format!("http://{}", upstream.address()),
        "http://*".to_owned(),
    ];
    let config = config(&local(&hosts, ""));
    let server = start(&config).await;
    let answer = fetch(&server, json!({"url": upstream.url("/redirect")})).await;
    assert_eq!(answer["status"], 302);
    let headers = answer["headers"].as_array().expect("headers");
    let to = headers
        .iter()
        .find(|it| it[0] == "location")
        .expect("where to");
    let answer = fetch(&server, json!({"url": to[1]})).await;
    let error = answer["error"].as_str().unwrap_or_default();
    assert!(error.contains("DestinationIpProhibited"), "{answer}");
}

#[tokio::test]
async fn every_limit_is_told() {
    let upstream = Upstream::start().await;
    let host = format!("http://{}", upstream.address());
    let limits = "connections = 1\ntotal-ms = 700\nheader-bytes = 10000\n\
                  request-bytes = 20000\nresponse-bytes = 30000";
    let config = config(&local(&[host], limits));
    let server = start(&config).await;
    for (request, told) in [
        (
            json!({"url": upstream.url("/big/30000"), "tell": 1}),
            "\"length\":30000",
        ),
        (
            json!({"url": upstream.url("/big/30001")}),
            "HttpResponseBodySize(Some(30000))",
        ),
        (
            json!({"url": upstream.url("/head/20000")}),
            "HttpResponseHeaderSectionSize(Some(10000))",
        ),
        (
            json!({"url": upstream.url("/never")}),
            "HttpResponseTimeout",
        ),
        (
            json!({"url": upstream.url("/never"), "patience": 10}),
            "HttpResponseTimeout",
        ),
        (
            json!({"url": upstream.url("/x"), "method": "POST", "body": 20000}),
            "\"status\":200",
        ),
        (
            json!({"url": upstream.url("/x"), "method": "POST", "body": 20001}),
            "limit http.limits.request-bytes",
        ),
        (
            json!({"url": upstream.url("/x"), "method": "POST", "body": 5, "length": 6}),
            "HttpRequestBodySize",
        ),
    ] {
        let answer = fetch(&server, request.clone()).await.to_string();
        assert!(answer.contains(told), "{request}: {answer}");
    }
    let client = server.client();
    let request = json!({"url": upstream.url("/held")});
    let held = tokio::spawn(async move { client.call("fetch", request).await });
    upstream.until_asked("/held", 1).await;
    let answer = fetch(&server, json!({"url": upstream.url("/x")})).await;
    assert!(
        answer.to_string().contains("ConnectionLimitReached"),
        "{answer}"
    );
    upstream.release("/held");
    held.await.expect("an answer");
}

#[tokio::test]
async fn what_a_guest_is_told_of_an_error_has_nothing_of_the_servers_stack() {
    let upstream = Upstream::start().await;
    let limits = "request-bytes = 20_000";
    let config = config(&local(&[format!("http://{}", upstream.address())], limits));
    let options = config.probe().variable("RUST_BACKTRACE", "1");
    let server = Server::start(options).await;
    let request = json!({"url": upstream.url("/x"), "method": "POST", "body": 20_001});
    let answer = fetch(&server, request).await;
    assert_eq!(
        answer["error"],
        "write: the request's body has more than 20000 bytes (limit http.limits.request-bytes)"
    );
}

#[tokio::test]
async fn headers_that_are_the_hosts_are_refused_and_millions_have_a_limit() {
    let upstream = Upstream::start().await;
    let config = config(&local(&[format!("http://{}", upstream.address())], ""));
    let server = start(&config).await;
    for name in [
        "Host",
        "Connection",
        "Transfer-Encoding",
        "Upgrade",
        "a b",
        "a\nb",
    ] {
        let request = json!({"url": upstream.url("/"), "headers": [[name, "x"]]});
        let answer = fetch(&server, request).await;
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("header: "), "{name}: {answer}");
    }
    let many: Vec<_> = (0..10_000)
        .map(|it| [format!("x-{it}"), "y".repeat(20)])
        .collect();
    let request = json!({"url": upstream.url("/"), "headers": many});
    let answer = server.client().call("fetch", request).await;
    let text = format!("{answer:?}");
    assert!(text.contains("http.limits.header-bytes"), "{text}");
    assert_eq!(upstream.asked("/").len(), 0);
}

#[tokio::test]
async fn tls_is_trusted_by_the_named_authority_only() {
    let (upstream, certificate) = Upstream::tls().await;
    let host = format!("https://localhost:{}", upstream.port());
    let trusting = config(&format!(
        "[tools.grants.http]\nhosts = [\"{host}\"]\nprivate = [\"127.0.0.1\", \"::1\"]\nca-file = \"ca.pem\"\n"
    ));
    trusting.put("ca.pem", certificate);
    let server = start(&trusting).await;
    let answer = fetch(&server, json!({"url": format!("{host}/hello")})).await;
    assert_eq!(answer["body"], "/hello 1", "{answer}");
    let usual = config(&local(std::slice::from_ref(&host), ""));
    let server = start(&usual).await;
    let answer = fetch(&server, json!({"url": format!("{host}/hello")})).await;
    assert!(
        answer.to_string().contains("TlsCertificateError"),
        "{answer}"
    );
    assert_eq!(upstream.asked("/hello").len(), 1);
}

// Exactly once inside: what was answered before a kill is not asked again, and what was not is asked
// again by the same key.
#[tokio::test]
async fn a_killed_server_asks_again_only_what_was_not_answered() {
    let upstream = Upstream::start().await;
    let config = config(&local(&[format!("http://{}", upstream.address())], ""));
    let mut server = start(&config).await;
    let client = |server: &Server| server.client().declaring(Declares::Tasks);
    let urls = ["/one", "/held/two", "/three"].map(|path| upstream.url(path));
    let task = client(&server)
        .task("visit", json!({"urls": urls, "pause": 1}))
        .await;
    upstream.until_asked("/held/two", 1).await;
    server.kill();
    let server = server.restart().await;
    let task = task.through(&client(&server));
    upstream.until_asked("/held/two", 2).await;
    upstream.release("/held/two");
    upstream.release("/held/two");
    let end = task.until("completed").await;
    let answers = &end["result"]["structuredContent"]["answers"];
    assert_eq!(answers[0]["body"], "/one 1");
    assert_eq!(answers[1]["body"], "/held/two 2");
    assert_eq!(answers[2]["body"], "/three 1");
    let key =
        |path: &str, time: usize| upstream.asked(path)[time].headers["idempotency-key"].clone();
    assert_eq!(key("/held/two", 0), key("/held/two", 1));
    assert_ne!(key("/one", 0), key("/three", 0));
    assert_eq!(
        (upstream.asked("/one").len(), upstream.asked("/three").len()),
        (1, 1)
    );
}

// Requests at once, answered in another order than they were asked; then parked, and run again.
#[tokio::test]
async fn a_later_run_sees_answers_arrive_as_they_did() {
    let upstream = Upstream::start().await;
    let config = config(&local(&[format!("http://{}", upstream.address())], ""));
    let server = Server::start(config.probe().set("tasks.park-after-ms", 0)).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let paths = ["/held/a", "/held/b", "/held/c"];
    let urls = paths.map(|path| upstream.url(path));
    let task = client.task("race", json!({"urls": urls})).await;
    for path in paths {
        upstream.until_asked(path, 1).await;
    }
    for (path, told) in [("/held/c", "1"), ("/held/a", "2"), ("/held/b", "")] {
        upstream.release(path);
        let wanted = |state: &Value| {
            let message = state["statusMessage"].as_str().unwrap_or_default();
            state["status"] == "input_required" || message.starts_with(told)
        };
        task.when("the next answer", wanted).await;
    }
    task.until("input_required").await;
    server.until_running(0, 0).await;
    task.update(json!({"go": {"action": "accept", "content": {"go": true}}}))
        .await;
    let end = task.until("completed").await;
    let order = end["result"]["structuredContent"]["order"]
        .as_array()
        .expect("an order");
    let bodies: Vec<_> = order
        .iter()
        .map(|it| it["answer"]["body"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(bodies, ["/held/c 1", "/held/a 1", "/held/b 1"]);
    for path in paths {
        assert_eq!(upstream.asked(path).len(), 1, "{path}");
    }
}

// A parked run would ask again: as long as an answer is not taken, the instance is kept.
#[tokio::test]
async fn a_request_under_way_is_not_made_twice_by_parking() {
    let upstream = Upstream::start().await;
    let config = config(&local(&[format!("http://{}", upstream.address())], ""));
    let server = Server::start(config.probe().set("tasks.park-after-ms", 0)).await;
    let client = server.client().declaring(Declares::Tasks);
    let url = upstream.url("/held/x");
    let task = client
        .task("neglect", json!({"url": url, "sleep": 300}))
        .await;
    upstream.until_asked("/held/x", 1).await;
    upstream.release("/held/x");
    let end = task.until("completed").await;
    assert_eq!(end["result"]["structuredContent"]["body"], "/held/x 1");
    assert_eq!(upstream.asked("/held/x").len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_lets_go_of_its_request() {
    let upstream = Upstream::start().await;
    let config = config(&local(&[format!("http://{}", upstream.address())], ""));
    let server = Server::start(config.probe().set("tasks.grace-ms", 50)).await;
    let client = server.client().declaring(Declares::Tasks);
    let task = client
        .task("visit", json!({"urls": [upstream.url("/never")]}))
        .await;
    upstream.until_asked("/never", 1).await;
    task.cancel().await;
    server.until_running(0, 0).await;
}

#[tokio::test]
async fn connections_go_to_granted_names_at_addresses_that_may_be() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut heard = [0; 4];
            if stream.read_exact(&mut heard).await.is_ok() {
                let _ = stream.write_all(b"pong").await;
            }
        }
    });
    let http = "[tools.grants.http]\nhosts = []\n";
    let with = |private: &str| {
        config(&format!(
            "{http}[tools.grants.sockets]\nhosts = [\"localhost:{port}\", \"127.0.0.2:*\"]\nprivate = {private}\n"
        ))
    };
    let connect = async |server: &Server, host: &str, port: u16| {
        let arguments = json!({"host": host, "port": port});
        let result = server.client().result("connect", arguments).await;
        result["structuredContent"].clone()
    };
    let granted = with("[\"127.0.0.0/8\", \"::1\"]");
    let server = start(&granted).await;
    assert_eq!(
        connect(&server, "localhost", port).await,
        json!({"heard": "pong"})
    );
    let denied = json!({"connect": "access-denied"});
    assert_eq!(connect(&server, "localhost", port ^ 1).await, denied);
    let denied = json!({"look-up": "access-denied"});
    assert_eq!(connect(&server, "example.com", port).await, denied);
    assert_eq!(connect(&server, "127.0.0.1", port).await, denied);
    let public_only = with("[]");
    let server = start(&public_only).await;
    assert_eq!(connect(&server, "localhost", port).await, denied);
    assert_eq!(connect(&server, "127.0.0.2", port).await, denied);
    let none = config(http);
    let server = start(&none).await;
    assert_eq!(connect(&server, "localhost", port).await, denied);
}

#[tokio::test]
async fn a_grant_that_is_none_stops_the_start() {
    for (grants, told) in [
        (
            "[tools.grants.http]\nhosts = [\"ftp://a\"]",
            "https or http",
        ),
        (
            "[tools.grants.http]\nhosts = [\"a/b\"]",
            "is no destination",
        ),
        (
            "[tools.grants.http]\nhosts = []\nprivate = [\"10.0.0.0/99\"]",
            "is no network",
        ),
        (
            "[tools.grants.http]\nhosts = []\nca-file = \"gone.pem\"",
            "gone.pem",
        ),
        (
            "[tools.grants.http]\nhosts = []\n[tools.grants.http.limits]\nconnections = 0",
            "http.limits.connections",
        ),
        ("[tools.grants.sockets]\nhosts = [\"db\"]", "give a port"),
    ] {
        let config = config(grants);
        let (_, text) = Server::refuse(Options::probe().config(&config.file())).await;
        assert!(
            text.contains(told) && text.contains("tools[0].grants"),
            "{grants}: {text}"
        );
    }
}
