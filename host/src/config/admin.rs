//! `[admin]`: where the operator is answered, and how it is known.

use super::check::{Place, refuse};
use super::{ConfigError, around, raw};
use crate::admin::{AdminError, AdminOptions, DEFAULT_ADDRESS};
use crate::auth::{Auth, Token, Tokens};
use crate::task::Principal;
use std::net::SocketAddr;

impl Place<'_> {
    /// `None`: nowhere.
    pub(super) fn admin(
        &self,
        raw: raw::Admin,
        typed: Option<String>,
    ) -> Result<Option<AdminOptions>, ConfigError> {
        let auth = match raw.token_sha256 {
            None => Auth::None,
            // Who the operator is makes no difference here.
            Some(hash) => match Token::new(&hash, Principal::anonymous()) {
                Ok(token) => Auth::Bearer(Tokens::new(vec![token])),
                Err(error) => return self.bad("admin.token-sha256", error.to_string()),
            },
        };
        let (listen, at) = match (typed, raw.listen) {
            (Some(typed), _) => (typed, "--admin".to_owned()),
            (None, Some(written)) => (written, self.of("admin.listen")),
            (None, None) => (DEFAULT_ADDRESS.to_owned(), String::new()),
        };
        if listen == "off" {
            return Ok(None);
        }
        refuse(&at, around::listen(&listen))?;
        // What a name leads to is known when it is bound.
        let open = listen
            .parse::<SocketAddr>()
            .is_ok_and(|address| !address.ip().is_loopback());
        if open && !auth.is_some() {
            refuse(&at, Err(AdminError::Open(listen.clone()).to_string()))?;
        }
        Ok(Some(AdminOptions { listen, auth }))
    }
}
