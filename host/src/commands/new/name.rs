//! Names of projects: one that is good for a folder, a crate and a package of npm.

use std::fmt;
use std::str::FromStr;

/// Most letters.
const LONGEST: usize = 64;

/// What cargo and rustc do not take for the name of a crate, as far as a name can be that.
const RESERVED: &str = "abstract alloc as async await become box break build cofferdam const continue \
    core crate deps do dyn else enum examples extern false final fn for gen if impl in incremental let \
    loop macro match mod move mut override priv proc-macro pub ref return self static std struct super \
    test trait true try type typeof unsafe unsized use virtual where while yield";

/// A name that was checked.
#[derive(Clone, Debug)]
pub(super) struct ProjectName(String);

/// Why a name is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum NameError {
    #[error("a name has 1 to {LONGEST} letters")]
    Length,
    #[error("a name begins with one of a-z and has only a-z, 0-9 and single - inside")]
    Letters,
    #[error("`{0}` means something else to a compiler; give another name")]
    Reserved(String),
}

impl ProjectName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// As rustc writes it in the names of files.
    pub(super) fn with_underscores(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl FromStr for ProjectName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        if !(1..=LONGEST).contains(&name.len()) {
            return Err(NameError::Length);
        }
        let is_word = |word: &str| {
            let mut letters = word.bytes();
            !word.is_empty() && letters.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
        };
        if !name.starts_with(|first: char| first.is_ascii_lowercase())
            || !name.split('-').all(is_word)
        {
            return Err(NameError::Letters);
        }
        if RESERVED.split_whitespace().any(|word| word == name) {
            return Err(NameError::Reserved(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let longest = "x".repeat(LONGEST);
        for good in ["a", "hello", "a-b-1", &longest] {
            assert_eq!(good.parse::<ProjectName>().unwrap().as_str(), good);
        }
        let too_long = "x".repeat(LONGEST + 1);
        for bad in [
            "",
            &too_long,
            "A",
            "1a",
            "-a",
            "a-",
            "a--b",
            "a_b",
            "a.b",
            "a/b",
            "..",
            "ä",
            "a b",
            "fn",
            "test",
            "cofferdam",
        ] {
            assert!(bad.parse::<ProjectName>().is_err(), "{bad}");
        }
    }
}
