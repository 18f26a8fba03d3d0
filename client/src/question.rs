//! What a tool asks (elicitation), from its request to what is to be asked of a person.
//!
//! Invariant: **pure**. A form becomes one field for each property, in their order; a value counts only
//! if it fits its field, and an answer only if it fits the form. Texts are harmless for a terminal.

use crate::schema::{check, wants};
use crate::{clean, typed};
use serde_json::{Map, Value, json};
use url::Url;

/// Why a question cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QuestionError {
    /// Not elicitation.
    #[error("the server asks for {1} (question {0:?}), which this client did not offer")]
    Unsupported(String, String),
    /// No form and no URL.
    #[error("the question {0:?} cannot be read: {1}")]
    Malformed(String, String),
}

/// A question.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// What the server calls it.
    pub(crate) key: String,
    /// What the tool says.
    pub(crate) message: String,
    /// What it wants.
    pub(crate) body: Body,
}

/// What a question wants.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// Values.
    Form(Form),
    /// That a page is visited.
    Visit(Page),
}

/// A page that is to be visited.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Its host, as it is asked for: names in other scripts are shown in ASCII.
    pub(crate) host: String,
    /// The whole address.
    pub(crate) url: String,
    /// Why it may not be what it seems.
    pub(crate) doubt: Option<&'static str>,
}

/// A form.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    schema: Value,
    /// In the schema's order.
    pub(crate) fields: Vec<Field>,
}

/// A field of a form.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// The property.
    pub(crate) name: String,
    /// What to call it.
    pub(crate) title: String,
    /// More of it.
    pub(crate) description: Option<String>,
    /// Whether it must have a value.
    pub(crate) required: bool,
    /// Whether nobody may see what is typed.
    pub(crate) secret: bool,
    /// How it is asked.
    pub(crate) kind: Kind,
    /// The value unless another is given.
    pub(crate) default: Option<Value>,
    /// What it wants, in a few words.
    pub(crate) wants: String,
    schema: Value,
}

/// How a field is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// By text, also for numbers.
    Text,
    /// By yes or no.
    YesNo,
    /// By one entry of a menu.
    One(Vec<Choice>),
    /// By several entries of a menu.
    Many(Vec<Choice>),
}

/// An entry of a menu.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    /// What it stands for.
    pub(crate) value: Value,
    /// What it says.
    pub(crate) title: String,
}

impl Question {
    /// Reads an input request.
    ///
    /// # Errors
    /// [`QuestionError`].
    pub(crate) fn read(key: &str, request: &Value) -> Result<Self, QuestionError> {
        let method = request["method"].as_str().unwrap_or("something");
        if method != "elicitation/create" {
            return Err(QuestionError::Unsupported(
                clean::line(key),
                clean::line(method),
            ));
        }
        let malformed =
            |reason: &str| QuestionError::Malformed(clean::line(key), reason.to_owned());
        let params = &request["params"];
        let message = params["message"].as_str().unwrap_or_default();
        let body = match params.get("mode").and_then(Value::as_str).unwrap_or("form") {
            "form" => {
                let schema = params
                    .get("requestedSchema")
                    .ok_or_else(|| malformed("it has no schema"))?;
                Body::Form(Form::read(schema))
            }
            "url" => {
                let url = params["url"]
                    .as_str()
                    .ok_or_else(|| malformed("it has no URL"))?;
                Body::Visit(Page::read(url).ok_or_else(|| malformed("its URL is none"))?)
            }
            mode => return Err(malformed(&format!("it has the mode {}", clean::line(mode)))),
        };
        Ok(Self {
            key: key.to_owned(),
            message: clean::text(message),
            body,
        })
    }

    /// What a person has to know to answer it by options.
    pub(crate) fn describe(&self) -> String {
        let key = clean::line(&self.key);
        let mut lines = vec![format!("  {key}: {}", clean::line(&self.message))];
        match &self.body {
            Body::Form(form) => {
                for field in &form.fields {
                    let needed = if field.required { "" } else { ", optional" };
                    let name = clean::line(&field.name);
                    lines.push(format!(
                        "    --answer {key}.{name}=…  ({}{needed})",
                        field.wants
                    ));
                }
                if form.fields.is_empty() {
                    lines.push(format!("    --answer {key}=accept"));
                }
            }
            Body::Visit(page) => {
                lines.push(format!("    visit {} (host {})", page.url, page.host));
                lines.push(format!("    --answer {key}=accept  when you agree"));
            }
        }
        lines.push(format!("    --decline {key}  to refuse"));
        lines.join("\n")
    }
}

impl Page {
    fn read(url: &str) -> Option<Self> {
        let parsed = Url::parse(url).ok()?;
        let doubt = match () {
            () if !matches!(parsed.scheme(), "http" | "https") => {
                Some("this is no page of the web")
            }
            () if !parsed.username().is_empty() => {
                Some("it holds a user's name, which may look like a host")
            }
            () if parsed.scheme() == "http" => Some("it is not encrypted"),
            () if parsed.host_str().is_some_and(|host| host.contains("xn--")) => {
                Some("the host's name is in another script, and may look like another one")
            }
            () => None,
        };
        Some(Self {
            host: clean::line(parsed.host_str().unwrap_or("none")),
            url: clean::line(parsed.as_str()),
            doubt,
        })
    }
}

impl Form {
    fn read(schema: &Value) -> Self {
        let needed: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema["properties"].as_object();
        let fields = properties.into_iter().flatten();
        let fields =
            fields.map(|(name, schema)| Field::read(name, schema, needed.contains(&name.as_str())));
        Self {
            schema: schema.clone(),
            fields: fields.collect(),
        }
    }

    /// The answer that accepts, with these values.
    ///
    /// # Errors
    /// Why they do not fit the form.
    pub(crate) fn accept(&self, content: Map<String, Value>) -> Result<Value, Vec<String>> {
        let content = Value::Object(content);
        check(&self.schema, &content)?;
        Ok(json!({ "action": "accept", "content": content }))
    }
}

impl Field {
    fn read(name: &str, schema: &Value, required: bool) -> Self {
        let said = |word: &str| {
            schema[word]
                .as_str()
                .map(clean::line)
                .filter(|it| !it.is_empty())
        };
        let kind = match () {
            () if schema["type"] == "boolean" => Kind::YesNo,
            () if schema["type"] == "array" => {
                choices(&schema["items"]).map_or(Kind::Text, Kind::Many)
            }
            () => choices(schema).map_or(Kind::Text, Kind::One),
        };
        let format = schema["format"].as_str().unwrap_or_default();
        let default = schema.get("default").filter(|value| !value.is_null());
        Self {
            name: name.to_owned(),
            title: said("title").unwrap_or_else(|| clean::line(name)),
            description: said("description"),
            required,
            secret: format == "password" || schema["writeOnly"] == true,
            kind,
            default: default
                .filter(|value| check(schema, value).is_ok())
                .cloned(),
            wants: wants(schema, schema),
            schema: schema.clone(),
        }
    }

    /// A value, from text.
    ///
    /// # Errors
    /// What it wants instead.
    pub(crate) fn value(&self, text: &str) -> Result<Value, String> {
        let value = typed::read(&self.schema, &self.schema, text);
        let value = value.map_err(|hint| format!("wants {}{hint}", self.wants))?;
        self.check(&value)?;
        Ok(value)
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// What it wants instead.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        check(&self.schema, value).map_err(|reasons| {
            // The value of a secret is in the reasons.
            let reasons = if self.secret {
                String::new()
            } else {
                format!(": {}", reasons.join("; "))
            };
            format!("wants {}{reasons}", self.wants)
        })
    }
}

/// The entries of a menu: those of `oneOf` or `anyOf` with their titles, or those of `enum`, perhaps with
/// `enumNames`.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let shown = |value: &Value| {
        clean::line(
            &value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        )
    };
    if let Some(values) = schema["enum"].as_array() {
        let titles = &schema["enumNames"];
        let choice = |(at, value): (usize, &Value)| Choice {
            value: value.clone(),
            title: titles[at]
                .as_str()
                .map_or_else(|| shown(value), clean::line),
        };
        return Some(values.iter().enumerate().map(choice).collect());
    }
    let titled = schema["oneOf"]
        .as_array()
        .or_else(|| schema["anyOf"].as_array())?;
    let choice = |it: &Value| {
        let value = it.get("const")?;
        let title = it["title"]
            .as_str()
            .map_or_else(|| shown(value), clean::line);
        Some(Choice {
            value: value.clone(),
            title,
        })
    };
    titled.iter().map(choice).collect()
}
