//! Components that must be signed.

use std::fs;

use cofferdam_tests::{Client, Config, Identity, Options, Server, guest};
use minisign::KeyPair;
use serde_json::json;

use cofferdam_tests::shop::{Shop, changed, component, listen, text, version};

fn key() -> KeyPair {
    KeyPair::generate_unencrypted_keypair().expect("a key")
}

fn signature(key: &KeyPair, bytes: &[u8]) -> Vec<u8> {
    let signed = minisign::sign(None, &key.sk, bytes, None, None);
    signed.expect("a signature").into_string().into_bytes()
}

/// Puts this version there, signed.
fn put_signed(shop: &Shop, key: &KeyPair, version: u32) {
    let bytes = component(version);
    shop.put("versions.wasm.minisig", &signature(key, &bytes));
    shop.put("versions.wasm", &bytes);
}

#[tokio::test]
async fn a_source_serves_only_what_a_trusted_key_signed() {
    let (trusted, other) = (key(), key());
    let shop = Shop::new(1);
    let config = Config::new(&format!(
        "[[tools]]\npath = {:?}\nsigned-by = [{:?}]\n",
        shop.folder(),
        trusted.pk.to_base64()
    ));
    let options = Options::default().config(&config.file());
    let (_, said) = Server::refuse(options.clone()).await;
    assert!(said.contains("not signed"), "{said}");
    put_signed(&shop, &other, 1);
    let (_, said) = Server::refuse(options.clone()).await;
    assert!(said.contains("not trusted"), "{said}");

    put_signed(&shop, &trusted, 1);
    let server = Server::start(options).await;
    let client = server.client();
    let mut heard = listen(&client).await;
    assert_eq!(version(&client).await, text(1));
    // A new version whose signature is not there yet: that is the old version's.
    shop.put_version(2);
    let parts = ["refused", "versions.wasm", "does not fit", "serves on"];
    server.log().line(&parts).await;
    assert_eq!(version(&client).await, text(1));
    shop.put("versions.wasm.minisig", &signature(&trusted, &component(2)));
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(2));
    // Somebody else's.
    put_signed(&shop, &other, 3);
    server
        .log()
        .line(&["refused", "not trusted", "serves on"])
        .await;
    assert_eq!(version(&client).await, text(2));
    put_signed(&shop, &trusted, 4);
    changed(&mut heard).await;
    assert_eq!(version(&client).await, text(4));
}

async fn is_unknown(client: &Client, tool: &str) -> bool {
    let answer = client.call(tool, json!({})).await;
    answer.message(200, -32602).contains("Unknown tool")
}

#[tokio::test]
async fn a_tenant_sees_only_what_its_keys_signed() {
    let (anns, bobs) = (key(), key());
    let shop = Shop::new(1);
    put_signed(&shop, &anns, 1);
    shop.put("probe.wasm", &fs::read(guest("probe")).expect("read"));
    let who = ["ann", "bob", "eve"].map(|name| Identity::new(name, name));
    let entries = who.iter().map(|who| who.entry.clone()).collect::<String>();
    let config = Config::new(&format!(
        "{entries}[tenants.ann]\nsigned-by = [{:?}]\n[tenants.bob]\nsigned-by = [{:?}]\n\
         [tenants.eve]\n[[tools]]\npath = {:?}\n",
        anns.pk.to_base64(),
        bobs.pk.to_base64(),
        shop.folder()
    ));
    let server = Server::start(Options::default().config(&config.file())).await;
    let [ann, bob, eve] = who.map(|who| server.client().bearing(&who.token));
    assert_eq!(version(&ann).await, text(1));
    assert!(is_unknown(&ann, "echo").await, "nobody signed it");
    assert!(is_unknown(&bob, "version").await);
    assert_eq!(version(&eve).await, text(1));
    eve.result("echo", json!({"text": "x"})).await;
    // Signed by another, it is another's.
    let mut heard = listen(&bob).await;
    put_signed(&shop, &bobs, 2);
    changed(&mut heard).await;
    assert_eq!(version(&bob).await, text(2));
    assert!(is_unknown(&ann, "version").await);
}
