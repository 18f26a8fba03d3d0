//! Tasks in a PostgreSQL database: what survives when the server, or the database, does not.

use std::time::{Duration, Instant};

use cofferdam_postgres::{Postgres, USER};
use cofferdam_tests::{Client, Declares, Options, Server, Task, accept, bare, patient};
use serde_json::json;
use tokio::task::spawn_blocking;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

async fn server_on(database: &Postgres) -> Server {
    Server::start(Options::probe().store(&database.database())).await
}

#[tokio::test]
async fn a_named_task_and_its_end_survive_kills() {
    let database = Postgres::start();
    let mut server = server_on(&database).await;
    let waiting = client(&server).task("wait", json!({})).await;
    let asking = client(&server).task("ask", json!({"keys": ["a"]})).await;
    asking.until("input_required").await;
    let ended = client(&server).task("finish", json!({})).await;
    ended.until("completed").await;
    for _ in 0..3 {
        server.kill();
        server = server.restart().await;
        let after = client(&server);
        let state = waiting.through(&after).get().await;
        assert_eq!(bare(&state), bare(waiting.creation()));
        // The task helper itself compares a final state with the one seen before.
        ended.through(&after).get().await;
    }
    let asking = asking.through(&client(&server));
    asking.update(json!({"a": accept("yes")})).await;
    let end = asking.until("completed").await;
    assert_eq!(end["result"]["structuredContent"]["a"], accept("yes"));
    let waiting = waiting.through(&client(&server));
    waiting.cancel().await;
    assert_eq!(waiting.status().await, "cancelled");
}

#[tokio::test]
async fn a_database_that_is_down_costs_requests_an_error_and_nothing_else() {
    let mut database = Postgres::on_tcp();
    let server = server_on(&database).await;
    let client = client(&server);
    let asking = client.task("ask", json!({"keys": ["a"]})).await;
    asking.until("input_required").await;
    database.stop();
    let start = Instant::now();
    for _ in 0..20 {
        let told = client.task_get(asking.id()).await;
        let hint = &told.response["error"]["data"]["retryAfterMs"];
        assert!(hint.as_u64() > Some(0), "when to try again: {hint}");
        let told = told.message(200, -32603).to_owned();
        assert!(
            told.contains("database") && !told.contains("127.0.0.1"),
            "{told}"
        );
    }
    let update = json!({"a": accept("early")});
    client
        .task_update(asking.id(), update)
        .await
        .error(200, -32603);
    // A tool that wants to become a task hears of it; another one does not need the database.
    client.call("wait", json!({})).await.error(200, -32603);
    client.result("echo", json!({"text": "x"})).await;
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    database.start_again();
    // The first request finds it.
    asking.update(json!({"a": accept("late")})).await;
    let end = asking.until("completed").await;
    assert_eq!(end["result"]["structuredContent"]["a"], accept("late"));
    let log = server.log();
    log.line(&["ERROR", "the task store fails", "127.0.0.1"])
        .await;
    log.line(&["INFO", "the task store works again"]).await;
    assert!(!log.text().contains(USER.1), "the password is logged");
}

// A wait that ends while the database is down goes on when it is back.
#[tokio::test]
async fn what_is_due_meanwhile_runs_afterwards() {
    let mut database = Postgres::start();
    let options = Options::probe()
        .store(&database.database())
        .set("tasks.park-after-ms", 50);
    let server = Server::start(options).await;
    let client = client(&server);
    let sleeping = client
        .task("steps", json!({"number": 1, "pause": 3_000}))
        .await;
    server.until_running(0, 0).await;
    database.stop();
    server
        .log()
        .line(&["a task cannot be read; trying again soon"])
        .await;
    database.start_again();
    sleeping.until("completed").await;
}

#[tokio::test]
async fn no_answered_creation_is_lost_with_the_database() {
    let mut database = Postgres::start();
    let server = server_on(&database).await;
    let before = client(&server);
    let (answered, mut tasks) = tokio::sync::mpsc::unbounded_channel();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (client, answered) = (before.clone(), answered.clone());
            tokio::spawn(async move {
                loop {
                    let answer = client.call("wait", json!({})).await;
                    if answer.response["result"]["resultType"] != "task" {
                        // The database is down.
                        answer.error(200, -32603);
                        continue;
                    }
                    let task = Task::created(client.clone(), answer.result());
                    if answered.send(task).is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    let mut named: Vec<Task> = Vec::new();
    for _ in 0..3 {
        for _ in 0..20 {
            named.push(
                patient("a task", tasks.recv())
                    .await
                    .expect("callers go on"),
            );
        }
        database = spawn_blocking(move || {
            database.stop();
            database.start_again();
            database
        })
        .await
        .expect("a thread");
    }
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    for call in calls {
        let _ = call.await;
    }
    drop(answered);
    while let Some(task) = tasks.recv().await {
        named.push(task);
    }
    let server = server.restart().await;
    let after = client(&server);
    for task in named {
        assert_eq!(task.through(&after).status().await, "working");
    }
}

#[tokio::test]
async fn tls_is_checked_as_far_as_the_url_says() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let made = made.expect("a certificate can be made");
    let database = Postgres::with_tls(&made.cert.pem(), &made.signing_key.serialize_pem());
    let folder = tempfile::tempdir().expect("a folder");
    let authority = folder.path().join("ca.pem");
    std::fs::write(&authority, made.cert.pem()).expect("a file can be written");
    let authority = authority.display();
    let by_address = database.database();
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let refused = async |url: String| {
        let (status, text) = Server::refuse(Options::probe().store(&url)).await;
        assert!(!status.success() && !text.contains(USER.1), "{text}");
        text
    };
    let text = refused(format!("{by_name}?sslmode=verify-full")).await;
    assert!(text.contains("UnknownIssuer"), "{text}");
    let checked = format!("?sslmode=verify-full&sslrootcert={authority}");
    let text = refused(format!("{by_address}{checked}")).await;
    assert!(
        text.contains("NotValidForName") || text.contains("not valid for name"),
        "{text}"
    );
    let chain = format!("{by_address}?sslmode=verify-ca&sslrootcert={authority}");
    for (url, is_secret) in [
        (format!("{by_name}{checked}"), "t"),
        (chain, "t"),
        (format!("{by_address}?sslmode=require"), "t"),
        (by_address.clone(), "t"),
        (format!("{by_address}?sslmode=disable"), "f"),
    ] {
        let server = Server::start(Options::probe().store(&url)).await;
        let task = client(&server).task("finish", json!({})).await;
        task.until("completed").await;
        let lines = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE application_name = 'cofferdam'";
        assert_eq!(database.sql("tasks0", lines), is_secret, "{url}");
        drop(server);
        let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cofferdam'";
        while database.sql("tasks0", left) != "0" {}
    }
}

// Whatever is to be logged: the driver would log it with all else that it does.
#[tokio::test]
async fn what_the_database_is_told_is_not_logged() {
    let database = Postgres::on_tcp();
    let options = Options::probe().store(&database.database());
    let server = Server::start(options.log("trace,tokio_postgres::query=trace")).await;
    let keys = json!({"keys": ["marked-argument"]});
    let task = client(&server).task("ask", keys).await;
    task.until("input_required").await;
    task.update(json!({"marked-argument": accept("marked-answer")}))
        .await;
    task.until("completed").await;
    let log = server.log().text();
    assert!(log.contains("tokio_postgres::prepare"), "its driver logs");
    for secret in ["marked-a", task.id(), USER.1] {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_stops_the_start() {
    let url = "postgres://someone:secret-word@127.0.0.1:1/tasks";
    let (status, text) = Server::refuse(Options::probe().store(url)).await;
    assert!(!status.success(), "{text}");
    for part in ["127.0.0.1:1", "tasks", "cannot connect", "refused"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("secret-word"), "{text}");
    let wrong = url.replace("/tasks", "/tasks?sslmode=secret-word");
    let (status, text) = Server::refuse(Options::probe().store(&wrong)).await;
    assert!(!status.success() && text.contains("sslmode"), "{text}");
    assert!(!text.contains("secret-word"), "{text}");
}
