//! How a server is reached, and what is said if it is not.

use cofferdam_tests::{Config, Identity, Options, Server, Upstream, cofferdam};

use crate::{Ends as _, run};

#[tokio::test]
async fn an_address_may_be_short() {
    let server = Server::start(Options::probe()).await;
    let address = server.address().to_string();
    for url in [
        address.clone(),
        format!("http://{address}/"),
        format!("localhost:{}", server.address().port()),
    ] {
        let ended = run(&["call", &url, "echo", "-a", "text=x"]).await;
        assert_eq!(ended.with(0), "x\n", "{url}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_with_what_to_do() {
    let server = Server::start(Options::probe().admin()).await;
    let other = Upstream::start().await;
    let mut gone = Server::start(Options::probe()).await;
    gone.kill();
    for (url, code, told) in [
        (gone.url(), 3, "cannot be reached: Connection refused"),
        (
            format!("http://{}/elsewhere", server.address()),
            3,
            "/elsewhere (404: There is nothing here; the endpoint is /mcp); most are at /mcp",
        ),
        (
            format!("http://{}", server.admin()),
            3,
            "no MCP server is at ",
        ),
        (
            other.url("/text"),
            3,
            "is no MCP server of revision 2026-07-28",
        ),
        (
            other.url("/redirect"),
            3,
            "sends elsewhere (302 Found): http://169.254.169.254/latest/meta-data/",
        ),
        ("ftp://localhost".to_owned(), 2, "by http and https only"),
        (
            "http://me:secret@localhost".to_owned(),
            2,
            "holds a user's name or password",
        ),
    ] {
        let ended = run(&["call", &url, "echo", "-a", "text=x"]).await;
        assert!(ended.failing(code).contains(told), "{url}: {ended:?}");
        assert!(!ended.stderr.contains("secret"), "{ended:?}");
    }
    let silent = run(&["tools", &other.url("/never"), "--timeout", "0.3"]).await;
    assert!(
        silent.failing(3).contains("the time of --timeout is over"),
        "{silent:?}"
    );
    assert_eq!(
        other.asked("/latest/meta-data/").len(),
        0,
        "no redirect is followed"
    );
}

#[tokio::test]
async fn a_token_comes_from_an_option_a_file_or_the_environment() {
    let identity = Identity::new("acme", "ci");
    let config = Config::new(&format!("[tenants.acme]\n{}", identity.entry));
    let server = Server::start(config.probe()).await;
    let url = server.url();
    let token = identity.token.as_str();
    config.put("token", format!("{token}\n"));
    let file = config.folder().join("token");
    let file = file.to_str().expect("UTF-8");
    let header = format!("Authorization: Bearer {token}");
    for (more, variables) in [
        (&["--token", token][..], &[][..]),
        (&["--token-file", file], &[("COFFERDAM_TOKEN", "another")]),
        (&["--header", &header], &[]),
        (&[], &[("COFFERDAM_TOKEN", token)]),
    ] {
        let arguments = [&["call", &url, "echo", "-a", "text=x"], more].concat();
        let output = cofferdam(&arguments, variables).await;
        assert_eq!(output.stdout, b"x\n", "{output:?}");
    }
    let none = run(&["call", &url, "echo", "-a", "text=x"]).await;
    assert!(
        none.failing(3)
            .contains("wants a token: give it with --token-file"),
        "{none:?}"
    );
    let wrong = run(&["call", &url, "echo", "-a", "text=x", "--token", "wrong"]).await;
    assert!(
        wrong.failing(3).contains("wants another token"),
        "{wrong:?}"
    );
    // Of another caller, a task looks like none.
    let left = run(&["call", &url, "wait", "--detach", "--token", token]).await;
    let id = left.with(0).trim();
    let got = run(&["task", "get", &url, id, "--token", token]).await;
    assert!(got.with(0).starts_with("status   working"), "{got:?}");
}

#[tokio::test]
async fn a_token_goes_nowhere_in_the_open() {
    // An address that nobody has (RFC 5737): nothing is sent to it, so nothing is waited for.
    let arguments = ["call", "http://192.0.2.1", "echo", "--token", "secret"];
    let ended = run(&arguments).await;
    let told = ended.failing(2);
    assert!(
        told.contains("is not encrypted") && told.contains("--insecure-token"),
        "{told}"
    );
    assert!(!told.contains("secret"), "{told}");
}

#[tokio::test]
async fn certificates_are_checked_and_authorities_can_be_named() {
    let (other, certificate) = Upstream::tls().await;
    let config = Config::new("");
    config.put("ca.pem", certificate);
    let file = config.folder().join("ca.pem");
    let url = format!("https://localhost:{}/text", other.port());
    let distrusted = run(&["tools", &url]).await;
    assert!(
        distrusted.failing(3).contains("is not trusted"),
        "{distrusted:?}"
    );
    assert!(distrusted.stderr.contains("--ca FILE"), "{distrusted:?}");
    assert_eq!(other.asked("/text").len(), 0);
    // Trusted, it is heard: as what it is.
    let trusted = run(&[
        "tools",
        &url,
        "--ca",
        file.to_str().expect("UTF-8"),
        "--header",
        "X-One: 1",
    ])
    .await;
    assert!(
        trusted.failing(3).contains("is no MCP server"),
        "{trusted:?}"
    );
    let asked = other.asked("/text");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].headers["x-one"], "1");
    assert_eq!(asked[0].headers["mcp-method"], "tools/list");
    let broken = run(&["tools", &url, "--ca", "/no/such/file"]).await;
    assert!(broken.failing(2).contains("/no/such/file"), "{broken:?}");
}

#[tokio::test]
async fn help_fits_a_terminal_and_tells_the_exit_codes() {
    for arguments in [
        &["call"][..],
        &["task"],
        &["task", "watch"],
        &["task", "update"],
        &["tools"],
    ] {
        let ended = run(&[arguments, &["--help"]].concat()).await;
        let help = ended.with(0);
        assert!(
            help.lines().all(|line| line.chars().count() <= 80),
            "{help}"
        );
        assert!(help.contains("130  cancelled"), "{help}");
    }
    run(&["call"]).await.failing(2);
}
