//! The text of a `cofferdam.toml`, beside some files that it may name (`seeds/config` shows them).
//!
//! It is refused with an error that names the file and is no longer than a few of its lines, or what
//! comes of it is consistent.

#![no_main]

use cofferdam::config::{Arguments, Config, ConfigError, Location};
use cofferdam::store;
use cofferdam_fuzz::memory;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::fs;
use std::sync::LazyLock;
use tempfile::TempDir;

const NAME: &str = "cofferdam.toml";

/// What a configuration can name.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let at = |name: &str| folder.path().join(name);
    for name in ["tools", "acme", "reference"] {
        fs::create_dir(at(name)).expect("a folder can be made");
    }
    for (name, content) in [
        ("tools/a.wasm", ""),
        ("acme/b.wasm", ""),
        ("heavy.wasm", ""),
        ("pin", "1234\n"),
        ("keys.json", r#"{"keys":[]}"#),
        ("ca.pem", include_str!("../ca.pem")),
        (
            "team.pub",
            "untrusted comment: a key\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n",
        ),
    ] {
        fs::write(at(name), content).expect("a file can be written");
    }
    folder
});

fuzz_target!(|text: &str| -> Corpus {
    // What it names is opened; what is opened there may never end.
    if ["/dev", "/proc", "/sys"]
        .iter()
        .any(|folder| text.contains(folder))
    {
        return Corpus::Reject;
    }
    let arguments = Arguments {
        config: Some(FOLDER.path().join(NAME)),
        ..Arguments::default()
    };
    let most = (1 << 20) + 200 * text.len();
    match memory::within(most, || Config::from_text(text, arguments)) {
        Ok(config) => check(&config),
        Err(ConfigError::NoTools) => {}
        Err(error) => {
            let told = error.to_string();
            assert!(told.contains(NAME), "no place: {told}");
            assert!(
                told.len() <= 2_000 + 6 * text.len(),
                "{} bytes: {told}",
                told.len()
            );
        }
    }
    Corpus::Keep
});

fn check(config: &Config) {
    let settings = &config.settings;
    settings.check().expect("settings are in range");
    let again = settings.clone().with_assignments(&[]);
    assert!(again.is_ok(), "settings can be written down: {again:?}");
    assert!(store::check(&config.store).is_ok());
    assert!(config.listen.contains(':'));
    assert!(!config.sources.is_empty());
    for source in &config.sources {
        let limits = &source.limits;
        assert!(limits.memory_bytes <= settings.sandbox.memory_bytes);
        assert!(limits.table_elements <= settings.sandbox.table_elements);
        assert!(limits.cpu_ms > 0 && limits.wall_ms > 0 && limits.task_wall_ms > 0);
        assert!(limits.result_bytes >= 1_024 && limits.journal_bytes >= 1_024);
        assert!(source.tasks.max_attempts > 0 && source.tasks.ttl_ms > 0);
        match &source.location {
            Location::Path(path) => assert!(path.exists()),
            Location::Registry(reference) => {
                assert_eq!(reference.to_string().parse().as_ref(), Ok(reference));
            }
        }
    }
    let (auth, tenants) = (&config.auth, &config.tenants);
    assert_eq!(
        tenants.get("").is_some(),
        !tenants.are_named(),
        "nobody is nameless"
    );
    assert!(
        auth.is_some() || !tenants.are_named(),
        "tenants need callers to be told apart"
    );
    assert!(auth.metadata().is_none() || auth.is_some());
}
