//! Environment variables: plain ones, and secrets from the server's own environment or from files.
//!
//! Invariant: a value is read once, when the server starts, and is in no error, log or `Debug`.

use super::GrantError;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use wasmtime_wasi::WasiCtxBuilder;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// In a variable of the server.
    Variable(String),
    /// In a file; one newline at its end does not belong to it.
    File(PathBuf),
}

impl Secret {
    /// Reads it; `name` is what it is called in errors.
    ///
    /// # Errors
    /// [`GrantError::NoVariable`], [`GrantError::NoFile`].
    pub fn read(&self, name: &str) -> Result<String, GrantError> {
        match self {
            Self::Variable(variable) => std::env::var(variable)
                .map_err(|_| GrantError::NoVariable(name.to_owned(), variable.clone())),
            Self::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    GrantError::NoFile(name.to_owned(), path.display().to_string(), error)
                })?;
                Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
            }
        }
    }
}

/// Variables and their values.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Checks names, and reads secrets.
    ///
    /// # Errors
    /// [`GrantError`].
    pub fn new(
        plain: BTreeMap<String, String>,
        secrets: BTreeMap<String, Secret>,
    ) -> Result<Self, GrantError> {
        let mut all = plain;
        for (name, secret) in secrets {
            let value = secret.read(&name)?;
            if all.insert(name.clone(), value).is_some() {
                return Err(GrantError::Twice(name));
            }
        }
        match all.keys().find(|name| !is_name(name)) {
            Some(name) => Err(GrantError::Name(name.clone())),
            None => Ok(Self(all)),
        }
    }

    /// The names that a guest sees.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn prepare(&self, wasi: &mut WasiCtxBuilder) {
        for (name, value) in &self.0 {
            wasi.env(name, value);
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(fits)
        && name
            .bytes()
            .next()
            .is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, secret: Secret) -> Result<Environment, String> {
        let secrets = BTreeMap::from([(name.to_owned(), secret)]);
        let plain = BTreeMap::from([("PLAIN".to_owned(), "value".to_owned())]);
        Environment::new(plain, secrets).map_err(|error| error.to_string())
    }

    #[test]
    fn secrets_come_from_files_and_are_told_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "hush\n").unwrap();
        let environment = one("KEY", Secret::File(file)).unwrap();
        assert_eq!(environment.0["KEY"], "hush");
        assert!(!format!("{environment:?}").contains("hush"));
    }

    #[test]
    fn what_is_not_there_or_not_fit_is_refused_by_name() {
        let none = Secret::Variable("COFFERDAM_TEST_NOT_SET".to_owned());
        assert!(
            one("KEY", none)
                .unwrap_err()
                .contains("COFFERDAM_TEST_NOT_SET")
        );
        let gone = Secret::File("/nonexistent/key".into());
        assert!(one("KEY", gone).unwrap_err().contains("/nonexistent/key"));
        let here = || Secret::Variable("PATH".to_owned());
        assert!(one("PLAIN", here()).unwrap_err().contains("twice"));
        for bad in ["", "1A", "A-B", "A=B", "Ä"] {
            assert!(one(bad, here()).is_err(), "{bad}");
        }
        assert!(one("_A1", here()).is_ok());
    }
}
