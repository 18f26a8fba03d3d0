//! Very many reloads leave nothing behind.

use std::fs;
use std::path::Path;
use std::time::Instant;

use cofferdam_tests::{Declares, Memory, Server, Task, accept, patient};
use serde_json::json;

use cofferdam_tests::shop::{Shop, changed, listen, text, told, version};

/// Reloads.
const RELOADS: u32 = 1_000;
/// Versions that they go through, over and over.
const VERSIONS: u32 = 20;
/// Memory that may be more after them, bytes.
const MORE: u64 = 24 << 20;

/// Files that the server keeps of components.
fn kept(data: &Path) -> usize {
    let count = |name| fs::read_dir(data.join(name)).expect("a folder").count();
    count("components") + count("compiled")
}

#[tokio::test]
async fn a_thousand_reloads_leave_memory_and_disk_as_they_were() {
    let shop = Shop::new(1);
    let options = shop.options().set("server.watch", false);
    let options = options
        .set("tasks.park-after-ms", 0)
        .set("tasks.sweep-ms", 100);
    let server = Server::start(options).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let mut heard = listen(&client).await;
    assert_eq!(kept(server.data()), 2, "of what serves");

    let begun = Instant::now();
    let mut tasks: Vec<(u32, Task)> = Vec::new();
    let mut round = 0;
    let mut memory = 0;
    for reload in 2..=RELOADS {
        let this = reload % VERSIONS;
        shop.put_version(this);
        server.hang_up();
        changed(&mut heard).await;
        assert_eq!(version(&client).await, text(this));
        // In the first round a task of each version begins, and waits; so they are all needed.
        if tasks.len() < VERSIONS as usize {
            let task = client.task("task", json!({})).await;
            task.until("input_required").await;
            tasks.push((this, task));
        }
        if reload % VERSIONS == 0 {
            round += 1;
            // What the first rounds bring into memory stays.
            if round == 5 {
                memory = Memory::of(server.pid()).now;
            }
        }
    }
    let after = Memory::of(server.pid()).now;
    let files = kept(server.data());
    assert_eq!(files, 2 * VERSIONS as usize, "of the tasks' versions");
    for (version, task) in tasks {
        task.update(json!({"go": accept("x")})).await;
        assert_eq!(
            told(&task.until("completed").await["result"]),
            text(version)
        );
    }
    // The sweeps remove what nothing needs any more.
    let baseline = async {
        while kept(server.data()) > 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    patient("the disk to be as it was", baseline).await;
    println!(
        "{RELOADS} reloads in {:.1} s; memory {} KiB after 100 of them, {} KiB after all; \
         {files} files, then 2",
        begun.elapsed().as_secs_f64(),
        memory >> 10,
        after >> 10
    );
    assert!(after < memory + MORE, "{memory} bytes, then {after}");
}
