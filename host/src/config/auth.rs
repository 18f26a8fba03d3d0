//! `[auth]`: how callers are told apart.

use super::check::Place;
use super::{ConfigError, raw};
use crate::auth::{ALGORITHMS, Auth, JwtOptions, Jwts, KeySource, Token, Tokens};
use crate::task::Principal;
use crate::tenants::Tenants;
use std::path::PathBuf;

impl Place<'_> {
    pub(super) fn auth(
        &self,
        raw: raw::Auth,
        tenants: &Tenants,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Auth, ConfigError> {
        match (raw.tokens.is_empty(), raw.jwt) {
            (true, None) => Ok(Auth::None),
            (false, Some(_)) => self.bad("auth", "use either tokens or jwt, not both"),
            (false, None) => {
                let mut tokens = Vec::new();
                for (index, token) in raw.tokens.into_iter().enumerate() {
                    let key = |member: &str| format!("auth.tokens[{index}].{member}");
                    if tenants.get(&token.tenant).is_none() || token.tenant.is_empty() {
                        let rule = format!("there is no tenant {:?} in [tenants]", token.tenant);
                        return self.bad(&key("tenant"), rule);
                    }
                    let owner = Principal {
                        tenant: token.tenant,
                        subject: token.subject,
                    };
                    match Token::new(&token.sha256, owner) {
                        Ok(token) => tokens.push(token),
                        Err(error) => return self.bad(&key("sha256"), error.to_string()),
                    }
                }
                Ok(Auth::Bearer(Tokens::new(tokens)))
            }
            (true, Some(jwt)) => self.jwt(jwt, tenants, beside),
        }
    }

    fn jwt(
        &self,
        raw: raw::Jwt,
        tenants: &Tenants,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Auth, ConfigError> {
        for (key, value) in [("issuer", &raw.issuer), ("audience", &raw.audience)] {
            if !is_url(value) {
                let rule = format!("{value:?} must be an https URL (http only on this machine)");
                return self.bad(&format!("auth.jwt.{key}"), rule);
            }
        }
        let keys = match raw.keys.split_once("://") {
            None => KeySource::File(beside(PathBuf::from(raw.keys))),
            Some(_) if is_url(&raw.keys) => KeySource::Url(raw.keys),
            Some(_) => {
                let rule = "must be a file or an https URL (http only on this machine)";
                return self.bad("auth.jwt.keys", rule);
            }
        };
        let mut algorithms = Vec::new();
        for name in raw.algorithms {
            let known = ALGORITHMS.iter().find(|(known, _)| *known == name);
            match known {
                Some((_, algorithm)) => algorithms.push(*algorithm),
                None => {
                    let names: Vec<_> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
                    let rule = format!("{name:?} is none of {}", names.join(", "));
                    return self.bad("auth.jwt.algorithms", rule);
                }
            }
        }
        if algorithms.is_empty() {
            return self.bad("auth.jwt.algorithms", "name at least one");
        }
        if let Some(tenant) = raw
            .tenant
            .as_ref()
            .filter(|name| tenants.get(name).is_none())
        {
            let rule = format!("there is no tenant {tenant:?} in [tenants]");
            return self.bad("auth.jwt.tenant", rule);
        }
        if raw.tenant_claim.is_none() && raw.tenant.is_none() {
            return self.bad("auth.jwt", "needs tenant-claim, or tenant, or both");
        }
        if let Err(error) = keys.look() {
            let rule = format!("{error}; name a file with a JWK set, or an https URL of one");
            return self.bad("auth.jwt.keys", rule);
        }
        Ok(Auth::Jwt(Box::new(Jwts::new(JwtOptions {
            issuer: raw.issuer,
            audience: raw.audience,
            keys,
            algorithms,
            scopes: raw.scopes,
            tenant_claim: raw.tenant_claim,
            tenant: raw.tenant,
            authorization_servers: raw.authorization_servers,
        }))))
    }
}

/// What may carry keys and names: TLS, or no network at all.
pub(super) fn is_url(text: &str) -> bool {
    let Ok(url) = text.parse::<hyper::Uri>() else {
        return false;
    };
    let local = ["localhost", "127.0.0.1", "[::1]"];
    match (url.scheme_str(), url.host()) {
        (Some("https"), Some(host)) => !host.is_empty(),
        (Some("http"), Some(host)) => local.contains(&host),
        _ => false,
    }
}
