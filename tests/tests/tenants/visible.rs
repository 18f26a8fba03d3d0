//! Which tools a tenant sees: the others are unknown to it, in every method and in the same words.

use cofferdam_tests::{Client, Config, Declares, Identity, Options, Server, guest};
use serde_json::{Value, json};

async fn names(client: &Client) -> Vec<String> {
    let answer = client.request("tools/list", json!({})).answer().await;
    let tools = answer.result()["tools"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .map(str::to_owned)
        .collect()
}

async fn scope(client: &Client) -> Value {
    let answer = client.request("tools/list", json!({})).answer().await;
    answer.result()["cacheScope"].clone()
}

#[tokio::test]
async fn a_tenant_sees_its_tools_and_no_others() {
    let [some, all, none] = ["some", "all", "none"].map(|tenant| Identity::new(tenant, "s"));
    let config = Config::new(&format!(
        "[tenants.some]\ntools = [\"echo\", \"start*\", \"second.w*\"]\n[tenants.all]\n\
         [tenants.none]\ntools = []\n[[tools]]\npath = {:?}\nprefix = \"second.\"\n{}{}{}",
        guest("probe"),
        some.entry,
        all.entry,
        none.entry
    ));
    let server = Server::start(config.probe().set("server.page-size", 100)).await;
    let [some, all, none] = [some, all, none].map(|identity| {
        server
            .client()
            .declaring(Declares::Tasks)
            .bearing(&identity.token)
    });
    let mut seen = names(&some).await;
    seen.sort();
    assert_eq!(
        seen,
        ["echo", "second.wait", "second.work", "start", "start-none"]
    );
    assert_eq!(names(&none).await, Vec::<String>::new());
    let everything = names(&all).await;
    assert!(everything.len() > 40, "{everything:?}");
    for client in [&some, &all, &none] {
        assert_eq!(scope(client).await, "private");
        client
            .request("server/discover", json!({}))
            .answer()
            .await
            .result();
    }

    some.result("echo", json!({"text": "x"})).await;
    some.task("second.wait", json!({})).await;
    // Hidden, or not there: word for word the same but for the name.
    for hidden in ["add", "second.echo", "wait", "required"] {
        assert!(everything.iter().any(|name| name == hidden), "{hidden}");
        let missing = format!("{}~", &hidden[..hidden.len() - 1]);
        let call = |name: &str| some.tool(name, json!({"text": "x"})).id(json!(1)).answer();
        let (hidden_answer, missing_answer) = (call(hidden).await, call(&missing).await);
        let words = hidden_answer.response.to_string().replace(hidden, &missing);
        assert_eq!(words, missing_answer.response.to_string());
        assert_eq!(hidden_answer.status, missing_answer.status);
    }
}

// Pages are made of what a tenant sees, and a cursor tells nothing of what it does not.
#[tokio::test]
async fn pages_hold_visible_tools_only() {
    let identity = Identity::new("acme", "s");
    let tools = ["echo", "wait", "ask", "finish", "keep"];
    let config = Config::new(&format!(
        "[tenants.acme]\ntools = {}\n{}",
        json!(tools),
        identity.entry
    ));
    let server = Server::start(config.probe().set("server.page-size", 2)).await;
    let client = server.client().bearing(&identity.token);
    let (mut seen, mut sizes) = (Vec::new(), Vec::new());
    let mut cursor = None;
    loop {
        let mut call = client.request("tools/list", json!({}));
        if let Some(cursor) = cursor {
            call = call.param("cursor", cursor);
        }
        let answer = call.answer().await;
        let page = answer.result()["tools"].as_array().expect("tools").clone();
        sizes.push(page.len());
        seen.extend(
            page.iter()
                .map(|tool| tool["name"].as_str().expect("a name").to_owned()),
        );
        cursor = answer.result().get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2, 1]);
    seen.sort();
    assert_eq!(seen, ["ask", "echo", "finish", "keep", "wait"]);
}

#[tokio::test]
async fn lists_are_public_where_all_see_the_same() {
    let identity = Identity::new("acme", "s");
    let config = Config::new(&format!("[tenants.acme]\n{}", identity.entry));
    let server = Server::start(config.probe()).await;
    assert_eq!(
        scope(&server.client().bearing(&identity.token)).await,
        "public"
    );
    let open = Server::start(Options::probe()).await;
    assert_eq!(scope(&open.client()).await, "public");
}

// What a tenant may see is asked when it calls; a task that runs already goes on.
#[tokio::test]
async fn a_task_goes_on_though_its_tool_was_hidden() {
    let identity = Identity::new("acme", "s");
    let text = |tools: &str| format!("[tenants.acme]\ntools = [{tools}]\n{}", identity.entry);
    let config = Config::new(&text("\"ask\""));
    let server = Server::start(config.probe()).await;
    let client = server
        .client()
        .declaring(Declares::TasksAndForms)
        .bearing(&identity.token);
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    task.until("input_required").await;
    config.put("cofferdam.toml", text("\"echo\""));
    let server = server.restart().await;
    let client = server
        .client()
        .declaring(Declares::TasksAndForms)
        .bearing(&identity.token);
    client
        .call("ask", json!({"keys": ["k"]}))
        .await
        .error(200, -32602);
    let answers = json!({"k": cofferdam_tests::accept("x")});
    client.task_update(task.id(), answers).await.result();
    cofferdam_tests::patient("the task to end", async {
        while client.task_get(task.id()).await.result()["status"] != "completed" {}
    })
    .await;
}
