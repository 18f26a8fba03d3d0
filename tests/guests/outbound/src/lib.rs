//! Tools that speak to other servers, for tests of what is granted and of what a later run learns.
//!
//! Each tells what came of a request as it was: an answer, or the name of the error.

mod http;
mod tcp;

use cofferdam_guest::prelude::*;
use http::{Pending, Request};
use serde_json::{Value, json};
use wasip2::clocks::monotonic_clock;
use wasip2::io::poll::poll;

cofferdam_guest::export!(fetch, visit, race, neglect, tcp::connect);

/// Makes one request.
#[tool]
fn fetch(Args(request): Args<Request>) -> Result<ToolResult> {
    ToolResult::new().structured(&request.send())
}

/// Posts to each URL in turn, after a pause, as a task; the result is what each answered.
#[tool(task = "optional")]
fn visit(call: &Call, urls: Vec<String>, pause: Option<u64>) -> Result<ToolResult> {
    call.start_task(TaskOptions::new())?;
    let mut answers = Vec::new();
    for url in urls {
        call.sleep(Duration::from_millis(pause.unwrap_or_default()))?;
        answers.push(Request::post(&url).send());
    }
    ToolResult::new().structured(&json!({ "answers": answers }))
}

/// Asks all URLs at once, and tells who answered in which order, and at what time on the call's clock.
/// Then waits, as a task, until somebody says so.
#[tool(task = "optional")]
fn race(call: &Call, urls: Vec<String>) -> Result<ToolResult> {
    call.start_task(TaskOptions::new())?;
    let mut open: Vec<(usize, Pending)> = urls
        .iter()
        .map(|url| Request::post(url).begin())
        .enumerate()
        .collect();
    let mut order = Vec::new();
    while !open.is_empty() {
        let pollables: Vec<_> = open.iter().map(|(_, it)| it.subscribe()).collect();
        let ready = poll(&pollables.iter().collect::<Vec<_>>());
        drop(pollables);
        for place in ready.into_iter().rev() {
            let (index, pending) = open.remove(place as usize);
            let answer = pending.take();
            order.push(json!({ "index": index, "answer": answer, "at": monotonic_clock::now() }));
            call.progress(order.len(), Some(urls.len()), &order.len().to_string())?;
        }
    }
    let before = json!({ "order": order });
    call.ask_form::<Go>("go", "Go on?")?;
    ToolResult::new().structured(&before)
}

#[derive(Deserialize, JsonSchema)]
struct Go {
    #[expect(dead_code, reason = "only asked")]
    go: bool,
}

/// Begins a request, sleeps, and only then looks at the answer.
#[tool(task = "optional")]
fn neglect(call: &Call, url: String, sleep: u64) -> Result<ToolResult> {
    call.start_task(TaskOptions::new())?;
    let pending = Request::post(&url).begin();
    // A look at it, for a request goes out when it is first looked at.
    let _: Option<Value> = pending.look();
    call.sleep(Duration::from_millis(sleep))?;
    ToolResult::new().structured(&pending.take())
}
