//! Files of components that are made, replaced, broken, renamed and removed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;

use cofferdam_tests::{Client, Config, Identity, Options, Server, guest};
use serde_json::{Value, json};

use cofferdam_tests::shop::{Shop, changed, component, listen, text, version};

async fn names(client: &Client) -> Vec<String> {
    let list = client.request("tools/list", json!({})).answer().await;
    let tools = list.result()["tools"].as_array().expect("tools").clone();
    let name = |tool: Value| tool["name"].as_str().expect("a name").to_owned();
    tools.into_iter().map(name).collect()
}

#[tokio::test]
async fn components_come_change_and_go() {
    let shop = Shop::new(1);
    let server = shop.serve().await;
    let client = server.client();
    let mut heard = listen(&client).await;
    assert_eq!(version(&client).await, text(1));

    shop.put_version(2);
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));

    shop.put("probe.wasm", &fs::read(guest("probe")).expect("read"));
    changed(&mut heard).await;
    assert!(names(&client).await.contains(&"echo".to_owned()));
    assert_eq!(version(&client).await, text(2));

    fs::remove_file(shop.file("versions.wasm")).expect("removed");
    changed(&mut heard).await;
    assert!(!names(&client).await.contains(&"version".to_owned()));
    let gone = client.call("version", json!({})).await;
    assert!(gone.message(200, -32602).contains("Unknown tool"));

    // The last one, too; and then there are some again.
    fs::remove_file(shop.file("probe.wasm")).expect("removed");
    changed(&mut heard).await;
    assert!(names(&client).await.is_empty());
    shop.put_version(3);
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(3));
}

#[tokio::test]
async fn a_half_written_file_leaves_the_old_one_serving() {
    let shop = Shop::new(1);
    let server = shop.serve().await;
    let client = server.client();
    let mut heard = listen(&client).await;
    // Written in place, half by half, as a slow copy does.
    let new = component(2);
    let (first, second) = new.split_at(new.len() / 2);
    let mut file = fs::File::create(shop.file("versions.wasm")).expect("opened");
    file.write_all(first).expect("written");
    server
        .log()
        .line(&["refused", "versions.wasm", "serves on"])
        .await;
    assert_eq!(version(&client).await, text(1));
    file.write_all(second).expect("written");
    drop(file);
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));
}

#[tokio::test]
async fn a_broken_version_leaves_the_old_one_serving() {
    let shop = Shop::new(1);
    let server = shop.serve().await;
    let client = server.client();
    let mut heard = listen(&client).await;
    // No WebAssembly; a core module; a component that imports what nobody grants.
    let outbound = fs::read(guest("outbound")).expect("read");
    let broken: [(&[u8], &str); 3] = [
        (b"hello", "no WebAssembly"),
        (b"\0asm\x01\0\0\0", "core module"),
        (&outbound, "grants"),
    ];
    for (bytes, reason) in broken {
        shop.put("versions.wasm", bytes);
        let parts = ["refused", "versions.wasm", reason, "serves on"];
        server.log().line(&parts).await;
        assert_eq!(version(&client).await, text(1));
    }
    // A new file that is broken is refused alone.
    shop.put("other.wasm", b"hello");
    server.log().line(&["refused", "other.wasm"]).await;
    shop.put_version(2);
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));
}

#[tokio::test]
async fn a_version_that_takes_anothers_name_is_refused() {
    let shop = Shop::new(1);
    shop.put("probe.wasm", &fs::read(guest("probe")).expect("read"));
    let server = shop.serve().await;
    let client = server.client();
    let mut heard = listen(&client).await;
    // The probe comes to offer what versions.wasm does.
    shop.put("probe.wasm", &component(2));
    let parts = ["refused", "probe.wasm", "served by", "versions.wasm"];
    server.log().line(&parts).await;
    assert_eq!(version(&client).await, text(1));
    assert!(names(&client).await.contains(&"echo".to_owned()));
    // When the name is free, it has it.
    fs::remove_file(shop.file("versions.wasm")).expect("removed");
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));
    assert!(!names(&client).await.contains(&"echo".to_owned()));
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_is_followed() {
    let shop = Shop::new(1);
    let releases = shop.beside().join("releases");
    for release in [1, 2] {
        let folder = releases.join(release.to_string());
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("versions.wasm"), component(release)).expect("written");
    }
    // As Kubernetes does it: a link to a file by way of a link to a folder.
    let point = |release: &str| {
        let link = shop.file(".new");
        symlink(releases.join(release), &link).expect("linked");
        fs::rename(link, shop.file("..data")).expect("renamed");
    };
    point("1");
    fs::remove_file(shop.file("versions.wasm")).expect("removed");
    symlink("..data/versions.wasm", shop.file("versions.wasm")).expect("linked");
    let server = shop.serve().await;
    let client = server.client();
    let mut heard = listen(&client).await;
    assert_eq!(version(&client).await, text(1));
    point("2");
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));
}

#[tokio::test]
async fn a_folder_that_is_made_anew_is_watched_again() {
    let shop = Shop::new(1);
    let server = shop.serve().await;
    let client = server.client();
    let mut heard = listen(&client).await;
    fs::remove_dir_all(shop.folder()).expect("removed");
    changed(&mut heard).await;
    assert!(names(&client).await.is_empty());
    for release in [2, 3] {
        if release == 2 {
            fs::create_dir(shop.folder()).expect("made");
        }
        shop.put_version(release);
        changed(&mut heard).await;
        assert_eq!(version(&client).await, text(release));
    }
}

#[tokio::test]
async fn a_single_file_is_watched_and_its_neighbours_are_not() {
    let shop = Shop::new(1);
    let options = Options::default().and(shop.file("versions.wasm"));
    let server = Server::start(options).await;
    let client = server.client();
    let mut heard = listen(&client).await;
    shop.put("probe.wasm", &fs::read(guest("probe")).expect("read"));
    shop.put_version(2);
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));
    assert!(!names(&client).await.contains(&"echo".to_owned()));
}

#[tokio::test]
async fn without_watching_a_signal_reloads() {
    let shop = Shop::new(1);
    let server = Server::start(shop.options().set("server.watch", false)).await;
    let client = server.client();
    let mut heard = listen(&client).await;
    shop.put_version(2);
    assert_eq!(version(&client).await, text(1), "nobody looked");
    server.hang_up();
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));
    // Nothing changed: the signal is heard, the listener is not told.
    let before = server.log().count(&["reloaded"]);
    server.hang_up();
    server.log().nth_line(before, &["reloaded"]).await;
    shop.put_version(3);
    server.hang_up();
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(3));
}

#[tokio::test]
async fn who_does_not_see_a_tool_does_not_hear_of_it() {
    let shop = Shop::new(1);
    shop.put("probe.wasm", &fs::read(guest("probe")).expect("read"));
    let (ann, bob) = (Identity::new("ann", "a"), Identity::new("bob", "b"));
    let config = Config::new(&format!(
        "{}{}[tenants.ann]\ntools = [\"version\"]\n[tenants.bob]\ntools = [\"echo\"]\n\
         [[tools]]\npath = {:?}\n",
        ann.entry,
        bob.entry,
        shop.folder()
    ));
    let server = Server::start(Options::default().config(&config.file())).await;
    let bearer = |who: Identity| server.client().bearing(&who.token);
    let (ann, bob) = (bearer(ann), bearer(bob));
    let (mut hears, mut does_not) = (listen(&ann).await, listen(&bob).await);
    shop.put_version(2);
    changed(&mut hears).await;
    assert_eq!(version(&ann).await, text(2));
    // The next that the other one hears is of a tool it sees.
    fs::remove_file(shop.file("probe.wasm")).expect("removed");
    changed(&mut does_not).await;
    assert!(names(&bob).await.is_empty());
    shop.put_version(3);
    changed(&mut hears).await;
    assert_eq!(version(&ann).await, text(3));
}

#[tokio::test]
async fn a_list_in_pages_goes_on_after_a_change() {
    let shop = Shop::new(1);
    shop.put("probe.wasm", &fs::read(guest("probe")).expect("read"));
    let server = Server::start(shop.options().set("server.page-size", 1)).await;
    let client = server.client();
    let mut heard = listen(&client).await;
    let first = client.request("tools/list", json!({})).answer().await;
    let cursor = first.result()["nextCursor"].clone();
    // The tool that the cursor names is gone.
    fs::remove_file(shop.file("probe.wasm")).expect("removed");
    changed(&mut heard).await;
    let next = client.request("tools/list", json!({"cursor": cursor}));
    let next = next.answer().await;
    assert!(next.result()["tools"].is_array(), "{:?}", next.result());
}
