//! Who may look: the holder of the token, and no page but the console.

use cofferdam_browser::{Browser, Page};
use cofferdam_tests::{Config, Options, Request, Server, Upstream, token};

use crate::{console, rows};

async fn enter(page: &Page, token: &str) {
    page.until("document.getElementById('asking').open").await;
    page.until("document.activeElement.id === 'token'").await;
    page.write(token).await;
    page.press("Enter").await;
}

#[tokio::test]
async fn the_token_is_asked_for_and_kept_nowhere() {
    let (token, hash) = token();
    let config = Config::new(&format!("[admin]\ntoken-sha256 = {hash:?}\n"));
    let server = Server::start(config.probe().admin()).await;
    let browser = Browser::start();
    let page = browser.page().await;
    assert_eq!(page.open(server.console()).await, None);
    page.until("document.getElementById('asking').open").await;
    assert_eq!(
        page.evaluate("document.getElementById('wrong').hidden")
            .await,
        true
    );
    assert_eq!(
        page.evaluate("document.getElementById('main').hidden")
            .await,
        true
    );
    // There is nothing behind it.
    page.press("Escape").await;
    for wrong in ["wrong", "ein schlüssel\u{1f5dd}"] {
        enter(&page, wrong).await;
        page.until("!document.getElementById('wrong').hidden").await;
    }
    assert_eq!(rows(&page, "tools").await.len(), 0);
    enter(&page, &token).await;
    page.until("!document.getElementById('main').hidden").await;
    assert!(!rows(&page, "tools").await.is_empty());
    page.click("#reload").await;
    page.until("document.getElementById('message').innerText.startsWith('Reloaded:')")
        .await;
    let kept = page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href,
            document.documentElement.outerHTML])",
    );
    assert!(!kept.await.as_str().expect("a text").contains(&token));
    let refused = |it: &String| it.contains("401 (Unauthorized)");
    let others: Vec<_> = page
        .complaints()
        .into_iter()
        .filter(|it| !refused(it))
        .collect();
    assert_eq!(
        others,
        Vec::<String>::new(),
        "the browser tells of each 401 itself"
    );
    // A page that is loaded again has forgotten it.
    page.open(server.console()).await;
    page.until("document.getElementById('asking').open").await;
}

/// A page of this origin does what it can to an address. Gives what came of each try.
async fn attack(page: &Page, target: &str) -> Vec<String> {
    let tries = page
        .evaluate(&format!(
            "(async () => {{
                const tries = [];
                const path = (it) => 'http://{target}' + it;
                const told = async (what, work) => {{
                    let result;
                    try {{ result = await work(); }} catch (error) {{ result = 'failed'; }}
                    tries.push(what + ': ' + result);
                }};
                const json = {{ 'content-type': 'application/json' }};
                for (const get of ['/', '/console', '/status', '/history', '/metrics', '/health']) {{
                    await told('GET ' + get, async () => (await fetch(path(get))).status);
                    await told('no-cors GET ' + get, async () => (await fetch(path(get), {{ mode: 'no-cors' }})).type);
                }}
                await told('POST', async () => (await fetch(path('/reload'), {{ method: 'POST' }})).status);
                await told('JSON POST', async () => (await fetch(path('/reload'), {{ method: 'POST', headers: json }})).status);
                await told('no-cors POST', async () => (await fetch(path('/reload'), {{ method: 'POST', mode: 'no-cors', body: '{{}}' }})).type);
                await told('beacon', async () => navigator.sendBeacon(path('/reload'), '{{}}') && 'sent');
                await told('form', () => new Promise((resolve) => {{
                    const frame = document.createElement('iframe');
                    frame.name = 'sink';
                    document.body.append(frame);
                    const form = document.createElement('form');
                    Object.assign(form, {{ method: 'POST', action: path('/reload'), target: 'sink', enctype: 'text/plain' }});
                    document.body.append(form);
                    frame.onload = () => resolve('sent');
                    form.submit();
                }}));
                for (const tag of ['script', 'img', 'iframe']) {{
                    await told(tag, () => new Promise((resolve) => {{
                        const element = document.createElement(tag);
                        element.onload = () => {{
                            try {{ resolve('text ' + element.contentDocument.body.innerText); }}
                            catch (error) {{ resolve('loaded'); }}
                        }};
                        element.onerror = () => resolve('failed');
                        element.src = path(tag === 'iframe' ? '/console' : '/status');
                        document.body.append(element);
                    }}));
                }}
                return tries;
            }})()"
        ))
        .await;
    serde_json::from_value(tries).expect("texts")
}

async fn reloads(server: &Server) -> usize {
    let metrics = Request::new("GET", "/metrics").send(server.admin()).await;
    let metrics = metrics.bytes().await;
    let text = std::str::from_utf8(&metrics).expect("UTF-8");
    let counted = text
        .lines()
        .filter_map(|line| line.strip_prefix("cofferdam_reloads_total"));
    let numbers = counted.filter_map(|line| line.rsplit_once(' ')?.1.parse::<usize>().ok());
    numbers.sum()
}

#[tokio::test]
async fn a_name_that_was_made_to_lead_here_shows_nothing() {
    let server = Server::start(Options::probe().admin()).await;
    let browser = Browser::start();
    let page = browser.page().await;
    let port = server.admin().port();
    for path in ["/", "/console", "/status"] {
        let url = format!("http://rebound.example:{port}{path}");
        assert_eq!(page.open(&url).await, None);
        let text = page.evaluate("document.body.innerText").await;
        let text = text.as_str().expect("a text");
        assert!(text.contains("This Host is not served here"), "{text}");
    }
    // By a link on any page, the console opens: it is a page of its own then.
    let stranger = Upstream::start().await;
    let elsewhere = format!("http://evil.example:{}/", stranger.port());
    assert_eq!(page.open(&elsewhere).await, None);
    page.lead(&format!("http://localhost:{port}/console")).await;
    page.until("document.title === 'Cofferdam console' && !document.getElementById('main').hidden")
        .await;
}

#[tokio::test]
async fn pages_of_other_origins_read_nothing_and_change_nothing() {
    let options = Options::probe().set("server.watch", false).admin();
    let server = Server::start(options).await;
    let stranger = Upstream::start().await;
    let browser = Browser::start();
    let (port, own) = (server.admin().port(), stranger.port());
    // Another port is another origin of the same site; another name is another site.
    for origin in [stranger.url("/"), format!("http://evil.example:{own}/")] {
        for name in ["127.0.0.1", "localhost", "evil.example"] {
            let page = browser.page().await;
            assert_eq!(page.open(&origin).await, None);
            let target = format!("{name}:{port}");
            let tries = attack(&page, &target).await;
            assert_eq!(tries.len(), 20, "{tries:?}");
            for tried in &tries {
                let (what, result) = tried.split_once(": ").expect("a try and its result");
                // Whoever sends so learns no more than that.
                let sent = ["beacon", "form", "iframe"].contains(&what);
                let blind = sent && ["sent", "loaded"].contains(&result);
                assert!(result == "failed" || blind, "{origin} {target} {tried}");
            }
        }
    }
    assert_eq!(reloads(&server).await, 0);
    // What was tried works for the console.
    let page = console(&browser, &server).await;
    page.click("#reload").await;
    page.until("document.getElementById('message').innerText.startsWith('Reloaded:')")
        .await;
    assert_eq!(reloads(&server).await, 1);
}
