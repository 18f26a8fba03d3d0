use super::*;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn it_keeps_what_it_had_until_it_is_dropped() {
    let mut server = Postgres::on_tcp();
    assert_ne!(server.database(), server.database());
    server.sql("tasks0", "CREATE TABLE kept AS SELECT 7 AS n");
    let folder = server.folder.clone();
    server.stop();
    assert!(std::net::TcpStream::connect(server.address()).is_err());
    server.start_again();
    assert_eq!(server.sql("tasks0", "SELECT n FROM kept"), "7");
    std::net::TcpStream::connect(server.address()).unwrap();
    drop(server);
    assert!(!folder.exists());
}

fn setting(server: &Postgres, name: &str) -> String {
    server.sql("postgres", &format!("SHOW {name}"))
}

#[test]
fn what_is_measured_is_on_the_disk_it_was_given() {
    let reachable = fs::Permissions::from_mode(0o755);
    let parent = tempfile::Builder::new().permissions(reachable).tempdir();
    let parent = parent.expect("a folder");
    let entries = || fs::read_dir(parent.path()).expect("a folder").count();

    let server = Postgres::to_measure(parent.path(), &["work_mem=5MB"]);
    for (name, value) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("work_mem", "5MB"),
    ] {
        assert_eq!(setting(&server, name), value, "{name}");
    }
    let data = setting(&server, "data_directory");
    assert!(Path::new(&data).starts_with(parent.path().canonicalize().expect("a folder")));
    drop(server);
    assert_eq!(entries(), 0, "nothing stays");

    let server = Postgres::to_measure(parent.path(), &["fsync=off"]);
    assert_eq!(setting(&server, "fsync"), "off");
    assert_eq!(server.counts_statements(), place::has_module(COUNTER));
    let name = fs::read_to_string(format!("/proc/{}/comm", server.process()));
    assert_eq!(name.expect("a process").trim_end(), "postgres");
}
