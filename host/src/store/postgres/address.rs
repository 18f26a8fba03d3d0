//! The URL of a database.
//!
//! Invariant: what is said of it names hosts and the database, never a password.

use super::tls::{self, Check};
use crate::limits::DATABASE_CONNECT_TIME;
use percent_encoding::percent_decode_str;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Where a password is looked for that the URL does not have.
const PASSWORD: &str = "PGPASSWORD";

/// A database, and how it is reached.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    /// For people.
    pub(super) place: String,
}

/// Whether it has the form of a URL of PostgreSQL.
pub(in crate::store) fn is_url(name: &str) -> bool {
    name.starts_with("postgres://") || name.starts_with("postgresql://")
}

/// Whether it can be understood; files it names are not looked at.
///
/// # Errors
/// What is wrong with it.
pub(in crate::store) fn check(url: &str) -> Result<(), String> {
    Parts::of(url).map(drop)
}

/// A URL with what the driver does not know taken out of it.
struct Parts {
    config: Config,
    check: Option<Check>,
    authorities: Option<PathBuf>,
}

impl Address {
    /// Reads a URL: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?KEY=VALUE&…`, with the keys of libpq
    /// that the driver knows, `sslmode` and `sslrootcert`. Its statements are to take no longer than
    /// a time.
    ///
    /// # Errors
    /// What is wrong with it, or with the file that it names.
    pub(super) fn read(url: &str, time: Duration) -> Result<Self, String> {
        let Parts {
            mut config,
            check,
            authorities,
        } = Parts::of(url)?;
        let tls = tls::connector(check, authorities.as_deref())?;
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os(PASSWORD)
        {
            config.password(password.into_encoded_bytes());
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(DATABASE_CONNECT_TIME);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(time);
        }
        if config.get_application_name().is_none() {
            config.application_name("cofferdam");
        }
        // The server gives up before we do: then it is known that nothing was changed. What the URL
        // says comes later, and counts.
        let time = time.as_millis() * 4 / 5;
        let own = format!(
            "-c statement_timeout={time} -c idle_in_transaction_session_timeout={time} \
             -c default_transaction_isolation=read\\ committed"
        );
        let options = match config.get_options() {
            Some(more) => format!("{own} {more}"),
            None => own,
        };
        config.options(options);
        let place = place(&config);
        Ok(Self { config, tls, place })
    }
}

impl Parts {
    fn of(url: &str) -> Result<Self, String> {
        let start = url.find('@').map_or(0, |at| at + 1);
        let (base, query) = match url[start..].find('?') {
            Some(mark) => (&url[..start + mark], &url[start + mark + 1..]),
            None => (url, ""),
        };
        let (mut mode, mut authorities, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let decoded = |value| percent_decode_str(value).decode_utf8_lossy().into_owned();
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(decoded(value)),
                Some(("sslrootcert", value)) => authorities = Some(PathBuf::from(decoded(value))),
                _ => rest.push(pair),
            }
        }
        let plain = format!("{base}?{}", rest.join("&"));
        let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error);
            cause.map_or_else(|| error.to_string(), ToString::to_string)
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("it names no host".to_owned());
        }
        let (mode, check) = match (mode.as_deref(), &authorities) {
            (Some("disable"), _) => (SslMode::Disable, None),
            (None | Some("prefer"), _) => (SslMode::Prefer, None),
            (Some("require"), None) => (SslMode::Require, None),
            (Some("require" | "verify-ca"), _) => (SslMode::Require, Some(Check::Authority)),
            (Some("verify-full"), _) => (SslMode::Require, Some(Check::Name)),
            (Some(_), _) => {
                return Err(
                    "its sslmode is none of disable, prefer, require, verify-ca and verify-full"
                        .to_owned(),
                );
            }
        };
        config.ssl_mode(mode);
        Ok(Self {
            config,
            check,
            authorities,
        })
    }
}

/// The hosts and the database.
fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
    let hosts = config.get_hosts().iter().enumerate();
    let mut hosts: Vec<String> = hosts
        .map(|(index, host)| match host {
            Host::Tcp(name) => format!("{name}:{}", port(index)),
            Host::Unix(folder) => format!("{} (port {})", folder.display(), port(index)),
        })
        .collect();
    if hosts.is_empty() {
        let addresses = config.get_hostaddrs().iter().enumerate();
        hosts.extend(addresses.map(|(index, address)| format!("{address}:{}", port(index))));
    }
    let hosts = hosts.join(", ");
    match config.get_dbname() {
        Some(name) => format!("database {name:?} at {hosts}"),
        None => format!("database at {hosts}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_as_strict_as_libpq_makes_it() {
        let mode = |query: &str| {
            let parts = Parts::of(&format!("postgres://u:p@h/d?{query}")).unwrap();
            (parts.config.get_ssl_mode(), parts.check)
        };
        assert_eq!(mode(""), (SslMode::Prefer, None));
        assert_eq!(mode("sslmode=disable"), (SslMode::Disable, None));
        assert_eq!(mode("sslmode=require"), (SslMode::Require, None));
        let authority = (SslMode::Require, Some(Check::Authority));
        assert_eq!(mode("sslmode=verify-ca"), authority);
        assert_eq!(mode("sslmode=require&sslrootcert=a"), authority);
        let name = (SslMode::Require, Some(Check::Name));
        assert_eq!(mode("connect_timeout=3&sslmode=verify-full"), name);
    }

    #[test]
    fn what_is_said_of_it_has_no_password() {
        let url = "postgresql://me:s%3fcret@a,b:6000/tasks?port=6000,6001&sslrootcert=%2fca";
        let parts = Parts::of(url).unwrap();
        assert_eq!(parts.config.get_password(), Some(&b"s?cret"[..]));
        assert_eq!(parts.authorities, Some(PathBuf::from("/ca")));
        let folder = Parts::of("postgres:///tasks?host=/run/postgresql").unwrap();
        assert_eq!(
            place(&folder.config),
            "database \"tasks\" at /run/postgresql (port 5432)"
        );
        for bad in [
            "postgres://u:s3cret@h:port/d",
            "postgres://u:s3cret@h/d?sslmode=s3cret",
            "postgres://u:s3cret@h/d?unknown=s3cret",
            "postgres://u:s3cret@",
            "postgres:///d",
        ] {
            let error = check(bad).unwrap_err();
            assert!(!error.contains("s3cret"), "{bad}: {error}");
        }
        let missing = "postgres://h/d?sslmode=verify-full&sslrootcert=/nowhere";
        assert!(Address::read(missing, Duration::from_secs(1)).is_err());
    }
}
