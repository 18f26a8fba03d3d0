//! Answers that were given beforehand: `--answer`, `--answers` and `--decline`.
//!
//! Invariant: **pure**. An answer is given to the question that it names, and only if it fits.

use crate::arguments::AnswerArguments;
use crate::clean;
use crate::question::{Body, Field, Form, Question};
use serde_json::{Map, Value, json};

/// What an answer may do.
const ACTIONS: [&str; 3] = ["accept", "decline", "cancel"];

/// Why an answer is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum AnswerError {
    /// Not a pair.
    #[error("--answer wants KEY=VALUE or KEY.FIELD=VALUE, not {0:?}")]
    Pair(String),
    /// Not an object.
    #[error("--answers wants a JSON object, for example '{{\"KEY\": {{\"FIELD\": 1}}}}': {0}")]
    Json(String),
    /// A form of several fields, or one without that field.
    #[error("the question {0:?} wants {1}")]
    Fields(String, String),
    /// A value that its field does not take.
    #[error("the answer to {0:?} does not fit: {1}")]
    Unfit(String, String),
}

/// The answers that were given.
#[derive(Debug, Default, Clone)]
pub(crate) struct Answers {
    pairs: Vec<(String, String)>,
    whole: Map<String, Value>,
    declined: Vec<String>,
}

impl Answers {
    /// From what was typed.
    ///
    /// # Errors
    /// [`AnswerError::Pair`], [`AnswerError::Json`].
    pub(crate) fn read(typed: &AnswerArguments) -> Result<Self, AnswerError> {
        let AnswerArguments {
            answer: pairs,
            answers: whole,
            decline: declined,
        } = typed;
        let pair = |pair: &String| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(AnswerError::Pair(pair.clone())),
        };
        let whole = match whole.as_deref().map(serde_json::from_str).transpose() {
            Ok(None) => Map::new(),
            Ok(Some(Value::Object(whole))) => whole,
            Ok(Some(_)) => return Err(AnswerError::Json("it is none".to_owned())),
            Err(error) => return Err(AnswerError::Json(error.to_string())),
        };
        Ok(Self {
            pairs: pairs.iter().map(pair).collect::<Result<_, _>>()?,
            whole,
            declined: declined.clone(),
        })
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.whole.is_empty() && self.declined.is_empty()
    }

    /// The answer to a question, if one was given.
    ///
    /// # Errors
    /// [`AnswerError::Fields`], [`AnswerError::Unfit`].
    pub(crate) fn to(&self, question: &Question) -> Result<Option<Value>, AnswerError> {
        if self.declined.contains(&question.key) {
            return Ok(Some(json!({ "action": "decline" })));
        }
        let whole = self.whole.get(&question.key);
        if let Some(action) = whole.and_then(action) {
            return match (action, &question.body) {
                ("accept", Body::Form(form)) => {
                    let content = whole.and_then(|whole| whole["content"].as_object());
                    accept(question, form, content.cloned().unwrap_or_default()).map(Some)
                }
                (action, _) => Ok(Some(json!({ "action": action }))),
            };
        }
        let plain = self.pairs.iter().rfind(|(name, _)| *name == question.key);
        match &question.body {
            Body::Visit(_) => self.visit(question, plain.map(|(_, text)| text.as_str())),
            Body::Form(form) => self.form(question, form, plain.map(|(_, text)| text.as_str())),
        }
    }

    fn visit(
        &self,
        question: &Question,
        plain: Option<&str>,
    ) -> Result<Option<Value>, AnswerError> {
        let whole = self.whole.get(&question.key).and_then(Value::as_str);
        match plain.or(whole) {
            None => Ok(None),
            Some(word) if ACTIONS.contains(&word) => Ok(Some(json!({ "action": word }))),
            Some(_) => Err(fields(
                question,
                "accept, decline or cancel: nothing else can be said to it",
            )),
        }
    }

    fn form(
        &self,
        question: &Question,
        form: &Form,
        plain: Option<&str>,
    ) -> Result<Option<Value>, AnswerError> {
        let mut content = Map::new();
        match self.whole.get(&question.key) {
            Some(Value::Object(values)) => content.extend(values.clone()),
            Some(value) => {
                content.insert(only(question, form)?.name.clone(), value.clone());
            }
            None => {}
        }
        if let Some(text) = plain {
            if form.fields.is_empty() && text == "accept" {
                return accept(question, form, Map::new()).map(Some);
            }
            let field = only(question, form)?;
            content.insert(field.name.clone(), value(question, field, text)?);
        }
        let before = format!("{}.", question.key);
        for (name, text) in &self.pairs {
            let Some(name) = name.strip_prefix(&before) else {
                continue;
            };
            let field = form.fields.iter().find(|field| field.name == name);
            let field = field.ok_or_else(|| fields(question, &known(form)))?;
            content.insert(name.to_owned(), value(question, field, text)?);
        }
        if content.is_empty() && !self.whole.contains_key(&question.key) {
            return Ok(None);
        }
        accept(question, form, content).map(Some)
    }
}

/// What an answer in full does.
fn action(answer: &Value) -> Option<&'static str> {
    let action = answer.get("action")?.as_str()?;
    let only = answer
        .as_object()?
        .keys()
        .all(|key| key == "action" || key == "content");
    ACTIONS.into_iter().find(|known| only && *known == action)
}

fn only<'a>(question: &Question, form: &'a Form) -> Result<&'a Field, AnswerError> {
    match form.fields.as_slice() {
        [field] => Ok(field),
        _ => Err(fields(question, &known(form))),
    }
}

fn known(form: &Form) -> String {
    let names: Vec<_> = form
        .fields
        .iter()
        .map(|field| clean::line(&field.name))
        .collect();
    match names.as_slice() {
        [] => "no values: --answer KEY=accept".to_owned(),
        names => format!(
            "--answer KEY.FIELD=VALUE, with the fields {}",
            names.join(", ")
        ),
    }
}

fn value(question: &Question, field: &Field, text: &str) -> Result<Value, AnswerError> {
    let key = format!(
        "{}.{}",
        clean::line(&question.key),
        clean::line(&field.name)
    );
    field
        .value(text)
        .map_err(|reason| AnswerError::Unfit(key, reason))
}

fn fields(question: &Question, wants: &str) -> AnswerError {
    AnswerError::Fields(clean::line(&question.key), wants.to_owned())
}

/// Accepts, with the defaults of what was left out.
fn accept(
    question: &Question,
    form: &Form,
    mut content: Map<String, Value>,
) -> Result<Value, AnswerError> {
    for field in &form.fields {
        if let Some(default) = &field.default {
            content
                .entry(&field.name)
                .or_insert_with(|| default.clone());
        }
    }
    let unfit =
        |reasons: Vec<String>| AnswerError::Unfit(clean::line(&question.key), reasons.join("; "));
    form.accept(content).map_err(unfit)
}

#[cfg(test)]
mod tests {
    use super::{AnswerError, Answers};
    use crate::arguments::AnswerArguments;
    use crate::question::Question;
    use serde_json::{Value, json};

    fn form(key: &str, properties: Value, required: Value) -> Question {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let request = json!({"method": "elicitation/create", "params": {"message": "m", "requestedSchema": schema}});
        Question::read(key, &request).expect("a question")
    }

    fn typed(pairs: &[&str], whole: Option<&str>, declined: &[&str]) -> AnswerArguments {
        let owned = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        AnswerArguments {
            answer: owned(pairs),
            answers: whole.map(str::to_owned),
            decline: owned(declined),
        }
    }

    fn answers(pairs: &[&str], whole: Option<&str>, declined: &[&str]) -> Answers {
        Answers::read(&typed(pairs, whole, declined)).expect("answers")
    }

    fn person() -> Question {
        let properties =
            json!({"name": {"type": "string"}, "age": {"type": "integer", "default": 30}});
        form("a.b", properties, json!(["name"]))
    }

    #[test]
    fn an_answer_is_found_by_key_and_field_and_typed() {
        let one = form("n", json!({"x": {"type": "integer"}}), json!(["x"]));
        let accepted = |content: Value| Ok(Some(json!({"action": "accept", "content": content})));
        assert_eq!(
            answers(&["n=5"], None, &[]).to(&one),
            accepted(json!({"x": 5}))
        );
        assert_eq!(
            answers(&["n.x=5"], None, &[]).to(&one),
            accepted(json!({"x": 5}))
        );
        assert_eq!(
            answers(&[], Some(r#"{"n": 5}"#), &[]).to(&one),
            accepted(json!({"x": 5}))
        );
        // A key may hold a dot, and defaults fill in.
        let given = answers(&["a.b.name=5"], None, &[]);
        assert_eq!(
            given.to(&person()),
            accepted(json!({"name": "5", "age": 30}))
        );
        let given = answers(&["a.b.age=7"], Some(r#"{"a.b": {"name": "Ada"}}"#), &[]);
        assert_eq!(
            given.to(&person()),
            accepted(json!({"name": "Ada", "age": 7}))
        );
        assert_eq!(answers(&["other=5"], None, &[]).to(&one), Ok(None));
    }

    #[test]
    fn a_question_can_be_refused() {
        for given in [
            answers(&[], None, &["a.b"]),
            answers(&[], Some(r#"{"a.b": {"action": "decline"}}"#), &[]),
        ] {
            assert_eq!(given.to(&person()), Ok(Some(json!({"action": "decline"}))));
        }
        let given = answers(&[], Some(r#"{"a.b": {"action": "cancel"}}"#), &[]);
        assert_eq!(given.to(&person()), Ok(Some(json!({"action": "cancel"}))));
        let given = answers(
            &[],
            Some(r#"{"a.b": {"action": "accept", "content": {"name": "x", "age": 1}}}"#),
            &[],
        );
        let content = json!({"name": "x", "age": 1});
        assert_eq!(
            given.to(&person()),
            Ok(Some(json!({"action": "accept", "content": content})))
        );
    }

    #[test]
    fn a_page_and_an_empty_form_want_a_word() {
        let request = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://example.com"}});
        let page = Question::read("page", &request).expect("a question");
        for word in ["accept", "decline", "cancel"] {
            let given = answers(&[&format!("page={word}")], None, &[]);
            assert_eq!(given.to(&page), Ok(Some(json!({"action": word}))));
        }
        answers(&["page=yes"], None, &[])
            .to(&page)
            .expect_err("no word for it");
        let empty = form("e", json!({}), json!([]));
        let accepted = Ok(Some(json!({"action": "accept", "content": {}})));
        assert_eq!(answers(&["e=accept"], None, &[]).to(&empty), accepted);
        assert_eq!(answers(&[], Some(r#"{"e": {}}"#), &[]).to(&empty), accepted);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (given, told) in [
            (
                answers(&["a.b=x"], None, &[]),
                "the question \"a.b\" wants --answer KEY.FIELD=VALUE, with the fields name, age",
            ),
            (
                answers(&["a.b.nmae=x"], None, &[]),
                "the question \"a.b\" wants --answer KEY.FIELD=VALUE, with the fields name, age",
            ),
            (
                answers(&["a.b.age=x"], None, &[]),
                "the answer to \"a.b.age\" does not fit: wants integer",
            ),
            (
                answers(&["a.b.age=1"], None, &[]),
                "the answer to \"a.b\" does not fit: \"name\" is a required property",
            ),
        ] {
            assert_eq!(
                given.to(&person()).expect_err("does not fit").to_string(),
                told
            );
        }
        let pair = Answers::read(&typed(&["x"], None, &[]));
        assert!(matches!(pair, Err(AnswerError::Pair(_))));
        for json in ["[", "[1]"] {
            assert!(matches!(
                Answers::read(&typed(&[], Some(json), &[])),
                Err(AnswerError::Json(_))
            ));
        }
    }
}
