//! What components offer beside tools: prompts, resources and completions, over the wire.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod c;
mod capabilities;
mod changes;
mod completion;
mod files;
mod files_change;
mod handbook;
mod languages;
mod prompts;
mod resources;
mod sight;

use cofferdam_tests::{Client, Declares, Options, Server};
use serde_json::{Value, json};

/// A server of the component that has some of everything.
async fn serve() -> Server {
    Server::start(Options::guest("offers")).await
}

/// The result of a request.
async fn result(client: &Client, method: &str, params: Value) -> Value {
    let answer = client.request(method, params).answer().await;
    answer.result().clone()
}

/// A client that can fill in forms.
fn forms(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

/// The text of a resource.
async fn read(client: &Client, uri: &str) -> String {
    let read = result(client, "resources/read", json!({"uri": uri})).await;
    let text = read["contents"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {read}")).to_owned()
}

/// Everything that a method lists, page by page.
async fn all(client: &Client, method: &str, member: &str) -> Vec<Value> {
    let (mut items, mut params) = (Vec::new(), json!({}));
    loop {
        let page = result(client, method, params).await;
        items.extend(page[member].as_array().expect("a list").iter().cloned());
        match page.get("nextCursor") {
            Some(next) => params = json!({"cursor": next}),
            None => return items,
        }
    }
}

/// A member of each.
fn each(items: &[Value], member: &str) -> Vec<String> {
    let texts = items.iter().map(|item| item[member].as_str());
    texts.map(|it| it.unwrap_or_default().to_owned()).collect()
}
