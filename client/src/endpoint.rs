//! From what was typed to the address of a server.
//!
//! Invariant: what comes out is `http` or `https`, names a host, and holds no password.

use std::net::{Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Where servers are, if nothing is said.
const PATH: &str = "/mcp";

/// Why an address is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    /// No URL.
    #[error(
        "{0:?} is no address of a server: {1}; write for example localhost:8080 or https://HOST/mcp"
    )]
    Invalid(String, url::ParseError),
    /// Another scheme.
    #[error("{0:?} has the scheme {1}: servers are reached by http and https only")]
    Scheme(String, String),
    /// A name or a password.
    #[error(
        "the address holds a user's name or password: give a token with --token-file, or a header with --header"
    )]
    Credentials,
}

/// The endpoint's address. Without a scheme it is `http` on this machine and `https` elsewhere, and
/// without a path it is `/mcp`.
///
/// # Errors
/// [`EndpointError`].
pub(crate) fn endpoint(typed: &str) -> Result<Url, EndpointError> {
    let invalid = |error| EndpointError::Invalid(typed.to_owned(), error);
    let mut url = if typed.contains("://") {
        Url::parse(typed).map_err(invalid)?
    } else {
        let plain = Url::parse(&format!("http://{typed}")).map_err(invalid)?;
        match is_local(&plain) {
            true => plain,
            false => Url::parse(&format!("https://{typed}")).map_err(invalid)?,
        }
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(EndpointError::Scheme(
            typed.to_owned(),
            url.scheme().to_owned(),
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(EndpointError::Credentials);
    }
    if url.path() == "/" {
        url.set_path(PATH);
    }
    url.set_fragment(None);
    Ok(url)
}

/// Whether it is on this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => Ipv4Addr::is_loopback(&address),
        Some(Host::Ipv6(address)) => Ipv6Addr::is_loopback(&address),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{endpoint, is_local};

    #[test]
    fn what_is_left_out_is_added() {
        for (typed, meant) in [
            ("localhost:8080", "http://localhost:8080/mcp"),
            ("127.0.0.1:8080/", "http://127.0.0.1:8080/mcp"),
            ("[::1]:8080/tools", "http://[::1]:8080/tools"),
            ("tools.example.com", "https://tools.example.com/mcp"),
            (
                "tools.example.com/a/b?c=d#e",
                "https://tools.example.com/a/b?c=d",
            ),
            ("http://tools.example.com", "http://tools.example.com/mcp"),
        ] {
            assert_eq!(endpoint(typed).expect(typed).as_str(), meant);
        }
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for typed in [
            "",
            "ftp://localhost",
            "http://",
            "http://me:secret@localhost",
            "a b",
        ] {
            endpoint(typed).expect_err(typed);
        }
    }

    #[test]
    fn only_this_machine_is_local() {
        for (typed, local) in [
            ("localhost:1", true),
            ("http://127.9.9.9", true),
            ("a.localhost", true),
            ("http://[::1]", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.com", false),
        ] {
            assert_eq!(is_local(&endpoint(typed).expect(typed)), local, "{typed}");
        }
    }
}
