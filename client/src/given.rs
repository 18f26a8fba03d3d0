//! Arguments as they were given: on the command line, in files, on standard input.

use crate::limits::FILE_BYTES;
use std::fs::File;
use std::io::{self, Read as _};

/// Why an argument cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GivenError {
    /// Not a pair.
    #[error("--arg wants NAME=VALUE, not {0:?}")]
    Pair(String),
    /// A file.
    #[error("the argument {0:?} cannot be read from {1}: {2}")]
    File(String, String, io::Error),
    /// Standard input, a second time.
    #[error("the arguments {0:?} and {1:?} both want standard input, which one only can have")]
    Input(String, String),
    /// Not an object.
    #[error("--json wants a JSON object, for example '{{\"name\": 1}}': {0}")]
    Json(String),
}

/// Names and texts, with what files hold.
///
/// # Errors
/// [`GivenError`].
pub(crate) fn pairs(typed: &[String]) -> Result<Vec<(String, String)>, GivenError> {
    let mut input = None;
    let mut pairs = Vec::with_capacity(typed.len());
    for pair in typed {
        let (name, text) = pair
            .split_once('=')
            .ok_or_else(|| GivenError::Pair(pair.clone()))?;
        let text = match text.strip_prefix('@') {
            None => text.to_owned(),
            Some(text) if text.starts_with('@') => text.to_owned(),
            Some("-") => {
                if let Some(first) = input.replace(name.to_owned()) {
                    return Err(GivenError::Input(first, name.to_owned()));
                }
                read(io::stdin().lock()).map_err(|error| failed(name, "standard input", error))?
            }
            Some(file) => {
                let read = File::open(file).and_then(read);
                read.map_err(|error| failed(name, file, error))?
            }
        };
        pairs.push((name.to_owned(), text));
    }
    Ok(pairs)
}

fn failed(name: &str, place: &str, error: io::Error) -> GivenError {
    GivenError::File(name.to_owned(), place.to_owned(), error)
}

fn read(source: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    let read = source.take(FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > FILE_BYTES {
        let reason = format!("it has more than {FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{GivenError, pairs};

    fn given(typed: &[&str]) -> Result<Vec<(String, String)>, GivenError> {
        pairs(&typed.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn values_may_hold_anything_and_begin_with_anything() {
        let pairs = given(&["a=", "b=x=y", "c=@@x", "d= @"]).expect("pairs");
        let values: Vec<_> = pairs.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["", "x=y", "@x", " @"]);
    }

    #[test]
    fn a_file_is_read_whole_and_one_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("text");
        std::fs::write(&file, "one\ntwo\n").expect("a file");
        let pair = format!("a=@{}", file.display());
        assert_eq!(given(&[&pair]).expect("pairs")[0].1, "one\ntwo\n");
        let error = given(&["a=@/no/such/file"])
            .expect_err("no file")
            .to_string();
        assert!(
            error.contains("\"a\"") && error.contains("/no/such/file"),
            "{error}"
        );
        assert!(matches!(given(&["a"]), Err(GivenError::Pair(_))));
    }
}
