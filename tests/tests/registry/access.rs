//! Who we are to a registry, and by which authorities we trust it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use cofferdam_tests::{DockerConfig, Registry, USER, guest};

use super::{pushed, text};

/// `someone:secret-word`, and another word.
const RIGHT: &str = "c29tZW9uZTpzZWNyZXQtd29yZA==";
const WRONG: &str = "c29tZW9uZTpvdGhlci13b3Jk";

fn auths(registry: &Registry, auth: &str) -> DockerConfig {
    let host = registry.address();
    DockerConfig::new(Some(&format!(
        r#"{{"auths": {{"{host}": {{"auth": "{auth}"}}}}}}"#
    )))
}

#[tokio::test]
async fn credentials_come_from_the_docker_configuration() {
    let registry = Registry::with_password().await;
    let docker = auths(&registry, RIGHT);
    let pinned = pushed(&docker, &registry, "probe", "acme/probe:1.0");
    let file = docker.folder().join("probe.wasm");
    let (good, printed, error) = docker.run(&["pull", &pinned, "-o", text(&file)]);
    assert!(good && printed == pinned, "{error}");
}

#[tokio::test]
async fn without_or_with_wrong_credentials_nothing_is_done_and_no_secret_told() {
    let registry = Registry::with_password().await;
    let reference = registry.reference("acme/probe:1.0");
    let probe = guest("probe");
    for (docker, how) in [
        (DockerConfig::new(None), "without credentials"),
        (
            auths(&registry, WRONG),
            "with those of the docker configuration",
        ),
        (
            DockerConfig::new(Some("no json")),
            "config.json: it is no docker configuration",
        ),
        (auths(&registry, "?"), "docker login"),
    ] {
        let none = docker.folder().join("none.wasm");
        for command in [
            ["push", text(&probe), &reference].as_slice(),
            &["pull", &reference, "-o", text(&none)],
        ] {
            let mut command = docker.command(command);
            let output = command.env("RUST_LOG", "trace").output();
            let output = output.expect("the server's binary can be run");
            let error = String::from_utf8_lossy(&output.stderr);
            let last = error.lines().last().unwrap_or_default();
            assert!(!output.status.success() && !none.exists(), "{error}");
            assert!(last.contains(how), "{how}: {last}");
            for secret in ["other-word", WRONG] {
                assert!(!error.contains(secret), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn passwords_are_in_no_log() {
    let registry = Registry::with_password().await;
    let docker = auths(&registry, RIGHT);
    let pinned = pushed(&docker, &registry, "probe", "acme/probe:1.0");
    let file = docker.folder().join("probe.wasm");
    let mut command = docker.command(&["pull", &pinned, "-o", text(&file)]);
    let output = command.env("RUST_LOG", "trace").output();
    let output = output.expect("the server's binary can be run");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && log.contains("ureq"), "{log}");
    // A byte dump shows a text in pieces of 16.
    for secret in [USER.1, RIGHT, &RIGHT[..8], &RIGHT[8..16]] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[tokio::test]
async fn a_credential_helper_is_asked() {
    let registry = Registry::with_password().await;
    let host = registry.address();
    let helper = |name: &str, script: &str| {
        let docker = DockerConfig::new(Some(&format!(
            r#"{{"credHelpers": {{"{host}": "{name}"}}}}"#
        )));
        let file = docker.folder().join(format!("docker-credential-{name}"));
        let told = docker.folder().join("told");
        let script = format!("#!/bin/sh\n/bin/cat > {told:?}\n{script}\n");
        fs::write(&file, script).expect("a file can be written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).expect("its mode");
        docker
    };
    let push = |docker: &DockerConfig| {
        let (probe, reference) = (guest("probe"), registry.reference("acme/probe:1.0"));
        let mut command = docker.command(&["push", text(&probe), &reference]);
        let output = command.env("PATH", docker.folder()).output();
        let output = output.expect("the server's binary can be run");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (name, word) = USER;
    let knows = helper(
        "knows",
        &format!(r#"echo '{{"ServerURL": "", "Username": "{name}", "Secret": "{word}"}}'"#),
    );
    let (good, error) = push(&knows);
    assert!(good, "{error}");
    let told = fs::read_to_string(knows.folder().join("told")).expect("what it was asked");
    assert_eq!(told.trim(), host.to_string());

    let (good, error) = push(&helper(
        "lost",
        "echo credentials not found in native keychain; exit 1",
    ));
    assert!(!good && error.contains("without credentials"), "{error}");
    let (good, error) = push(&helper("fails", "echo a-secret; exit 1"));
    assert!(
        !good && error.contains("docker-credential-fails"),
        "{error}"
    );
    assert!(!error.contains("a-secret"), "{error}");
}

#[tokio::test]
async fn a_registry_with_tls_is_trusted_by_its_authority_alone() {
    let (registry, authority) = Registry::with_tls().await;
    let docker = DockerConfig::new(None);
    let port = registry.address().port();
    let reference = format!("oci://localhost:{port}/acme/probe:1.0");
    let probe = guest("probe");
    let push = [
        "push",
        text(&probe),
        &reference,
        "--ca-file",
        text(&authority),
    ];
    let (good, pinned, error) = docker.run(&push);
    assert!(good, "{error}");
    let file = docker.folder().join("probe.wasm");
    let (good, _, error) = docker.run(&[
        "pull",
        &pinned,
        "-o",
        text(&file),
        "--ca-file",
        text(&authority),
    ]);
    assert!(good && file.exists(), "{error}");

    let (_other, other) = Registry::with_tls().await;
    let (good, _, error) = docker.run(&["pull", &pinned, "--ca-file", text(&other)]);
    assert!(!good && error.contains("certificate"), "{error}");
    let words = docker.folder().join("words.pem");
    fs::write(&words, "words").expect("a file can be written");
    let (good, _, error) = docker.run(&["pull", &pinned, "--ca-file", text(&words)]);
    assert!(!good && error.contains("words.pem"), "{error}");
}
