//! What a registry wants to hear before it lets us: a password, or a token for one.
//!
//! Invariant: credentials go to the registry that they are for, and to the place that it names for
//! tokens, and nowhere in the clear but on this machine.

use super::RegistryError;
use super::credentials::Credentials;
use super::session::{Access, Session};
use crate::limits::REGISTRY_ANSWER_BYTES;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use ureq::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

#[derive(Deserialize)]
struct TokenAnswer {
    #[serde(alias = "access_token")]
    token: String,
}

impl Session<'_> {
    /// What to say so that the registry lets us; nothing if there is nothing to say.
    pub(super) fn authorize(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<HeaderValue>, RegistryError> {
        let what = "the first request";
        let texts = headers.get_all(WWW_AUTHENTICATE).iter();
        let texts: Vec<&str> = texts.filter_map(|it| it.to_str().ok()).collect();
        let challenges: Vec<_> = texts
            .iter()
            .filter_map(|text| http_auth::parse_challenges(text).ok())
            .flatten()
            .collect();
        let named = |name: &str| {
            let is_it = |it: &&http_auth::ChallengeRef<'_>| it.scheme.eq_ignore_ascii_case(name);
            challenges.iter().find(is_it)
        };
        let value = if let Some(bearer) = named("Bearer") {
            let parameter = |name: &str| {
                let found = bearer.params.iter();
                let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
                found.next().map(|(_, value)| value.to_unescaped())
            };
            let realm = parameter("realm")
                .ok_or_else(|| self.malformed(what, "it names no realm for tokens"))?;
            let token = self.token(&realm, parameter("service"))?;
            format!("Bearer {token}")
        } else if let (Some(_), Some(basic)) = (named("Basic"), self.basic()) {
            basic
        } else {
            return Ok(None);
        };
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| self.malformed("a request for a token", "it is no token"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    fn basic(&self) -> Option<String> {
        match &self.credentials {
            Credentials::Password(name, password) => {
                let pair = BASE64_STANDARD.encode(format!("{name}:{password}"));
                Some(format!("Basic {pair}"))
            }
            Credentials::Anonymous | Credentials::Refresh(_) => None,
        }
    }

    /// A token from where the registry has them made.
    fn token(&self, realm: &str, service: Option<String>) -> Result<String, RegistryError> {
        let what = "a request for a token";
        let realm = self.allowed(realm, what)?;
        let actions = match self.access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        // For the whole session: the challenge names what its one request needs.
        let mut pairs = vec![("scope", format!("repository:{}:{actions}", self.repository))];
        pairs.extend(service.map(|service| ("service", service)));
        let answer = match &self.credentials {
            Credentials::Refresh(token) => {
                pairs.push(("grant_type", "refresh_token".to_owned()));
                pairs.push(("client_id", "cofferdam".to_owned()));
                pairs.push(("refresh_token", token.clone()));
                let request = self.agent.post(realm).config();
                let request = request.timeout_global(Some(self.left())).build();
                request.send_form(pairs)
            }
            Credentials::Anonymous | Credentials::Password(..) => {
                let request = self.agent.get(realm).query_pairs(pairs);
                let request = request.config().timeout_global(Some(self.left())).build();
                match self.basic() {
                    Some(basic) => request.header(AUTHORIZATION, basic).call(),
                    None => request.call(),
                }
            }
        };
        let answer = answer.map_err(|error| self.broken(&error))?;
        if !answer.status().is_success() {
            return Err(self.refusal(what, answer));
        }
        let limit = (REGISTRY_ANSWER_BYTES, "REGISTRY_ANSWER_BYTES");
        let text = self.text(answer, "the answer to a request for a token", limit)?;
        match serde_json::from_slice(&text) {
            Ok(TokenAnswer { token }) => Ok(token),
            // The error itself could show a piece of a token.
            Err(_) => Err(self.malformed(what, "there is no token in it")),
        }
    }
}
