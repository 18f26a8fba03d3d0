//! The client against registries that are slow, wrong, or out for something.

use super::fake::{Answer, Asked, Fake, component};
use super::*;
use crate::limits::{COMPONENT_BYTES, REGISTRY_MANIFEST_BYTES};
use serde_json::{Value, json};
use std::time::Duration;

fn pull(reference: &Reference) -> Result<(Manifest, Vec<u8>), RegistryError> {
    let client = Client::default();
    let mut bytes = Vec::new();
    let manifest = client.pull(reference)?.component(&mut bytes)?;
    Ok((manifest, bytes))
}

fn refused(reference: &Reference) -> RegistryError {
    pull(reference)
        .map(|(manifest, _)| manifest.digest)
        .unwrap_err()
}

/// The manifest of a component, changed.
fn changed(component: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (manifest, _) = Manifest::of(component, None, jiff::Timestamp::UNIX_EPOCH).unwrap();
    let mut value: Value = serde_json::from_slice(manifest.bytes()).unwrap();
    change(&mut value);
    serde_json::to_vec(&value).unwrap()
}

#[test]
fn a_component_comes_by_its_tag_and_by_its_digest() {
    let fake = Fake::start();
    let held = fake.hold("1", &component("a"));
    for name in [
        "acme/tool:1".to_owned(),
        format!("acme/tool@{}", held.digest),
    ] {
        let (manifest, bytes) = pull(&fake.reference(&name)).unwrap();
        assert_eq!(manifest.digest, held.digest);
        assert_eq!(manifest.signature.as_deref(), Some("signed"));
        assert_eq!(bytes, component("a"));
    }
}

#[test]
fn a_manifest_that_is_not_what_its_digest_says_is_refused() {
    let fake = Fake::start();
    let (one, other) = (
        fake.hold("1", &component("a")),
        fake.hold("2", &component("b")),
    );
    // By the header that goes with it.
    let lie = Answer::ok(one.bytes()).header("Docker-Content-Digest", other.digest.to_string());
    fake.put("/v2/acme/tool/manifests/1", lie);
    // By the pin.
    let path = format!("/v2/acme/tool/manifests/{}", one.digest);
    fake.put(&path, Answer::ok(other.bytes()));
    for name in [
        "acme/tool:1".to_owned(),
        format!("acme/tool:1@{}", one.digest),
    ] {
        let error = refused(&fake.reference(&name));
        assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
        assert!(!error.is_silence(), "{error}");
        let text = error.to_string();
        assert!(text.contains(&one.digest.to_string()), "{text}");
        assert!(text.contains(&other.digest.to_string()), "{text}");
    }
}

#[test]
fn a_pin_of_nothing_tells_what_the_tag_stands_for() {
    let fake = Fake::start();
    let held = fake.hold("1", &component("a"));
    let pin = Digest::of(b"nothing");
    let error = refused(&fake.reference(&format!("acme/tool:1@{pin}")));
    assert!(matches!(error, RegistryError::Pin { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&pin.to_string()) && text.contains(&held.digest.to_string()),
        "{text}"
    );
    let error = refused(&fake.reference(&format!("acme/tool@{pin}")));
    assert!(matches!(error, RegistryError::Missing(_)), "{error}");
}

#[test]
fn a_component_that_is_not_what_its_manifest_says_is_refused() {
    let fake = Fake::start();
    let whole = component("a");
    let held = fake.hold("1", &whole);
    let mut other = whole.clone();
    other[9] ^= 1;
    let longer = [whole.as_slice(), b"\0"].concat();
    let much_longer = whole.repeat(10_000);
    for sent in [
        &other,
        &longer,
        &much_longer,
        &whole[1..].to_vec(),
        &Vec::new(),
    ] {
        let blob = format!("/v2/acme/tool/blobs/{}", held.component);
        fake.put(&blob, Answer::ok(sent.as_slice()));
        let error = refused(&fake.reference("acme/tool:1"));
        assert!(matches!(error, RegistryError::Digest { .. }), "{error}");
    }
}

#[test]
fn what_is_too_large_is_not_read() {
    let fake = Fake::start();
    let limit = usize::try_from(REGISTRY_MANIFEST_BYTES).unwrap();
    fake.lay("padded", &vec![b' '; limit + 1]);
    let error = refused(&fake.reference("acme/tool:padded")).to_string();
    assert!(
        error.contains("262144 bytes (REGISTRY_MANIFEST_BYTES)"),
        "{error}"
    );

    let huge = changed(&component("a"), |it| {
        it["layers"][0]["size"] = json!(COMPONENT_BYTES + 1);
    });
    fake.lay("huge", &huge);
    fake.asked();
    let error = refused(&fake.reference("acme/tool:huge"));
    assert!(matches!(error, RegistryError::Manifest(..)), "{error}");
    assert_eq!(fake.asked().len(), 1, "the component is not asked for");
}

#[test]
fn what_is_no_component_is_refused() {
    let fake = Fake::start();
    let image = changed(&component("a"), |it| {
        it["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json");
    });
    fake.lay("image", &image);
    fake.lay("page", b"<html>");
    for name in ["acme/tool:image", "acme/tool:page"] {
        let error = refused(&fake.reference(name));
        assert!(matches!(error, RegistryError::Manifest(..)), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn redirects_are_followed_but_not_for_ever_and_not_anywhere() {
    let (fake, elsewhere) = (Fake::start(), Fake::start());
    let held = fake.hold("1", &component("a"));
    let blob = format!("/v2/acme/tool/blobs/{}", held.component);
    let to = |location: String| Answer::status(307, "").header("Location", location);

    fake.put(&blob, to("/moved".to_owned()));
    fake.put("/moved", to(format!("http://{}/far", elsewhere.address())));
    elsewhere.put("/far", to("/farther".to_owned()));
    elsewhere.put("/farther", Answer::ok(component("a")));
    assert_eq!(
        pull(&fake.reference("acme/tool:1")).unwrap().1,
        component("a")
    );

    fake.put(&blob, to(blob.clone()));
    let error = refused(&fake.reference("acme/tool:1"));
    assert!(matches!(error, RegistryError::Redirects(_)), "{error}");
    assert!(error.to_string().contains("REGISTRY_REDIRECTS"), "{error}");

    for place in [
        "http://registry.example/x?secret=word",
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
    ] {
        fake.put(&blob, to(place.to_owned()));
        let error = refused(&fake.reference("acme/tool:1"));
        assert!(!error.to_string().contains("word"), "{error}");
        assert!(
            matches!(
                error,
                RegistryError::Insecure { .. } | RegistryError::Malformed { .. }
            ),
            "{error}"
        );
    }
    fake.put(&blob, Answer::status(307, ""));
    let error = refused(&fake.reference("acme/tool:1"));
    assert!(error.to_string().contains("Location"), "{error}");
}

#[test]
fn a_token_is_had_where_the_registry_says_and_goes_to_the_registry_alone() {
    let (fake, makes_tokens, elsewhere) = (Fake::start(), Fake::start(), Fake::start());
    let held = fake.hold("1", &component("a"));
    let blob = format!("/v2/acme/tool/blobs/{}", held.component);
    let manifest = Answer::ok(held.bytes()).only_to("Bearer word");
    fake.put("/v2/acme/tool/manifests/1", manifest);
    let far = format!("http://{}/far", elsewhere.address());
    let moved = Answer::status(307, "").header("Location", far);
    fake.put(&blob, moved.only_to("Bearer word"));
    elsewhere.put("/far", Answer::ok(component("a")));
    makes_tokens.put("/token", Answer::ok(r#"{"token": "word"}"#));
    let realm = format!("http://{}/token", makes_tokens.address());
    fake.challenge(format!(r#"Bearer realm="{realm}",service="some service""#));

    assert_eq!(
        pull(&fake.reference("acme/tool:1")).unwrap().1,
        component("a")
    );
    let path = |asked: Vec<Asked>| asked.into_iter().map(|it| it.path).collect::<Vec<_>>();
    let asked = path(makes_tokens.asked());
    let [asked] = asked.as_slice() else {
        panic!("one token is enough: {asked:?}")
    };
    assert!(asked.contains("repository%3Aacme%2Ftool%3Apull"), "{asked}");
    assert!(asked.contains("service=some"), "{asked}");
    let far = elsewhere.asked();
    assert_eq!(far.len(), 1);
    assert_eq!(far[0].authorization, None, "the token is not for others");
}

#[test]
fn nobody_but_the_registry_asks_who_we_are() {
    let (fake, elsewhere) = (Fake::start(), Fake::start());
    let held = fake.hold("1", &component("a"));
    let far = format!("http://{}/far", elsewhere.address());
    let blob = format!("/v2/acme/tool/blobs/{}", held.component);
    fake.put(&blob, Answer::status(307, "").header("Location", far));
    elsewhere.put("/far", Answer::ok("").only_to("Bearer word"));
    elsewhere.put("/token", Answer::ok(r#"{"token": "word"}"#));
    let realm = format!("http://{}/token", elsewhere.address());
    elsewhere.challenge(format!(r#"Bearer realm="{realm}""#));
    let error = refused(&fake.reference("acme/tool:1"));
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    assert_eq!(elsewhere.asked().len(), 1, "no token is had there");
}

#[test]
fn a_token_that_is_no_longer_good_is_had_anew() {
    let fake = Fake::start();
    let held = fake.hold("1", &component("a"));
    fake.put(
        "/v2/acme/tool/manifests/1",
        Answer::ok(held.bytes()).only_to("Bearer one"),
    );
    fake.put("/token", Answer::ok(r#"{"access_token": "one"}"#));
    fake.challenge(format!(r#"Bearer realm="http://{}/token""#, fake.address()));
    let client = Client::default();
    let reference = fake.reference("acme/tool:1");
    let pull = client.pull(&reference).unwrap();
    let blob = format!("/v2/acme/tool/blobs/{}", held.component);
    fake.put(&blob, Answer::ok(component("a")).only_to("Bearer two"));
    fake.put("/token", Answer::ok(r#"{"token": "two"}"#));
    let mut bytes = Vec::new();
    pull.component(&mut bytes).unwrap();
    assert_eq!(bytes, component("a"));
}

#[test]
fn no_token_is_asked_for_in_the_clear_elsewhere() {
    let fake = Fake::start();
    fake.put(
        "/v2/acme/tool/manifests/1",
        Answer::ok("").only_to("Bearer word"),
    );
    fake.challenge(r#"Bearer realm="http://registry.example/token""#.to_owned());
    let error = refused(&fake.reference("acme/tool:1"));
    assert!(matches!(error, RegistryError::Insecure { .. }), "{error}");
}

#[test]
fn a_refusal_shows_the_codes_of_the_registry_and_none_of_its_words() {
    let fake = Fake::start();
    let body = r#"{"errors": [{"code": "DENIED", "message": "word"}, {"code": "word word"}]}"#;
    for (status, fits) in [(403, true), (500, false)] {
        fake.put("/v2/acme/tool/manifests/1", Answer::status(status, body));
        let error = refused(&fake.reference("acme/tool:1"));
        assert_eq!(
            matches!(error, RegistryError::Denied { .. }),
            fits,
            "{error}"
        );
        assert!(error.is_silence());
        let text = error.to_string();
        assert!(
            text.contains("(DENIED)") && text.contains(&status.to_string()),
            "{text}"
        );
        assert!(!text.contains("word"), "{text}");
    }
}

#[test]
fn a_registry_that_says_nothing_is_given_up() {
    let fake = Fake::start();
    let silent = Answer {
        silent: true,
        ..Answer::default()
    };
    fake.put("/v2/acme/tool/manifests/1", silent);
    let client = Client::default().with_time(Duration::from_millis(100));
    let reference = fake.reference("acme/tool:1");
    let error = client.pull(&reference).map(drop).unwrap_err();
    assert!(matches!(error, RegistryError::Late(_)), "{error}");
    assert!(error.is_silence());
}
