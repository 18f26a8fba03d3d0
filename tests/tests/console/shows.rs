//! What the console shows.

use std::fs;
use std::net::TcpListener;

use cofferdam_browser::Browser;
use cofferdam_tests::{Config, Declares, Identity, Options, Server, guest};
use serde_json::json;

use crate::{assert_calm, console, row, rows, tile, until_cell};

/// A name that would do something if anybody read it as HTML.
const HOSTILE: &str = "<img src=x onerror=document.title='hacked'>";

#[tokio::test]
async fn tools_are_listed_with_what_serves_them() {
    let config = Config::new(
        "[[tools]]\npath = \"probe.wasm\"\nprefix = \"lab.\"\n[tools.grants.env]\nGREETING = \"hi\"\n\
         [tools.grants.http]\nhosts = [\"api.example.com\", \"http://localhost:8000\"]\n\
         [[tools.grants.directories]]\nhost = \".\"\nguest = \"/data\"\n",
    );
    fs::copy(guest("probe"), config.folder().join("probe.wasm")).expect("a copy");
    let options = Options::default().config(&config.file());
    let server = Server::start(options.admin()).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;

    let echo = row(&page, "tools", "lab.echo").await;
    assert!(echo[1].ends_with("probe.wasm"), "{echo:?}");
    assert_eq!(
        (&*echo[3], &*echo[4], &*echo[6]),
        ("none", "0", "–"),
        "{echo:?}"
    );
    let short = echo[2].clone();
    assert_eq!(short.len(), 12, "{echo:?}");
    page.click("#tools .digest").await;
    page.until("document.querySelector('#tools .digest').ariaExpanded === 'true'")
        .await;
    let whole = &rows(&page, "tools").await[0][2];
    assert!(whole.len() == 64 && whole.starts_with(&short), "{whole}");

    let components = rows(&page, "components").await;
    assert_eq!(components.len(), 1, "{components:?}");
    assert_eq!(components[0][4..6], ["0", "0"], "prompts and resources");
    let grants = &components[0][7];
    for granted in [
        "variable GREETING",
        "directory /data from ",
        "http https://api.example.com",
        "http http://localhost:8000",
    ] {
        assert!(grants.contains(granted), "{granted} in {grants}");
    }
    assert!(!grants.contains("hi"), "no values: {grants}");
    let node = page
        .evaluate("document.getElementById('node').innerText")
        .await;
    let node = node.as_str().expect("a text");
    for part in [env!("CARGO_PKG_VERSION"), "tasks in sqlite", "up ", "MiB"] {
        assert!(node.contains(part), "{part} in {node}");
    }
    let health = page
        .evaluate("document.getElementById('health').innerText")
        .await;
    assert_eq!(health, "Healthy");
    assert_calm(&page, &server);
}

#[tokio::test]
async fn a_load_error_comes_with_a_reload_and_goes_with_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let component = folder.path().join("a.wasm");
    fs::copy(guest("report"), &component).expect("a copy");
    let options = Options::default().and(folder.path().to_owned());
    let server = Server::start(options.admin().set("server.watch", false)).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;
    assert_eq!(
        page.evaluate("document.getElementById('errors').hidden")
            .await,
        true
    );
    let before = rows(&page, "tools").await[0][2].clone();

    fs::write(&component, "no component").expect("written");
    page.click("#reload").await;
    page.until("document.getElementById('message').innerText.includes('1 refused')")
        .await;
    page.until("document.querySelector('#refused li')").await;
    let error = page
        .evaluate("document.getElementById('refused').innerText")
        .await;
    let error = error.as_str().expect("a text");
    for part in ["a.wasm", "no WebAssembly", "In its place serves", &before] {
        assert!(error.contains(part), "{part} in {error}");
    }
    page.until("document.getElementById('health').innerText === '1 load error'")
        .await;
    assert_eq!(
        rows(&page, "tools").await[0][2],
        before,
        "the old version serves"
    );

    fs::copy(guest("render"), &component).expect("a copy");
    page.click("#reload").await;
    page.until("document.getElementById('errors').hidden").await;
    page.until("document.getElementById('health').innerText === 'Healthy'")
        .await;
    let tools = rows(&page, "tools").await;
    assert!(tools.iter().all(|row| row[2] != before), "{tools:?}");
    assert_calm(&page, &server);
}

#[tokio::test]
async fn counts_and_charts_move_when_tools_are_called() {
    let identity = Identity::new("acme", "nobody-s-subject");
    let config = Config::new(&format!(
        "[tenants.acme]\n[tenants.other]\n{}",
        identity.entry
    ));
    let server = Server::start(config.probe().admin()).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;
    let inline = server.client().bearing(&identity.token);
    inline
        .result("echo", json!({"text": "a secret of the caller"}))
        .await;
    inline.result("finish", json!({"how": "tool-error"})).await;
    let client = server.client().bearing(&identity.token);
    let client = client.declaring(Declares::TasksAndForms);
    let task = client.task("finish", json!({})).await;
    task.until("completed").await;
    let waiting = client.task("ask", json!({"keys": ["k"]})).await;
    waiting.until("input_required").await;

    until_cell(&page, "tools", "echo", 4, "1").await;
    until_cell(&page, "tools", "finish", 5, "1").await;
    let echo = row(&page, "tools", "echo").await;
    assert!(
        echo[6].ends_with(" ms") && echo[7].ends_with(" ms"),
        "{echo:?}"
    );
    until_cell(&page, "tenants", "acme", 1, "4").await;
    assert_eq!(row(&page, "tenants", "other").await[1], "0");
    assert_eq!(row(&page, "tenants", "all others").await[1], "0");
    assert_eq!(tile(&page, "Completed").await, "1");
    assert_eq!(tile(&page, "Tasks that ask").await, "1");
    // The next sample has them.
    let drawn = "document.querySelector('#tenants tr:first-child .spark path').getAttribute('d')";
    page.until(&format!("{drawn}.startsWith('M')")).await;
    page.until(
        "[...document.querySelectorAll('#charts figure')].find((it) =>
            it.innerText.startsWith('Calls per second')).innerText.match(/at most 0\\.[1-9]/)",
    )
    .await;
    let label = page
        .evaluate("document.querySelector('#charts svg.plot').ariaLabel")
        .await;
    let label = label.as_str().expect("a text");
    assert!(label.starts_with("Calls per second: now calls "), "{label}");

    // Nothing of what callers do.
    let text = page.evaluate("document.documentElement.outerHTML").await;
    let text = text.as_str().expect("a text");
    for secret in [
        "a secret of",
        "nobody-s-subject",
        task.id(),
        waiting.id(),
        &identity.token,
    ] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert_calm(&page, &server);
}

#[tokio::test]
async fn what_a_limit_refuses_is_counted() {
    let options = Options::probe().set("sandbox.cpu-ms", 20).admin();
    let server = Server::start(options).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;
    assert_eq!(
        page.evaluate("document.getElementById('no-limits').hidden")
            .await,
        false
    );
    server.client().call("finish", json!({"how": "spin"})).await;
    until_cell(&page, "limits", "cpu", 1, "1").await;
    assert_calm(&page, &server);
}

#[tokio::test]
async fn hostile_names_stay_text() {
    let entry = Identity::new(HOSTILE, "ci").entry;
    let config = Config::new(&format!("[tenants.{}]\n{entry}", json!(HOSTILE)));
    // A component whose tool is called so; it is refused, in words that hold the name.
    let mut bytes = fs::read(guest("probe")).expect("a component");
    let (name, markup) = (b"required", b"<s>x</s>");
    let places: Vec<_> = bytes
        .windows(8)
        .enumerate()
        .filter(|(_, it)| it == name)
        .collect();
    let places: Vec<usize> = places.into_iter().map(|(at, _)| at).collect();
    for at in places {
        bytes[at..at + 8].copy_from_slice(markup);
    }
    config.put("named.wasm", bytes);
    let file = format!("{HOSTILE}<svg onload=alert(1)>.wasm");
    config.put(&file, "no component");
    let options = config.probe().and(config.folder().join(&file));
    let options = options.and(config.folder().join("named.wasm"));
    let server = Server::start(options.admin()).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;
    page.until("document.querySelectorAll('#refused li').length === 2")
        .await;
    let errors = page
        .evaluate("document.getElementById('refused').innerText")
        .await;
    let errors = errors.as_str().expect("a text");
    assert!(
        errors.contains(&file) && errors.contains("<s>x</s>"),
        "{errors}"
    );
    row(&page, "tenants", HOSTILE).await;
    let made = page
        .evaluate("document.querySelectorAll('img, main s, [onerror], [onload]').length")
        .await;
    assert_eq!(made, 0);
    assert_eq!(page.evaluate("document.title").await, "Cofferdam console");
    assert_calm(&page, &server);
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_and_one_that_is_back_is_shown() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address").to_string();
    drop(free);
    let mut server = Server::start(Options::probe().admin_at(&address)).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;
    server.kill();
    page.until("document.getElementById('health').innerText === 'Not answering'")
        .await;
    page.until("document.getElementById('message').innerText.includes('may be old')")
        .await;
    assert!(
        !rows(&page, "tools").await.is_empty(),
        "what was known stays"
    );
    let server = server.restart().await;
    server.client().result("echo", json!({"text": "x"})).await;
    until_cell(&page, "tools", "echo", 4, "1").await;
    let hidden = "document.getElementById('message').hidden";
    assert_eq!(page.evaluate(hidden).await, true);
}
