//! Reloads under load.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use cofferdam_tests::{Asked, Client, Declares, Heard, Task, accept};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use cofferdam_tests::shop::{Shop, changed, listen, text, told, version};

/// Reloads.
const RELOADS: u32 = 50;
/// After so many more reloads a version's questions are answered.
const LATER: u32 = 7;
/// Clients that call all the time.
const CALLERS: usize = 4;
/// Listeners beside the one that the test waits for.
const LISTENERS: usize = 3;

/// What waits for its client, of one version.
struct Waiting {
    task: Task,
    asked: Asked,
}

impl Waiting {
    async fn begin(client: &Client) -> Self {
        let task = client.task("task", json!({})).await;
        let asked = client.asked("asked", json!({})).await;
        Self { task, asked }
    }

    /// Answers, and checks that the version that asked goes on.
    async fn end(self, version: u32) {
        self.task.until("input_required").await;
        self.task.update(json!({"go": accept("x")})).await;
        let done = self.task.until("completed").await;
        assert_eq!(told(&done["result"]), text(version));
        let done = self.asked.result(json!({"go": accept("x")})).await;
        assert_eq!(told(&done), text(version));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_reloads_fail_no_call_and_no_task_changes_its_version() {
    let begun = Instant::now();
    let shop = Shop::new(0);
    // Tasks that wait give their instance back soon, so that they are brought back by replay.
    let options = shop.options().set("tasks.park-after-ms", 100);
    let server = cofferdam_tests::Server::start(options).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    // The newest version that may serve, and the newest that surely does.
    let (put, serves) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let over = CancellationToken::new();
    let calls = Arc::new(AtomicUsize::new(0));

    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (client, over, calls) = (client.clone(), over.clone(), Arc::clone(&calls));
        let (put, serves) = (Arc::clone(&put), Arc::clone(&serves));
        callers.spawn(async move {
            while !over.is_cancelled() {
                let least = serves.load(Ordering::SeqCst);
                let told = version(&client).await;
                let most = put.load(Ordering::SeqCst);
                let versions = (least..=most).map(text).collect::<Vec<_>>();
                assert!(versions.contains(&told), "{told}, not {least} to {most}");
                calls.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut listeners = JoinSet::new();
    for _ in 0..LISTENERS {
        let mut heard = listen(&client).await;
        listeners.spawn(async move {
            let mut count = 0;
            while let Some(Heard::ToolsChanged) = heard.next().await {
                count += 1;
            }
            count
        });
    }

    let mut heard = listen(&client).await;
    let mut waiting = HashMap::from([(0, Waiting::begin(&client).await)]);
    for reload in 1..=RELOADS {
        put.store(reload, Ordering::SeqCst);
        shop.put_version(reload);
        changed(&mut heard).await;
        serves.store(reload, Ordering::SeqCst);
        assert_eq!(version(&client).await, text(reload));
        waiting.insert(reload, Waiting::begin(&client).await);
        if let Some(due) = reload.checked_sub(LATER)
            && let Some(waiting) = waiting.remove(&due)
        {
            waiting.end(due).await;
        }
    }
    for (version, waiting) in waiting {
        waiting.end(version).await;
    }
    over.cancel();
    while let Some(ended) = callers.join_next().await {
        ended.expect("no call failed");
    }
    // The end of each stream comes after all that was heard.
    server.terminate();
    assert_eq!(heard.next().await, Some(Heard::End));
    while let Some(count) = listeners.join_next().await {
        assert_eq!(count.expect("it heard"), RELOADS, "once for each change");
    }
    println!(
        "{RELOADS} reloads, {} calls and {} tasks and questions in {:.1} s: none failed",
        calls.load(Ordering::Relaxed),
        2 * (RELOADS + 1),
        begun.elapsed().as_secs_f64()
    );
}
