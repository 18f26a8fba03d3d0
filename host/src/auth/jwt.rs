//! Tokens of an authorization server (OAuth 2.1 resource server, RFC 9068): signed JWTs.
//!
//! Invariants: only asymmetric signatures count, by the algorithms that the operator named; issuer,
//! audience, subject and expiry must be there and fit; who fails any of it is refused alike.

use super::keys::{KeySource, Keys};
use super::{Identity, Refused};
use crate::limits::CLOCK_LEEWAY;
use crate::task::Principal;
use jsonwebtoken::jwk::{Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// What a token must be.
#[derive(Clone, Debug)]
pub struct JwtOptions {
    /// `iss`.
    pub issuer: String,
    /// `aud`: this server's URL, as clients know it (RFC 8707).
    pub audience: String,
    /// Where the issuer's keys are.
    pub keys: KeySource,
    /// Signatures that count.
    pub algorithms: Vec<Algorithm>,
    /// Scopes that every call needs.
    pub scopes: Vec<String>,
    /// The claim that names the tenant; without it, all are of one.
    pub tenant_claim: Option<String>,
    /// The tenant of tokens without such a claim; without it, they are refused.
    pub tenant: Option<String>,
    /// Where clients get tokens, if that is not the issuer.
    pub authorization_servers: Vec<String>,
}

impl JwtOptions {
    /// Where this server's metadata is, as clients know it: the well-known path goes between the
    /// host and the path of the resource (RFC 9728, section 3.1).
    pub(super) fn metadata_url(&self) -> String {
        let (scheme, rest) = self
            .audience
            .split_once("://")
            .unwrap_or(("https", &self.audience));
        let (host, path) = match rest.split_once('/') {
            Some((host, path)) => (host, format!("/{path}")),
            None => (rest, String::new()),
        };
        let path = path.trim_end_matches('/');
        format!("{scheme}://{host}/.well-known/oauth-protected-resource{path}")
    }

    pub(super) fn authorization_servers(&self) -> Vec<&str> {
        if self.authorization_servers.is_empty() {
            vec![&self.issuer]
        } else {
            self.authorization_servers
                .iter()
                .map(String::as_str)
                .collect()
        }
    }
}

/// Names that the configuration may use for algorithms.
pub const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// Checks tokens.
pub struct Jwts {
    options: JwtOptions,
    keys: Keys,
}

/// A token's claims, as they stand.
type Claims = Map<String, Value>;

impl Jwts {
    /// With keys that are fetched when they are first needed.
    #[must_use]
    pub fn new(options: JwtOptions) -> Self {
        Self {
            keys: Keys::new(options.keys.clone()),
            options,
        }
    }

    pub(super) fn options(&self) -> &JwtOptions {
        &self.options
    }

    pub(super) async fn check(&self, token: &str) -> Result<Identity, Refused> {
        let unauthorized = |_| Refused::Unauthorized;
        let header = decode_header(token).map_err(unauthorized)?;
        if !self.options.algorithms.contains(&header.alg) {
            return Err(Refused::Unauthorized);
        }
        let jwk = self
            .keys
            .find(header.kid.as_deref())
            .await
            .map_err(|_| Refused::Unavailable)?
            .ok_or(Refused::Unauthorized)?;
        if !is_for(&jwk, header.alg) {
            return Err(Refused::Unauthorized);
        }
        let key = DecodingKey::from_jwk(&jwk).map_err(unauthorized)?;
        let claims = decode::<Claims>(token, &key, &self.validation(header.alg))
            .map_err(unauthorized)?
            .claims;
        let text = |claim: &str| claims.get(claim).and_then(Value::as_str);
        let subject = text("sub").filter(|subject| !subject.is_empty());
        let granted = scopes(&claims);
        let mut needed = self.options.scopes.iter();
        Ok(Identity {
            principal: Principal {
                tenant: self.tenant(&claims).ok_or(Refused::Unauthorized)?,
                subject: subject.ok_or(Refused::Unauthorized)?.to_owned(),
            },
            in_scope: needed.all(|scope| granted.contains(scope)),
        })
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = CLOCK_LEEWAY.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.options.issuer]);
        validation.set_audience(&[&self.options.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation
    }

    /// The claimed tenant; the default one for tokens without the claim, and for those only.
    fn tenant(&self, claims: &Claims) -> Option<String> {
        let claimed = self.options.tenant_claim.as_ref();
        let tenant = match claimed.and_then(|claim| claims.get(claim)) {
            Some(Value::String(tenant)) => Some(tenant.clone()),
            Some(_) => None,
            None => self.options.tenant.clone(),
        };
        tenant.filter(|tenant| !tenant.is_empty())
    }
}

/// Is a key meant for checking signatures by this algorithm (RFC 7517, 4.2 to 4.4; RFC 8725, 3.1)?
fn is_for(jwk: &Jwk, algorithm: Algorithm) -> bool {
    let common = &jwk.common;
    let signs = common.public_key_use.as_ref();
    let signs = signs.is_none_or(|it| *it == PublicKeyUse::Signature);
    let verifies = common.key_operations.as_ref();
    let verifies = verifies.is_none_or(|all| all.contains(&KeyOperations::Verify));
    let name = ALGORITHMS.iter().find(|(_, known)| *known == algorithm);
    let same = common
        .key_algorithm
        .is_none_or(|own| name.is_some_and(|(name, _)| own.to_string() == *name));
    signs && verifies && same
}

/// RFC 9068 writes a text with spaces; some servers write an array, under another name.
fn scopes(claims: &Claims) -> HashSet<String> {
    let mut scopes = HashSet::new();
    for claim in ["scope", "scp"] {
        match claims.get(claim) {
            Some(Value::Array(list)) => {
                scopes.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Some(Value::String(text)) => {
                scopes.extend(text.split_whitespace().map(str::to_owned));
            }
            _ => {}
        }
    }
    scopes
}
