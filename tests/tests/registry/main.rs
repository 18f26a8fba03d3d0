//! Components in a real registry, pushed and pulled by the commands.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod access;
mod config;
mod pull;
mod push;
mod serve;

use std::path::Path;

use cofferdam_tests::{DockerConfig, Registry, guest};

/// A path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Pushes a component of the tests. Gives the reference that pins it.
fn pushed(docker: &DockerConfig, registry: &Registry, component: &str, name: &str) -> String {
    let reference = registry.reference(name);
    let component = guest(component);
    let (good, pinned, error) = docker.run(&["push", text(&component), &reference]);
    assert!(good, "{error}");
    let digest = pinned.strip_prefix(&format!("{reference}@sha256:"));
    let digest = digest.unwrap_or_else(|| panic!("no pinned {reference}: {pinned}"));
    assert!(digest.len() == 64, "{digest}");
    pinned
}
