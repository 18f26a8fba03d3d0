//! Clients that go away: after a part of the request, in the middle of the call, with one half of the
//! connection; by the hundreds.

use cofferdam_tests::{Arena, Declares, patient};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Wire, first_answer, statuses, terms};

#[tokio::test]
async fn calls_that_are_left_at_once_leave_nothing() {
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Tasks);
    let long = client
        .tool("hostile.sleep", json!({"ms": 9_000, "progress": true}))
        .meta("progressToken", json!(1));
    let request = wire.request(&long);
    let attack = async {
        let head = request.find("\r\n\r\n").expect("a head ends") + 4;
        for part in [10, head, head + 20, request.len()] {
            for _ in 0..200 {
                drop(wire.open(&request.as_bytes()[..part]).await);
            }
        }
        // The same once the answer has begun.
        let started = async |wire: &Wire| {
            let mut stream = wire.open(request.as_bytes()).await;
            let mut byte = [0];
            let read = stream.read_exact(&mut byte).await;
            read.expect("the stream begins");
        };
        for _ in 0..50 {
            patient("a stream to begin", started(&wire)).await;
        }
        // None of them waits in the queue, or keeps an instance, for nobody.
        client.result("hostile.echo", json!({"text": "x"})).await;
        arena.at_rest().await;
        println!("850 calls were left");
    };
    arena.under("abandoned calls", attack).await;
}

#[tokio::test]
async fn a_client_that_closes_its_half_has_gone() {
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Nothing);
    let attack = async {
        // What was answered at once, it may still get.
        let discover = wire.request(&client.request("server/discover", json!({})));
        for _ in 0..20 {
            let told = statuses(&wire.told_half_closed(&discover).await);
            assert!(told == [200] || told.is_empty(), "{told:?}");
        }
        // Half a request is none.
        for part in [0, 1, 40] {
            let told = wire.told_half_closed(&discover.as_bytes()[..part]).await;
            assert!(told.len() <= 1, "{told:?}");
            assert!(told.iter().all(|told| told.status == 400), "{told:?}");
        }
        // A call that takes long ends with its client.
        let call = wire.request(&client.tool("hostile.sleep", json!({"ms": 9_000})));
        for _ in 0..20 {
            wire.told_half_closed(&call).await;
        }
        arena.at_rest().await;
    };
    arena.under("half-closed connections", attack).await;
}

// What became a task goes on without its client, so it counts: whoever leaves gets no more than others.
#[tokio::test]
async fn tasks_of_clients_that_left_count_towards_the_limit() {
    // What waits for its client must not wait with its instance here: there are few.
    let arena = Arena::start(terms().set("tasks.park-after-ms", 10)).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::TasksAndForms);
    let attack = async {
        let call = wire.request(&client.tool("hostile.ask", json!({"keys": ["k"]})));
        let mut created = 0;
        for _ in 0..40 {
            let mut stream = wire.open(call.as_bytes()).await;
            let told = first_answer(&mut stream).await;
            assert_eq!(told.status, 200, "{told:?}");
            created += usize::from(told.body.contains("\"taskId\""));
            let _ = stream.shutdown().await;
        }
        assert_eq!(created, 40);
        // Another 40, and nobody reads how they were answered: at the limit they are refused.
        for _ in 0..40 {
            drop(wire.open(call.as_bytes()).await);
        }
        let refused = async {
            loop {
                let answer = client.call("hostile.ask", json!({"keys": ["k"]})).await;
                if answer.response.get("error").is_some() {
                    return answer.message(200, -32603).to_owned();
                }
            }
        };
        let message = patient("the limit of tasks", refused).await;
        assert_eq!(message, "Task limit reached");
    };
    arena.under("abandoned tasks", attack).await;
}
