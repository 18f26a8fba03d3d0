//! How it looks: pictures for people, and what a machine can say of it.

use cofferdam_browser::Browser;
use cofferdam_tests::{Config, Identity, Options, Server, root};
use serde_json::json;

use crate::{assert_calm, console, until_cell};

#[tokio::test]
async fn it_fits_a_phone_and_a_desk_by_day_and_by_night() {
    let tenants = ["acme", "initech"].map(|name| Identity::new(name, "ci").entry);
    let tenants = tenants.concat();
    let config = Config::new(&format!("[tenants.acme]\n[tenants.initech]\n{tenants}"));
    config.put("broken.wasm", "no component");
    let options = Options::probe().config(&config.file());
    let server = Server::start(options.and(config.folder().join("broken.wasm")).admin()).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;
    let pictures = root().join("target/console");
    std::fs::create_dir_all(&pictures).expect("a folder for pictures");
    let mut grounds = Vec::new();
    for (width, height) in [(1_280, 900), (390, 844)] {
        for scheme in ["light", "dark"] {
            page.look_like(width, height, scheme).await;
            let measured = page.evaluate(
                "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor,
                  getComputedStyle(document.querySelector('#tools tbody tr')).display]",
            );
            let measured = measured.await;
            let out = format!(
                "[...document.querySelectorAll('body *')]
                    .filter((it) => it.getBoundingClientRect().right > {width})
                    .map((it) => it.outerHTML.slice(0, 300))"
            );
            let out = page.evaluate(&out).await;
            assert_eq!(
                (&measured[0], out),
                (&json!(width), json!([])),
                "nothing sticks out"
            );
            let row = if width < 960 { "grid" } else { "table-row" };
            assert_eq!(measured[2], row);
            grounds.push(measured[1].clone());
            page.picture(&pictures.join(format!("{width}-{scheme}.png")))
                .await;
        }
    }
    assert_ne!(grounds[0], grounds[1], "a dark scheme is dark");
    assert_calm(&page, &server);
}

#[tokio::test]
async fn it_can_be_used_by_keyboard_and_by_ear() {
    let server = Server::start(Options::probe().admin()).await;
    let browser = Browser::start();
    let page = console(&browser, &server).await;
    page.press("Tab").await;
    assert_eq!(page.evaluate("document.activeElement.id").await, "reload");
    page.press("Enter").await;
    page.until("document.getElementById('message').innerText.startsWith('Reloaded:')")
        .await;
    page.until("!document.getElementById('reload').disabled")
        .await;
    page.evaluate("document.querySelector('#tools .digest').focus()")
        .await;
    page.press("Enter").await;
    let open = "document.querySelector('#tools .digest').ariaExpanded === 'true'";
    page.until(open).await;
    // New numbers leave the focus and what was opened as they are.
    server.client().result("echo", json!({"text": "x"})).await;
    until_cell(&page, "tools", "echo", 4, "1").await;
    assert_eq!(page.evaluate(open).await, true);
    assert_eq!(
        page.evaluate("document.activeElement.className").await,
        "digest"
    );
    let unnamed = page.evaluate(
        "[...document.querySelectorAll(`svg[role=img]:not([aria-label]), table:not(:has(caption)),
            thead th:not([scope=col]), tbody th:not([scope=row]), button:empty,
            section:not([aria-labelledby])`)].map((it) => it.outerHTML)",
    );
    assert_eq!(unnamed.await, json!([]));
    assert_calm(&page, &server);
}
