//! From what was typed to a server that can be asked.
//!
//! Invariant: a secret (a token, a cookie) goes over the network only encrypted, unless that was said to
//! be right; it is in no message of the client.

use crate::arguments::ServerArguments;
use crate::endpoint::{EndpointError, endpoint, is_local};
use crate::http::{Http, HttpError};
use crate::peer::Peer;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use std::path::PathBuf;
use std::{env, fs, io};

/// The variable that holds a token.
const TOKEN: &str = "COFFERDAM_TOKEN";

/// Why a server cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// Its address.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The client.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A file.
    #[error("the token in {0} cannot be read: {1}")]
    TokenFile(PathBuf, io::Error),
    /// Not a token.
    #[error(
        "the token holds what no header can carry: is it the right one, without quotes or line breaks?"
    )]
    Token,
    /// Not a header.
    #[error("--header wants NAME: VALUE, not {0:?}")]
    Header(String),
    /// One that the client sets itself.
    #[error("the header {0} is the client's own")]
    Reserved(HeaderName),
    /// A secret that anybody could read.
    #[error(
        "{0} is not encrypted, and a token that goes there can be read on the way: use https, or say \
         --insecure-token if the way is safe"
    )]
    Insecure(String),
    /// Not a time.
    #[error("--timeout wants a number of seconds above 0")]
    Timeout,
}

/// The server, without having spoken to it.
///
/// # Errors
/// [`ConnectError`].
pub(crate) fn connect(arguments: &ServerArguments) -> Result<Peer, ConnectError> {
    let url = endpoint(&arguments.url)?;
    let mut headers = HeaderMap::new();
    for header in &arguments.header {
        let (name, value) = read(header).ok_or_else(|| ConnectError::Header(shown(header)))?;
        if is_own(&name) {
            return Err(ConnectError::Reserved(name));
        }
        headers.append(name, value);
    }
    if let Some(token) = token(arguments)? {
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|_| ConnectError::Token)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let secret = headers.contains_key(AUTHORIZATION) || headers.contains_key(COOKIE);
    let open = url.scheme() == "http" && !is_local(&url);
    if secret && open && !arguments.insecure_token {
        return Err(ConnectError::Insecure(url.to_string()));
    }
    Ok(Peer::new(Http::new(url, headers, arguments.ca.as_deref())?))
}

/// What was typed, or is in the file, or in the environment.
fn token(arguments: &ServerArguments) -> Result<Option<String>, ConnectError> {
    let token = match (&arguments.token, &arguments.token_file) {
        (Some(token), _) => Some(token.clone()),
        (None, Some(file)) => {
            let failed = |error| ConnectError::TokenFile(file.clone(), error);
            Some(fs::read_to_string(file).map_err(failed)?)
        }
        (None, None) => env::var(TOKEN).ok(),
    };
    let token = token.map(|token| token.trim().to_owned());
    Ok(token.filter(|token| !token.is_empty()))
}

fn read(header: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = header.split_once(':')?;
    let name = HeaderName::try_from(name.trim()).ok()?;
    Some((name, HeaderValue::try_from(value.trim()).ok()?))
}

/// Its name only: the rest may be a secret.
fn shown(header: &str) -> String {
    let name = header.split_once(':').map_or(header, |(name, _)| name);
    crate::clean::line(name)
}

fn is_own(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("mcp-")
        || matches!(name, "accept" | "content-type" | "content-length" | "host")
}

#[cfg(test)]
mod tests {
    use super::{ConnectError, connect};
    use crate::arguments::ServerArguments;

    fn arguments(url: &str) -> ServerArguments {
        ServerArguments {
            url: url.to_owned(),
            token: Some("secret".to_owned()),
            token_file: None,
            insecure_token: false,
            header: Vec::new(),
            ca: None,
            timeout: None,
        }
    }

    fn refused(arguments: &ServerArguments) -> ConnectError {
        match connect(arguments) {
            Ok(_) => panic!("{arguments:?} should be refused"),
            Err(error) => error,
        }
    }

    #[test]
    fn a_token_goes_nowhere_in_the_open() {
        for url in [
            "http://example.com",
            "http://10.0.0.1:80/mcp",
            "http://localhost.example.com",
        ] {
            let error = refused(&arguments(url));
            assert!(matches!(error, ConnectError::Insecure(_)), "{error}");
            assert!(!error.to_string().contains("secret"));
            connect(&ServerArguments {
                insecure_token: true,
                ..arguments(url)
            })
            .map(drop)
            .expect(url);
            connect(&ServerArguments {
                token: Some(String::new()),
                ..arguments(url)
            })
            .map(drop)
            .expect(url);
        }
        for header in ["Authorization: Basic c2VjcmV0", "cookie: secret"] {
            let header = vec![header.to_owned()];
            let error = refused(&ServerArguments {
                token: None,
                header,
                ..arguments("http://example.com")
            });
            assert!(matches!(error, ConnectError::Insecure(_)), "{error}");
        }
        for url in [
            "https://example.com",
            "localhost:1",
            "http://127.0.0.1",
            "http://[::1]:5",
        ] {
            connect(&arguments(url)).map(drop).expect(url);
        }
    }

    #[test]
    fn what_is_no_header_is_told_without_its_value() {
        for header in [
            "X-Secret secret",
            "X Y: secret",
            "Mcp-Name: secret",
            "Accept: secret",
        ] {
            let header = vec![header.to_owned()];
            let error = refused(&ServerArguments {
                header,
                ..arguments("localhost")
            })
            .to_string();
            assert!(
                !error.contains(": secret") && !error.contains("\"secret"),
                "{error}"
            );
        }
        let error = refused(&ServerArguments {
            token: Some("a\nb".to_owned()),
            ..arguments("localhost")
        });
        assert!(matches!(error, ConnectError::Token));
    }
}
