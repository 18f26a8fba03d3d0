//! A page, as a person has it before them: what is in it, keys and clicks, and what it complains of.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::pipe::Pipe;

/// A page in a window of its own.
pub struct Page {
    pipe: Arc<Pipe>,
    session: String,
}

impl Page {
    pub(crate) async fn new(pipe: Arc<Pipe>, session: String) -> Self {
        let page = Self { pipe, session };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.ask(&format!("{domain}.enable"), json!({})).await;
        }
        page
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        self.pipe.ask(method, params, Some(&self.session)).await
    }

    /// Goes to a URL, and waits until what is there is loaded. Gives the reason if there is nothing.
    ///
    /// # Panics
    /// If it does not load in time.
    pub async fn open(&self, url: &str) -> Option<String> {
        let before = self.count("Page.loadEventFired");
        let opened = self.ask("Page.navigate", json!({ "url": url })).await;
        if let Some(reason) = opened["errorText"].as_str() {
            return Some(reason.to_owned());
        }
        self.loaded(before).await;
        None
    }

    /// Lets the page itself go somewhere, as one with a link does, and waits until what is there is
    /// loaded.
    ///
    /// # Panics
    /// If it does not load in time.
    pub async fn lead(&self, url: &str) {
        let before = self.count("Page.loadEventFired");
        let go = format!(
            "void setTimeout(() => {{ location.href = {}; }})",
            json!(url)
        );
        self.evaluate(&go).await;
        self.loaded(before).await;
    }

    async fn loaded(&self, before: usize) {
        let mut news = self.pipe.news();
        let loaded = news.wait_for(|_| self.count("Page.loadEventFired") > before);
        let loaded = tokio::time::timeout(PATIENCE, loaded).await;
        loaded.expect("a page loads").expect("a browser");
    }

    fn count(&self, method: &str) -> usize {
        let told = self.pipe.told(&self.session);
        told.iter().filter(|(told, _)| told == method).count()
    }

    /// The value of an expression of JavaScript; if that is a promise, of what it comes to.
    ///
    /// # Panics
    /// If it throws.
    pub async fn evaluate(&self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true,
        });
        let mut result = self.ask("Runtime.evaluate", params).await;
        let thrown = &result["exceptionDetails"];
        assert!(thrown.is_null(), "{expression} threw {thrown}");
        result["result"]["value"].take()
    }

    /// Waits until an expression is true, or something, and gives that. It is looked at whenever the
    /// page changes.
    ///
    /// # Panics
    /// If it never is; the message holds the text of the page.
    pub async fn until(&self, expression: &str) -> Value {
        let waiting = format!(
            "new Promise((resolve) => {{
                const look = () => {{ const value = ({expression}); if (value) done(value); }};
                const observer = new MutationObserver(look);
                const timer = setTimeout(() => done(null), {});
                function done(value) {{ observer.disconnect(); clearTimeout(timer); resolve(value); }}
                observer.observe(document, {{ subtree: true, childList: true, characterData: true, attributes: true }});
                look();
            }})",
            PATIENCE.as_millis() * 3 / 4
        );
        let value = self.evaluate(&waiting).await;
        if value.is_null() {
            let text = self.evaluate("document.body.innerText").await;
            panic!("waited in vain for {expression} in {text}");
        }
        value
    }

    /// Clicks into the middle of the element that a selector finds.
    ///
    /// # Panics
    /// If there is none.
    pub async fn click(&self, selector: &str) {
        let place = self
            .evaluate(&format!(
                "(() => {{ const it = document.querySelector({}); it.scrollIntoView({{ block: 'center' }});
                const box = it.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
                json!(selector)
            ))
            .await;
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
            });
            self.ask("Input.dispatchMouseEvent", params).await;
        }
    }

    /// Types a text where the focus is.
    pub async fn write(&self, text: &str) {
        self.ask("Input.insertText", json!({ "text": text })).await;
    }

    /// Presses a key that has a name, `Tab` or `Enter`.
    ///
    /// # Panics
    /// If it is another.
    pub async fn press(&self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            _ => panic!("{key} is not known here"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
            });
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = text.into();
            }
            self.ask("Input.dispatchKeyEvent", params).await;
        }
    }

    /// Gives the page so many pixels, and a colour scheme: `light` or `dark`.
    pub async fn look_like(&self, width: u32, height: u32, scheme: &str) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.ask("Emulation.setDeviceMetricsOverride", size).await;
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", media).await;
    }

    /// The whole page as a PNG.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub async fn picture(&self, file: &Path) {
        let params = json!({ "captureBeyondViewport": true });
        let taken = self.ask("Page.captureScreenshot", params).await;
        let data = taken["data"].as_str().expect("a picture");
        let bytes = STANDARD.decode(data).expect("base64");
        std::fs::write(file, bytes).expect("a file can be written");
    }

    /// What it complained of: errors that nothing caught, what was written to the console, and what the
    /// browser says of it, such as what its policy did not let it do.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let told = self.pipe.told(&self.session).into_iter();
        told.filter_map(|(method, params)| match method.as_str() {
            "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => Some(params["args"].to_string()),
            "Log.entryAdded" => Some(params["entry"]["text"].to_string()),
            _ => None,
        })
        .collect()
    }

    /// The URLs that it asked for, or would have.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let told = self.pipe.told(&self.session).into_iter();
        told.filter(|(method, _)| method == "Network.requestWillBeSent")
            .filter_map(|(_, params)| Some(params["request"]["url"].as_str()?.to_owned()))
            .collect()
    }
}
