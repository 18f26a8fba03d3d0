//! Registries and keys in a configuration: what `cofferdam check` makes of them. No registry is asked.

use cofferdam_tests::{Config, Identity, check_config, guest};

use super::text;

/// A published key.
const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

fn checked(config: &Config) -> (bool, String) {
    let output = check_config(&["--config", text(&config.file())]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), error)
}

#[test]
fn references_and_keys_are_taken() {
    let hex = "0".repeat(64);
    let identity = Identity::new("acme", "ci");
    let config = Config::new(&format!(
        r#"
        [[tools]]
        path = "oci://registry.example/acme/report:1.0@sha256:{hex}"
        signed-by = ["{KEY}", "team.pub"]
        [[tools]]
        path = "oci://localhost:5000/acme/probe:latest"
        prefix = "probe."
        follow = true
        [tenants.acme]
        signed-by = ["team.pub"]
        {}"#,
        identity.entry
    ));
    config.put("team.pub", format!("untrusted comment: a key\n{KEY}\n"));
    let (good, error) = checked(&config);
    assert!(good, "{error}");
}

#[test]
fn tools_may_be_named_in_a_row() {
    let config = Config::new(
        r#"tools = ["probe.wasm", "oci://registry.example/a:1", { path = "probe.wasm", prefix = "b." }]"#,
    );
    std::fs::copy(guest("probe"), config.folder().join("probe.wasm")).expect("a copy");
    let (good, error) = checked(&config);
    assert!(good, "{error}");
    let typed = check_config(&["oci://registry.example/acme/report:1.0"]);
    assert!(typed.status.success(), "{typed:?}");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, named) in [
        (
            "tools = [\"oci://registry.example/a\"]",
            ["tools[0].path", "neither a tag nor a digest"],
        ),
        (
            "tools = [\"oci://registry.example/A:1\"]",
            ["tools[0].path", "repository"],
        ),
        (
            "tools = [7]",
            [":1", "a path, an oci:// reference, or a table"],
        ),
        ("tools = [\"a\", { paths = \"b\" }]", [":1", "paths"]),
        (
            "[[tools]]\npath = \"oci://a.example/a:1\"\nfollows = true",
            [":3", "follows"],
        ),
        ("[[tools]]\nprefix = \"a\"", [":1", "path"]),
        (
            "[[tools]]\npath = \".\"\nfollow = true",
            ["tools[0].follow", "oci://"],
        ),
        (
            "[[tools]]\npath = \"oci://a.example/a:1\"\nsigned-by = []",
            ["tools[0].signed-by", "at least one"],
        ),
        (
            "[[tools]]\npath = \"oci://a.example/a:1\"\nsigned-by = [\"none.pub\"]",
            ["tools[0].signed-by", "none.pub"],
        ),
        (
            "tools = [\"oci://a.example/a:1\"]\n[tenants.acme]\nsigned-by = [\"RWQf\"]",
            ["tenants.acme.signed-by", "RWQf"],
        ),
        (
            "tools = [\"oci://a.example/a:1\"]\n[registry]\nca-file = \"none.pem\"",
            ["registry.ca-file", "none.pem"],
        ),
        (
            "tools = [\"oci://a.example/a:1\"]\n[registry]\nca = 1",
            [":3", "ca"],
        ),
    ] {
        let (good, error) = checked(&Config::new(text));
        assert!(!good, "{text}");
        for named in named {
            assert!(error.contains(named), "{text}\n{named}: {error}");
        }
    }
    let typed = check_config(&["oci://registry.example/acme"]);
    let error = String::from_utf8_lossy(&typed.stderr);
    assert!(
        !typed.status.success() && error.contains("the command line"),
        "{error}"
    );
}
