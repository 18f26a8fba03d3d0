//! The mirror: what it asks for, what it keeps, and what it makes of a registry that is not there.

use super::fake::{Answer, Fake, component};
use super::*;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

struct World {
    fake: Fake,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            fake: Fake::start(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn mirror(&self) -> Mirror {
        Mirror::open(&self.folder.path().join("registry")).unwrap()
    }

    /// A mirror is opened anew each time, as after a restart.
    async fn fetch(&self, name: &str, moved: MovedTag) -> Result<Fetched, FetchError> {
        let reference = self.fake.reference(name);
        let client = Client::default();
        self.mirror().fetch(&client, &reference, moved).await
    }

    /// The registry is gone, but its address is known.
    fn without_registry(self) -> (TempDir, std::net::SocketAddr) {
        (self.folder, self.fake.address())
    }

    fn files(&self) -> Vec<String> {
        files(&self.folder.path().join("registry"))
    }
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_tag_is_asked_for_each_time_and_its_component_once() {
    let world = World::new();
    let held = world.fake.hold("1", &component("a"));
    let first = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    assert_eq!(world.fake.asked().len(), 2);
    assert_eq!(fs::read(&first.path).unwrap(), component("a"));
    assert_eq!(first.digest, Digest::of(&component("a")).hex());
    assert_eq!(first.manifest, held.digest);
    assert_eq!(first.signature.as_deref(), Some("signed"));
    assert_eq!(first.stale, None);
    let second = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    assert_eq!(second, first);
    assert_eq!(world.fake.asked().len(), 1);
}

#[tokio::test]
async fn what_is_pinned_and_there_needs_no_registry() {
    let world = World::new();
    let held = world.fake.hold("1", &component("a"));
    let first = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    world.fake.asked();
    for name in ["acme/tool:other@", "acme/tool@"] {
        let name = format!("{name}{}", held.digest);
        assert_eq!(world.fetch(&name, MovedTag::Refuse).await.unwrap(), first);
    }
    assert_eq!(world.fake.asked(), []);
}

#[tokio::test]
async fn a_pin_is_enforced() {
    let world = World::new();
    let held = world.fake.hold("1", &component("a"));
    let pin = Digest::of(b"other");
    let name = format!("acme/tool:1@{pin}");
    let error = world.fetch(&name, MovedTag::Follow).await.unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, FetchError::Registry(RegistryError::Pin { .. })),
        "{text}"
    );
    assert!(
        text.contains(&pin.to_string()) && text.contains(&held.digest.to_string()),
        "{text}"
    );
    assert_eq!(world.files(), <[String; 0]>::default());
}

#[tokio::test]
async fn a_tag_that_moved_is_refused_until_it_may() {
    let world = World::new();
    let before = world.fake.hold("1", &component("a"));
    let first = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    let now = world.fake.hold("1", &component("b"));
    for _ in 0..2 {
        // What it stood for is given, and why not what it stands for.
        let fetched = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
        assert_eq!(fetched.path, first.path);
        let text = fetched.stale.unwrap();
        for told in [
            &before.digest.to_string(),
            &now.digest.to_string(),
            "follow = true",
        ] {
            assert!(text.contains(told), "{text}");
        }
    }
    let followed = world.fetch("acme/tool:1", MovedTag::Follow).await.unwrap();
    assert_eq!(fs::read(&followed.path).unwrap(), component("b"));
    let accepted = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    assert_eq!(accepted, followed);
}

#[tokio::test]
async fn without_its_registry_a_tag_stands_for_what_it_did() {
    let world = World::new();
    world.fake.hold("1", &component("a"));
    let first = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    let manifest = "/v2/acme/tool/manifests/1";
    for status in [401, 404, 500] {
        world.fake.put(manifest, Answer::status(status, "{}"));
        let stale = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
        assert_eq!(stale.path, first.path);
        assert!(stale.stale.is_some(), "{status}");
    }
    let (folder, address) = world.without_registry();
    let mirror = Mirror::open(&folder.path().join("registry")).unwrap();
    let reference = |tag: &str| format!("oci://{address}/acme/tool:{tag}").parse().unwrap();
    let client = Client::default();
    let stale = mirror
        .fetch(&client, &reference("1"), MovedTag::Follow)
        .await
        .unwrap();
    assert_eq!(stale.digest, first.digest);
    let why = stale.stale.unwrap();
    assert!(why.contains(&address.to_string()), "{why}");
    let error = mirror
        .fetch(&client, &reference("2"), MovedTag::Follow)
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            FetchError::Registry(RegistryError::Unreachable { .. })
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_new_component_that_cannot_be_had_leaves_the_one_before() {
    let world = World::new();
    world.fake.hold("1", &component("a"));
    let first = world.fetch("acme/tool:1", MovedTag::Follow).await.unwrap();
    let now = world.fake.hold("1", &component("b"));
    let blob = format!("/v2/acme/tool/blobs/{}", now.component);
    world.fake.put(&blob, Answer::status(503, ""));
    let stale = world.fetch("acme/tool:1", MovedTag::Follow).await.unwrap();
    assert_eq!(stale.digest, first.digest);
    assert!(stale.stale.is_some());
    // But one that lies did answer.
    world.fake.put(&blob, Answer::ok(component("c")));
    let error = world
        .fetch("acme/tool:1", MovedTag::Follow)
        .await
        .unwrap_err();
    assert!(
        matches!(error, FetchError::Registry(RegistryError::Digest { .. })),
        "{error}"
    );
    let files = world.files();
    assert_eq!(files.len(), 3, "nothing is left of it: {files:?}");
}

#[tokio::test]
async fn what_was_changed_in_the_folder_is_had_anew_and_never_given() {
    let world = World::new();
    world.fake.hold("1", &component("a"));
    let first = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    let manifest = first.path.with_extension("json");
    let manifest = manifest.with_file_name(format!("sha256-{}.json", first.manifest.hex()));
    for file in [&first.path, &manifest] {
        fs::write(file, "changed").unwrap();
        let again = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
        assert_eq!(again, first);
        assert_eq!(fs::read(&first.path).unwrap(), component("a"));
        assert_ne!(fs::read(file).unwrap(), b"changed");
    }
    fs::write(&first.path, "changed").unwrap();
    world
        .fake
        .put("/v2/acme/tool/manifests/1", Answer::status(500, ""));
    let error = world
        .fetch("acme/tool:1", MovedTag::Refuse)
        .await
        .unwrap_err();
    assert!(matches!(error, FetchError::Registry(_)), "{error}");
}

#[tokio::test]
async fn a_tag_that_nobody_can_read_is_not_taken_for_a_new_one() {
    let world = World::new();
    world.fake.hold("1", &component("a"));
    world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    let folder = world.folder.path().join("registry");
    let tag = world
        .files()
        .into_iter()
        .find(|name| name.starts_with("tag-"));
    let tag = folder.join(tag.unwrap());
    fs::write(&tag, "changed").unwrap();
    let error = world
        .fetch("acme/tool:1", MovedTag::Refuse)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, FetchError::Changed(path) if *path == tag),
        "{error}"
    );
}

#[tokio::test]
async fn what_nobody_needs_is_removed_and_so_is_what_was_half_written() {
    let world = World::new();
    world.fake.hold("1", &component("a"));
    world.fake.hold("2", &component("b"));
    let one = world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap();
    world.fetch("acme/tool:2", MovedTag::Refuse).await.unwrap();
    assert_eq!(world.files().len(), 6);
    let part = world.folder.path().join("registry/.part-x");
    fs::write(&part, "half").unwrap();
    let mirror = world.mirror();
    assert!(!part.exists());
    assert_eq!(mirror.prune(|digest| digest == one.digest).unwrap(), 1);
    assert_eq!(world.files().len(), 3);
    world.fake.asked();
    assert_eq!(
        world.fetch("acme/tool:1", MovedTag::Refuse).await.unwrap(),
        one
    );
    assert_eq!(world.fake.asked().len(), 1, "its component is there");
    assert_eq!(mirror.prune(|_| false).unwrap(), 1);
    assert_eq!(world.files(), <[String; 0]>::default());
}
