//! `completion/complete`.

use crate::{result, serve};
use cofferdam_tests::Client;
use serde_json::{Value, json};

async fn complete(client: &Client, reference: Value, argument: [&str; 2], context: Value) -> Value {
    let [name, value] = argument;
    let params = json!({
        "ref": reference,
        "argument": {"name": name, "value": value},
        "context": {"arguments": context},
    });
    result(client, "completion/complete", params).await["completion"].clone()
}

#[tokio::test]
async fn what_a_user_types_is_completed() {
    let server = serve().await;
    let client = server.client();
    let prompt = json!({"type": "ref/prompt", "name": "greeting"});
    let completed = complete(&client, prompt.clone(), ["name", "a"], json!({})).await;
    assert_eq!(
        completed,
        json!({"values": ["Ada", "Adele"], "hasMore": false})
    );
    let completed = complete(&client, prompt.clone(), ["name", ""], json!({"times": "2"})).await;
    assert_eq!(completed["values"], json!(["Ada and Bob"]));
    // An argument without a completion has no values.
    let completed = complete(&client, prompt, ["times", "1"], json!({})).await;
    assert_eq!(completed["values"], json!([]));
    let template = json!({"type": "ref/resource", "uri": "house://rooms/{number}"});
    let completed = complete(&client, template.clone(), ["number", "24"], json!({})).await;
    assert_eq!(completed["values"].as_array().map(Vec::len), Some(11));
    let completed = complete(&client, template, ["number", ""], json!({})).await;
    assert_eq!(completed["values"].as_array().map(Vec::len), Some(100));
    assert_eq!(completed["hasMore"], true);
}

#[tokio::test]
async fn what_there_is_not_is_not_completed() {
    let server = serve().await;
    let client = server.client();
    let argument = json!({"name": "name", "value": ""});
    for params in [
        json!({"ref": {"type": "ref/prompt", "name": "nobody"}, "argument": argument}),
        json!({"ref": {"type": "ref/resource", "uri": "house://{x}"}, "argument": argument}),
        json!({"ref": {"type": "ref/tool", "name": "touch"}, "argument": argument}),
        json!({"ref": {"type": "ref/prompt"}, "argument": argument}),
        json!({"ref": {"type": "ref/prompt", "name": "greeting"}}),
        json!({"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "x", "value": ""}}),
        json!({"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "name", "value": 1}}),
        json!({"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": argument,
            "context": {"arguments": {"times": 1}}}),
        json!({"argument": argument}),
    ] {
        let answer = client.request("completion/complete", params).answer().await;
        answer.error(200, -32602);
    }
}
