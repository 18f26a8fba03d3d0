//! The browser itself, without a server.

use crate::Browser;

#[tokio::test]
async fn it_shows_pages_and_tells_what_they_do() {
    let browser = Browser::start();
    let version = browser.version().await;
    assert!(version.contains("Chrome/"), "{version}");
    let page = browser.page().await;
    let html = "<title>one</title><button onclick=\"document.title='two'\">go</button>\
                <script>console.log('said'); Promise.reject(new Error('lost'))</script>";
    assert_eq!(page.open(&format!("data:text/html,{html}")).await, None);
    assert_eq!(page.evaluate("Promise.resolve(6 * 7)").await, 42);
    page.click("button").await;
    assert_eq!(page.until("document.title === 'two' && 'yes'").await, "yes");
    let complaints = page.complaints().join("\n");
    assert!(
        complaints.contains("said") && complaints.contains("lost"),
        "{complaints}"
    );
    assert_eq!(page.requests().len(), 1);
    let nowhere = page.open("http://nowhere.test/").await;
    assert!(nowhere.is_some_and(|reason| reason.contains("NAME_NOT_RESOLVED")));
}
