//! `cofferdam push`.

use std::fs;

use cofferdam_tests::{DockerConfig, Registry, guest};
use minisign::KeyPair;

use super::text;

#[tokio::test]
async fn a_signature_goes_with_its_component() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let component = guest("probe");
    let pair = KeyPair::generate_unencrypted_keypair().expect("keys");
    let bytes = fs::read(&component).expect("a component");
    let signed = minisign::sign(Some(&pair.pk), &pair.sk, &*bytes, None, None);
    let signed = signed.expect("a signature").into_string();
    let signature = docker.folder().join("probe.wasm.minisig");
    fs::write(&signature, &signed).expect("a file can be written");
    let reference = registry.reference("acme/probe:1.0");
    let push = [
        "push",
        text(&component),
        &reference,
        "--signature",
        text(&signature),
    ];
    let (good, pinned, error) = docker.run(&push);
    assert!(good, "{error}");

    // It lies beside the component afterwards, where minisign looks for it.
    let file = docker.folder().join("pulled.wasm");
    let (good, _, error) = docker.run(&["pull", &pinned, "-o", text(&file)]);
    assert!(good, "{error}");
    let pulled = fs::read_to_string(docker.folder().join("pulled.wasm.minisig"));
    assert_eq!(pulled.expect("a signature"), signed);
}

#[tokio::test]
async fn what_is_no_component_or_has_no_name_is_not_pushed() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let put = |name: &str, content: &[u8]| {
        let file = docker.folder().join(name);
        fs::write(&file, content).expect("a file can be written");
        file
    };
    let words = put("words.wasm", b"words");
    let module = put("module.wasm", b"\0asm\x01\0\0\0");
    let tagged = registry.reference("acme/probe:1.0");
    let untagged = format!(
        "{}@sha256:{}",
        registry.reference("acme/probe"),
        "0".repeat(64)
    );
    let (probe, none) = (guest("probe"), docker.folder().join("none.wasm"));
    for (file, reference, named) in [
        (&words, &tagged, "no WebAssembly"),
        (&module, &tagged, "core module"),
        (&none, &tagged, "none.wasm"),
        (&probe, &untagged, "name a tag"),
    ] {
        let (good, printed, error) = docker.run(&["push", text(file), reference]);
        assert!(!good && printed.is_empty(), "{printed}");
        assert!(error.contains(named), "{named}: {error}");
    }
    let (good, _, error) = docker.run(&["pull", &tagged]);
    assert!(!good && error.contains("the registry has no"), "{error}");
}

#[tokio::test]
async fn a_tag_stands_for_what_was_pushed_last() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let first = super::pushed(&docker, &registry, "probe", "acme/tool:1");
    let second = super::pushed(&docker, &registry, "replay", "acme/tool:1");
    assert_ne!(first, second);
    let file = docker.folder().join("tool.wasm");
    for (reference, component) in [
        (registry.reference("acme/tool:1"), "replay"),
        (first, "probe"),
        (second, "replay"),
    ] {
        let (good, _, error) = docker.run(&["pull", &reference, "-o", text(&file)]);
        assert!(good, "{error}");
        let pulled = fs::read(&file).expect("a component");
        assert!(
            pulled == fs::read(guest(component)).expect("a component"),
            "{reference}"
        );
    }
}
