//! The examples in other languages than Rust, each as its user meets it.

use std::sync::Arc;

use cofferdam_tests::{Declares, Options, Server, guest_if_built};
use serde_json::{Value, json};

use crate::plain::text;
use crate::stage::Stage;

/// `links`: the web's own `fetch`, through the server's grants.
pub(crate) async fn links_of_a_page_are_fetched_once(stage: Arc<Stage>) {
    let upstream = &stage.upstream;
    let page = upstream.url("/page/3");
    let client = stage.client();
    let task = client.task("check-links", json!({"url": page})).await;
    let end = task.until("completed").await;
    let gone = json!([{"url": upstream.url("/status/404"), "why": "it answered 404"}]);
    assert_eq!(
        end["result"]["structuredContent"],
        json!({"page": page, "found": 3, "checked": 3, "broken": gone})
    );

    // Too many to follow unasked. What was fetched before the question is not fetched again.
    let page = upstream.url("/page/30");
    let task = client.task("check-links", json!({"url": page})).await;
    let asked = task.until("input_required").await;
    let form = &asked["inputRequests"]["limit"]["params"];
    assert_eq!(
        form["message"],
        "The page has 30 links. How many shall be followed?"
    );
    stage.server.until_running(0, 0).await;
    task.update(json!({"limit": {"action": "accept", "content": {"limit": 2}}}))
        .await;
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["structuredContent"],
        json!({"page": page, "found": 30, "checked": 2, "broken": []})
    );
    assert_eq!(upstream.asked("/page/30").len(), 1);
    assert_eq!(upstream.asked("/there/1").len(), 2);

    // What is not granted is not reached, and a model is told so.
    let elsewhere = json!({"url": "http://elsewhere.example/"});
    let task = client.task("check-links", elsewhere).await;
    let end = task.until("completed").await;
    assert_eq!(end["result"]["isError"], true, "{end}");
}

/// `prose`: a step for each chapter; a question only about a long text without headings.
pub(crate) async fn a_text_is_described_by_chapters_or_paragraphs(stage: Arc<Stage>) {
    let client = stage.client();
    let chapters = "# One\nThe cat sat on the mat. It was warm!\n# Two\nNobody came, nobody. Why?";
    let arguments = json!({"text": chapters, "frequent": 2});
    let result = client.result("describe-text", arguments).await;
    let report = &result["structuredContent"];
    assert_eq!(report["frequent"], json!(["nobody", "the"]), "{report}");
    let counts = ["chapters", "words", "sentences", "distinct_words"].map(|it| &report[it]);
    assert_eq!(counts, [2, 13, 4, 11].map(|it| json!(it)).each_ref());
    let table = result["content"][1]["resource"]["text"].as_str();
    assert_eq!(table.expect("a table").lines().count(), 3, "{result}");

    let paragraphs = "Some words.\n\n".repeat(1_500);
    let task = client
        .task("describe-text", json!({"text": paragraphs}))
        .await;
    task.until("input_required").await;
    stage.server.until_running(0, 0).await;
    task.update(json!({"split": {"action": "accept", "content": {"split": "nothing"}}}))
        .await;
    let end = task.until("completed").await;
    let report = &end["result"]["structuredContent"];
    assert_eq!(
        (&report["chapters"], &report["words"]),
        (&json!(1), &json!(3_000))
    );

    let result = client.result("describe-text", json!({"text": " "})).await;
    assert_eq!(text(&result), "There is no text.");
}

/// A server with an example of its own.
async fn serve(component: &str) -> Option<Server> {
    let component = guest_if_built(component)?;
    Some(Server::start(Options::default().and(component)).await)
}

#[tokio::test]
async fn contacts_are_imported_and_doubles_asked_about() {
    let Some(server) = serve("contacts").await else {
        return;
    };
    let client = server.client().declaring(Declares::TasksAndForms);
    let csv = "Name;E-Mail;email;phone\n\"Doe; Jo\";x;jo@example.com;1\nNobody;;;\n\
               Jo;x;JO@example.com;2\nAda;x;ada@example.com;\n";
    let task = client.task("import-contacts", json!({"csv": csv})).await;
    let asked = task.until("input_required").await;
    let question = &asked["inputRequests"]["jo@example.com"]["params"]["message"];
    let told = "2 contacts have the address jo@example.com: Doe; Jo (1), Jo (2).";
    assert_eq!(question, told);
    task.update(json!({"jo@example.com": {"action": "accept", "content": {"what": "merge"}}}))
        .await;
    let end = task.until("completed").await;
    let result = &end["result"];
    let faulty = json!([{"row": 2, "why": "\"\" is no address"}]);
    assert_eq!(
        result["structuredContent"],
        json!({"rows": 4, "contacts": 2, "duplicates": 1, "faulty": faulty})
    );
    let cards = result["content"][1]["resource"]["text"].as_str();
    let cards: Vec<&str> = cards.expect("vCards").lines().collect();
    let merged = [
        "BEGIN:VCARD",
        "VERSION:4.0",
        "FN:Doe\\; Jo",
        "EMAIL:jo@example.com",
        "TEL:1",
        "TEL:2",
        "END:VCARD",
    ];
    assert_eq!(cards[..7], merged);

    let result = server
        .client()
        .result("import-contacts", json!({"csv": "\"x"}))
        .await;
    assert_eq!(result["isError"], true, "{result}");
}

#[tokio::test]
async fn a_chart_asks_for_its_scale() {
    let Some(server) = serve("chart").await else {
        return;
    };
    let client = server.client().declaring(Declares::TasksAndForms);
    let is_png = |result: &Value| {
        let data = result["content"][0]["data"].as_str().unwrap_or_default();
        // The eight bytes that begin every PNG, in base64.
        assert!(data.starts_with("iVBORw0KGgo"), "{result}");
    };
    let result = client.result(
        "draw-chart",
        json!({"values": [3, -1, 2.5e0], "kind": "bars"}),
    );
    let result = result.await;
    is_png(&result);
    let told = result["content"][1]["text"].as_str();
    assert_eq!(told, Some("3 values from -1 to 3, on a linear scale"));

    let wide: Vec<f64> = (0..3_000).map(|n| f64::from(n).exp2().min(1e9)).collect();
    let task = client.task("draw-chart", json!({"values": wide})).await;
    let asked = task.until("input_required").await;
    let form = &asked["inputRequests"]["logarithmic"]["params"];
    assert_eq!(
        form["message"],
        "The values go from 1 to 1e+09. Draw them on a logarithmic scale?"
    );
    let answer = json!({"action": "accept", "content": {"logarithmic": true}});
    task.update(json!({"logarithmic": answer})).await;
    let end = task.until("completed").await;
    is_png(&end["result"]);
    let told = end["result"]["content"][1]["text"]
        .as_str()
        .expect("a text");
    assert!(told.ends_with("on a logarithmic scale"), "{told}");
}
