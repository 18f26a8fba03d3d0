//! Ids and progress tokens of every form: what the server repeats, it repeats to the letter, or refuses.

use cofferdam_tests::{Arena, Call, Declares, patient};
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::json::{discover, with};
use super::{Wire, terms};

/// Ids and tokens of every form.
const IDS: [&str; 7] = [
    "0",
    "-0",
    "-1",
    "18446744073709551616",
    "123456789012345678901234567890",
    r#""""#,
    "\"\u{e9}\u{202e}\"",
];

/// Texts that could be written otherwise.
const ESCAPED: [&str; 2] = [r#""\u0000\/\"""#, r#""\ud83d\ude00""#];

/// True if a long id was refused for its length.
fn too_long(id: &str, status: u16, body: &str) -> bool {
    id.len() > 256 && status == 400 && body.contains("bytes")
}

#[tokio::test]
async fn an_id_of_any_form_comes_back_to_the_letter() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let plain = discover(&client);
    let attack = async {
        let digits = "9".repeat(400);
        let text = format!("\"{}\"", "x".repeat(3_000_000));
        let long = [&*digits, &*text];
        for id in IDS.into_iter().chain(ESCAPED).chain(long) {
            let body = with(&plain, "\"id\":1", &format!("\"id\":{id}"));
            let response = plain.clone().send_body(body).await;
            let status = response.status;
            let bytes = response.bytes().await;
            let body = String::from_utf8_lossy(&bytes);
            let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
            let right = (status == 200 && body.starts_with(&start)) || too_long(id, status, &body);
            assert!(right, "{id:.40}: {status} {body:.100}");
        }
    };
    arena.under("ids of requests", attack).await;
}

/// Sends a request, and reads what comes until it holds `wanted` or is a refusal for its length.
async fn hear(wire: &Wire, request: &str, id: &str, member: &str) -> Result<(), String> {
    let wanted = format!("{member}\":{id}");
    let mut stream = wire.open(request.as_bytes()).await;
    let mut heard = Vec::new();
    patient("an answer", async {
        loop {
            let text = String::from_utf8_lossy(&heard).into_owned();
            let refused = text.starts_with("HTTP/1.1 400") && too_long(id, 400, &text);
            if text.contains(&wanted) || refused {
                return Ok(());
            }
            // A message that is there whole names it otherwise.
            let other = text.contains(member) && text.ends_with("\r\n");
            if other || !matches!(stream.read_buf(&mut heard).await, Ok(read) if read > 0) {
                return Err(format!("{member} {id:.40}: {text:?}"));
            }
        }
    })
    .await
}

/// The request with a part of its message replaced.
fn request_with(wire: &Wire, call: &Call, from: &str, to: &str) -> String {
    let body = String::from_utf8(with(call, from, to)).expect("text");
    let request = wire.request(call);
    let (head, _) = request.split_once("Content-Length").expect("it has one");
    format!(
        "{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn an_id_of_any_form_names_its_stream_and_its_progress() {
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Nothing);
    let listen = client
        .request(
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        )
        .id(json!("here"));
    let progress = client
        .tool("hostile.progress", json!({"steps": 2}))
        .meta("progressToken", json!("here"));
    let attack = async {
        let digits = "9".repeat(400);
        let mut wrong = Vec::new();
        for id in IDS.into_iter().chain([&*digits]) {
            for (call, member) in [(&listen, "subscriptionId"), (&progress, "progressToken")] {
                let request = request_with(&wire, call, "\"here\"", id);
                let heard = hear(&wire, &request, id, member).await;
                wrong.extend(heard.err());
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    };
    arena.under("ids of every form", attack).await;
    let panics = arena.server().log().count(&["panicked at"]);
    assert_eq!(panics, 0, "{}", arena.server().log().text());
}
