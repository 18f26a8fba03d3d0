//! `cofferdam inspect`: what it tells of a component is what a server makes of it.

use std::path::Path;
use std::process::Output;

use cofferdam_tests::{Config, Options, Server, cofferdam, guest};
use minisign::KeyPair;
use serde_json::{Value, json};

use crate::status;

/// Runs it on a file: whether it is content, its text, and its JSON.
async fn inspect(file: &Path) -> (bool, String, Value) {
    let file = file.to_str().expect("UTF-8");
    let text = cofferdam(&["inspect", file], &[]).await;
    let json = cofferdam(&["inspect", "--json", file], &[]).await;
    assert_eq!(text.status.success(), json.status.success());
    let read = |output: &Output| {
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout.clone()).expect("UTF-8")
    };
    let (text, printed) = (read(&text), read(&json));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for printed in [&text, &printed] {
        let control = |char: char| char.is_control() && char != '\n';
        assert!(!printed.contains(control), "{printed:?}");
    }
    let told = serde_json::from_str(&printed).expect("JSON");
    (json.status.success(), text, told)
}

/// A guest in which each of these bytes is replaced by as many others.
fn patched(name: &str, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len(), "{from} {to}");
    let mut bytes = std::fs::read(guest(name)).expect("a component");
    let found = bytes.windows(from.len()).enumerate();
    let found = found.filter(|(_, it)| *it == from.as_bytes());
    let found: Vec<usize> = found.map(|(at, _)| at).collect();
    assert!(!found.is_empty(), "{from} is in {name}");
    for at in found {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[tokio::test]
async fn tools_are_those_that_clients_of_a_server_get() {
    for name in ["report", "js"] {
        let (good, text, told) = inspect(&guest(name)).await;
        assert!(good, "{text}");
        let server = Server::start(Options::guest(name).admin()).await;
        let listed = server
            .client()
            .request("tools/list", json!({}))
            .answer()
            .await;
        let listed = &listed.result()["tools"];
        let mut tools = told["tools"].clone();
        let status = status(&server).await;
        for (tool, served) in std::iter::zip(
            tools.as_array_mut().expect("tools"),
            status["tools"].as_array().expect("tools"),
        ) {
            let tool = tool.as_object_mut().expect("a tool");
            assert_eq!(
                tool.remove("task_support"),
                Some(served["task_support"].clone())
            );
            let name = served["name"].as_str().expect("a name");
            assert!(text.contains(&format!("\nTOOL {name}  (")), "{text}");
        }
        assert_eq!(&tools, listed);
        assert_eq!(told["digest"], status["components"][0]["digest"]);
        let size = std::fs::metadata(guest(name)).expect("a file").len();
        assert_eq!(told["bytes"], size);
        assert!(
            told["compiled"]["native_bytes"].as_u64() > Some(size / 2),
            "{told}"
        );
        assert!(told["compiled"]["seconds"].as_f64() > Some(0.0));
        assert_eq!(
            (&told["refused"], &told["signed_by"]),
            (&Value::Null, &Value::Null)
        );
    }
}

#[tokio::test]
async fn imports_lead_to_the_grants_that_a_server_wants() {
    let (good, text, told) = inspect(&guest("outbound")).await;
    assert!(good, "{text}");
    let grants = told["grants"].as_object().expect("grants");
    let keys: Vec<_> = grants
        .iter()
        .map(|(key, grant)| (&**key, grant["needed"] == true))
        .collect();
    assert_eq!(
        keys,
        [
            ("tools.grants.directories", false),
            ("tools.grants.env", false),
            ("tools.grants.http", true),
            ("tools.grants.sockets", false)
        ]
    );
    assert_eq!(told["replays"], "unless-granted");
    let imports = told["imports"].as_array().expect("imports");
    let from = |name: &str| {
        let mut imports = imports.iter();
        let import = imports.find(|it| it["name"].as_str().is_some_and(|it| it.starts_with(name)));
        import.unwrap_or_else(|| panic!("no {name}"))["from"].clone()
    };
    assert_eq!(
        (from("wasi:http/outgoing"), from("wasi:io/poll")),
        (json!("granted"), json!("provided"))
    );
    // Without what it needs, it is refused, by the same key; with what is shown, it serves.
    let (_, refused) = Server::refuse(Options::guest("outbound")).await;
    assert!(refused.contains("add [tools.grants.http]"), "{refused}");
    let snippet = text
        .split_once("[tools.grants.http]\n")
        .expect("a snippet")
        .1;
    let hosts = snippet.lines().next().expect("hosts").trim();
    let config = Config::new(&format!(
        "[[tools]]\npath = {:?}\n[tools.grants.http]\n{hosts}\n",
        guest("outbound")
    ));
    Server::start(Options::default().config(&config.file())).await;

    let (_, text, told) = inspect(&guest("probe")).await;
    assert_eq!(
        (&told["grants"], &told["replays"]),
        (&json!({}), &json!("always"))
    );
    assert!(text.contains("It could use none."), "{text}");
}

#[tokio::test]
async fn what_a_server_would_refuse_is_refused_in_its_words() {
    let cut = std::fs::read(guest("probe")).expect("a component");
    let broken = [
        ("text", b"no component".to_vec()),
        ("module", b"\0asm\x01\0\0\0".to_vec()),
        ("empty", b"\0asm\x0d\0\x01\0".to_vec()),
        ("cut", cut[..cut.len() / 2].to_vec()),
        ("name", patched("probe", "required", "re quire")),
        (
            "import",
            patched("outbound", "wasi:cli/exit@0.2", "wasi:cli/exut@0.2"),
        ),
    ];
    let config = Config::new("");
    let mut options = Options::probe().admin();
    for (name, bytes) in &broken {
        config.put(&format!("{name}.wasm"), bytes);
        options = options.and(config.folder().join(format!("{name}.wasm")));
    }
    let server = Server::start(options).await;
    let status = status(&server).await;
    let refused = status["refused"].as_array().expect("refused");
    assert_eq!(refused.len(), broken.len());
    for ((name, _), refused) in std::iter::zip(&broken, refused) {
        let (good, text, told) = inspect(&config.folder().join(format!("{name}.wasm"))).await;
        assert!(!good, "{name}: {text}");
        assert_eq!(told["refused"], refused["reason"], "{name}");
        assert!(text.contains("A server would refuse it:"), "{name}: {text}");
        assert_eq!(told["tools"], json!([]), "{name}");
    }
    let (_, text, told) = inspect(&config.folder().join("import.wasm")).await;
    let imports = told["imports"].as_array().expect("imports");
    let unknown: Vec<_> = imports
        .iter()
        .filter(|it| it["from"] == "unknown")
        .collect();
    assert_eq!(unknown.len(), 1, "{told}");
    assert!(text.contains("NOTHING PROVIDES IT"), "{text}");

    for (path, words) in [("nowhere.wasm", "cannot read"), (".", "is no file")] {
        let path = config.folder().join(path);
        let output = cofferdam(&["inspect", path.to_str().expect("UTF-8")], &[]).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn what_a_component_says_moves_no_cursor() {
    let config = Config::new("");
    let from = "Takes memory at once, and uses it.";
    let to = "\u{1b}[2J\u{9b}31m\u{202e}\r\nTOOL fake\u{7}xxxxxxxxxx";
    let to = format!("{to}{}", "x".repeat(from.len() - to.len()));
    let name = "\u{1b}]0;title\u{7}.wasm";
    config.put(name, patched("probe", from, &to));
    let (good, text, told) = inspect(&config.folder().join(name)).await;
    assert!(
        good && !text.contains('\u{202e}') && !text.contains("\nTOOL fake"),
        "{text}"
    );
    let tools = told["tools"].as_array().expect("tools");
    assert!(
        tools.iter().any(|tool| tool["description"] == to),
        "told as it is, in JSON"
    );
}

#[tokio::test]
async fn the_key_of_a_signature_is_named() {
    let config = Config::new("");
    let bytes = std::fs::read(guest("report")).expect("a component");
    config.put("a.wasm", &bytes);
    let key = KeyPair::generate_unencrypted_keypair().expect("a key");
    let signed = minisign::sign(None, &key.sk, &bytes[..], None, None).expect("a signature");
    config.put("a.wasm.minisig", signed.into_string());
    let (_, text, told) = inspect(&config.folder().join("a.wasm")).await;
    let id = told["signed_by"].as_str().expect("a key");
    assert!(text.contains(&format!("{id} (not checked)")), "{text}");
    // The same that a server names.
    let source = config.folder().join("a.wasm");
    let signed = format!(
        "[[tools]]\npath = {source:?}\nsigned-by = [{:?}]\n",
        key.pk.to_base64()
    );
    config.put("cofferdam.toml", signed);
    let server = Server::start(Options::default().config(&config.file()).admin()).await;
    assert_eq!(status(&server).await["components"][0]["signed_by"], id);
    config.put("a.wasm.minisig", "nonsense");
    let (good, text, _) = inspect(&config.folder().join("a.wasm")).await;
    assert!(good && text.contains("it is no signature"), "{text}");
}
