//! The cases of a tool: calls, and what the client answers.
//!
//! ```toml
//! [[case]]
//! tool = "export-all"
//! arguments = { csv = "a,b" }
//! [case.answers]
//! confirm = { action = "accept", content = { ok = true } }
//! [case.expect]
//! end = "completed"
//! asks = ["confirm"]
//! ```

use super::expect::Expect;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Why cases were refused.
#[derive(Debug, thiserror::Error)]
pub enum CasesError {
    /// The file cannot be read.
    #[error("cannot read the cases {0}; name the file with --cases")]
    Io(PathBuf, #[source] std::io::Error),
    /// It is not what it should be.
    #[error("{0}: {1}")]
    Malformed(PathBuf, String),
    /// There are none.
    #[error("{0}: there is no [[case]]")]
    Empty(PathBuf),
}

/// One call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// For people; the tool and its arguments if not given.
    name: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The client's answers by the keys of the questions, as MCP writes them.
    #[serde(default)]
    pub answers: Map<String, Value>,
    /// The client cancels the task when it is asked this, in place of an answer.
    pub cancel: Option<String>,
    /// What it should come to.
    pub expect: Option<Expect>,
}

impl Case {
    /// For people.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => {
                let arguments = Value::Object(self.arguments.clone());
                format!("{} {arguments}", self.tool)
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
}

/// Reads a file of cases.
///
/// # Errors
/// [`CasesError`].
pub(super) fn read(path: &Path) -> Result<Vec<Case>, CasesError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| CasesError::Io(path.to_owned(), error))?;
    let file: File = toml::from_str(&text)
        .map_err(|error| CasesError::Malformed(path.to_owned(), error.to_string()))?;
    if file.cases.is_empty() {
        return Err(CasesError::Empty(path.to_owned()));
    }
    Ok(file.cases)
}

#[cfg(test)]
mod tests {

    #[test]
    fn a_file_of_cases_is_read_and_its_faults_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cases.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            super::read(&path).map_err(|error| error.to_string())
        };
        let cases = read(
            "[[case]]\ntool = 'a'\narguments = { n = 1 }\n[case.answers]\nk = { action = 'decline' }",
        )
        .unwrap();
        assert_eq!(cases[0].title(), "a {\"n\":1}");
        assert_eq!(cases[0].answers["k"]["action"], "decline");
        assert!(read("").unwrap_err().contains("no [[case]]"));
        assert!(read("[[case]]").unwrap_err().contains("tool"));
        let error = read("[[case]]\ntool = 'a'\nargs = 1").unwrap_err();
        assert!(
            error.contains("args") && error.contains("a.cases.toml"),
            "{error}"
        );
        let missing = super::read(&folder.path().join("b"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("--cases"), "{missing}");
    }
}
