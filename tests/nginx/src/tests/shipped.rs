//! The configuration as operators have it.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use cofferdam_guard::{Guarded, free_port};

use crate::files;

/// Copies it, as its first lines say.
fn install(folder: &Path) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/nginx");
    fs::create_dir(folder.join("cofferdam")).unwrap();
    fs::copy(
        shipped.join("cofferdam.conf"),
        folder.join("cofferdam.conf"),
    )
    .unwrap();
    for entry in fs::read_dir(shipped.join("cofferdam")).unwrap() {
        let file = entry.unwrap();
        fs::copy(file.path(), folder.join("cofferdam").join(file.file_name())).unwrap();
    }
    fs::write(folder.join("nginx.conf"), files::main_file()).unwrap();
    let made = rcgen::generate_simple_self_signed(["mcp.example".to_owned()]).unwrap();
    let pem = [
        ("certificate.pem", made.cert.pem()),
        ("key.pem", made.signing_key.serialize_pem()),
    ];
    for (name, text) in pem {
        fs::write(folder.join("cofferdam").join(name), text).unwrap();
    }
}

/// What nginx says of it; without a complaint it says that it is good.
fn verdict(folder: &Path) -> String {
    let mut guarded = Guarded::new("TERM", None);
    files::run(guarded.command(), folder);
    guarded.command().arg("-t");
    let mut text = String::new();
    let mut guard = guarded.start().unwrap();
    guard.take_stderr().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn nginx_takes_it_without_a_complaint() {
    let made = tempfile::tempdir().unwrap();
    let folder = made.path();
    install(folder);
    // Who tests may not be allowed to listen there.
    let file = folder.join("cofferdam/listen.conf");
    let listen = fs::read_to_string(&file).unwrap();
    assert_eq!(
        listen.matches(":443 ").count() + listen.matches(" 443 ").count(),
        2
    );
    let port = free_port();
    let listen = listen
        .replace(":443 ", &format!(":{port} "))
        .replace(" 443 ", &format!(" {port} "));
    fs::write(&file, listen).unwrap();
    let text = verdict(folder);
    assert!(text.contains("test is successful"), "{text}");
    let complaints = ["[warn]", "[error]", "[alert]", "[crit]", "[emerg]"];
    assert!(!complaints.iter().any(|it| text.contains(it)), "{text}");

    fs::write(
        folder.join("cofferdam/nodes.conf"),
        "server nowhere.invalid:0;\n",
    )
    .unwrap();
    let text = verdict(folder);
    assert!(
        text.contains("test failed") && text.contains("nodes.conf"),
        "{text}"
    );
}
