//! Questions to the client, and its answers.

use crate::bindings::cofferdam::tool::task::{ElicitationAnswer, FormRequest, UrlRequest};
use crate::{
    Action, InputAnswer, InputError, InputRequest, Role, Root, SamplingAnswer, SamplingContent,
    SamplingMessage, SamplingRequest, schema,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

impl InputRequest {
    /// A form whose fields are those of `T`; see [`schema::of_form`] for what `T` may hold.
    pub fn form_of<T: JsonSchema>(message: impl Into<String>) -> Self {
        Self::form_with(message, &schema::of_form::<T>())
    }

    /// A form with a schema of its own, in MCP's restricted dialect.
    pub fn form_with(message: impl Into<String>, schema: &Value) -> Self {
        Self::Form(FormRequest {
            message: message.into(),
            schema: schema.to_string(),
        })
    }

    /// A page for the user to visit: an absolute `http` or `https` URL.
    pub fn visit(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(UrlRequest {
            message: message.into(),
            url: url.into(),
        })
    }

    /// A question to the client's model, answered with at most `max_tokens` (at least 1).
    pub fn prompt(text: impl Into<String>, max_tokens: u32) -> Self {
        Self::Sampling(SamplingRequest::new(text, max_tokens))
    }
}

impl SamplingRequest {
    /// One message of the user, and nothing else said; set the other fields as needed.
    pub fn new(text: impl Into<String>, max_tokens: u32) -> Self {
        Self {
            messages: vec![SamplingMessage {
                role: Role::User,
                content: vec![SamplingContent::Text(text.into())],
            }],
            max_tokens,
            system_prompt: None,
            temperature: None,
            stop_sequences: Vec::new(),
            model_preferences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
        }
    }
}

impl SamplingAnswer {
    /// The text that the model wrote; other kinds of content are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let mut all = String::new();
        for content in &self.content {
            if let SamplingContent::Text(text) = content {
                all.push_str(text);
            }
        }
        all
    }
}

/// What the user did with a form or a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// Filled in and sent; or, for a page, agreed to visit it.
    Accepted(T),
    /// Said no.
    Declined,
    /// Went away without a choice.
    Cancelled,
}

impl<T> Answer<T> {
    /// The form, if it was sent.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// The answers to several questions, by their keys.
///
/// Each reader fails with [`InputError::Invalid`] for a key that was not asked, or asked for
/// something else.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers(Vec<(String, InputAnswer)>);

impl Answers {
    pub(crate) fn new(answers: Vec<(String, InputAnswer)>) -> Self {
        Self(answers)
    }

    /// The answer under a key, as the contract has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&InputAnswer> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, answer)| answer)
    }

    /// The filled form under a key.
    ///
    /// # Errors
    /// Also if the form does not fit `T`, which only happens if its schema was not made from `T`.
    pub fn form<T: DeserializeOwned>(&self, key: &str) -> Result<Answer<T>, InputError> {
        self.elicitation(key, |answer| {
            let content = answer.content.as_deref().unwrap_or("{}");
            serde_json::from_str(content).map_err(|error| unfit(key, &error.to_string()))
        })
    }

    /// What the user did with the page under a key.
    ///
    /// # Errors
    /// As for all readers.
    pub fn visit(&self, key: &str) -> Result<Answer<()>, InputError> {
        self.elicitation(key, |_| Ok(()))
    }

    /// What the model wrote under a key.
    ///
    /// # Errors
    /// As for all readers.
    pub fn prompt(&self, key: &str) -> Result<&SamplingAnswer, InputError> {
        match self.get(key) {
            Some(InputAnswer::Sampling(answer)) => Ok(answer),
            _ => Err(unfit(key, "no answer of a model")),
        }
    }

    /// The client's root folders under a key.
    ///
    /// # Errors
    /// As for all readers.
    pub fn roots(&self, key: &str) -> Result<&[Root], InputError> {
        match self.get(key) {
            Some(InputAnswer::Roots(roots)) => Ok(roots),
            _ => Err(unfit(key, "no list of roots")),
        }
    }

    fn elicitation<T>(
        &self,
        key: &str,
        accepted: impl FnOnce(&ElicitationAnswer) -> Result<T, InputError>,
    ) -> Result<Answer<T>, InputError> {
        match self.get(key) {
            Some(InputAnswer::Elicitation(answer)) => Ok(match answer.action {
                Action::Accept => Answer::Accepted(accepted(answer)?),
                Action::Decline => Answer::Declined,
                Action::Cancel => Answer::Cancelled,
            }),
            _ => Err(unfit(key, "no answer of a user")),
        }
    }
}

fn unfit(key: &str, why: &str) -> InputError {
    InputError::Invalid(format!("the answer to `{key}` does not fit: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Confirm {
        confirm: bool,
    }

    fn answered(action: Action, content: Option<&str>) -> Answers {
        let answer = ElicitationAnswer {
            action,
            content: content.map(str::to_owned),
        };
        Answers::new(vec![("sure".to_owned(), InputAnswer::Elicitation(answer))])
    }

    #[test]
    fn a_form_is_read_into_its_type() {
        let answers = answered(Action::Accept, Some(r#"{"confirm":true}"#));
        assert_eq!(
            answers.form("sure"),
            Ok(Answer::Accepted(Confirm { confirm: true }))
        );
        assert_eq!(answers.visit("sure"), Ok(Answer::Accepted(())));
    }

    #[test]
    fn a_refusal_is_an_answer() {
        assert_eq!(
            answered(Action::Decline, None).form::<Confirm>("sure"),
            Ok(Answer::Declined)
        );
        assert_eq!(
            answered(Action::Cancel, None).form::<Confirm>("sure"),
            Ok(Answer::Cancelled)
        );
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let answers = answered(Action::Accept, Some(r#"{"confirm":1}"#));
        assert!(
            matches!(answers.form::<Confirm>("sure"), Err(InputError::Invalid(text)) if text.contains("`sure`"))
        );
        assert!(matches!(
            answers.form::<Confirm>("other"),
            Err(InputError::Invalid(_))
        ));
        assert!(matches!(
            answers.prompt("sure"),
            Err(InputError::Invalid(_))
        ));
        assert!(matches!(answers.roots("sure"), Err(InputError::Invalid(_))));
    }
}
