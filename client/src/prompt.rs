//! Asks a person at the terminal.
//!
//! Invariant: what is asked is shown with who asks it, before anything is typed; each question can be
//! refused (Esc); no page is opened; nothing that is secret is shown.

use crate::limits::MENU_ENTRIES;
use crate::question::{Body, Choice, Field, Form, Kind, Page, Question};
use inquire::list_option::ListOption;
use inquire::validator::Validation;
use inquire::{Confirm, InquireError, MultiSelect, Password, PasswordDisplayMode, Select, Text};
use serde_json::{Map, Value, json};
use std::io::IsTerminal as _;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PromptError {
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The terminal.
    #[error("the terminal does not let itself be asked: {0}; use --answer")]
    Terminal(InquireError),
}

impl From<InquireError> for PromptError {
    fn from(error: InquireError) -> Self {
        match error {
            InquireError::OperationInterrupted => Self::Interrupted,
            error => Self::Terminal(error),
        }
    }
}

/// Whether a person can be asked.
pub(crate) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks, and gives the result of the elicitation. Blocks until it is answered.
///
/// # Errors
/// [`PromptError`].
pub(crate) fn ask(question: &Question, who: &str) -> Result<Value, PromptError> {
    eprintln!("\n{who} asks:");
    for line in question.message.lines() {
        eprintln!("  {line}");
    }
    let answer = match &question.body {
        Body::Form(form) => fill(form)?,
        Body::Visit(page) => visit(page)?,
    };
    Ok(answer.unwrap_or_else(|refusal| json!({ "action": refusal })))
}

/// Why a question gets no values: the action that says so.
type Refusal = &'static str;

fn fill(form: &Form) -> Result<Result<Value, Refusal>, PromptError> {
    if form.fields.is_empty() {
        return agree("Do you accept?")
            .map(|agreed| agreed.map(|()| json!({ "action": "accept", "content": {} })));
    }
    loop {
        let mut content = Map::new();
        for field in &form.fields {
            match one(field)? {
                Ok(Some(value)) => {
                    content.insert(field.name.clone(), value);
                }
                Ok(None) => {}
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
        match form.accept(content) {
            Ok(answer) => return Ok(Ok(answer)),
            Err(reasons) => eprintln!("That does not fit: {}. Once more:", reasons.join("; ")),
        }
    }
}

fn visit(page: &Page) -> Result<Result<Value, Refusal>, PromptError> {
    eprintln!("  It wants you to visit a page. Nothing is opened for you.");
    eprintln!("    host: {}", page.host);
    eprintln!("    page: {}", page.url);
    if let Some(doubt) = page.doubt {
        eprintln!("    take care: {doubt}");
    }
    Ok(agree("Do you agree, and visit it?")?.map(|()| json!({ "action": "accept" })))
}

fn agree(message: &str) -> Result<Result<(), Refusal>, PromptError> {
    let entries = vec!["yes", "no, decline", "no, cancel the question"];
    let picked = Select::new(message, entries)
        .without_filtering()
        .raw_prompt_skippable()?;
    Ok(match picked.map(|picked| picked.index) {
        Some(0) => Ok(()),
        Some(1) => Err("decline"),
        _ => Err("cancel"),
    })
}

/// The value of a field; none if it is left out.
fn one(field: &Field) -> Result<Result<Option<Value>, Refusal>, PromptError> {
    loop {
        let given = match &field.kind {
            Kind::Text if field.secret => secret(field)?,
            Kind::Text => text(field)?,
            Kind::YesNo => yes_or_no(field)?,
            Kind::One(choices) => menu(field, choices)?,
            Kind::Many(choices) => several(field, choices)?,
        };
        match given {
            Given::Value(value) => return Ok(Ok(Some(value))),
            Given::Nothing => return Ok(Ok(None)),
            Given::Escape => {}
        }
        let mut entries = vec![
            "go on answering",
            "decline to answer",
            "cancel the question",
        ];
        if !field.required {
            entries.push("leave this one out");
        }
        let picked = Select::new("Esc: what now?", entries)
            .without_filtering()
            .raw_prompt_skippable()?;
        match picked.map(|picked| picked.index) {
            Some(1) => return Ok(Err("decline")),
            Some(2) => return Ok(Err("cancel")),
            Some(3) => return Ok(Ok(None)),
            _ => {}
        }
    }
}

enum Given {
    Value(Value),
    Nothing,
    Escape,
}

fn label(field: &Field) -> String {
    let optional = if field.required || field.default.is_some() {
        ""
    } else {
        " (optional)"
    };
    format!("{}{optional}:", field.title)
}

fn help(field: &Field) -> String {
    let description = field.description.iter().map(|it| format!("{it}; "));
    format!(
        "{}{}; Esc to refuse",
        description.collect::<String>(),
        field.wants
    )
}

/// What may be typed into a field.
fn validator(
    field: &Field,
) -> impl Fn(&str) -> Result<Validation, inquire::CustomUserError> + Clone + 'static {
    let field = field.clone();
    move |text: &str| {
        let empty = text.is_empty() && field.default.is_none();
        if empty && !field.required {
            return Ok(Validation::Valid);
        }
        if empty {
            return Ok(Validation::Invalid("it needs a value".into()));
        }
        Ok(field.value(text).map_or_else(
            |reason| Validation::Invalid(reason.into()),
            |_| Validation::Valid,
        ))
    }
}

fn typed(field: &Field, text: Option<String>) -> Given {
    match text {
        None => Given::Escape,
        Some(text) if text.is_empty() => Given::Nothing,
        Some(text) => field.value(&text).map_or(Given::Escape, Given::Value),
    }
}

fn text(field: &Field) -> Result<Given, PromptError> {
    let (label, help) = (label(field), help(field));
    let default = field.default.as_ref().map(|value| match value {
        Value::String(text) => crate::clean::line(text),
        value => value.to_string(),
    });
    let mut prompt = Text::new(&label)
        .with_help_message(&help)
        .with_validator(validator(field));
    if let Some(default) = default.as_deref().filter(|default| !default.is_empty()) {
        prompt = prompt.with_default(default);
    }
    Ok(typed(field, prompt.prompt_skippable()?))
}

fn secret(field: &Field) -> Result<Given, PromptError> {
    let (label, help) = (label(field), help(field));
    let prompt = Password::new(&label)
        .with_help_message(&help)
        .with_display_mode(PasswordDisplayMode::Hidden)
        .without_confirmation()
        .with_validator(validator(field));
    Ok(typed(field, prompt.prompt_skippable()?))
}

fn yes_or_no(field: &Field) -> Result<Given, PromptError> {
    let default = field.default.as_ref().and_then(Value::as_bool);
    if !field.required && default.is_none() {
        let choices = [("yes", true), ("no", false)].map(|(title, value)| Choice {
            title: title.to_owned(),
            value: value.into(),
        });
        return menu(field, &choices);
    }
    let (label, help) = (label(field), help(field));
    let mut prompt = Confirm::new(&label).with_help_message(&help);
    if let Some(default) = default {
        prompt = prompt.with_default(default);
    }
    let said = prompt.prompt_skippable()?;
    Ok(said.map_or(Given::Escape, |said| Given::Value(said.into())))
}

fn menu(field: &Field, choices: &[Choice]) -> Result<Given, PromptError> {
    let mut entries: Vec<&str> = choices.iter().map(|choice| choice.title.as_str()).collect();
    if !field.required {
        entries.push("(leave it out)");
    }
    if entries.is_empty() {
        return Ok(Given::Escape);
    }
    let default = choices
        .iter()
        .position(|choice| Some(&choice.value) == field.default.as_ref());
    let (label, help) = (label(field), help(field));
    let picked = Select::new(&label, entries)
        .with_help_message(&help)
        .with_page_size(MENU_ENTRIES)
        .with_starting_cursor(default.unwrap_or_default())
        .without_filtering()
        .raw_prompt_skippable()?;
    Ok(match picked.map(|picked| choices.get(picked.index)) {
        None => Given::Escape,
        Some(None) => Given::Nothing,
        Some(Some(choice)) => Given::Value(choice.value.clone()),
    })
}

fn several(field: &Field, choices: &[Choice]) -> Result<Given, PromptError> {
    let entries: Vec<&str> = choices.iter().map(|choice| choice.title.as_str()).collect();
    let chosen = field
        .default
        .as_ref()
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let places = choices
        .iter()
        .enumerate()
        .filter(|(_, choice)| chosen.contains(&choice.value));
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    let (label, help) = (label(field), format!("space marks; {}", help(field)));
    let checked = (field.clone(), choices.to_vec());
    let fits = move |picked: &[ListOption<&&str>]| {
        let (field, choices) = &checked;
        if picked.is_empty() && !field.required {
            return Ok(Validation::Valid);
        }
        let values = picked.iter().filter_map(|entry| choices.get(entry.index));
        let values = values.map(|choice| choice.value.clone()).collect();
        let fits = field.check(&Value::Array(values));
        Ok(fits.map_or_else(
            |reason| Validation::Invalid(reason.into()),
            |()| Validation::Valid,
        ))
    };
    let picked = MultiSelect::new(&label, entries)
        .with_help_message(&help)
        .with_page_size(MENU_ENTRIES)
        .with_default(&places)
        .without_filtering()
        .with_validator(fits)
        .raw_prompt_skippable()?;
    Ok(match picked {
        None => Given::Escape,
        Some(picked) if picked.is_empty() && !field.required => Given::Nothing,
        Some(picked) => {
            let values = picked.iter().filter_map(|entry| choices.get(entry.index));
            Given::Value(values.map(|choice| choice.value.clone()).collect())
        }
    })
}
