//! What a tenant sees of prompts and resources: what goes with the tools that it sees, unless it is named.

use crate::{all, each, result};
use cofferdam_tests::{Client, Config, Heard, Identity, Options, Server, guest};
use serde_json::json;

struct Tenants {
    server: Server,
    clients: Vec<Client>,
}

/// A server with a tenant for each text.
async fn tenants(said: &[&str]) -> Tenants {
    let names: Vec<String> = (0..said.len()).map(|n| format!("t{n}")).collect();
    let identities: Vec<_> = names.iter().map(|name| Identity::new(name, "s")).collect();
    let mut text = String::new();
    for (name, said) in names.iter().zip(said) {
        text += &format!("[tenants.{name}]\n{said}\n");
    }
    for identity in &identities {
        text += &identity.entry;
    }
    let config = Config::new(&text);
    let options = Options::guest("offers").and(guest("handbook"));
    let server = Server::start(options.config(&config.file())).await;
    let clients = identities
        .iter()
        .map(|it| server.client().bearing(&it.token));
    let clients = clients.collect();
    Tenants { server, clients }
}

#[tokio::test]
async fn prompts_and_resources_go_with_tools() {
    let Tenants {
        server: _server,
        clients,
    } = tenants(&["", "tools = [\"search\"]", "tools = []"]).await;
    let [whole, some, none] = &clients[..] else {
        panic!("three clients")
    };
    assert_eq!(all(whole, "prompts/list", "prompts").await.len(), 5);
    let prompts = all(some, "prompts/list", "prompts").await;
    assert_eq!(each(&prompts, "name"), ["explain", "quiz"]);
    let uris = each(&all(some, "resources/list", "resources").await, "uri");
    assert_eq!(uris.len(), 4, "{uris:?}");
    assert!(
        uris.iter().all(|uri| uri.starts_with("handbook://")),
        "{uris:?}"
    );
    // Hidden, or not there: word for word the same.
    for uri in ["house://rules", "house://rooms/1", "house://nothing"] {
        let answer = some
            .request("resources/read", json!({"uri": uri}))
            .answer()
            .await;
        assert_eq!(answer.message(200, -32602), "Resource not found");
    }
    let hidden = some.request("prompts/get", json!({"name": "greeting"}));
    assert_eq!(
        hidden.answer().await.message(200, -32602),
        "Unknown prompt: greeting"
    );
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        none.request(method, json!({}))
            .answer()
            .await
            .error(404, -32601);
        let list = result(some, method, json!({})).await;
        assert_eq!(list["cacheScope"], "private", "{method}");
    }
    let discovered = result(none, "server/discover", json!({})).await;
    assert!(discovered["capabilities"].get("prompts").is_none());
    assert_eq!(discovered["cacheScope"], "private");
    let read = json!({"uri": "handbook://contents"});
    let read = result(some, "resources/read", read).await;
    assert_eq!(read["cacheScope"], "private", "others see something else");
}

#[tokio::test]
async fn what_a_tenant_names_it_sees_and_nothing_else() {
    let said = "prompts = [\"qui*\"]\nresources = [\"house://rooms/1*\", \"handbook://contents\"]";
    let Tenants { server, clients } = tenants(&[said, ""]).await;
    let [named, whole] = &clients[..] else {
        panic!("two clients")
    };
    let prompts = all(named, "prompts/list", "prompts").await;
    assert_eq!(each(&prompts, "name"), ["quiz"]);
    let told = result(named, "resources/list", json!({})).await;
    let uris = each(told["resources"].as_array().expect("a list"), "uri");
    assert_eq!(uris[0], "handbook://contents");
    assert!(uris.contains(&"house://rooms/10".to_owned()), "{uris:?}");
    assert!(!uris.contains(&"house://rooms/2".to_owned()), "{uris:?}");
    let templates = all(named, "resources/templates/list", "resourceTemplates").await;
    assert_eq!(each(&templates, "uriTemplate"), ["house://rooms/{number}"]);
    result(named, "resources/read", json!({"uri": "house://rooms/17"})).await;
    for hidden in [
        "house://rooms/2",
        "house://rules",
        "handbook://chapters/weather",
    ] {
        let answer = named
            .request("resources/read", json!({"uri": hidden}))
            .answer()
            .await;
        answer.error(200, -32602);
    }
    // And hears nothing of the others.
    let wanted = ["house://rooms/2", "house://rooms/12"];
    let mut heard = named.listen(json!({"resourceSubscriptions": wanted})).await;
    assert_eq!(
        heard.accepted(),
        &json!({"resourceSubscriptions": ["house://rooms/12"]})
    );
    for uri in wanted {
        whole.result("touch", json!({"uri": uri})).await;
    }
    assert_eq!(
        heard.next().await,
        Some(Heard::Updated(wanted[1].to_owned()))
    );
    drop(server);
}
