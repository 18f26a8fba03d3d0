//! The console in a browser: what it shows is what the server says, as text; and nobody but it may ask
//! from a page.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod access;
mod looks;
mod shows;

use cofferdam_browser::{Browser, Page};
use cofferdam_tests::Server;
use serde_json::{Value, json};

/// The console of a server, once it shows something.
async fn console(browser: &Browser, server: &Server) -> Page {
    let page = browser.page().await;
    assert_eq!(page.open(server.console()).await, None);
    page.until("!document.getElementById('main').hidden").await;
    page
}

/// What the rows of a table show, each with its cells.
async fn rows(page: &Page, table: &str) -> Vec<Vec<String>> {
    let rows = format!(
        "[...document.querySelectorAll('#{table} tbody tr')]
            .map((row) => [...row.children].map((cell) => cell.innerText))"
    );
    let rows = page.evaluate(&rows).await;
    serde_json::from_value(rows).expect("rows of texts")
}

/// The row whose header is this.
async fn row(page: &Page, table: &str, header: &str) -> Vec<String> {
    let rows = rows(page, table).await;
    let row = rows.iter().find(|row| row[0] == header);
    row.unwrap_or_else(|| panic!("no {header} in {rows:?}"))
        .clone()
}

/// Waits until a cell of a row is a text.
async fn until_cell(page: &Page, table: &str, header: &str, column: usize, text: &str) {
    let wanted = format!(
        "[...document.querySelectorAll('#{table} tbody tr')].some((row) =>
            row.children[0].innerText === {} && row.children[{column}].innerText === {})",
        json!(header),
        json!(text)
    );
    page.until(&wanted).await;
}

/// It asked nobody but its server, and nothing went wrong.
fn assert_calm(page: &Page, server: &Server) {
    assert_eq!(page.complaints(), Vec::<String>::new());
    let own = format!("http://{}/", server.admin());
    let requests = page.requests();
    let elsewhere = |url: &&String| !url.starts_with(&own) && !url.starts_with("data:");
    let elsewhere: Vec<_> = requests.iter().filter(elsewhere).collect();
    assert!(elsewhere.is_empty() && !requests.is_empty(), "{requests:?}");
}

/// A tile of what is now.
async fn tile(page: &Page, name: &str) -> Value {
    let tile = format!(
        "[...document.querySelectorAll('#now div')]
            .find((it) => it.children[0].innerText === {}).children[1].innerText",
        json!(name)
    );
    page.evaluate(&tile).await
}
