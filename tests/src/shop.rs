//! A folder of components that a server watches, and what is done to it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Client, Heard, Listen, Options, Server, files::guest};
use serde_json::json;
use tempfile::TempDir;

/// What stands for the version in the component's bytes.
const MARK: &str = "version 00000000";

/// The component of this version.
pub fn component(version: u32) -> Vec<u8> {
    let bytes = fs::read(guest("versions")).expect("the component");
    let (mark, text) = (MARK.as_bytes(), text(version));
    let mut changed = Vec::with_capacity(bytes.len());
    let mut rest = &bytes[..];
    while let Some((first, tail)) = rest.split_first() {
        if rest.starts_with(mark) {
            changed.extend(text.as_bytes());
            rest = &rest[mark.len()..];
        } else {
            changed.push(*first);
            rest = tail;
        }
    }
    changed
}

/// What the tools of this version answer.
pub fn text(version: u32) -> String {
    format!("version {version:08}")
}

/// A folder of components.
pub struct Shop(TempDir);

impl Shop {
    /// With `versions.wasm` of this version.
    pub fn new(version: u32) -> Self {
        let shop = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(shop.folder()).expect("a folder");
        shop.put("versions.wasm", &component(version));
        shop
    }

    /// The folder.
    pub fn folder(&self) -> PathBuf {
        self.0.path().join("tools")
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// A folder beside it.
    pub fn beside(&self) -> &Path {
        self.0.path()
    }

    /// Puts a file there at once, in place of an older one.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let part = self.file(".part");
        fs::write(&part, bytes).expect("written");
        fs::rename(part, self.file(name)).expect("renamed");
    }

    /// Puts `versions.wasm` of this version there at once.
    pub fn put_version(&self, version: u32) {
        self.put("versions.wasm", &component(version));
    }

    /// A server of the folder.
    pub fn options(&self) -> Options {
        Options::default().and(self.folder())
    }

    /// A server of it.
    pub async fn serve(&self) -> Server {
        Server::start(self.options()).await
    }
}

/// What the tool `version` tells.
pub async fn version(client: &Client) -> String {
    told(&client.result("version", json!({})).await)
}

/// What a result tells.
pub fn told(result: &serde_json::Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("a version, not {result}"))
        .to_owned()
}

/// Listens for changes of the list of tools.
pub async fn listen(client: &Client) -> Listen {
    client.listen(json!({"toolsListChanged": true})).await
}

/// Waits for a change of the list of tools.
pub async fn changed(listen: &mut Listen) {
    assert_eq!(listen.next().await, Some(Heard::ToolsChanged));
}
