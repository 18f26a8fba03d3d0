use crate::Postgres;

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
