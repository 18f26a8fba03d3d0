//! Configurations that are refused: `serve` and `check` say the same of each, and name the place.

use super::config::checked;
use cofferdam_tests::{Config, Server, guest};

/// Files that are refused, and what the refusal must name beside the file.
fn refused() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let token = |key: &str, value: &str| {
        let hash = "0".repeat(64);
        let mut entry = vec![
            ("tenant", "acme"),
            ("subject", "s"),
            ("sha256", hash.as_str()),
        ];
        for (name, default) in &mut entry {
            if *name == key {
                *default = value;
            }
        }
        let lines = entry
            .iter()
            .map(|(name, value)| format!("{name} = {value:?}\n"));
        format!(
            "[tenants.acme]\n[[auth.tokens]]\n{}",
            lines.collect::<String>()
        )
    };
    let jwt = |changes: &str| {
        let mut lines = vec![
            "issuer = \"https://login.example\"".to_owned(),
            "audience = \"https://mcp.example/mcp\"".to_owned(),
            "keys = \"keys.json\"".to_owned(),
            "tenant = \"acme\"".to_owned(),
        ];
        let key = changes.split(' ').next().unwrap_or_default();
        lines.retain(|line| !line.starts_with(&format!("{key} ")));
        lines.push(changes.to_owned());
        format!("[tenants.acme]\n[auth.jwt]\n{}\n", lines.join("\n"))
    };
    let text = str::to_owned;
    vec![
        (
            "no TOML",
            text("listen = \"127.0.0.1:0\"\n= 5\n"),
            vec!["cofferdam.toml:2"],
        ),
        (
            "an unknown key",
            text("\n\nlisten-to = \"x\"\n"),
            vec!["cofferdam.toml:3", "listen-to"],
        ),
        (
            "an unknown setting",
            text("[tasks]\nttl-mss = 5\n"),
            vec!["cofferdam.toml:2", "ttl-mss"],
        ),
        (
            "an unknown table",
            text("[task]\nttl-ms = 5\n"),
            vec!["cofferdam.toml:1", "task"],
        ),
        (
            "an unknown key of a tenant",
            text("[tenants.a]\nmax-task = 1\n"),
            vec!["cofferdam.toml:2", "max-task"],
        ),
        (
            "an unknown key of tools",
            text("[[tools]]\npath = \"x\"\nprefx = \"y\"\n"),
            vec!["cofferdam.toml:3", "prefx"],
        ),
        (
            "a wrong type",
            text("[tasks]\nttl-ms = \"long\"\n"),
            vec!["cofferdam.toml:2"],
        ),
        (
            "a negative number",
            text("[tenants.a]\nmax-tasks = -1\n"),
            vec!["cofferdam.toml:2"],
        ),
        (
            "tools without a path",
            text("[[tools]]\nprefix = \"a.\"\n"),
            vec!["cofferdam.toml:1", "path"],
        ),
        (
            "out of range",
            text("[server]\npage-size = 0\n"),
            vec!["cofferdam.toml", "server.page-size"],
        ),
        (
            "a bad prefix",
            text("[[tools]]\npath = \"x\"\nprefix = \"a b\"\n"),
            vec!["tools[0].prefix"],
        ),
        (
            "a long prefix",
            format!(
                "[[tools]]\npath = \"x\"\n[[tools]]\npath = \"y\"\nprefix = \"{}\"\n",
                "p".repeat(65)
            ),
            vec!["tools[1].prefix"],
        ),
        (
            "more instances than there are",
            text("[sandbox]\ninstances = 4\n[tenants.a]\nmax-instances = 5\n"),
            vec!["tenants.a.max-instances", "4"],
        ),
        (
            "no instances",
            text("[tenants.a]\nmax-instances = 0\n"),
            vec!["tenants.a.max-instances"],
        ),
        (
            "a pattern",
            text("[tenants.a]\ntools = [\"a*b\"]\n"),
            vec!["tenants.a.tools", "a*b"],
        ),
        (
            "an empty pattern",
            text("[tenants.a]\ntools = [\"\"]\n"),
            vec!["tenants.a.tools"],
        ),
        (
            "tenants that no caller can be of",
            text("[tenants.a]\n"),
            vec!["cofferdam.toml", "auth"],
        ),
        (
            "less memory than a page",
            text("[tenants.a]\nmemory-bytes = 5\n"),
            vec!["tenants.a.memory-bytes", "65536", "got 5"],
        ),
        (
            "no CPU time",
            text("[tenants.a]\ncpu-ms-per-minute = 0\n"),
            vec!["tenants.a.cpu-ms-per-minute", "at least 1"],
        ),
        (
            "larger results than the server's",
            text("[sandbox]\nresult-bytes = 4_000\n[tenants.a]\nresult-bytes = 4_001\n"),
            vec!["tenants.a.result-bytes", "1024 to 4000", "got 4001"],
        ),
        (
            "no progress",
            text("[tenants.a]\nprogress-per-second = 0\n"),
            vec!["tenants.a.progress-per-second"],
        ),
        (
            "a negative limit of a source",
            text("[[tools]]\npath = \"x\"\nlimits = { cpu-ms = -1 }\n"),
            vec!["cofferdam.toml:3"],
        ),
        (
            "an unknown limit of a source",
            text("[[tools]]\npath = \"x\"\nlimits = { cpu = 1 }\n"),
            vec!["cofferdam.toml:3", "cpu"],
        ),
        (
            "no CPU time for a source",
            text("[[tools]]\npath = \"x\"\n[[tools]]\npath = \"y\"\nlimits = { cpu-ms = 0 }\n"),
            vec!["tools[1].limits.cpu-ms", "at least 1"],
        ),
        (
            "more memory than the pool has",
            text(
                "[sandbox]\nmemory-bytes = 134_217_728\n[[tools]]\npath = \"x\"\n\
                 limits = { memory-bytes = 134_217_729 }\n",
            ),
            vec!["tools[0].limits.memory-bytes", "134217728", "got 134217729"],
        ),
        (
            "more table elements than the pool has",
            text("[[tools]]\npath = \"x\"\nlimits = { table-elements = 40_001 }\n"),
            vec!["tools[0].limits.table-elements", "40000"],
        ),
        (
            "a life of nothing",
            text("[[tools]]\npath = \"x\"\ntasks = { ttl-ms = 0 }\n"),
            vec!["tools[0].tasks.ttl-ms", "got 0"],
        ),
        (
            "too many attempts",
            text("[[tools]]\npath = \"x\"\ntasks = { max-attempts = 101 }\n"),
            vec!["tools[0].tasks.max-attempts", "1 to 100"],
        ),
        (
            "an unknown option of tasks",
            text("[[tools]]\npath = \"x\"\ntasks = { ttl = 1 }\n"),
            vec!["cofferdam.toml:3", "ttl"],
        ),
        (
            "tools that are not there",
            text("[[tools]]\npath = \"missing/x.wasm\"\n"),
            vec!["tools[0].path", "missing/x.wasm", ".wasm file or a folder"],
        ),
        (
            "a folder without tools",
            text("[[tools]]\npath = \".\"\n"),
            vec!["tools[0].path", "no .wasm file"],
        ),
        (
            "a store of no known form",
            text("store = \"mysql://db\"\n"),
            vec!["store", "mysql:", "sqlite:PATH"],
        ),
        (
            "a database's URL that asks for what is not known",
            text("store = \"postgres://db/tasks?sslmode=perhaps\"\n"),
            vec!["store", "sslmode", "verify-full"],
        ),
        (
            "a key where no folder is",
            text("state-key = \"missing/seal.key\"\n"),
            vec!["state-key", "missing/seal.key", "no folder"],
        ),
        (
            "keys that are not there",
            jwt("scopes = []"),
            vec!["auth.jwt.keys", "keys.json", "JWK set"],
        ),
        ("no name", text("[tenants.\"\"]\n"), vec!["tenants"]),
        (
            "a token of nobody",
            token("tenant", "other"),
            vec!["auth.tokens[0].tenant", "other"],
        ),
        (
            "a token without a tenant",
            token("tenant", ""),
            vec!["auth.tokens[0].tenant"],
        ),
        (
            "a short hash",
            token("sha256", "abc"),
            vec!["auth.tokens[0].sha256"],
        ),
        (
            "a hash that is none",
            token("sha256", &"g".repeat(64)),
            vec!["auth.tokens[0].sha256"],
        ),
        (
            "a hash with signs",
            token("sha256", &"+0".repeat(32)),
            vec!["auth.tokens[0].sha256"],
        ),
        (
            "both kinds of tokens",
            format!(
                "{}{}",
                token("", ""),
                jwt("tenant = \"acme\"").replace("[tenants.acme]\n", "")
            ),
            vec!["auth", "not both"],
        ),
        (
            "an issuer without TLS",
            jwt("issuer = \"http://login.example\""),
            vec!["auth.jwt.issuer"],
        ),
        (
            "an audience that is no URL",
            jwt("audience = \"mcp\""),
            vec!["auth.jwt.audience"],
        ),
        (
            "keys without TLS",
            jwt("keys = \"http://login.example/k\""),
            vec!["auth.jwt.keys"],
        ),
        (
            "a symmetric algorithm",
            jwt("algorithms = [\"HS256\"]"),
            vec!["auth.jwt.algorithms", "HS256"],
        ),
        (
            "no algorithm",
            jwt("algorithms = [\"none\"]"),
            vec!["auth.jwt.algorithms", "none"],
        ),
        (
            "no algorithms at all",
            jwt("algorithms = []"),
            vec!["auth.jwt.algorithms"],
        ),
        (
            "no way to a tenant",
            jwt("scopes = []").replace("tenant = \"acme\"\n", ""),
            vec!["auth.jwt", "tenant-claim"],
        ),
        (
            "a tenant that is not named",
            jwt("tenant = \"other\""),
            vec!["auth.jwt.tenant", "other"],
        ),
    ]
}

#[tokio::test]
async fn what_is_wrong_stops_the_start_and_is_named() {
    let mut missed = Vec::new();
    for (what, text, named) in refused() {
        let config = Config::new(&text);
        let probe = guest("probe");
        let more = [probe.to_str().expect("UTF-8")];
        let (good, output, error) = checked(&config.file(), &more);
        let complete = named.iter().all(|part| error.contains(part));
        if good || !output.is_empty() || !complete || !error.contains("cofferdam.toml") {
            missed.push(format!(
                "{what}: check said {output:?} and {error:?}, not {named:?}"
            ));
            continue;
        }
        let (status, log) = Server::refuse(config.probe()).await;
        assert!(!status.success());
        let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
        assert_eq!(last(&log), last(&error), "{what}: both say the same");
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
