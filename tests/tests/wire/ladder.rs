//! The order of the checks. A request with two faults is answered for the one that comes first;
//! each test names the two rungs it stands between.

use cofferdam_tests::{Call, Client, Declares, META, Options, Server};
use serde_json::{Value, json};

/// A discovery request, right in everything.
fn discover(client: &Client) -> Call {
    client.request("server/discover", json!({}))
}

fn claim_version(call: Call, version: &str) -> Call {
    call.meta("protocolVersion", json!(version))
}

async fn code(call: Call) -> (u16, i64) {
    let answer = call.answer().await;
    (
        answer.status,
        answer.response["error"]["code"].as_i64().unwrap_or(0),
    )
}

#[tokio::test]
async fn origin_comes_before_the_http_method() {
    let server = Server::start(Options::probe()).await;
    let call = discover(&server.client()).header("Origin", "http://evil.example.com");
    for method in ["GET", "DELETE", "PUT"] {
        let request = cofferdam_tests::Request::new(method, "/mcp")
            .header("Origin", "http://evil.example.com");
        assert_eq!(request.send(server.address()).await.status, 403, "{method}");
    }
    // ... and before all that comes after it.
    let response = call
        .header("Content-Type", "text/plain")
        .send_body("nonsense")
        .await;
    assert_eq!(response.status, 403);
}

#[tokio::test]
async fn http_method_comes_before_the_content_type() {
    let server = Server::start(Options::probe()).await;
    let request = cofferdam_tests::Request::new("PUT", "/mcp").header("Content-Type", "text/plain");
    assert_eq!(request.body("{}").send(server.address()).await.status, 405);
}

#[tokio::test]
async fn content_type_and_accept_come_before_the_size() {
    let server = Server::start(Options::probe().set("server.max-body-bytes", 1024)).await;
    let large = " ".repeat(2000);
    let typed = discover(&server.client()).header("Content-Type", "text/plain");
    assert_eq!(typed.send_body(large.clone()).await.status, 415);
    let picky = discover(&server.client()).header("Accept", "text/html");
    assert_eq!(picky.send_body(large.clone()).await.status, 406);
    assert_eq!(
        discover(&server.client()).send_body(large).await.status,
        413
    );
}

#[tokio::test]
async fn parsing_comes_before_the_shape_and_the_shape_before_the_metadata() {
    let server = Server::start(Options::probe()).await;
    let client = server.client();
    let bare = || {
        discover(&client)
            .without("Mcp-Method")
            .without("MCP-Protocol-Version")
    };
    let response = bare().send_body("{\"id\":null,").await;
    assert_eq!(
        (response.status, &response.json().await["error"]["code"]),
        (400, &json!(-32700))
    );
    let response = bare()
        .send_body("{\"id\":null,\"method\":\"server/discover\"}")
        .await;
    assert_eq!(
        (response.status, &response.json().await["error"]["code"]),
        (400, &json!(-32600))
    );
}

#[tokio::test]
async fn metadata_comes_before_the_headers() {
    let server = Server::start(Options::probe()).await;
    let client = server.client();
    for broken in [
        json!(null),
        json!("text"),
        json!({}),
        json!({format!("{META}clientCapabilities"): {}}),
        json!({format!("{META}protocolVersion"): "2026-07-28"}),
    ] {
        let call = discover(&client).param("_meta", broken.clone());
        assert_eq!(code(call.clone()).await, (400, -32602), "{broken}");
        // The same without any header: what is missing in the body is still what is said.
        let call = call.without("Mcp-Method").without("MCP-Protocol-Version");
        assert_eq!(code(call).await, (400, -32602), "{broken}");
    }
    // The header alone does not state the version.
    let call = discover(&client).edit(|message| {
        message["params"]["_meta"]
            .as_object_mut()
            .expect("an object")
            .shift_remove(&format!("{META}protocolVersion"));
    });
    assert_eq!(code(call).await, (400, -32602));
}

#[tokio::test]
async fn metadata_has_types() {
    let server = Server::start(Options::probe()).await;
    let client = server.client();
    for (key, value) in [
        ("protocolVersion", json!(5)),
        ("protocolVersion", json!(null)),
        ("clientCapabilities", json!([])),
        ("clientCapabilities", json!("all")),
        ("clientCapabilities", json!(null)),
        ("clientInfo", json!("me")),
        ("clientInfo", json!({"name": "me"})),
        ("logLevel", json!("loud")),
        ("progressToken", json!(1.5)),
    ] {
        let call = discover(&client).meta(key, value.clone());
        assert_eq!(code(call).await, (400, -32602), "{key} {value}");
    }
    // Who calls may stay unsaid.
    let call = discover(&client).edit(|message| {
        let meta = message["params"]["_meta"]
            .as_object_mut()
            .expect("an object");
        assert!(meta.shift_remove(&format!("{META}clientInfo")).is_some());
    });
    call.answer().await.result();
}

#[tokio::test]
async fn headers_come_before_the_version() {
    let server = Server::start(Options::probe()).await;
    // The header speaks of a good version, the body of an unknown one: they differ, first of all.
    let call = claim_version(discover(&server.client()), "v999.0.0");
    assert_eq!(code(call.clone()).await, (400, -32020));
    // Both unknown, but the method header is wrong.
    let call = call.header("MCP-Protocol-Version", "v999.0.0");
    assert_eq!(
        code(call.clone().header("Mcp-Method", "tools/list")).await,
        (400, -32020)
    );
    assert_eq!(code(call).await, (400, -32022));
}

#[tokio::test]
async fn the_version_comes_before_the_method() {
    let server = Server::start(Options::probe()).await;
    let unknown = server.client().request("unknown/method", json!({}));
    let call =
        claim_version(unknown.clone(), "2025-11-25").header("MCP-Protocol-Version", "2025-11-25");
    let answer = call.answer().await;
    let data = &answer.error(400, -32022)["data"];
    assert_eq!(
        data,
        &json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})
    );
    assert_eq!(code(unknown).await, (404, -32601));
}

// M-02: the methods of other eras do not exist.
#[tokio::test]
async fn unknown_methods_are_unknown_whatever_else_is_wrong() {
    let server = Server::start(Options::probe()).await;
    let methods = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "completion/complete",
        "tasks/result",
        "tasks/list",
        "tasks/",
        "tasks/GET",
        "",
        "TOOLS/CALL",
    ];
    for client in [
        server.client(),
        server.client().declaring(Declares::Everything),
    ] {
        for method in methods {
            for params in [json!({}), json!({"taskId": 5, "cursor": {}, "name": []})] {
                let call = client.request(method, params.clone());
                assert_eq!(code(call).await, (404, -32601), "{method} {params}");
            }
        }
    }
}

#[tokio::test]
async fn methods_that_name_something_need_the_name_even_if_they_are_not_offered() {
    let server = Server::start(Options::probe()).await;
    for (method, key) in [("prompts/get", "name"), ("resources/read", "uri")] {
        let call = server.client().request(method, json!({key: "x:y"}));
        let unnamed = call.clone().without("Mcp-Name");
        assert_eq!(code(unnamed).await, (400, -32020), "{method}");
        let misnamed = call.clone().header("Mcp-Name", "x:z");
        assert_eq!(code(misnamed).await, (400, -32020), "{method}");
        assert_eq!(code(call).await, (404, -32601), "{method}");
    }
}

// M-03; T-08 and T-09: the capability is looked for before the parameters, and before the id.
#[tokio::test]
async fn capabilities_come_before_parameters() {
    let server = Server::start(Options::probe()).await;
    let client = server.client();
    let needed =
        json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let check = async |call: Call, what: &str| {
        let answer = call.answer().await;
        assert_eq!(answer.error(400, -32021)["data"], needed, "{what}");
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        check(
            client.request(method, json!({"taskId": "gate-test"})),
            method,
        )
        .await;
        check(client.request(method, json!({"taskId": 5})), method).await;
        check(client.request(method, json!({})), method).await;
    }
    let listen =
        |filter: Value| client.request("subscriptions/listen", json!({"notifications": filter}));
    check(listen(json!({"taskIds": ["gate-test"]})), "listen").await;
}

#[tokio::test]
async fn parameters_come_before_names_that_are_looked_up() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::Tasks);
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 5})),
        ("tools/call", json!({"name": null})),
        (
            "tools/call",
            json!({"name": "no-such-tool", "arguments": []}),
        ),
        (
            "tools/call",
            json!({"name": "no-such-tool", "arguments": "text"}),
        ),
        (
            "tools/call",
            json!({"name": "no-such-tool", "arguments": 1}),
        ),
        ("tools/list", json!({"cursor": 5})),
        ("tools/list", json!({"cursor": {}})),
        ("tasks/get", json!({})),
        ("tasks/get", json!({"taskId": 5})),
        ("tasks/get", json!({"taskId": null})),
        ("tasks/cancel", json!({})),
        ("tasks/update", json!({"inputResponses": {}})),
        ("tasks/update", json!({"taskId": "x"})),
        (
            "tasks/update",
            json!({"taskId": "x", "inputResponses": null}),
        ),
        ("tasks/update", json!({"taskId": "x", "inputResponses": []})),
        ("tasks/update", json!({"taskId": "x", "inputResponses": 5})),
        ("subscriptions/listen", json!({})),
        ("subscriptions/listen", json!({"notifications": null})),
        ("subscriptions/listen", json!({"notifications": []})),
        (
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": "yes"}}),
        ),
    ] {
        let call = client.request(method, params.clone());
        assert_eq!(code(call).await, (200, -32602), "{method} {params}");
    }
}

#[tokio::test]
async fn unknown_tools_and_tasks_are_answered_in_band() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::Tasks);
    assert_eq!(
        code(client.tool("no-such-tool", json!({}))).await,
        (200, -32602)
    );
    assert_eq!(
        code(client.request("tasks/get", json!({"taskId": "x"}))).await,
        (200, -32602)
    );
}
