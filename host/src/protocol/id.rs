//! Ids of requests and progress tokens: what a client names its work by.
//!
//! Invariant: an id stays as it came, to the letter. It is text or an integer of any size, so it is
//! never read into a number or a `Value`; and it is short, since every message about the work has it.

use super::envelope::read_text;
use crate::limits::ID_BYTES;
use serde_json::value::RawValue;

/// Why something is no id (schema `RequestId`, `ProgressToken`).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdError {
    /// Neither text nor a whole number.
    #[error("must be a string or an integer")]
    Kind,
    /// Too long.
    #[error("may have {ID_BYTES} bytes (limit ID_BYTES)")]
    TooLong,
    /// A string that is no text.
    #[error("must be text: {0}")]
    NoText(String),
}

/// Checks an id.
///
/// # Errors
/// [`IdError`].
pub fn check_id(id: &RawValue) -> Result<(), IdError> {
    let letters = id.get();
    let is_string = letters.starts_with('"');
    if !is_string && !is_integer(letters) {
        return Err(IdError::Kind);
    }
    if letters.len() > ID_BYTES {
        return Err(IdError::TooLong);
    }
    if is_string {
        read_text(id).map_err(|error| IdError::NoText(error.to_string()))?;
    }
    Ok(())
}

/// A number without fraction or exponent.
fn is_integer(letters: &str) -> bool {
    let digits = letters.strip_prefix('-').unwrap_or(letters);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str) -> Result<(), IdError> {
        check_id(serde_json::from_str(id).unwrap())
    }

    #[test]
    fn half_a_surrogate_pair_is_no_id() {
        for half in [r#""\ud800""#, r#""a\udc00b""#] {
            assert!(matches!(check(half), Err(IdError::NoText(_))), "{half}");
        }
        assert_eq!(check(r#""\ud83d\ude00""#), Ok(()));
    }

    #[test]
    fn an_id_is_short_whatever_it_is() {
        let text = |letters: usize| format!("\"{}\"", "x".repeat(letters));
        assert_eq!(check(&text(ID_BYTES - 2)), Ok(()));
        assert_eq!(check(&text(ID_BYTES - 1)), Err(IdError::TooLong));
        assert_eq!(check(&"9".repeat(ID_BYTES)), Ok(()));
        assert_eq!(check(&"9".repeat(ID_BYTES + 1)), Err(IdError::TooLong));
        let error = check(&text(5_000_000)).unwrap_err().to_string();
        assert!(error.contains("1024 bytes"), "{error}");
    }

    #[test]
    fn what_is_neither_text_nor_whole_is_no_id() {
        for id in ["null", "true", "1.5", "1e2", "[]", "{}"] {
            assert_eq!(check(id), Err(IdError::Kind), "{id}");
        }
        for id in ["-0", "123456789012345678901234567890", r#""""#] {
            assert_eq!(check(id), Ok(()), "{id}");
        }
    }
}
