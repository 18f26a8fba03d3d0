//! Many nodes at one database.

use super::*;
use crate::store::{Applied, News};
use crate::task::{Fence, Outcome, Refusal, Status};
use serde_json::value::RawValue;
use std::collections::HashSet;
use tokio_postgres::NoTls;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn limits_hold_exactly_over_all_nodes() {
    let url = postgres_server().database();
    let options = StoreOptions {
        max_tasks: 25,
        ..OPTIONS
    };
    let nodes = [open(&url, options).await, open(&url, options).await];
    let create_many = async |tenants: [&'static str; 2]| {
        let mut creations = JoinSet::new();
        for index in 0..80 {
            let store = Arc::clone(&nodes[index % 2]);
            let new = of(tenants[index / 2 % 2], 10);
            creations.spawn(async move {
                match store.create(TaskId::random(), new).await {
                    Ok(()) => None,
                    Err(StoreError::LimitReached(full)) => Some(full),
                    Err(error) => panic!("{error}"),
                }
            });
        }
        let all = creations.join_all().await;
        let count = |what| all.iter().filter(|full| **full == what).count();
        [None, Some(Full::Unfinished), Some(Full::Store)].map(count)
    };
    assert_eq!(create_many(["a", "b"]).await, [20, 60, 0]);
    assert_eq!(create_many(["c", "c"]).await, [5, 0, 75]);
}

/// Who waits for whom in a circle waits here until its statement is too slow, which the test does
/// not forgive.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_at_the_same_tasks_never_lock_each_other_out() {
    let url = postgres_server().database();
    let patient = format!("{url}&options=-c%20deadlock_timeout=1h");
    let mut nodes = JoinSet::new();
    for number in 0..4 {
        let store = open(&patient, OPTIONS).await;
        nodes.spawn(async move {
            let mut work = JoinSet::new();
            for worker in 0..6 {
                let store = Arc::clone(&store);
                work.spawn(async move { live(&*store, number * 6 + worker).await });
            }
            work.join_all().await;
        });
    }
    nodes.join_all().await;
    let counts = "
        SELECT (SELECT tasks FROM total) - (SELECT count(*) FROM tasks),
            (SELECT count(*) FROM tenants WHERE tasks > 0) - (SELECT count(DISTINCT tenant) FROM tasks),
            (SELECT count(*) FROM tenants t, LATERAL (
                SELECT count(*) FILTER (WHERE NOT is_final) AS unfinished, count(*) AS all
                FROM tasks WHERE tasks.tenant = t.tenant
            ) AS are WHERE t.unfinished <> are.unfinished OR t.tasks <> are.all),
            (SELECT count(*) FROM journal WHERE task NOT IN (SELECT number FROM tasks WHERE NOT is_final))";
    let server = postgres_server();
    assert_eq!(ask_database(server, &url, counts), "0|0|0|0");
}

/// Does all that there is to be done to tasks, whoever's they are, with leases that are soon over.
async fn live(store: &dyn Store, seed: i64) {
    let node = NodeId::random();
    for round in 0..12 {
        let now = 1_000 + round * 60 + seed;
        store.renew(node, now + 90).await.unwrap();
        for tenant in ["a", "b", "c"] {
            let task = NewTask {
                node: (round % 2 == 0).then_some(node),
                ..of(tenant, usize::MAX)
            };
            store.create(TaskId::random(), task).await.unwrap();
        }
        store.end_leases(now).await.unwrap();
        for due in store.take_due(node, &[], 4, now).await.unwrap() {
            let claim = store.claim(due.id, Some(node), failure("lost"), now).await;
            let Some(claim) = claim.unwrap() else {
                continue;
            };
            let fence = claim.task.fence();
            let keep = Event::Keep { fence };
            let writes = row(1, true, b"more");
            store.apply(due.id, keep, writes, now).await.unwrap();
            let event = match seed % 3 {
                0 => Event::Cancel,
                1 => Event::Sleep {
                    fence,
                    until: now + 50,
                },
                _ => complete(),
            };
            let nothing = Writes::default();
            store.apply(due.id, event, nothing, now).await.unwrap();
            store.release(due.id, node).await.unwrap();
        }
        if seed % 4 == 0 {
            store.sweep(expire(), now).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_nodes_make_the_tables_once() {
    let url = postgres_server().database();
    let mut nodes = JoinSet::new();
    for _ in 0..6 {
        let url = url.clone();
        nodes.spawn(async move { open(&url, OPTIONS).await });
    }
    let nodes = nodes.join_all().await;
    let id = create(&nodes[0], example_task(None)).await;
    for store in &nodes {
        assert!(store.get(id).await.unwrap().is_some());
    }
    let version = ask_database(postgres_server(), &url, "SELECT version FROM cofferdam");
    assert_eq!(version, schema::VERSION.to_string());
}

#[tokio::test]
async fn a_database_of_a_later_version_is_left_alone() {
    let server = postgres_server();
    let url = server.database();
    let later =
        "CREATE TABLE cofferdam (version integer NOT NULL); INSERT INTO cofferdam VALUES (99)";
    ask_database(server, &url, later);
    let error = refusal(&url).await;
    assert!(
        error.contains("version 99") && error.contains("another database"),
        "{error}"
    );
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(ask_database(server, &url, tables), "1");
}

/// Between what is read of a task and what is written lies as much time as the test likes: the task is
/// locked meanwhile, and whoever wants to write it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_an_end_and_a_reclaim_that_saw_the_same_the_first_counts() {
    let server = postgres_server();
    for ends_first in [true, false] {
        let url = server.database();
        let nodes = [open(&url, OPTIONS).await, open(&url, OPTIONS).await];
        let [runs, reclaims] = nodes;
        let (dead, alive) = (NodeId::random(), NodeId::random());
        runs.renew(dead, 2_000).await.unwrap();
        reclaims.renew(alive, 90_000).await.unwrap();
        let id = TaskId::random();
        let new = NewTask {
            node: Some(dead),
            ..of("a", 9)
        };
        runs.create(id, new).await.unwrap();
        // Both have their lines, and their statements prepared.
        let other = create(&runs, example_task(None)).await;
        apply(&runs, other, complete(), 1_000).await.unwrap();
        let other = create(&reclaims, example_task(None)).await;
        let claim = reclaims.claim(other, Some(alive), failure("lost"), 1_000);
        assert!(claim.await.unwrap().is_some());

        let (gate, line) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(line);
        gate.batch_execute("BEGIN; SELECT FROM tasks FOR UPDATE")
            .await
            .unwrap();
        let waiting = async |number: &str| {
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            while ask_database(server, &url, waiting) != number {}
        };
        let end = || {
            let store = Arc::clone(&runs);
            tokio::spawn(async move { apply(&store, id, complete(), 3_000).await.unwrap() })
        };
        let reclaim = || {
            let store = Arc::clone(&reclaims);
            let claim = async move { store.claim(id, Some(alive), failure("lost"), 3_000).await };
            tokio::spawn(async move { claim.await.unwrap().map(|claim| claim.task.fence()) })
        };
        let (ended, reclaimed) = if ends_first {
            let ended = end();
            waiting("1").await;
            let reclaimed = reclaim();
            waiting("2").await;
            (ended, reclaimed)
        } else {
            let reclaimed = reclaim();
            waiting("1").await;
            let ended = end();
            waiting("2").await;
            (ended, reclaimed)
        };
        gate.batch_execute("COMMIT").await.unwrap();
        let (ended, reclaimed) = (ended.await.unwrap(), reclaimed.await.unwrap());
        let task = reclaims.get(id).await.unwrap().unwrap();
        if ends_first {
            assert_eq!((ended, reclaimed), (Applied::Changed, None));
            assert_eq!(task.status, Status::Completed);
            assert!(matches!(task.outcome, Some(Outcome::Result(_))));
        } else {
            assert_eq!(ended, Applied::Refused(Refusal::Stale));
            assert_eq!(reclaimed, Some(task.fence()));
            assert_eq!(task.status, Status::Working);
        }
    }
}

/// Many at once go through one statement, and each comes to what it would have come to alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_created_and_ended_at_once_is_as_if_it_were_alone() {
    let server = postgres_server();
    let url = server.database();
    let store = open(&url, OPTIONS).await;
    let node = NodeId::random();
    store.renew(node, 90_000).await.unwrap();
    // Tenants with room for some of theirs, all of theirs, and none.
    let tenants = [("a", 20), ("b", usize::MAX), ("c", 0)];
    let mut creations = JoinSet::new();
    for index in 0..120 {
        let (tenant, most) = tenants[index % 3];
        let mut new = of(tenant, most);
        new.node = (index % 2 == 0).then_some(node);
        new.writes.records = vec![(format!("key{index}"), vec![7; index])];
        let store = Arc::clone(&store);
        creations.spawn(async move {
            let id = TaskId::random();
            let created = store.create(id, new).await;
            (index, created.map(|()| id))
        });
    }
    let mut made = Vec::new();
    let mut refused = [0; 3];
    for (index, created) in creations.join_all().await {
        match created {
            Ok(id) => made.push((index, id)),
            Err(StoreError::LimitReached(Full::Unfinished)) => refused[index % 3] += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(refused, [20, 0, 40]);
    let changes = "SELECT count(DISTINCT xmin::text) FROM tasks WHERE is_final =";
    let changes = |is_final| -> usize {
        let told = ask_database(server, &url, &format!("{changes} {is_final}"));
        told.parse().unwrap()
    };
    assert!(changes(false) < 60, "some were created together");
    for (index, id) in &made {
        let claim = store.claim(*id, Some(node), failure("lost"), 2_000).await;
        let claim = claim.unwrap().unwrap();
        assert_eq!(claim.records, [(format!("key{index}"), vec![7; *index])]);
        assert_eq!(claim.rows, [b"start"]);
        assert!(claim.job.is_some());
    }
    let mut ends = JoinSet::new();
    for (index, id) in made {
        // Half of them by two at once; a third of all by a run that is not theirs any more.
        let lease = u64::from(index % 3 != 1);
        for _ in 0..=(index % 2) {
            let store = Arc::clone(&store);
            ends.spawn(async move {
                let fence = Fence { attempt: 1, lease };
                let result = RawValue::from_string(format!("{{\"index\":{index}}}")).unwrap();
                let event = Event::Complete { fence, result };
                (index, id, apply(&store, id, event, 3_000).await.unwrap())
            });
        }
    }
    let mut changed = Vec::new();
    for (index, id, applied) in ends.join_all().await {
        match applied {
            Applied::Changed => changed.push((index, id)),
            Applied::Refused(Refusal::Stale) => assert_eq!(index % 3, 1),
            Applied::Refused(Refusal::Final) => assert_eq!((index % 3, index % 2), (0, 1)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(changed.len(), 20);
    assert!(changes(true) < 20, "some ended together");
    for (index, id) in changed {
        let task = store.get(id).await.unwrap().unwrap();
        let Some(Outcome::Result(result)) = task.outcome else {
            panic!("{:?}", task.status)
        };
        assert_eq!(result.get(), format!("{{\"index\":{index}}}"));
    }
    let counts =
        "SELECT string_agg(concat_ws(':', tenant, unfinished, tasks), ' ' ORDER BY tenant),
        (SELECT tasks FROM total), (SELECT count(*) FROM records) FROM
        (SELECT convert_from(tenant, 'UTF8') AS tenant, unfinished, tasks FROM tenants) AS t";
    let counted = ask_database(server, &url, counts);
    assert_eq!(counted, "a:0:20 b:40:40 c:0:0|60|40");
}

/// Whatever changes a task, others hear its id.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn others_hear_of_each_change_and_nobody_of_its_own() {
    let url = postgres_server().database();
    let (store, other) = (open(&url, OPTIONS).await, open(&url, OPTIONS).await);
    let mut own = store.shared().unwrap().news();
    let mut heard = other.shared().unwrap().news();
    for news in [&mut own, &mut heard] {
        assert_eq!(news.recv().await, Some(News::Missed), "the line is up");
    }
    let quiet = create(&store, example_task(None)).await;
    apply(&store, quiet, keep(FIRST), 2_000).await.unwrap();
    let asked = create(&store, example_task(None)).await;
    apply(&store, asked, ask(&["a"]), 2_000).await.unwrap();
    assert_eq!(heard.recv().await, Some(News::Changed(asked)));
    let late = create(&store, example_task(Some(10))).await;
    store.sweep(expire(), 5_000).await.unwrap();
    assert_eq!(heard.recv().await, Some(News::Changed(late)));

    let mut ends = JoinSet::new();
    let mut ids = HashSet::new();
    for _ in 0..300 {
        let id = create(&store, example_task(None)).await;
        ids.insert(id);
    }
    for id in &ids {
        let (store, id) = (Arc::clone(&store), *id);
        ends.spawn(async move { apply(&store, id, complete(), 6_000).await.unwrap() });
    }
    ends.join_all().await;
    while !ids.is_empty() {
        match heard.recv().await {
            Some(News::Changed(id)) => assert!(ids.remove(&id), "once each"),
            other => panic!("{other:?}"),
        }
    }
    let node = NodeId::random();
    store.renew(node, 9_000).await.unwrap();
    store.retire(node).await.unwrap();
    for news in [&mut own, &mut heard] {
        assert_eq!(news.recv().await, Some(News::Gone), "all hear of that");
    }
    store.renew(node, 9_000).await.unwrap();
    store.end_leases(8_000).await.unwrap();
    store.end_leases(9_000).await.unwrap();
    assert_eq!(heard.recv().await, Some(News::Gone));

    let said = ["one", "a:b with spaces and 'quotes'"].map(str::to_owned);
    store.shared().unwrap().say(&said).await.unwrap();
    other.shared().unwrap().say(&said[..1]).await.unwrap();
    for said in said.clone() {
        assert_eq!(heard.recv().await, Some(News::Said(said)));
    }
    let [said, _] = said;
    assert_eq!(own.recv().await, Some(News::Gone));
    assert_eq!(own.recv().await, Some(News::Said(said)));
}
