//! Folders whose files are served as resources: what is listed and read, and what is not.

use crate::{all, each, result};
use cofferdam_tests::{Client, Config, Identity, Options, Request, Server, check_config};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const FILES: &str = "[[files]]\npath = \"texts\"\nuri = \"texts:///\"\n";

/// A configuration, with a folder of a few files beside it, and a secret beside that.
pub(crate) fn config(more: &str) -> Config {
    let config = Config::new(&format!("{more}{FILES}max-file-bytes = 1000\n"));
    fs::create_dir_all(config.folder().join("texts/sub/.git")).expect("made");
    for (name, content) in [
        ("secret.txt", &b"secret"[..]),
        ("texts/readme.md", b"# Hello"),
        ("texts/a b&c.txt", b"odd"),
        ("texts/sub/pixel.png", &[0, 1, 2, 255]),
        ("texts/.env", b"secret"),
        ("texts/sub/.git/config", b"secret"),
    ] {
        config.put(name, content);
    }
    config
}

pub(crate) async fn serve(config: &Config) -> Server {
    Server::start(Options::default().config(&config.file())).await
}

async fn refused(client: &Client, uri: &str) -> Value {
    let read = client.request("resources/read", json!({"uri": uri}));
    read.answer().await.error(200, -32602).clone()
}

#[tokio::test]
async fn files_are_listed_and_read_without_a_component() {
    let config = config("");
    let server = serve(&config).await;
    let said = server.announcement();
    assert!(said.ends_with("(3 files from 1 folder)"), "{said}");
    let client = server.client();
    let files = all(&client, "resources/list", "resources").await;
    let uris = [
        "texts:///a%20b&c.txt",
        "texts:///readme.md",
        "texts:///sub/pixel.png",
    ];
    assert_eq!(each(&files, "uri"), uris);
    assert_eq!(
        each(&files, "name"),
        ["a b&c.txt", "readme.md", "sub/pixel.png"]
    );
    assert_eq!(
        each(&files, "mimeType"),
        ["text/plain", "text/markdown", "image/png"]
    );
    assert_eq!(files[1]["size"], 7);
    let time = files[1]["annotations"]["lastModified"].as_str();
    assert!(time.is_some_and(|time| time.ends_with('Z')), "{files:?}");
    let templates = all(&client, "resources/templates/list", "resourceTemplates").await;
    assert_eq!(
        templates,
        [json!({"name": "texts", "uriTemplate": "texts:///{+path}"})]
    );

    let read = result(
        &client,
        "resources/read",
        json!({"uri": "texts:///readme.md"}),
    )
    .await;
    let expected =
        json!([{"uri": "texts:///readme.md", "mimeType": "text/markdown", "text": "# Hello"}]);
    assert_eq!(read["contents"], expected);
    assert_eq!(
        (&read["ttlMs"], &read["cacheScope"]),
        (&json!(0), &json!("public"))
    );
    let read = result(
        &client,
        "resources/read",
        json!({"uri": "texts:///sub/pixel.png"}),
    )
    .await;
    assert_eq!(read["contents"][0]["blob"], "AAEC/w==");
    let read = result(&client, "resources/read", json!({"uri": uris[0]})).await;
    assert_eq!(read["contents"][0]["text"], "odd");
}

#[tokio::test]
async fn files_come_between_what_components_told_and_what_they_list() {
    let config = config("");
    let mut pages = Vec::new();
    for size in [1, 2, 3, 100] {
        let options = Options::guest("handbook").config(&config.file());
        let server = Server::start(options.set("server.page-size", size)).await;
        let client = server.client();
        let all_files = all(&client, "resources/list", "resources").await;
        pages.push(each(&all_files, "uri"));
        let templates = all(&client, "resources/templates/list", "resourceTemplates").await;
        assert_eq!(templates.len(), 3);
        let first = result(&client, "resources/list", json!({})).await;
        assert!(
            first["resources"]
                .as_array()
                .is_some_and(|page| page.len() <= size)
        );
    }
    assert!(pages.windows(2).all(|two| two[0] == two[1]), "{pages:?}");
    let is_file: Vec<_> = pages[0].iter().map(|it| it.starts_with("texts:")).collect();
    let parts: Vec<_> = is_file
        .chunk_by(|a, b| a == b)
        .map(|part| part[0])
        .collect();
    assert_eq!(parts, [false, true, false], "{pages:?}");
}

#[tokio::test]
async fn nothing_else_is_read() {
    let config = config("");
    let (folder, secret) = (
        config.folder().join("texts"),
        config.folder().join("secret.txt"),
    );
    symlink(&secret, folder.join("link.txt")).expect("linked");
    symlink("readme.md", folder.join("inner.md")).expect("linked");
    symlink(config.folder(), folder.join("out")).expect("linked");
    mkfifoat(CWD, folder.join("fifo"), Mode::RUSR | Mode::WUSR).expect("made");
    let server = serve(&config).await;
    let client = server.client();
    let files = all(&client, "resources/list", "resources").await;
    assert_eq!(files.len(), 3, "{files:?}");
    let absolute = secret.display().to_string();
    for path in [
        "../secret.txt",
        "sub/../../secret.txt",
        "sub/../readme.md",
        "./readme.md",
        "%2e%2e/secret.txt",
        "%2E%2E/secret.txt",
        "..%2Fsecret.txt",
        "..%2fsecret.txt",
        "%252e%252e/secret.txt",
        "..%5Csecret.txt",
        "..\\secret.txt",
        "..",
        "",
        "/readme.md",
        "//readme.md",
        "sub//pixel.png",
        "sub/",
        "sub",
        &absolute,
        &absolute.replace('/', "%2F"),
        "readme.md%00",
        "readme.md%00.png",
        "%72eadme.md",
        "a b&c.txt",
        "link.txt",
        "inner.md",
        "out/secret.txt",
        "out/texts/readme.md",
        "fifo",
        ".env",
        "sub/.git/config",
        "nothing.txt",
        "readme.md/x",
        "readme.md?x",
        "readme.md#x",
    ] {
        let uri = format!("texts:///{path}");
        let error = refused(&client, &uri).await;
        let expected =
            json!({"code": -32602, "message": "Resource not found", "data": {"uri": uri}});
        assert_eq!(error, expected);
    }
    // Nothing is left waiting for the FIFO.
    result(
        &client,
        "resources/read",
        json!({"uri": "texts:///readme.md"}),
    )
    .await;
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_with_the_limit() {
    let config = config("");
    config.put("texts/large.txt", "x".repeat(1_001));
    config.put("texts/full.txt", "x".repeat(1_000));
    let server = serve(&config).await;
    let client = server.client();
    let uris = each(&all(&client, "resources/list", "resources").await, "uri");
    assert!(uris.contains(&"texts:///full.txt".to_owned()), "{uris:?}");
    assert!(!uris.contains(&"texts:///large.txt".to_owned()), "{uris:?}");
    let read = |uri: &str| client.request("resources/read", json!({"uri": uri}));
    read("texts:///full.txt").answer().await.result();
    let large = read("texts:///large.txt").answer().await;
    let said = large.message(200, -32603);
    assert!(said.contains("1000 (files.max-file-bytes)"), "{said}");
    // It grew since it was listed.
    config.put("texts/full.txt", "x".repeat(2_000));
    read("texts:///full.txt")
        .answer()
        .await
        .message(200, -32603);

    let options = Options::default().config(&config.file());
    let server = Server::start(options.set("sandbox.result-bytes", 1_024)).await;
    config.put("texts/full.txt", "\"".repeat(1_000));
    let read = server
        .client()
        .request("resources/read", json!({"uri": "texts:///full.txt"}));
    let answer = read.answer().await;
    let said = answer.message(200, -32603);
    assert!(said.contains("(sandbox.result-bytes)"), "{said}");
}

#[tokio::test]
async fn tenants_see_files_by_the_rule_of_resources() {
    let tenants = [
        ("whole", ""),
        ("tools", "tools = [\"relist\"]"),
        ("some", "resources = [\"texts:///sub/*\"]"),
        ("one", "resources = [\"texts:///readme.md\"]"),
        ("none", "resources = [\"other:*\"]"),
    ];
    let identities = tenants.map(|(name, _)| Identity::new(name, "s"));
    let mut text = String::new();
    for ((name, said), identity) in tenants.iter().zip(&identities) {
        text += &format!("[tenants.{name}]\n{said}\n{}", identity.entry);
    }
    let config = config(&text);
    let server = serve(&config).await;
    let clients = identities
        .each_ref()
        .map(|it| server.client().bearing(&it.token));
    let [whole, tools, some, one, none] = &clients;
    for (client, count) in [(whole, 3), (some, 1), (one, 1)] {
        assert_eq!(
            all(client, "resources/list", "resources").await.len(),
            count
        );
        let read =
            json!({"uri": if count == 3 { "texts:///a%20b&c.txt" } else { "texts:///nothing" }});
        if count == 3 {
            let read = result(client, "resources/read", read).await;
            assert_eq!(read["cacheScope"], "private");
        }
    }
    let read = result(one, "resources/read", json!({"uri": "texts:///readme.md"})).await;
    assert_eq!(read["contents"][0]["text"], "# Hello");
    // Hidden, or not there: word for word the same.
    let hidden = refused(some, "texts:///readme.md").await;
    let nothing = refused(whole, "texts:///nothing.md").await;
    assert_eq!(hidden["message"], nothing["message"]);
    refused(some, "texts:///sub/../readme.md").await;
    for blind in [tools, none] {
        let list = blind.request("resources/list", json!({})).answer().await;
        list.error(404, -32601);
    }
}

#[tokio::test]
async fn a_component_does_not_take_what_is_a_folders() {
    let config = Config::new("[[files]]\npath = \"rooms\"\nuri = \"house://\"\n");
    fs::create_dir(config.folder().join("rooms")).expect("made");
    let output = check_config(&["--config", &config.file().display().to_string()]);
    assert!(output.status.success(), "{output:?}");
    let options = Options::guest("offers").config(&config.file());
    let (_, said) = Server::refuse(options).await;
    assert!(
        said.contains("is served by") && said.contains("rooms"),
        "{said}"
    );
}

#[tokio::test]
async fn reads_are_counted() {
    let config = config("");
    let options = Options::default().config(&config.file()).admin();
    let server = Server::start(options).await;
    let client = server.client();
    result(
        &client,
        "resources/read",
        json!({"uri": "texts:///readme.md"}),
    )
    .await;
    refused(&client, "texts:///nothing").await;
    let metrics = Request::new("GET", "/metrics").send(server.admin()).await;
    let text = String::from_utf8(metrics.bytes().await.to_vec()).expect("UTF-8");
    let counted: Vec<_> = text
        .lines()
        .filter(|line| line.contains("texts:///{+path}"))
        .collect();
    assert!(
        counted
            .iter()
            .any(|line| line.contains("result") && line.ends_with(" 1")),
        "{text}"
    );
    assert!(
        counted
            .iter()
            .any(|line| line.contains("error") && line.ends_with(" 1")),
        "{text}"
    );
}

#[test]
fn what_does_not_fit_is_refused_with_what_to_do() {
    let config = Config::new("");
    fs::create_dir(config.folder().join("texts")).expect("made");
    config.put("file.txt", "x");
    let file = config.file().display().to_string();
    let check = |text: &str| {
        config.put("cofferdam.toml", text);
        let output = check_config(&["--config", &file]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    let (good, said) = check(FILES);
    assert!(good, "{said}");
    let of = |uri: &str| format!("[[files]]\npath = \"texts\"\nuri = \"{uri}\"\n");
    for (text, told) in [
        (
            "[[files]]\npath = \"none\"\nuri = \"a:///\"".to_owned(),
            "name a folder",
        ),
        (
            "[[files]]\npath = \"file.txt\"\nuri = \"a:///\"".to_owned(),
            "is no folder",
        ),
        ("[[files]]\npath = \"texts\"".to_owned(), "uri"),
        (of("texts"), "must be a URI that ends with /"),
        (of("texts:///a"), "must be a URI that ends with /"),
        (of("texts:///{a}/"), "files[0].uri"),
        (of("texts:///%61/"), "must have none of"),
        (format!("{}{}", of("a:///"), of("a:///b/")), "files[1].uri"),
        (format!("{FILES}hiden = true"), "unknown field `hiden`"),
        (
            format!("{FILES}max-file-bytes = 0"),
            "files[0].max-file-bytes",
        ),
        (
            "[[files]]\npath = \".\"\nuri = \"a:///\"".to_owned(),
            "the configuration",
        ),
        (
            format!("data = \"texts/data\"\n{FILES}"),
            "the data directory",
        ),
        ("".to_owned(), "[[files]]"),
    ] {
        let (good, said) = check(&text);
        assert!(!good && said.contains(told), "{text}: {said}");
    }
}

#[tokio::test]
async fn a_folder_with_too_much_in_it_stops_the_start() {
    let config = config("");
    for n in 0..10_000 {
        config.put(&format!("texts/sub/{n}"), "");
    }
    let options = Options::default().config(&config.file());
    let (_, said) = Server::refuse(options).await;
    assert!(
        said.contains("FOLDER_ENTRIES") && said.contains("index = false"),
        "{said}"
    );
    let text = format!("{FILES}index = false\n");
    config.put("cofferdam.toml", text);
    let server = serve(&config).await;
    let client = server.client();
    assert!(all(&client, "resources/list", "resources").await.is_empty());
    result(&client, "resources/read", json!({"uri": "texts:///sub/77"})).await;
}
