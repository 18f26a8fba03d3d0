//! Prompts and resources in other languages than Rust: their examples, as a client uses them.

use crate::{all, each, read, result};
use cofferdam_tests::{Options, Server, guest_if_built};
use serde_json::{Value, json};

/// What an example has.
struct Example {
    component: &'static str,
    template: &'static str,
    /// All resources.
    count: usize,
    /// One of them, and what it holds.
    uri: &'static str,
    text: &'static str,
    /// Where the template leads to nothing.
    nothing: &'static str,
    /// A variable of the template, what is typed, the other variables, and what it may become.
    typed: (&'static str, &'static str, Value, Value),
    prompt: &'static str,
    arguments: Value,
    said: &'static str,
    unfit: Value,
    tool: &'static str,
    call: Value,
}

async fn offers(example: Example) {
    let Some(component) = guest_if_built(example.component) else {
        return;
    };
    let server = Server::start(Options::default().and(component)).await;
    let client = server.client();

    let templates = all(&client, "resources/templates/list", "resourceTemplates").await;
    assert_eq!(each(&templates, "uriTemplate"), [example.template]);
    let listed = each(&all(&client, "resources/list", "resources").await, "uri");
    assert_eq!(listed.len(), example.count, "{listed:?}");
    for uri in &listed {
        read(&client, uri).await;
    }
    assert_eq!(read(&client, example.uri).await, example.text);
    let params = json!({"uri": example.uri});
    let held = result(&client, "resources/read", params).await;
    assert_eq!(held["ttlMs"], 3_600_000);
    assert_eq!(held["contents"][0]["mimeType"], "text/plain");
    let missing = json!({"uri": example.nothing});
    let answer = client.request("resources/read", missing.clone());
    assert_eq!(answer.answer().await.error(200, -32602)["data"], missing);

    let (variable, value, others, expected) = example.typed;
    let params = json!({
        "ref": {"type": "ref/resource", "uri": example.template},
        "argument": {"name": variable, "value": value},
        "context": {"arguments": others},
    });
    let completed = result(&client, "completion/complete", params).await;
    assert_eq!(completed["completion"]["values"], expected);

    let prompts = all(&client, "prompts/list", "prompts").await;
    assert_eq!(each(&prompts, "name"), [example.prompt]);
    let params = json!({"name": example.prompt, "arguments": example.arguments});
    let got = result(&client, "prompts/get", params).await;
    let text = got["messages"][0]["content"]["text"].as_str();
    assert!(text.is_some_and(|it| it.contains(example.said)), "{got}");
    let params = json!({"name": example.prompt, "arguments": example.unfit});
    let answer = client.request("prompts/get", params).answer().await;
    answer.error(200, -32602);

    let found = client.result(example.tool, example.call).await;
    assert_eq!(found["content"][0]["type"], "resource_link", "{found}");
    read(&client, found["content"][0]["uri"].as_str().expect("a URI")).await;
}

#[tokio::test]
async fn javascript() {
    offers(Example {
        component: "phrasebook",
        template: "phrases://{language}/{phrase}",
        count: 9,
        uri: "phrases://polish/thanks",
        text: "Dziękuję",
        nothing: "phrases://constructor/name",
        typed: (
            "phrase",
            "",
            json!({"language": "polish"}),
            json!(["hello", "thanks"]),
        ),
        prompt: "practise",
        arguments: json!({"language": "finnish"}),
        said: "I am beginner. Hei; Kiitos",
        unfit: json!({"language": "constructor"}),
        tool: "find-phrase",
        call: json!({"phrase": "thanks"}),
    })
    .await;
}

#[tokio::test]
async fn python() {
    offers(Example {
        component: "glossary",
        template: "glossary://terms/{name}",
        count: 5,
        uri: "glossary://terms/fathom",
        text: "Six feet, a measure of depth.",
        nothing: "glossary://terms/keel",
        typed: ("name", "B", json!({}), json!(["bollard"])),
        prompt: "explain",
        arguments: json!({"name": "abaft", "reader": "a cadet"}),
        said: "Explain abaft to a cadet",
        unfit: json!({"name": "keel"}),
        tool: "find_terms",
        call: json!({"start": "co"}),
    })
    .await;
}

#[tokio::test]
async fn c() {
    offers(Example {
        component: "units",
        template: "units://{quantity}/{unit}",
        count: 11,
        uri: "units://length/fathom",
        text: "1 fathom = 1.8288 metre",
        nothing: "units://mass/fathom",
        typed: (
            "unit",
            "F",
            json!({"quantity": "length"}),
            json!(["foot", "fathom"]),
        ),
        prompt: "imagine",
        arguments: json!({"unit": "stone", "amount": "3"}),
        said: "1 stone is 6.35029318 kilogram.",
        unfit: json!({"unit": "stone's throw"}),
        tool: "convert-units",
        call: json!({"amount": 6, "from": "fathom", "to": "foot"}),
    })
    .await;
}
