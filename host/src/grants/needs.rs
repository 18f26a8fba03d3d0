//! What an import of a component comes to: by its name, before anything runs.

/// What an import comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Every component has it.
    Nothing,
    /// It has nothing to give without this grant, and may be imported without.
    MayUse(&'static str),
    /// Without this grant the component does not serve.
    Needs(&'static str),
    /// It is there, and refuses whatever is granted.
    Refused,
    /// There is no such thing: the component does not serve.
    Unknown,
}

/// HTTP to other servers.
const HTTP: &str = "tools.grants.http";
/// Variables; secrets are seen as such.
const ENVIRONMENT: &str = "tools.grants.env";
/// Folders.
const DIRECTORIES: &str = "tools.grants.directories";
/// TCP connections.
const SOCKETS: &str = "tools.grants.sockets";

/// What an import comes to, by its name.
#[must_use]
pub fn need(import: &str) -> Need {
    let (interface, version) = import.split_once('@').unwrap_or((import, ""));
    let Some((package, name)) = interface.split_once('/') else {
        return Need::Unknown;
    };
    // As the linker has it: of a version that begins with 0, the second number must be the same.
    let is_known = match package {
        "cofferdam:tool" => version.starts_with("0.1."),
        _ => version.starts_with("0.2."),
    };
    if !is_known {
        return Need::Unknown;
    }
    match (package, name) {
        ("cofferdam:tool", "types" | "log" | "task" | "changes") => Need::Nothing,
        ("wasi:cli", "environment") => Need::MayUse(ENVIRONMENT),
        ("wasi:cli", "exit" | "stdin" | "stdout" | "stderr")
        | (
            "wasi:cli",
            "terminal-input" | "terminal-output" | "terminal-stdin" | "terminal-stdout"
            | "terminal-stderr",
        )
        | ("wasi:clocks", "wall-clock" | "monotonic-clock")
        | ("wasi:io", "error" | "poll" | "streams")
        | ("wasi:random", "random" | "insecure" | "insecure-seed")
        | ("wasi:http", "types") => Need::Nothing,
        ("wasi:http", "outgoing-handler") => Need::Needs(HTTP),
        ("wasi:filesystem", "types" | "preopens") => Need::MayUse(DIRECTORIES),
        (
            "wasi:sockets",
            "network" | "instance-network" | "tcp" | "tcp-create-socket" | "ip-name-lookup",
        ) => Need::MayUse(SOCKETS),
        ("wasi:sockets", "udp" | "udp-create-socket") => Need::Refused,
        _ => Need::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_import_comes_to_is_known_by_its_name_and_version() {
        for (import, expected) in [
            ("cofferdam:tool/task@0.1.0", Need::Nothing),
            ("wasi:io/streams@0.2.12", Need::Nothing),
            ("wasi:cli/environment@0.2.0", Need::MayUse(ENVIRONMENT)),
            ("wasi:filesystem/preopens@0.2.6", Need::MayUse(DIRECTORIES)),
            ("wasi:sockets/tcp@0.2.4", Need::MayUse(SOCKETS)),
            ("wasi:sockets/udp@0.2.4", Need::Refused),
            ("wasi:http/outgoing-handler@0.2.4", Need::Needs(HTTP)),
            ("wasi:http/incoming-handler@0.2.4", Need::Unknown),
            ("wasi:io/streams@0.3.0", Need::Unknown),
            ("wasi:io/streams", Need::Unknown),
            ("cofferdam:tool/task@0.2.0", Need::Unknown),
            ("run", Need::Unknown),
            ("", Need::Unknown),
        ] {
            assert_eq!(need(import), expected, "{import}");
        }
    }
}
