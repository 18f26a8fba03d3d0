//! Tokens of an authorization server (RFC 9068, RFC 8725): whatever is wrong with one, it is refused
//! in the same words; and where clients get the right ones (RFC 9728).

use cofferdam_tests::{Call, Config, Declares, Options, Request, Server};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::keys::{AUDIENCE, ISSUER, Key, KeyServer, claims, claims_but, now, set};

/// A configuration that takes tokens of the tests' issuer.
fn config(keys: &str, more: &str) -> Config {
    Config::new(&format!(
        "[tenants.acme]\n[tenants.solo]\n[auth.jwt]\nissuer = {ISSUER:?}\naudience = {AUDIENCE:?}\n\
         keys = {keys:?}\ntenant-claim = \"org\"\nscopes = [\"mcp\"]\n{more}"
    ))
}

/// A server that has its keys from a file, and the configuration that it needs.
async fn with_file(keys: &[&Key], more: &str) -> (Server, Config) {
    let config = config("keys.json", more);
    config.put("keys.json", set(keys));
    (Server::start(config.probe()).await, config)
}

fn list(server: &Server, token: &str) -> Call {
    server
        .client()
        .bearing(token)
        .request("tools/list", json!({}))
}

async fn status(server: &Server, token: &str) -> u16 {
    list(server, token).send().await.status
}

/// Status, challenge and body.
async fn told(call: Call) -> (u16, String, String) {
    let response = call.send().await;
    let challenge = response.header("www-authenticate").to_owned();
    let status = response.status;
    let body = String::from_utf8(response.bytes().await.to_vec()).expect("UTF-8");
    (status, challenge, body)
}

#[tokio::test]
async fn a_good_token_names_its_caller() {
    let (ed, ec) = (Key::ed25519("ed"), Key::p256("ec"));
    let (server, _config) = with_file(&[&ed, &ec], "").await;
    let client = server.client().declaring(Declares::Tasks);
    let ada = client.bearing(&ed.sign(&claims("ada")));
    let task = ada.task("wait", json!({})).await;
    // Another key, another day: the same subject.
    task.through(&client.bearing(&ec.sign(&claims("ada"))))
        .get()
        .await;
    for stranger in [claims("alan"), claims_but("org", json!("solo"))] {
        let stranger = client.bearing(&ed.sign(&stranger));
        stranger.task_get(task.id()).await.error(200, -32602);
    }
    for good in [
        claims_but("aud", json!([AUDIENCE, "https://other.example"])),
        claims_but("scope", json!("other mcp")),
        claims_but("nbf", json!(now() - 5)),
        // Clocks differ: half a minute is let pass.
        claims_but("exp", json!(now() - 10)),
        claims_but("nbf", json!(now() + 10)),
        claims_but("iat", Value::Null),
        // A date may have a fraction (RFC 7519, 2).
        claims_but("exp", json!(now() as f64 + 600.5)),
    ] {
        assert_eq!(status(&server, &ed.sign(&good)).await, 200, "{good}");
    }
    // What some servers write in place of `scope`.
    let mut array = claims_but("scope", Value::Null);
    array["scp"] = json!(["mcp"]);
    assert_eq!(status(&server, &ed.sign(&array)).await, 200);
}

// A signature is checked by what the operator allows, not by what the token or the key would like.
#[tokio::test]
async fn an_algorithm_counts_if_it_is_named() {
    let rs256 = Key::rsa("rsa", Algorithm::RS256);
    let ps384 = Key::rsa("pss", Algorithm::PS384);
    let ed = Key::ed25519("ed");
    let ec = Key::p256("ec");
    let all = [&rs256, &ps384, &ed, &ec];
    for (more, good) in [
        ("", ["rsa", "ed", "ec"].as_slice()),
        ("algorithms = [\"RS256\"]\n", &["rsa"]),
        ("algorithms = [\"ES256\", \"PS384\"]\n", &["pss", "ec"]),
    ] {
        let (server, _config) = with_file(&all, more).await;
        for key in all {
            let wanted = if good.contains(&key.kid.as_str()) {
                200
            } else {
                401
            };
            let token = key.sign(&claims("ada"));
            assert_eq!(status(&server, &token).await, wanted, "{more} {}", key.kid);
        }
        // The name of one key, the signature of another.
        let mut header = ec.header();
        header.kid = Some("ed".to_owned());
        let token = ec.sign_as(&header, &claims("ada"));
        assert_eq!(status(&server, &token).await, 401, "{more}");
    }
}

// What a key is for is said with the key (RFC 7517, 4; RFC 8725, 3.1: one algorithm each).
#[tokio::test]
async fn a_key_checks_what_it_is_for_only() {
    let key = Key::rsa("key", Algorithm::PS384);
    let other = Key::rsa("key", Algorithm::RS256);
    let config = config(
        "keys.json",
        "algorithms = [\"RS256\", \"PS384\", \"EdDSA\"]\n",
    );
    config.put("keys.json", set(&[&key]));
    let server = Server::start(config.probe()).await;
    assert_eq!(status(&server, &key.sign(&claims("ada"))).await, 200);
    let mut taken = Vec::new();
    if status(&server, &other.sign(&claims("ada"))).await != 401 {
        taken.push("RS256 by a key for PS384".to_owned());
    }

    let key = Key::ed25519("key");
    for (member, value, wanted) in [
        ("alg", Value::Null, 200),
        ("use", Value::Null, 200),
        ("key_ops", Value::Null, 200),
        ("use", json!("enc"), 401),
        ("key_ops", json!(["encrypt"]), 401),
    ] {
        let mut public = key.public();
        let members = public.as_object_mut().expect("a key");
        members.remove(member);
        if !value.is_null() {
            members.insert(member.to_owned(), value.clone());
        }
        config.put("keys.json", json!({"keys": [public]}).to_string());
        let server = Server::start(config.probe()).await;
        let token = key.sign(&claims("ada"));
        let came = status(&server, &token).await;
        if came != wanted {
            taken.push(format!("{member}: {value}: {came}"));
        }
    }
    assert!(taken.is_empty(), "{taken:?}");
}

// The name of its subject may be that of its tenant, if the issuer gives a token to each.
#[tokio::test]
async fn any_claim_may_name_the_tenant() {
    let key = Key::ed25519("key");
    let config = config("keys.json", "");
    let text = std::fs::read_to_string(config.file()).expect("a configuration");
    config.put("cofferdam.toml", text.replace("\"org\"", "\"sub\""));
    config.put("keys.json", set(&[&key]));
    let server = Server::start(config.probe()).await;
    assert_eq!(status(&server, &key.sign(&claims("acme"))).await, 200);
    assert_eq!(status(&server, &key.sign(&claims("ada"))).await, 401);
}

/// The same token without a signature, and with an algorithm that wants none.
fn unsigned(claims: &Value, algorithm: &str) -> String {
    let part = |value: &Value| {
        // base64url of JSON, by the one function of the crate that does it: signing.
        let secret = EncodingKey::from_secret(b"x").expect("a secret");
        let token = encode(&Header::default(), value, &secret).expect("a token");
        token.split('.').nth(1).expect("a part").to_owned()
    };
    let header = json!({"alg": algorithm, "typ": "at+jwt", "kid": "key"});
    format!("{}.{}.", part(&header), part(claims))
}

#[tokio::test]
async fn whatever_is_wrong_is_refused_alike() {
    let key = Key::ed25519("key");
    let (server, config) = with_file(&[&key], "").await;
    let refused = told(server.client().request("tools/list", json!({}))).await;
    assert_eq!(refused.0, 401);
    assert_eq!(
        refused.1,
        "Bearer scope=\"mcp\", \
         resource_metadata=\"https://mcp.example/.well-known/oauth-protected-resource/mcp\""
    );
    let good = claims("ada");
    let token = key.sign(&good);
    assert_eq!(status(&server, &token).await, 200);

    let by_claims = [
        ("iss", json!("https://evil.example")),
        ("iss", json!("https://login.example/")),
        ("iss", Value::Null),
        ("aud", json!("https://mcp.example")),
        ("aud", json!("https://other.example/mcp")),
        ("aud", json!(["https://other.example/mcp"])),
        ("aud", json!([])),
        ("aud", Value::Null),
        ("exp", json!(now() - 60)),
        ("exp", json!(0)),
        ("exp", json!("soon")),
        ("exp", Value::Null),
        ("nbf", json!(now() + 60)),
        ("sub", Value::Null),
        ("sub", json!("")),
        ("sub", json!(5)),
        ("org", Value::Null),
        ("org", json!("")),
        ("org", json!("other")),
        ("org", json!(["acme"])),
    ];
    let mut tokens: Vec<(String, String)> = by_claims
        .into_iter()
        .map(|(claim, value)| {
            (
                format!("{claim}: {value}"),
                key.sign(&claims_but(claim, value)),
            )
        })
        .collect();
    let mut add = |what: &str, token: String| tokens.push((what.to_owned(), token));

    for none in ["none", "None", "NONE", ""] {
        add("no signature", unsigned(&good, none));
    }
    let public = std::fs::read(config.folder().join("keys.json")).expect("keys");
    let x = key.public()["x"].as_str().expect("a key").to_owned();
    let one = key.public().to_string();
    let mut symmetric = Header::new(Algorithm::HS256);
    symmetric.kid = Some("key".to_owned());
    let bytes = [x.clone().into_bytes(), one.into_bytes(), public];
    let from_bytes = bytes.iter().map(|secret| EncodingKey::from_secret(secret));
    let padded = format!("{}=", x.replace('-', "+").replace('_', "/"));
    for secret in from_bytes.chain([EncodingKey::from_base64_secret(&padded)]) {
        let token = encode(&symmetric, &good, &secret.expect("a secret"));
        add("HS256 with what is public", token.expect("a token"));
    }

    add(
        "another key of the same name",
        Key::ed25519("key").sign(&good),
    );
    add(
        "another kind of key of the same name",
        Key::p256("key").sign(&good),
    );
    let mut header = key.header();
    header.kid = Some("unknown".to_owned());
    add("an unknown name", key.sign_as(&header, &good));
    // What a token says of its own key counts for nothing (RFC 8725, 3.10).
    let own = Key::ed25519("own");
    let mut header = own.header();
    header.jwk = serde_json::from_value(own.public()).ok();
    add("a key of its own", own.sign_as(&header, &good));

    let parts: Vec<&str> = token_parts(&token);
    let other = key.sign(&claims("eve"));
    let other = token_parts(&other);
    add(
        "claims of another token",
        format!("{}.{}.{}", parts[0], other[1], parts[2]),
    );
    add("no signature", format!("{}.{}.", parts[0], parts[1]));
    add("two parts", format!("{}.{}", parts[0], parts[1]));
    add("four parts", format!("{token}.{}", parts[2]));
    add("half", token[..token.len() / 2].to_owned());
    add("no token", "no-token".to_owned());
    add("dots", "..".to_owned());

    for (what, token) in tokens {
        assert_eq!(told(list(&server, &token)).await, refused, "{what}");
    }
    let log = server.log().text();
    assert!(
        !log.contains(parts[2]) && !log.contains(parts[1]),
        "a token is in the log: {log}"
    );
}

fn token_parts(token: &str) -> Vec<&str> {
    token.split('.').collect()
}

#[tokio::test]
async fn a_missing_scope_is_told() {
    let key = Key::ed25519("key");
    let (server, _config) = with_file(&[&key], "").await;
    for scope in [json!(""), json!("other"), json!("mcpx MCP"), Value::Null] {
        let token = key.sign(&claims_but("scope", scope.clone()));
        let (status, challenge, _) = told(list(&server, &token)).await;
        assert_eq!(status, 403, "{scope}");
        for part in [
            "Bearer error=\"insufficient_scope\"",
            "scope=\"mcp\"",
            "resource_metadata=\"",
        ] {
            assert!(challenge.contains(part), "{challenge}");
        }
    }
    // A token that is no good is not told of scopes, nor is that of a stranger.
    for (claim, value) in [
        ("org", json!("other")),
        ("iss", json!("https://evil.example")),
    ] {
        let mut bad = claims_but("scope", Value::Null);
        bad[claim] = value;
        assert_eq!(status(&server, &key.sign(&bad)).await, 401, "{bad}");
    }
}

// The tenant of tokens that name none; one that is named but cannot be read is not that of all others.
#[tokio::test]
async fn a_token_without_a_tenant_has_the_one_for_those() {
    let key = Key::ed25519("key");
    let (server, _config) = with_file(&[&key], "tenant = \"solo\"\n").await;
    let client = server.client().declaring(Declares::Tasks);
    let solo = client.bearing(&key.sign(&claims_but("org", json!("solo"))));
    let task = solo.task("wait", json!({})).await;
    task.through(&client.bearing(&key.sign(&claims_but("org", Value::Null))))
        .get()
        .await;
    for unreadable in [
        json!(5),
        json!(["acme"]),
        json!({}),
        json!("other"),
        json!(""),
    ] {
        let token = key.sign(&claims_but("org", unreadable.clone()));
        assert_eq!(status(&server, &token).await, 401, "{unreadable}");
    }
}

// Keys that this server cannot use are somebody else's business (RFC 7517, 5).
#[tokio::test]
async fn keys_of_other_kinds_do_no_harm() {
    let key = Key::ed25519("key");
    let config = config("keys.json", "");
    let strange = json!({"keys": [
        {"kty": "AKP", "alg": "ML-DSA-44", "kid": "new", "pub": "AAAA"},
        {"kty": "OKP", "crv": "X25519", "kid": "x", "use": "enc", "x": "AAAA"},
        {"kty": "RSA", "kid": "enc", "use": "enc", "alg": "RSA-OAEP-512", "n": "AQAB", "e": "AQAB"},
        key.public(),
    ]});
    config.put("keys.json", strange.to_string());
    let server = Server::start(config.probe()).await;
    assert_eq!(status(&server, &key.sign(&claims("ada"))).await, 200);
}

#[tokio::test]
async fn keys_are_fetched_once_and_again_when_one_is_new() {
    let (old, new) = (Key::ed25519("old"), Key::p256("new"));
    let keys = KeyServer::start(set(&[&old])).await;
    let config = config(&keys.url, "");
    let server = Server::start(config.probe()).await;
    let token = old.sign(&claims("ada"));
    for _ in 0..5 {
        assert_eq!(status(&server, &token).await, 200);
    }
    assert_eq!(keys.fetched(), 1);

    // Any number of names that nobody knows costs one fetch in a while.
    let unknown = (0..20).map(|n| Key::ed25519(&n.to_string()).sign(&claims("ada")));
    for token in unknown {
        assert_eq!(status(&server, &token).await, 401);
    }
    assert!(keys.fetched() <= 2, "{} fetches", keys.fetched());

    keys.show(200, set(&[&old, &new]));
    let before = keys.fetched();
    let fresh = new.sign(&claims("ada"));
    cofferdam_tests::patient("a new key to be taken", async {
        // KEYS_PAUSE after the last fetch, and not before.
        while status(&server, &fresh).await != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    })
    .await;
    assert_eq!(keys.fetched(), before + 1);

    // The keys that are known stay good when their server does not answer, or answers nonsense.
    keys.show(500, "no keys".to_owned());
    assert_eq!(
        status(&server, &Key::ed25519("x").sign(&claims("ada"))).await,
        401
    );
    drop(keys);
    for token in [&token, &fresh] {
        assert_eq!(status(&server, token).await, 200);
    }
    assert_eq!(
        status(&server, &Key::ed25519("y").sign(&claims("ada"))).await,
        401
    );
}

// Without any keys a token is neither good nor bad; and who sends many makes few fetches.
#[tokio::test]
async fn without_keys_nobody_is_let_in() {
    let key = Key::ed25519("key");
    let keys = KeyServer::start(String::new()).await;
    keys.show(500, "no keys".to_owned());
    let config = config(&keys.url, "");
    let server = Server::start(config.probe()).await;
    let token = key.sign(&claims("ada"));
    for _ in 0..10 {
        let (status, challenge, _) = told(list(&server, &token)).await;
        assert_eq!((status, challenge.as_str()), (503, ""));
    }
    assert_eq!(status(&server, "no-token").await, 401);
    assert!(keys.fetched() <= 2, "{} fetches", keys.fetched());
    keys.show(200, set(&[&key]));
    cofferdam_tests::patient("the keys to be fetched", async {
        while status(&server, &token).await != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn clients_are_led_to_where_tokens_are() {
    let (server, _config) = with_file(&[], "").await;
    let get = |path: &str| Request::new("GET", path).send(server.address());
    let mut seen = Vec::new();
    for rest in ["", "/mcp"] {
        let response = get(&format!("/.well-known/oauth-protected-resource{rest}")).await;
        assert_eq!(response.status, 200, "{rest}");
        seen.push(response.json().await);
    }
    let metadata = json!({
        "resource": AUDIENCE,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
    });
    assert_eq!(seen, [metadata.clone(), metadata]);
    for other in [
        "/.well-known/oauth-protected-resource/other",
        "/.well-known/",
        "/",
    ] {
        assert_eq!(get(other).await.status, 404, "{other}");
    }

    let other = "authorization-servers = [\"https://one.example\", \"https://two.example\"]\n";
    let (server, _config) = with_file(&[], other).await;
    let page = Request::new("GET", "/.well-known/oauth-protected-resource");
    let metadata = page.send(server.address()).await.json().await;
    let servers = json!(["https://one.example", "https://two.example"]);
    assert_eq!(metadata["authorization_servers"], servers);
}

// As all of the configuration, a server that others reach needs no more than this.
#[tokio::test]
async fn it_is_enough_to_be_reached_from_elsewhere() {
    let config = config("keys.json", "");
    let key = Key::ed25519("key");
    config.put("keys.json", set(&[&key]));
    let options: Options = config.probe().listen("0.0.0.0:0");
    let server = Server::start(options).await;
    assert_eq!(status(&server, &key.sign(&claims("ada"))).await, 200);
    assert_eq!(status(&server, "no-token").await, 401);
}
