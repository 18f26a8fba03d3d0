//! Completion: values for an argument that a user types.

use crate::bindings::cofferdam::tool::types::CallError;
use crate::bindings::completion::exports::cofferdam::tool::completion::{
    CompletionCall, Reference,
};
use crate::tool::log_panics;
use crate::{CompletionResult, Error, Result};

/// Most values that a client is shown.
const SHOWN: usize = 100;

/// What a user has typed so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    value: String,
    others: Vec<(String, String)>,
}

impl Typed {
    /// This text, with no other argument given.
    pub fn new(value: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            others: Vec::new(),
        }
    }

    /// Another argument that has a value already.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.others.push((name.into(), value.into()));
        self
    }

    /// The text; may be empty.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The value of another argument, if it has one.
    #[must_use]
    pub fn other(&self, name: &str) -> Option<&str> {
        let found = self.others.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Of these candidates, those that begin with the text, whatever the case.
    pub fn among<T: Into<String>>(
        &self,
        candidates: impl IntoIterator<Item = T>,
    ) -> CompletionResult {
        let start = self.value.to_lowercase();
        let candidates = candidates.into_iter().map(Into::into);
        let values = candidates.filter(|it: &String| it.to_lowercase().starts_with(&start));
        CompletionResult::of_all(values.collect())
    }
}

impl CompletionResult {
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self::of_all(Vec::new())
    }

    /// These are all the values that there are. A client is shown the first hundred of more, and told
    /// of how many.
    #[must_use]
    pub fn of_all(values: Vec<String>) -> Self {
        let total = (values.len() > SHOWN).then_some(values.len());
        Self {
            total: total.and_then(|total| u32::try_from(total).ok()),
            values,
            has_more: false,
        }
    }
}

impl Default for CompletionResult {
    fn default() -> Self {
        Self::new()
    }
}

/// What a function that completes may return: a `Vec`, array or slice of texts, the best first; a
/// [`CompletionResult`]; or a `Result` of these, with [`Error`] or any `std::error::Error`.
pub trait IntoCompletion {
    /// Makes the result.
    ///
    /// # Errors
    /// What the function failed with.
    fn into_completion(self) -> Result<CompletionResult>;
}

impl IntoCompletion for CompletionResult {
    fn into_completion(self) -> Result<CompletionResult> {
        Ok(self)
    }
}

impl<T: Into<String>> IntoCompletion for Vec<T> {
    fn into_completion(self) -> Result<CompletionResult> {
        let values = self.into_iter().map(Into::into).collect();
        Ok(CompletionResult::of_all(values))
    }
}

impl<T: Into<String>, const N: usize> IntoCompletion for [T; N] {
    fn into_completion(self) -> Result<CompletionResult> {
        Vec::from(self).into_completion()
    }
}

impl IntoCompletion for &[&str] {
    fn into_completion(self) -> Result<CompletionResult> {
        self.to_vec().into_completion()
    }
}

impl<T: IntoCompletion, E: Into<Error>> IntoCompletion for std::result::Result<T, E> {
    fn into_completion(self) -> Result<CompletionResult> {
        self.map_err(Into::into)?.into_completion()
    }
}

/// A function that completes an argument: `#[arg(complete = path)]`.
///
/// * `fn() -> Vec<String>`: all values that there are. Shown are those that begin with what was typed,
///   whatever the case.
/// * `fn(&Typed) -> Vec<String>`: the values for this text.
///
/// Either may return whatever [`IntoCompletion`] lists. Nothing can be asked of the client meanwhile.
pub trait Completer<Form> {
    /// The values for what was typed.
    ///
    /// # Errors
    /// What the function failed with.
    fn complete(&self, typed: &Typed) -> Result<CompletionResult>;
}

impl<F: Fn() -> R, R: IntoCompletion> Completer<fn() -> R> for F {
    fn complete(&self, typed: &Typed) -> Result<CompletionResult> {
        Ok(typed.among(self().into_completion()?.values))
    }
}

impl<F: Fn(&Typed) -> R, R: IntoCompletion> Completer<fn(&Typed) -> R> for F {
    fn complete(&self, typed: &Typed) -> Result<CompletionResult> {
        self(typed).into_completion()
    }
}

/// Completes by a function.
#[doc(hidden)]
pub fn completed<Form>(by: impl Completer<Form>, typed: &Typed) -> Result<CompletionResult> {
    by.complete(typed)
}

/// One row of a component's table of what has arguments.
type Entry = (&'static str, fn(&str, &Typed) -> Result<CompletionResult>);

/// Answers `complete-argument`. What is not in the tables has no values.
#[doc(hidden)]
pub fn complete(
    prompts: &[Entry],
    resources: &[Entry],
    call: CompletionCall,
) -> std::result::Result<CompletionResult, CallError> {
    log_panics();
    let (table, name) = match &call.reference {
        Reference::Prompt(name) => (prompts, name),
        Reference::Resource(template) => (resources, template),
    };
    let Some((_, complete)) = table.iter().find(|(of, _)| of == name) else {
        return Ok(CompletionResult::new());
    };
    let typed = Typed {
        value: call.argument.value,
        others: call.context,
    };
    complete(&call.argument.name, &typed).map_err(Error::into_call_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::completion::exports::cofferdam::tool::completion::CompletionArgument;

    fn months() -> [&'static str; 4] {
        ["March", "May", "Summer", "july"]
    }

    fn days(typed: &Typed) -> Result<Vec<String>> {
        match typed.other("month") {
            Some(month) => Ok(vec![format!("{} {month}", typed.value())]),
            None => crate::bail!("which month?"),
        }
    }

    #[test]
    fn candidates_are_chosen_by_what_was_typed() {
        let values = |text: &str| completed(months, &Typed::new(text)).unwrap();
        assert_eq!(values("M").values, ["March", "May"]);
        assert_eq!(values("JU").values, ["july"]);
        assert_eq!(values("").total, None);
        let many = |n: u32| CompletionResult::of_all((0..n).map(|n| n.to_string()).collect());
        assert_eq!((many(100).total, many(101).total), (None, Some(101)));
        assert_eq!(values("x"), CompletionResult::new());
    }

    #[test]
    fn a_function_of_the_text_chooses_by_itself() {
        let typed = Typed::new("3").with("month", "May");
        assert_eq!(completed(days, &typed).unwrap().values, ["3 May"]);
    }

    #[test]
    fn a_component_completes_what_is_in_its_tables() {
        fn month(argument: &str, typed: &Typed) -> Result<CompletionResult> {
            match argument {
                "month" => completed(months, typed),
                _ => completed(days, typed),
            }
        }
        let asked = |reference: Reference, argument: &str| {
            let call = CompletionCall {
                reference,
                argument: CompletionArgument {
                    name: argument.to_owned(),
                    value: "ma".to_owned(),
                },
                context: Vec::new(),
            };
            complete(&[("trip", month)], &[("trips://{month}", month)], call)
        };
        let expected = CompletionResult::of_all(vec!["March".to_owned(), "May".to_owned()]);
        let template = Reference::Resource("trips://{month}".to_owned());
        assert_eq!(asked(template, "month"), Ok(expected.clone()));
        assert_eq!(
            asked(Reference::Prompt("trip".to_owned()), "month"),
            Ok(expected)
        );
        let other = Reference::Prompt("trips://{month}".to_owned());
        assert_eq!(asked(other, "month"), Ok(CompletionResult::new()));
        let failed = asked(Reference::Prompt("trip".to_owned()), "day");
        assert!(matches!(failed, Err(CallError::Rpc(error)) if error.message == "which month?"));
    }
}
