//! A database that cannot be reached, refuses, or is too slow.

use super::*;

#[tokio::test]
async fn what_cannot_be_used_is_named_without_the_password() {
    let server = Postgres::on_tcp();
    let (user, password) = USER;
    let address = server.address();
    let ascii = "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0";
    server.sql("postgres", ascii);
    server.sql("postgres", "CREATE ROLE guest LOGIN PASSWORD 'secret-word'");
    let cases = [
        (
            format!("{user}:wrong-secret@{address}/postgres"),
            "PGPASSWORD",
        ),
        (format!("{user}:{password}@{address}/nowhere"), "createdb"),
        (format!("{user}:{password}@{address}/ascii"), "UTF8"),
        (format!("guest:{password}@{address}/postgres"), "owner"),
        (
            format!("{user}:{password}@{address}/postgres?sslmode=require"),
            "TLS",
        ),
        (
            format!("{user}:{password}@127.0.0.1:1/postgres"),
            "127.0.0.1:1",
        ),
    ];
    for (rest, hint) in cases {
        let error = refusal(&format!("postgres://{rest}")).await;
        assert!(error.contains(hint), "{rest}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_database_that_says_nothing_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://u:p@{}/d", silent.local_addr().unwrap());
    let start = Instant::now();
    let error = refusal(&url).await;
    assert!(error.contains("cannot connect"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_database_that_is_back_is_used_again() {
    let mut server = Postgres::start();
    let url = server.database();
    let store = open(&url, OPTIONS).await;
    let id = create(&store, example_task(None)).await;
    server.stop();
    assert!(is_unavailable(&store.get(id).await));
    let created = store.create(TaskId::random(), of("a", 9)).await;
    let told = created.unwrap_err().to_string();
    assert!(told.contains("cannot be reached"), "{told}");
    assert!(!told.contains("tasks0"), "clients learn no more: {told}");
    server.start_again();
    assert!(store.get(id).await.unwrap().is_some());
    apply(&store, id, ask(&["a"]), 2_000).await.unwrap();
    assert_eq!(ask_database(&server, &url, "SELECT tasks FROM total"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_waits_too_long_is_given_up_and_undone() {
    let server = Arc::new(Postgres::start());
    let url = server.database();
    let store = open_as_served(&url).await;
    let id = create(&store, example_task(None)).await;
    let (held, locker) = (Arc::clone(&server), url.clone());
    let lock = "BEGIN; LOCK TABLE tasks; SELECT pg_sleep(8)";
    let locker = spawn_blocking(move || ask_database(&held, &locker, lock));
    let is_locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
    while ask_database(&server, &url, is_locked) == "0" {}
    assert!(is_unavailable(&apply(&store, id, complete(), 2_000).await));
    locker.await.unwrap();
    apply(&store, id, complete(), 3_000).await.unwrap();
    let task = store.get(id).await.unwrap().unwrap();
    assert_eq!(task.updated_at, 3_000, "it was not done before");
}

/// Makes the database refuse new tasks with a code, so many times.
fn refuse(server: &Postgres, url: &str, code: &str, times: u32) {
    let statements = format!(
        "CREATE SEQUENCE IF NOT EXISTS refusals;
        SELECT setval('refusals', 1, false);
        CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('refusals') <= {times} THEN
                RAISE EXCEPTION 'no' USING ERRCODE = '{code}';
            END IF;
            RETURN NEW;
        END $$;
        CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON tasks
            FOR EACH ROW EXECUTE FUNCTION refuse()"
    );
    ask_database(server, url, &statements);
}

#[tokio::test]
async fn what_the_database_refuses_has_a_reason_and_changes_nothing() {
    let server = Postgres::start();
    let url = server.database();
    let store = open(&url, OPTIONS).await;
    let refused = async || {
        let created = store.create(TaskId::random(), of("a", 9)).await;
        created.unwrap_err().to_string()
    };
    refuse(&server, &url, "53100", 1);
    assert!(refused().await.contains("has no room"));
    refuse(&server, &url, "42501", 1);
    assert!(refused().await.contains("does not let us"));
    // What others are to blame for is tried again, but not for ever.
    for code in ["40001", "40P01"] {
        refuse(&server, &url, code, DATABASE_RETRIES);
        create(&store, example_task(None)).await;
        refuse(&server, &url, code, DATABASE_RETRIES + 1);
        assert!(refused().await.contains("at once"));
    }
    let counts =
        "SELECT (SELECT count(*) FROM tasks), (SELECT tasks FROM total), sum(tasks) FROM tenants";
    assert_eq!(ask_database(&server, &url, counts), "2|2|2");
}

#[tokio::test]
async fn a_database_that_takes_no_changes_can_be_read() {
    let server = Postgres::start();
    let url = server.database();
    let id = create(&open(&url, OPTIONS).await, example_task(None)).await;
    let store = open(&url, OPTIONS).await;
    for (setting, takes_changes) in [("on", false), ("off", true)] {
        let change = format!("ALTER DATABASE tasks0 SET default_transaction_read_only = {setting}");
        server.sql("postgres", &change);
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = 'cofferdam'";
        server.sql("postgres", end);
        // Lines that were cut are noticed one by one.
        while store.get(id).await.is_err() {}
        let applied = apply(&store, id, ask(&["a"]), 2_000).await;
        match applied {
            Ok(_) => assert!(takes_changes),
            Err(error) => assert!(
                !takes_changes && error.to_string().contains("takes no changes"),
                "{error}"
            ),
        }
    }
}

#[tokio::test]
async fn a_database_with_no_line_left_says_so() {
    let server = Postgres::on_tcp();
    let url = server.database();
    let limited = "CREATE ROLE few LOGIN PASSWORD 'secret-word' CONNECTION LIMIT 0";
    server.sql("postgres", limited);
    let error = refusal(&url.replace("cofferdam:", "few:")).await;
    assert!(error.contains("max_connections"), "{error}");
}
