//! Who calls: from a request's `Authorization` to a principal (MCP 2026-07-28, authorization;
//! RFC 6750, RFC 9728).
//!
//! Invariants: a missing, a malformed, an unknown and a foreign token are refused alike; a token is
//! compared as a hash and in constant time, and goes no further than this folder: not to the store,
//! not to a log, not to a tool.

mod bearer;
mod jwt;
mod keys;

pub use bearer::{Token, TokenError, Tokens};
pub use jwt::{ALGORITHMS, JwtOptions, Jwts};
pub use keys::{KeyError, KeySource};

use crate::task::Principal;
use async_trait::async_trait;
use hyper::header::AUTHORIZATION;
pub use hyper::header::HeaderMap;
use serde_json::{Value, json};
use std::sync::Arc;

/// How callers are told apart.
pub enum Auth {
    /// Everyone is the same caller.
    None,
    /// By tokens that the operator gave out.
    Bearer(Tokens),
    /// By tokens of an authorization server.
    Jwt(Box<Jwts>),
    /// As the program decides that embeds the server.
    Own(Arc<dyn Authenticator>),
}

/// Tells callers apart, for a program that embeds the server.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Who a request is from. What it says must not be logged or kept: it may hold a token.
    ///
    /// # Errors
    /// [`Refused`]. A missing and a bad token are to be refused alike.
    async fn identify(&self, headers: &HeaderMap) -> Result<Identity, Refused>;

    /// The value of `WWW-Authenticate` for a refusal.
    fn challenge(&self, refused: Refused) -> String {
        let _ = refused;
        "Bearer".to_owned()
    }

    /// The protected resource's metadata (RFC 9728), if there is any.
    fn metadata(&self) -> Option<Value> {
        None
    }
}

/// Who a token is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Tenant and subject.
    pub principal: Principal,
    /// True if the token has the scopes that are needed.
    pub in_scope: bool,
}

/// Why a caller was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No token, or none that is good here: 401.
    #[error("A valid access token is required")]
    Unauthorized,
    /// A good token without a scope that is needed: 403.
    #[error("The access token lacks a scope that is needed here")]
    Scope,
    /// Keys are not at hand to check it: 503.
    #[error("Access tokens cannot be checked now; try again soon")]
    Unavailable,
}

impl Auth {
    /// Who a request's token is good for.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Identity, Refused> {
        let in_scope = |principal| Identity {
            principal,
            in_scope: true,
        };
        match self {
            Self::None => Ok(in_scope(Principal::anonymous())),
            Self::Bearer(tokens) => tokens
                .find(token(headers).ok_or(Refused::Unauthorized)?)
                .map(in_scope)
                .ok_or(Refused::Unauthorized),
            Self::Jwt(jwts) => {
                jwts.check(token(headers).ok_or(Refused::Unauthorized)?)
                    .await
            }
            Self::Own(own) => own.identify(headers).await,
        }
    }

    /// True if callers are told apart.
    #[must_use]
    pub fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// The protected resource's metadata (RFC 9728); `None` unless an authorization server gives out
    /// the tokens.
    #[must_use]
    pub fn metadata(&self) -> Option<Value> {
        let jwts = match self {
            Self::Jwt(jwts) => jwts,
            Self::Own(own) => return own.metadata(),
            Self::None | Self::Bearer(_) => return None,
        };
        let options = jwts.options();
        Some(json!({
            "resource": options.audience,
            "authorization_servers": options.authorization_servers(),
            "scopes_supported": options.scopes,
            "bearer_methods_supported": ["header"],
        }))
    }

    /// The value of `WWW-Authenticate` for a refusal.
    #[must_use]
    pub fn challenge(&self, refused: Refused) -> String {
        if let Self::Own(own) = self {
            return own.challenge(refused);
        }
        let mut parts = Vec::new();
        if refused == Refused::Scope {
            parts.push("error=\"insufficient_scope\"".to_owned());
        }
        if let Self::Jwt(jwts) = self {
            let scopes = &jwts.options().scopes;
            if !scopes.is_empty() {
                parts.push(format!("scope=\"{}\"", scopes.join(" ")));
            }
            let url = jwts.options().metadata_url();
            parts.push(format!("resource_metadata=\"{url}\""));
        }
        if parts.is_empty() {
            "Bearer".to_owned()
        } else {
            format!("Bearer {}", parts.join(", "))
        }
    }
}

/// The token of exactly one `Authorization: Bearer`.
fn token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_in_one_bearer_header() {
        let headers = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            headers
        };
        let one = |value: &str| token(&headers(&[value])).map(str::to_owned);
        assert_eq!(one("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(one("bearer  abc ").as_deref(), Some("abc"));
        for bad in ["Bearer", "Bearer ", "Basic abc", "abc", ""] {
            assert_eq!(one(bad), None, "{bad}");
        }
        assert_eq!(token(&headers(&["Bearer a", "Bearer b"])), None);
        assert_eq!(token(&HeaderMap::new()), None);
    }
}
