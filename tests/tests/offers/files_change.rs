//! Files that are made, changed and removed while clients listen.

use crate::files::{config, serve};
use crate::{all, each, result};
use cofferdam_tests::{Config, Heard, Options, Request, Server};
use serde_json::{Value, json};
use std::fs;

/// A file that is there at once, and whole.
fn put(config: &Config, name: &str, content: &str) {
    config.put("whole", content);
    fs::rename(config.folder().join("whole"), config.folder().join(name)).expect("renamed");
}

fn updated(uri: &str) -> Option<Heard> {
    Some(Heard::Updated(uri.to_owned()))
}

#[tokio::test]
async fn whoever_listens_hears_what_changed() {
    let config = config("");
    let server = serve(&config).await;
    let client = server.client();
    let (readme, new) = ("texts:///readme.md", "texts:///sub/new/x.md");
    let uris = [
        readme,
        new,
        "texts:///.env",
        "texts:///../secret.txt",
        "other:a",
    ];
    let mut heard = client.listen(json!({"resourceSubscriptions": uris})).await;
    assert_eq!(
        heard.accepted(),
        &json!({"resourceSubscriptions": [readme, new]})
    );
    let mut lists = client.listen(json!({"resourcesListChanged": true})).await;

    // Another content is no other list.
    put(&config, "texts/readme.md", "# Bye");
    assert_eq!(heard.next().await, updated(readme));
    let read = result(&client, "resources/read", json!({"uri": readme})).await;
    assert_eq!(read["contents"][0]["text"], "# Bye");

    // In a folder that was not there.
    fs::create_dir(config.folder().join("texts/sub/new")).expect("made");
    put(&config, "texts/sub/new/x.md", "x");
    assert_eq!(lists.next().await, Some(Heard::ResourcesChanged));
    assert_eq!(heard.next().await, updated(new));
    let uris = each(&all(&client, "resources/list", "resources").await, "uri");
    assert!(uris.contains(&new.to_owned()), "{uris:?}");
    put(&config, "texts/sub/new/x.md", "other");
    assert_eq!(heard.next().await, updated(new));

    fs::remove_file(config.folder().join("texts/readme.md")).expect("removed");
    assert_eq!(lists.next().await, Some(Heard::ResourcesChanged));
    assert_eq!(heard.next().await, updated(readme));
    let gone = client.request("resources/read", json!({"uri": readme}));
    gone.answer().await.error(200, -32602);
}

async fn reload(server: &Server) -> Value {
    let response = Request::new("POST", "/reload").send(server.admin()).await;
    response.json().await
}

#[tokio::test]
async fn a_folder_that_goes_away_is_told_and_comes_back() {
    let config = config("");
    let options = Options::default().config(&config.file()).admin();
    let server = Server::start(options.set("server.watch", false)).await;
    let client = server.client();
    let (there, away) = (config.folder().join("texts"), config.folder().join("away"));
    assert_eq!(reload(&server).await["refused"], json!([]));
    fs::rename(&there, &away).expect("moved");
    let refused = reload(&server).await["refused"].clone();
    let (name, reason) = (&refused[0]["name"], &refused[0]["reason"]);
    assert!(
        name.as_str().is_some_and(|name| name.ends_with("texts")),
        "{refused}"
    );
    assert!(
        reason
            .as_str()
            .is_some_and(|it| it.starts_with("cannot read the folder")),
        "{refused}"
    );
    let readme = json!({"uri": "texts:///readme.md"});
    let gone = client.request("resources/read", readme.clone());
    gone.answer().await.error(200, -32602);
    assert!(all(&client, "resources/list", "resources").await.is_empty());
    fs::rename(&away, &there).expect("moved");
    assert_eq!(reload(&server).await["refused"], json!([]));
    result(&client, "resources/read", readme).await;
    // Without watching, what is new is listed when it is told.
    config.put("texts/new.txt", "new");
    assert_eq!(all(&client, "resources/list", "resources").await.len(), 3);
    reload(&server).await;
    assert_eq!(all(&client, "resources/list", "resources").await.len(), 4);
}
