//! Components that were compiled before.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_tests::{Options, Server, guest};
use serde_json::json;

use cofferdam_tests::shop::{Shop, component, text, version};

fn compiled(data: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(data.join("compiled")).expect("a folder");
    let files = files.map(|entry| entry.expect("an entry").path());
    files.collect()
}

fn only_compiled(data: &Path) -> PathBuf {
    let files = compiled(data);
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// True if the server compiled anything.
fn has_compiled(server: &Server) -> bool {
    server.log().count(&["compiled in"]) > 0
}

#[tokio::test]
async fn a_component_is_compiled_once() {
    let shop = Shop::new(1);
    let server = shop.serve().await;
    assert!(has_compiled(&server));
    let file = only_compiled(server.data());
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o077, 0, "nobody else reads or writes it");
    let server = server.restart().await;
    assert!(!has_compiled(&server));
    assert_eq!(version(&server.client()).await, text(1));
    assert_eq!(only_compiled(server.data()), file);
}

#[tokio::test]
async fn a_file_that_was_changed_is_compiled_anew() {
    let shop = Shop::new(1);
    let mut server = shop.serve().await;
    type Damage = fn(&Path, &[u8]);
    let damages: [Damage; 7] = [
        |file, bytes| fs::write(file, &bytes[..bytes.len() / 2]).expect("written"),
        |file, _| fs::write(file, []).expect("written"),
        |file, bytes| {
            let mut bytes = bytes.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).expect("written");
        },
        |file, bytes| fs::write(file, [bytes, b"more"].concat()).expect("written"),
        // A component instead of native code.
        |file, _| fs::write(file, component(2)).expect("written"),
        // Others may write it.
        |file, _| fs::set_permissions(file, fs::Permissions::from_mode(0o666)).expect("set"),
        // Its name says that it is of this component, and that it is authentic.
        |file, bytes| {
            let name = file.file_name().expect("a name").to_str().expect("text");
            let (digest, _) = name.split_once('-').expect("a digest");
            let other = file.with_file_name(format!("{digest}-{}.cwasm", "0".repeat(64)));
            fs::write(other, bytes).expect("written");
            fs::remove_file(file).expect("removed");
        },
    ];
    for damage in damages {
        let file = only_compiled(server.data());
        let bytes = fs::read(&file).expect("read");
        server.kill();
        damage(&file, &bytes);
        server = server.restart().await;
        assert!(has_compiled(&server));
        assert_eq!(version(&server.client()).await, text(1));
        // What compiling gives is the same each time, and so is its name.
        assert_eq!(only_compiled(server.data()), file);
    }
}

#[tokio::test]
async fn another_servers_files_are_foreign() {
    let shop = Shop::new(1);
    let one = shop.serve().await;
    let mut two = shop.serve().await;
    let (from, to) = (only_compiled(one.data()), only_compiled(two.data()));
    assert_ne!(from.file_name(), to.file_name(), "each has its own key");
    two.kill();
    fs::remove_file(&to).expect("removed");
    fs::copy(&from, to.with_file_name(from.file_name().expect("a name"))).expect("copied");
    let two = two.restart().await;
    assert!(has_compiled(&two));
    assert_eq!(only_compiled(two.data()), to, "and the foreign one is gone");
}

#[tokio::test]
async fn a_key_that_is_none_stops_the_start_and_names_the_file() {
    let shop = Shop::new(1);
    let mut server = shop.serve().await;
    server.kill();
    fs::write(server.data().join("compiled.key"), "short").expect("written");
    let (_, said) = Server::refuse_in(shop.options(), &server).await;
    assert!(said.contains("compiled") && said.contains("key"), "{said}");
}

/// A component with a whole Python.
#[tokio::test]
async fn a_large_component_starts_from_what_was_compiled() {
    const ROUNDS: usize = 5;
    let component = guest("python");
    let size = fs::metadata(&component).expect("a file").len() >> 20;
    let begun = Instant::now();
    let mut server = Server::start(Options::default().and(component)).await;
    let first = begun.elapsed();
    assert!(has_compiled(&server));
    let code = fs::metadata(only_compiled(server.data())).expect("a file");
    let mut starts = Vec::new();
    let mut loads = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        server = server.restart().await;
        starts.push(begun.elapsed());
        assert!(!has_compiled(&server));
        let line = server.log().line(&["loaded in"]).await;
        let (_, rest) = line.split_once("loaded in ").expect("a time");
        let millis = rest
            .split_whitespace()
            .next()
            .and_then(|it| it.parse().ok());
        loads.push(Duration::from_millis(millis.expect("a number")));
        let list = server.client().request("tools/list", json!({}));
        list.answer().await.result();
    }
    starts.sort_unstable();
    loads.sort_unstable();
    println!(
        "a component of {size} MiB ({} MiB compiled): first start {first:.0?}; from the cache a start \
         takes {:.0?}, of which loading it {:.0?} (medians of {ROUNDS})",
        code.len() >> 20,
        starts[ROUNDS / 2],
        loads[ROUNDS / 2]
    );
}
