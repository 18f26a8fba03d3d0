//! `prompts/list` and `prompts/get`.

use crate::{all, each, forms, result, serve};
use cofferdam_tests::{Declares, Options, Server, accept};
use serde_json::json;

#[tokio::test]
async fn a_prompt_is_listed_with_its_arguments_and_got_with_their_values() {
    let server = serve().await;
    let client = server.client();
    let prompts = all(&client, "prompts/list", "prompts").await;
    assert_eq!(each(&prompts, "name"), ["greeting", "forbidden", "failing"]);
    let expected = json!({
        "name": "greeting",
        "title": "Greeting",
        "description": "Greets somebody.",
        "arguments": [
            {"name": "name", "description": "Who is greeted.", "required": true},
            {"name": "times", "description": "How often.", "required": false},
        ],
        "_meta": {"test/kind": "greeting"},
    });
    assert_eq!(prompts[0], expected);
    let arguments = json!({"name": "Ada", "times": "2"});
    let params = json!({"name": "greeting", "arguments": arguments});
    let got = result(&client, "prompts/get", params).await;
    let message = json!({"role": "user", "content": {"type": "text", "text": "Greet Ada."}});
    assert_eq!(got["messages"], json!([message, message]));
    assert_eq!(got["resultType"], "complete");
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_guest() {
    let server = serve().await;
    let client = server.client();
    for (arguments, word) in [
        (json!({}), "\"name\" is missing"),
        (json!({"times": "1"}), "\"name\" is missing"),
        (json!({"name": "a", "other": "b"}), "no argument \"other\""),
        (json!({"name": 5}), "must be a string"),
        (json!([]), "must be an object"),
    ] {
        let params = json!({"name": "greeting", "arguments": arguments});
        let answer = client.request("prompts/get", params).answer().await;
        let message = answer.message(200, -32602);
        assert!(message.contains(word), "{arguments}: {message}");
    }
    // What only the guest can know.
    let arguments = json!({"name": "a", "times": "many"});
    let params = json!({"name": "greeting", "arguments": arguments});
    let answer = client.request("prompts/get", params).answer().await;
    assert!(
        answer
            .message(200, -32602)
            .contains("\"times\" does not fit")
    );
    let unknown = client.request("prompts/get", json!({"name": "nobody"}));
    let answer = unknown.answer().await;
    assert_eq!(answer.message(200, -32602), "Unknown prompt: nobody");
}

#[tokio::test]
async fn a_prompt_fails_in_words_and_harms_nothing() {
    let server = serve().await;
    let client = server.client();
    let get = |how: &str| {
        let params = json!({"name": "failing", "arguments": {"how": how}});
        client.request("prompts/get", params).answer()
    };
    assert_eq!(get("tool").await.message(200, -32603), "it cannot be done");
    assert_eq!(get("rpc").await.message(200, 7), "a code of its own");
    assert!(
        get("trap")
            .await
            .message(200, -32603)
            .contains("stopped unexpectedly")
    );
    get("").await.result();
}

#[tokio::test]
async fn a_prompt_is_never_a_task() {
    let server = serve().await;
    let client = server.client().declaring(Declares::Everything);
    let got = result(&client, "prompts/get", json!({"name": "forbidden"})).await;
    assert_eq!(got["description"], "What came of it");
    let text = got["messages"][0]["content"]["text"]
        .as_str()
        .expect("a text");
    assert!(
        text.contains("NotAllowed") && text.contains("Final"),
        "{text}"
    );
    assert!(text.ends_with("CallStatus::Inline"), "{text}");
}

#[tokio::test]
async fn a_prompt_may_ask_first() {
    let server = Server::start(Options::guest("conformance")).await;
    let client = forms(&server);
    let get = || {
        client.request(
            "prompts/get",
            json!({"name": "test_input_required_result_prompt"}),
        )
    };
    let asked = get().answer().await;
    let state = asked.result()["requestState"].clone();
    assert_eq!(asked.result()["resultType"], "input_required");
    let answers = json!({"user_context": {"action": "accept", "content": {"context": "a test"}}});
    let again = || get().param("inputResponses", answers.clone());
    let got = again().param("requestState", state.clone()).answer().await;
    let text = &got.result()["messages"][0]["content"]["text"];
    assert_eq!(text, "The context is a test.");
    // The state is good for this prompt alone.
    let params = json!({"name": "test_simple_prompt"});
    let other = client.request("prompts/get", params);
    let other = other.param("inputResponses", answers.clone());
    let other = other.param("requestState", state.clone()).answer().await;
    other.error(200, -32602);
    let tool = client.tool("test_input_required_result_elicitation", json!({}));
    let tool = tool.param("inputResponses", json!({"user_name": accept("x")}));
    tool.param("requestState", state.clone())
        .answer()
        .await
        .error(200, -32602);
    let name = json!("test_input_required_result_prompt");
    let arguments = again()
        .param("name", name)
        .param("arguments", json!({"a": "b"}));
    arguments
        .param("requestState", state)
        .answer()
        .await
        .error(200, -32602);
}
