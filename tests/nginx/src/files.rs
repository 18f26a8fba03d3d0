//! The folder of an nginx: the configuration that operators are given, and what is a test's own.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use cofferdam_guard::Programs;

/// Taken as they are.
const SHIPPED: [(&str, &str); 2] = [
    (
        "cofferdam.conf",
        include_str!("../../../deploy/nginx/cofferdam.conf"),
    ),
    (
        "cofferdam/proxy.conf",
        include_str!("../../../deploy/nginx/cofferdam/proxy.conf"),
    ),
];
/// The nodes of the one who was given it. What it says of a node beside its address is taken.
const NODES: &str = include_str!("../../../deploy/nginx/cofferdam/nodes.conf");

const NAME: &str = "nginx";

static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| Programs::find(NAME, &[NAME], places));

/// Is it installed, so that none need be unpacked?
#[must_use]
pub fn is_installed() -> bool {
    Programs::installed(&[NAME], places).is_some()
}

/// Where distributions put it, which is on root's PATH only.
fn places(root: &Path) -> Vec<PathBuf> {
    vec![root.join("usr/sbin")]
}

/// What is around the shipped files. One worker, so that requests go to the nodes strictly in turn.
pub(super) fn main_file() -> String {
    // Otherwise root's worker would be somebody who cannot look into the folder.
    let user = match rustix::process::geteuid().is_root() {
        true => "user root root;\n",
        false => "",
    };
    let temporary = ["client_body", "proxy", "fastcgi", "scgi", "uwsgi"];
    let temporary = temporary.map(|kind| format!("    {kind}_temp_path {kind};\n"));
    format!(
        "{user}daemon off;\npid nginx.pid;\nerror_log stderr notice;\nworker_processes 1;\n\
         worker_rlimit_nofile 16384;\nevents {{ worker_connections 4096; }}\n\
         http {{\n    access_log off;\n{}    include cofferdam.conf;\n}}\n",
        temporary.concat()
    )
}

/// Fills the folder of one that listens here, and passes on to these.
pub(super) fn write(folder: &Path, address: SocketAddr, upstreams: &[SocketAddr]) {
    fs::create_dir(folder.join("cofferdam")).expect("a folder of ours");
    for (name, text) in SHIPPED {
        put(folder, name, text);
    }
    put(folder, "nginx.conf", &main_file());
    put(
        folder,
        "cofferdam/listen.conf",
        &format!("listen {address};\n"),
    );
    write_nodes(folder, upstreams);
}

/// Other nodes.
pub(super) fn write_nodes(folder: &Path, upstreams: &[SocketAddr]) {
    let line = NODES.lines().find_map(|line| line.strip_prefix("server "));
    let (_, rest) = line
        .and_then(|line| line.split_once(' '))
        .expect("a node, and what is said of it");
    let nodes = upstreams
        .iter()
        .map(|node| format!("server {node} {rest}\n"));
    put(folder, "cofferdam/nodes.conf", &nodes.collect::<String>());
}

fn put(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a file can be written");
}

/// Makes of a command one that runs nginx in its folder.
pub(super) fn run(command: &mut Command, folder: &Path) {
    PROGRAMS.prepare(command);
    command.arg(PROGRAMS.path(NAME));
    command
        .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
        .arg(folder);
}
