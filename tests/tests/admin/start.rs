//! Where the address is, and when a server does not start with one.

use std::net::TcpListener;

use cofferdam_tests::{Config, Options, Request, Server, check_config, guest, token};

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token() {
    for open in ["0.0.0.0:0", "[::]:0"] {
        let (status, error) = Server::refuse(Options::probe().admin_at(open)).await;
        assert!(!status.success(), "{status}");
        for words in [open, "token-sha256", "--admin"] {
            assert!(error.contains(words), "{words} in {error}");
        }
    }
    let config = Config::new("[admin]\nlisten = \"0.0.0.0:0\"\n");
    let (_, error) = Server::refuse(config.probe().admin_as_configured()).await;
    assert!(error.contains("cofferdam.toml: admin.listen: "), "{error}");
    let probe = guest("probe");
    let probe = probe.to_str().expect("UTF-8");
    let checked = check_config(&[probe, "--admin", "0.0.0.0:1"]);
    assert!(!checked.status.success());

    let (token, hash) = token();
    let config = Config::new(&format!("[admin]\ntoken-sha256 = {hash:?}\n"));
    let server = Server::start(config.probe().admin_at("0.0.0.0:0")).await;
    // Callers by any name, since they are known by their token.
    let request = Request::new("GET", "/status")
        .header("Host", "cofferdam.example")
        .header("Authorization", format!("Bearer {token}"));
    let address = ([127, 0, 0, 1], server.admin().port()).into();
    assert_eq!(request.send(address).await.status, 200);
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let (status, error) = Server::refuse(Options::probe().admin_at(&address)).await;
    assert!(!status.success(), "{status}");
    for words in [&address, "--admin off", "another address"] {
        assert!(error.contains(words), "{words} in {error}");
    }
}

#[tokio::test]
async fn the_configuration_names_it_and_the_command_line_goes_over_that() {
    let config = Config::new("[admin]\nlisten = \"localhost:0\"\n");
    let server = Server::start(config.probe().admin_as_configured()).await;
    let health = Request::new("GET", "/health").send(server.admin()).await;
    assert_eq!(health.status, 200);

    let config = Config::new("[admin]\nlisten = \"no address\"\n");
    let (_, error) = Server::refuse(config.probe().admin_as_configured()).await;
    assert!(error.contains("admin.listen: "), "{error}");
    let server = Server::start(config.probe().admin()).await;
    assert!(server.admin().ip().is_loopback());

    for (key, value) in [("token-sha256", "\"abc\""), ("port", "1")] {
        let config = Config::new(&format!("[admin]\n{key} = {value}\n"));
        let (_, error) = Server::refuse(config.probe()).await;
        assert!(error.contains(key), "{error}");
    }
}

#[tokio::test]
async fn off_is_off() {
    let config = Config::new("[admin]\nlisten = \"off\"\n");
    let server = Server::start(config.probe().admin_as_configured()).await;
    let threads = format!("/proc/{}/task", server.pid());
    let threads = std::fs::read_dir(threads).expect("its threads");
    for thread in threads.map(|thread| thread.expect("a thread").path().join("comm")) {
        let name = std::fs::read_to_string(thread).unwrap_or_default();
        assert_ne!(name.trim(), "admin");
    }
}

#[tokio::test]
async fn it_ends_with_the_server() {
    let mut server = Server::start(Options::probe().admin()).await;
    let address = server.admin();
    // One that says nothing is not waited for.
    let _silent = tokio::net::TcpStream::connect(address)
        .await
        .expect("a connection");
    server.stop().await;
    TcpListener::bind(address).expect("the address is free again");
}
