//! Prompts with every kind of content, and one that asks first.

use cofferdam_guest::prelude::*;

use crate::content::PIXEL;

#[derive(Deserialize, JsonSchema)]
struct Context {
    context: String,
}

/// Says one thing.
#[prompt]
pub fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// Says what it is given.
#[prompt]
pub fn test_prompt_with_arguments(
    /// First test argument
    #[arg(complete = words)]
    arg1: String,
    /// Second test argument
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

fn words() -> [&'static str; 5] {
    ["paris", "park", "party", "test", "testing"]
}

/// Shows a resource.
#[prompt]
pub fn test_prompt_with_embedded_resource(
    /// URI of the resource to embed
    #[arg(name = "resourceUri")]
    resource_uri: String,
) -> (EmbeddedResource, &'static str) {
    let text = "Embedded resource content for testing.";
    (
        EmbeddedResource::text(resource_uri, "text/plain", text),
        "Please process the embedded resource above.",
    )
}

/// Shows an image.
#[prompt]
pub fn test_prompt_with_image() -> (Image, &'static str) {
    (
        Image::png(PIXEL.to_vec()),
        "Please analyze the image above.",
    )
}

/// Asks for a context before it says anything.
#[prompt]
pub fn test_input_required_result_prompt(call: &Call) -> Result<String> {
    let question = "What context should the prompt use?";
    Ok(match call.ask_form::<Context>("user_context", question)? {
        Answer::Accepted(Context { context }) => format!("The context is {context}."),
        Answer::Declined | Answer::Cancelled => "There is no context.".to_owned(),
    })
}
