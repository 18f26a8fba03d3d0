//! Who we are to a registry: what `docker login` left in the docker configuration.
//!
//! Invariant: a password or a token is in no error, no log and no `Debug`.

use crate::limits::REGISTRY_HELPER_TIME;
use docker_credential::{CredentialRetrievalError, DockerCredential};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// What Docker's own registry is called in that file.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// What a helper says that knows no credentials of a registry.
const UNKNOWN: &str = "credentials not found";

/// Who we are.
pub(super) enum Credentials {
    /// Nobody.
    Anonymous,
    /// A name and a password.
    Password(String, String),
    /// A token that is changed for others.
    Refresh(String),
}

impl Credentials {
    /// For a registry, from `$DOCKER_CONFIG/config.json` or `~/.docker/config.json`, or from the
    /// helper that it names. Without that file, and without an entry: nobody.
    pub(super) fn of(host: &str) -> Result<Self, String> {
        let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
        let home = || Some(Path::new(&std::env::var_os("HOME")?).join(".docker"));
        let Some(folder) = folder.or_else(home) else {
            return Ok(Self::Anonymous);
        };
        let (file, host) = (folder.join("config.json"), host.to_owned());
        let (told, telling) = mpsc::channel();
        // A helper may wait for somebody who is not there; it is left to itself then.
        std::thread::spawn(move || told.send(Self::read(&file, &host)));
        telling
            .recv_timeout(REGISTRY_HELPER_TIME)
            .unwrap_or_else(|_| {
                Err(format!(
                    "the credential helper took longer than {REGISTRY_HELPER_TIME:?} \
                 (REGISTRY_HELPER_TIME)"
                ))
            })
    }

    fn read(path: &Path, host: &str) -> Result<Self, String> {
        let bad = |reason: &str| Err(format!("{}: {reason}", path.display()));
        let file = match File::open(path) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::Anonymous),
            Err(error) => return bad(&error.to_string()),
        };
        let server = if host == "docker.io" {
            DOCKER_HUB
        } else {
            host
        };
        match docker_credential::get_credential_from_reader(file, server) {
            Ok(DockerCredential::UsernamePassword(name, password)) => {
                Ok(Self::Password(name, password))
            }
            Ok(DockerCredential::IdentityToken(token)) => Ok(Self::Refresh(token)),
            Err(error) => match error {
                CredentialRetrievalError::NoCredentialConfigured
                | CredentialRetrievalError::ConfigNotFound => Ok(Self::Anonymous),
                CredentialRetrievalError::HelperFailure { stdout, .. }
                    if stdout.contains(UNKNOWN) =>
                {
                    Ok(Self::Anonymous)
                }
                // What a helper printed may hold a secret.
                CredentialRetrievalError::HelperFailure { helper, .. } => {
                    bad(&format!("its helper {helper} failed; run it to see why"))
                }
                CredentialRetrievalError::HelperCommunicationError => {
                    bad("its credential helper cannot be run; see credHelpers and credsStore")
                }
                CredentialRetrievalError::MalformedHelperResponse => {
                    bad("what its credential helper printed is no credential")
                }
                CredentialRetrievalError::CredentialDecodingError
                | CredentialRetrievalError::CredentialMismatchError => bad(&format!(
                    "its entry for {host} is broken; run `docker login {host}` again"
                )),
                CredentialRetrievalError::ConfigReadError => bad("it is no docker configuration"),
            },
        }
    }

    /// In words, for errors.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Anonymous => "without credentials",
            Self::Password(..) | Self::Refresh(_) => "with those of the docker configuration",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Credentials, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, text).unwrap();
        Credentials::read(&file, "registry.example:5000")
    }

    #[test]
    fn an_entry_is_found_by_its_host() {
        // someone:secret
        let found = read(
            r#"{"auths": {"other.example": {"auth": "eA=="},
                "registry.example:5000": {"auth": "c29tZW9uZTpzZWNyZXQ="}}}"#,
        );
        let Ok(Credentials::Password(name, password)) = found else {
            panic!("no password")
        };
        assert_eq!((&*name, &*password), ("someone", "secret"));
        let found =
            read(r#"{"auths": {"https://registry.example:5000": {"identitytoken": "abc"}}}"#);
        assert!(matches!(found, Ok(Credentials::Refresh(token)) if token == "abc"));
    }

    #[test]
    fn without_an_entry_we_are_nobody() {
        for text in [
            "{}",
            r#"{"auths": {"other.example": {"auth": "c29tZW9uZTpzZWNyZXQ="}}}"#,
        ] {
            assert!(matches!(read(text), Ok(Credentials::Anonymous)), "{text}");
        }
        let missing = Credentials::read(Path::new("/nowhere/config.json"), "registry.example");
        assert!(matches!(missing, Ok(Credentials::Anonymous)));
    }

    #[test]
    fn what_is_broken_is_told_without_its_secrets() {
        for text in [
            "no json, secret",
            r#"{"auths": {"registry.example:5000": {"auth": "secret!"}}}"#,
            r#"{"credHelpers": {"registry.example:5000": "there-is-none"}}"#,
        ] {
            let error = read(text).err().unwrap();
            assert!(error.contains("config.json: "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
