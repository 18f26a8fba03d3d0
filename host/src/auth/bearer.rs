//! Tokens that the operator gave out. Only their hashes are known here.

use crate::task::Principal;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Why a token's hash was refused.
#[derive(Debug, thiserror::Error)]
#[error("a token's hash is 64 hexadecimal digits, as `cofferdam token` prints them")]
pub struct TokenError;

/// A token's hash, and whose it is.
#[derive(Clone)]
pub struct Token {
    hash: [u8; 32],
    owner: Principal,
}

impl Token {
    /// With the hash as `cofferdam token` prints it: hexadecimal sha-256.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn new(sha256: &str, owner: Principal) -> Result<Self, TokenError> {
        if sha256.len() != 64 || !sha256.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(TokenError);
        }
        let mut hash = [0; 32];
        for (index, byte) in hash.iter_mut().enumerate() {
            let digits = &sha256[2 * index..2 * index + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| TokenError)?;
        }
        Ok(Self { hash, owner })
    }

    /// A new token, and its hash.
    #[must_use]
    pub fn generate() -> (String, String) {
        let mut bytes = [0; 32];
        rand::rng().fill_bytes(&mut bytes);
        let token = format!("cfd_{}", URL_SAFE_NO_PAD.encode(bytes));
        let hash = Sha256::digest(token.as_bytes());
        let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        (token, hash)
    }
}

/// All tokens of a server.
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// These.
    #[must_use]
    pub fn new(tokens: Vec<Token>) -> Self {
        Self(tokens)
    }

    /// Whose token this is. Looks at every hash, whether or not one before it fits.
    pub(super) fn find(&self, token: &str) -> Option<Principal> {
        let hash = Sha256::digest(token.as_bytes());
        let mut found = None;
        for known in &self.0 {
            if bool::from(known.hash.ct_eq(hash.as_slice())) {
                found = Some(&known.owner);
            }
        }
        found.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_token_is_known_by_its_hash() {
        let owner = |tenant: &str| Principal {
            tenant: tenant.to_owned(),
            subject: "s".to_owned(),
        };
        let (token, hash) = Token::generate();
        let (other, other_hash) = Token::generate();
        let tokens = Tokens::new(vec![
            Token::new(&hash, owner("a")).unwrap(),
            Token::new(&other_hash.to_uppercase(), owner("b")).unwrap(),
        ]);
        assert_eq!(tokens.find(&token), Some(owner("a")));
        assert_eq!(tokens.find(&other), Some(owner("b")));
        assert_eq!(tokens.find(&hash), None);
        for bad in ["", "zz", &"z".repeat(64), &"é".repeat(32), &"+0".repeat(32)] {
            assert!(Token::new(bad, owner("a")).is_err(), "{bad}");
        }
    }
}
