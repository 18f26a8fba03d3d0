//! Where a server that rehearses dies.

use std::fmt;
use std::str::FromStr;

/// Where a rehearsing server kills itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Nowhere.
    Never,
    /// When its first run has taken so many journal entries.
    Entry(u32),
    /// At the so-many-th point of the store's writes: one before each commit, one after it.
    Write(u32),
}

impl Death {
    pub(crate) fn entry(self) -> Option<u32> {
        match self {
            Self::Entry(after) => Some(after),
            Self::Never | Self::Write(_) => None,
        }
    }

    pub(crate) fn write(self) -> Option<u32> {
        match self {
            Self::Write(point) => Some(point),
            Self::Never | Self::Entry(_) => None,
        }
    }
}

impl FromStr for Death {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
        match text.split_once('=') {
            None if text == "never" => Ok(Self::Never),
            Some(("entry", after)) => Ok(Self::Entry(number(after)?)),
            Some(("write", point)) => Ok(Self::Write(number(point)?)),
            _ => Err("expected never, entry=N or write=N".to_owned()),
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Entry(after) => write!(f, "entry={after}"),
            Self::Write(point) => write!(f, "write={point}"),
        }
    }
}
