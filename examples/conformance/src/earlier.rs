//! Tools that the suite calls as a client of an earlier revision: their questions are requests on the
//! stream of the call.

use cofferdam_guest::prelude::*;
use serde_json::{Value, json};

/// Writes log lines while it works.
#[tool]
pub fn test_tool_with_logging(call: &Call) -> Result<&'static str> {
    const PAUSE: Duration = Duration::from_millis(50);
    log!(info, "Tool execution started");
    call.sleep(PAUSE)?;
    log!(info, "Tool processing data");
    call.sleep(PAUSE)?;
    log!(info, "Tool execution completed");
    Ok("The tool has logged three lines.")
}

/// Asks the client's model what the caller asks.
#[tool]
pub fn test_sampling(call: &Call, prompt: String) -> Result<String> {
    let answers = call.ask([("prompt", InputRequest::prompt(prompt, 100))])?;
    Ok(format!(
        "LLM response: {}",
        answers.prompt("prompt")?.text()
    ))
}

/// Asks the user for a name and an address.
#[tool]
pub fn test_elicitation(call: &Call, message: String) -> Result<String> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    answer(call, &message, &schema)
}

/// Asks with a default for every kind of value.
#[tool]
pub fn test_elicitation_sep1034_defaults(call: &Call) -> Result<String> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
    });
    answer(call, "Please review these values", &schema)
}

/// Asks for a choice in each of the forms that there are.
#[tool]
pub fn test_elicitation_sep1330_enums(call: &Call) -> Result<String> {
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
            },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        },
    });
    answer(call, "Please choose", &schema)
}

fn answer(call: &Call, message: &str, schema: &Value) -> Result<String> {
    let answers = call.ask([("form", InputRequest::form_with(message, schema))])?;
    Ok(match answers.form::<Value>("form")? {
        Answer::Accepted(content) => format!("User response: action=accept, content={content}"),
        Answer::Declined => "User response: action=decline".to_owned(),
        Answer::Cancelled => "User response: action=cancel".to_owned(),
    })
}
