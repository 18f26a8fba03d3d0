//! `cofferdam pull`.

use std::fs;

use cofferdam_tests::{DockerConfig, Registry, guest};

use super::{pushed, text};

#[tokio::test]
async fn what_was_pushed_is_pulled_by_tag_and_by_digest() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let pinned = pushed(&docker, &registry, "probe", "acme/tools/probe:1.0");
    let (tagged, digest) = pinned.split_once('@').expect("a pinned reference");
    let (untagged, _) = tagged.rsplit_once(':').expect("a tag");
    let untagged = format!("{untagged}@{digest}");
    let file = docker.folder().join("probe.wasm");
    for (reference, shown) in [
        (tagged, &pinned),
        (&pinned, &pinned),
        (&untagged, &untagged),
    ] {
        let pull = ["pull", reference, "--output", text(&file)];
        let (good, printed, error) = docker.run(&pull);
        assert!(good, "{error}");
        assert_eq!(printed, *shown);
        assert_eq!(
            fs::read(&file).expect("a component"),
            fs::read(guest("probe")).expect("a component")
        );
        fs::remove_file(&file).expect("it was written");
    }
}

#[tokio::test]
async fn a_file_is_named_by_its_repository_and_written_whole_or_not_at_all() {
    let mut registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let pinned = pushed(&docker, &registry, "probe", "acme/tools/probe:1.0");
    let folder = tempfile::tempdir().expect("a folder");
    let pull = |reference: &str| {
        let mut command = docker.command(&["pull", reference]);
        let output = command.current_dir(folder.path()).output();
        output
            .expect("the server's binary can be run")
            .status
            .success()
    };
    let files = || {
        let entries = fs::read_dir(folder.path()).expect("a folder");
        let names = entries.map(|it| it.expect("an entry").file_name());
        names.collect::<Vec<_>>()
    };
    assert!(pull(&pinned));
    assert_eq!(files(), ["probe.wasm"]);
    fs::write(folder.path().join("probe.wasm"), "mine").expect("a file can be written");
    registry.stop();
    assert!(!pull(&pinned));
    assert_eq!(files(), ["probe.wasm"]);
    let kept = fs::read(folder.path().join("probe.wasm")).expect("a file");
    assert_eq!(kept, b"mine");
}

#[tokio::test]
async fn what_is_not_there_is_told() {
    let mut registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let pinned = pushed(&docker, &registry, "probe", "acme/probe:1.0");
    let zeros = "0".repeat(64);
    let wrong = registry.reference(&format!("acme/probe:1.0@sha256:{zeros}"));
    let (_, digest) = pinned.split_once('@').expect("a pinned reference");
    let cases = [
        (
            registry.reference("acme/probe:2.0"),
            vec!["acme/probe:2.0", "push it"],
        ),
        (registry.reference("acme/other:1.0"), vec!["acme/other:1.0"]),
        // What is there instead helps whoever pinned it wrong.
        (wrong, vec![&*zeros, digest]),
        (
            "registry.example/acme/probe:1".to_owned(),
            vec!["oci://HOST"],
        ),
    ];
    for (reference, named) in &cases {
        let file = docker.folder().join("none.wasm");
        let (good, printed, error) = docker.run(&["pull", reference, "-o", text(&file)]);
        assert!(
            !good && printed.is_empty() && !file.exists(),
            "{reference}: {printed}"
        );
        for named in named {
            assert!(error.contains(named), "{reference}: {error}");
        }
    }
    registry.stop();
    let (good, _, error) = docker.run(&["pull", &pinned]);
    let address = registry.address().to_string();
    assert!(
        !good && error.contains("cannot reach") && error.contains(&address),
        "{error}"
    );
    registry.start_again().await;
    let file = docker.folder().join("probe.wasm");
    let (good, _, error) = docker.run(&["pull", &pinned, "-o", text(&file)]);
    assert!(good && file.exists(), "{error}");
}
