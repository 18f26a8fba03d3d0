//! What a configuration names outside itself: addresses, stores, files.
//!
//! Invariant: nothing is made, opened for good, or asked over a network. An error says what is wrong
//! and what to do; whoever asks knows where it stands.

use crate::files;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// An address to listen on: a number or a name, and a port.
pub(super) fn listen(address: &str) -> Result<(), String> {
    let is_name = |name: &str| {
        let part = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        !name.is_empty() && name.bytes().all(part)
    };
    let named = address
        .rsplit_once(':')
        .is_some_and(|(name, port)| is_name(name) && port.parse::<u16>().is_ok());
    if named || address.parse::<SocketAddr>().is_ok() {
        return Ok(());
    }
    Err(format!(
        "{address:?} is no address to listen on; use an IP address and a port, for example \
         127.0.0.1:8080"
    ))
}

/// The name of a store.
pub(super) fn store(name: &str) -> Result<(), String> {
    crate::store::check(name)
}

/// The data folder, as it was written. What names a store was meant as one.
pub(super) fn data(folder: &Path) -> Result<(), String> {
    let name = folder.to_string_lossy();
    if name.contains(':') && crate::store::check(&name).is_ok() && !folder.exists() {
        return Err(
            "it names a store, and this is the folder for what must survive beside it; \
             say so as the store (store, --store)"
                .to_owned(),
        );
    }
    Ok(())
}

/// The file of the key that seals `requestState`, which may still be to be made, and the data folder,
/// too.
pub(super) fn state_key(file: &Path, data: &Path) -> Result<(), String> {
    let folder = match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Err(format!("{} is no file", file.display())),
    };
    if file.exists() {
        let opened = fs::File::open(file).map(drop);
        return opened.map_err(|error| {
            let file = file.display();
            format!("cannot read the key {file}: {error}; let the server's user read it")
        });
    }
    if folder == data || folder.is_dir() {
        return Ok(());
    }
    Err(format!(
        "cannot make the key {}: there is no folder {}; make it, or name another file",
        file.display(),
        folder.display()
    ))
}

/// The file of a key that sealed `requestState` before.
pub(super) fn old_state_key(file: &Path) -> Result<(), String> {
    files::known_key(file).map(drop).map_err(|error| {
        let file = file.display();
        format!("cannot read the key {file}: {error}; name a file that was the state-key before")
    })
}

/// A component, or a folder of them.
pub(super) fn tools(path: &Path) -> Result<(), String> {
    let what = "give a .wasm file or a folder of them";
    let unreadable = |error| format!("cannot read {}: {error}; {what}", path.display());
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return fs::File::open(path).map(drop).map_err(unreadable);
    }
    let is_wasm = |file: PathBuf| file.extension().is_some_and(|end| end == "wasm");
    for entry in fs::read_dir(path).map_err(unreadable)? {
        if is_wasm(entry.map_err(unreadable)?.path()) {
            return Ok(());
        }
    }
    let path = path.display();
    Err(format!(
        "there is no .wasm file in the folder {path}; {what}"
    ))
}

/// A folder whose files are served.
pub(super) fn folder(path: &Path) -> Result<(), String> {
    let what = "name a folder that the server's user may read";
    let unreadable = |error| format!("cannot read {}: {error}; {what}", path.display());
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(format!("{} is no folder; {what}", path.display()));
    }
    fs::read_dir(path).map(drop).map_err(unreadable)
}

/// A folder that guests are to be granted must neither hold nor be in a folder or file that is the
/// server's own, called `what`.
pub(super) fn apart(granted: &Path, what: &str, own: &Path) -> Result<(), String> {
    let (folder, own_place) = (place(granted), place(own));
    if !folder.starts_with(&own_place) && !own_place.starts_with(&folder) {
        return Ok(());
    }
    let (granted, own) = (granted.display(), own.display());
    Err(format!(
        "{granted} cannot be granted: it holds {what} ({own}), or is in it; choose a folder apart \
         from it"
    ))
}

/// Where a path leads, as far as it is there.
fn place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for there in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(there), path.strip_prefix(there)) {
            return real.join(rest);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port() {
        for good in ["127.0.0.1:0", "[::1]:8080", "localhost:80", "a-b.example:1"] {
            assert!(listen(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "8080",
            ":8080",
            "127.0.0.1",
            "a b:80",
            "a:99999",
            "::1:x",
            "http://a:80",
        ] {
            assert!(listen(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn stores_have_known_forms() {
        for good in ["sqlite", "sqlite:a/b", "memory:", "postgres://u:p@a/b"] {
            assert!(store(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "sqlite:",
            "memory",
            "memory:x",
            "postgres:a",
            "mysql://u:secret@a",
        ] {
            let error = store(bad).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_data_folder_is_no_store() {
        for good in [".cofferdam", "a/b", "/a/sqlite", "sqlite"] {
            assert!(data(Path::new(good)).is_ok(), "{good}");
        }
        for bad in ["memory:", "sqlite:a/b", "postgres://u:secret@a/b"] {
            let error = data(Path::new(bad)).unwrap_err();
            assert!(
                error.contains("--store") && !error.contains("secret"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_key_is_there_or_can_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(state_key(&at("key"), Path::new("data")).is_ok());
        assert!(state_key(Path::new("key"), Path::new("data")).is_ok());
        assert!(
            state_key(&at("new/key"), &at("new")).is_ok(),
            "made at the start"
        );
        let missing = state_key(&at("missing/key"), &at("new")).unwrap_err();
        assert!(missing.contains("missing"), "{missing}");
        fs::write(at("key"), "x").unwrap();
        assert!(state_key(&at("key"), &at("new")).is_ok());
        assert!(state_key(&at("key/below"), &at("new")).is_err());
    }

    #[test]
    fn what_is_granted_is_apart_from_what_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        for (granted, own, is_apart) in [
            ("a", "a", false),
            ("a", "a/b", false),
            ("a/b", "a", false),
            ("a", "a/to-be-made", false),
            ("link", "a/to-be-made/too", false),
            ("a/b", "a/c", true),
            ("a", "ab", true),
        ] {
            let apart = apart(&at(granted), "the data directory", &at(own));
            assert_eq!(apart.is_ok(), is_apart, "{granted} {own}: {apart:?}");
        }
    }

    #[test]
    fn a_folder_needs_components() {
        let folder = tempfile::tempdir().unwrap();
        let missing = tools(&folder.path().join("no.wasm")).unwrap_err();
        assert!(missing.contains("no.wasm"), "{missing}");
        fs::write(folder.path().join("readme.txt"), "x").unwrap();
        assert!(tools(folder.path()).is_err());
        fs::write(folder.path().join("a.wasm"), "x").unwrap();
        assert!(tools(folder.path()).is_ok());
        assert!(
            tools(&folder.path().join("readme.txt")).is_ok(),
            "a file may have any name"
        );
    }
}
