//! Tools that answer at once.

use cofferdam_guest::prelude::*;

/// A PNG of one red pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T',
    0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0,
    b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// A tenth of a second of silence: 8 000 samples a second, 8 bits, one channel.
fn silence() -> Vec<u8> {
    const SAMPLES: u32 = 800;
    let mut wav = Vec::with_capacity(44 + SAMPLES as usize);
    wav.extend_from_slice(b"RIFF");
    wav.extend_from_slice(&(36 + SAMPLES).to_le_bytes());
    wav.extend_from_slice(b"WAVEfmt ");
    wav.extend_from_slice(&16u32.to_le_bytes());
    wav.extend_from_slice(&[1, 0, 1, 0]);
    wav.extend_from_slice(&8_000u32.to_le_bytes());
    wav.extend_from_slice(&8_000u32.to_le_bytes());
    wav.extend_from_slice(&[1, 0, 8, 0]);
    wav.extend_from_slice(b"data");
    wav.extend_from_slice(&SAMPLES.to_le_bytes());
    wav.resize(44 + SAMPLES as usize, 0x80);
    wav
}

/// Returns one line of text.
#[tool(read_only)]
pub fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool(read_only)]
pub fn test_image_content() -> Image {
    Image::png(PIXEL.to_vec())
}

/// Returns a sound.
#[tool(read_only)]
pub fn test_audio_content() -> Audio {
    Audio::wav(silence())
}

/// Returns an embedded resource.
#[tool(read_only)]
pub fn test_embedded_resource() -> EmbeddedResource {
    EmbeddedResource::text(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    )
}

/// Returns a text, an image and a resource.
#[tool(read_only)]
pub fn test_multiple_content_types() -> Vec<Content> {
    vec![
        Content::text("Multiple content types test:"),
        Image::png(PIXEL.to_vec()).into(),
        EmbeddedResource::text(
            "test://mixed-content-resource",
            "application/json",
            r#"{"test":"data","value":123}"#,
        )
        .into(),
    ]
}

/// Always answers that it could not do what was asked.
#[tool]
pub fn test_error_handling() -> Result<String> {
    Err(Error::tool("This tool intentionally returns an error for testing"))
}

/// Reports 0, 50 and 100 of 100, fifty milliseconds apart.
#[tool]
pub fn test_tool_with_progress(call: &Call) -> Result<String> {
    for progress in [0, 50, 100] {
        call.progress(progress, Some(100), &format!("Completed step {progress} of 100"))?;
        call.sleep(Duration::from_millis(50))?;
    }
    Ok("Progress is complete".to_owned())
}

/// Writes log lines of several levels.
#[tool]
pub fn test_logging_tool() -> &'static str {
    log::debug("a detail");
    log::info("an event");
    log::warning("something to look at");
    "Logged"
}

/// Takes a region that clients repeat in a header.
#[tool(read_only)]
pub fn test_custom_header(
    #[schemars(extend("x-mcp-header" = "Region"))] region: Option<String>,
) -> String {
    format!("Region: {}", region.as_deref().unwrap_or("none"))
}

/// Tool with JSON Schema 2020-12 features
#[tool(schema = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
        }
    },
    "properties": {
        "name": { "type": "string" },
        "address": { "$ref": "#/$defs/address" },
        "contactMethod": { "type": "string", "enum": ["phone", "email"] },
        "phone": { "type": "string" },
        "email": { "type": "string" }
    },
    "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
    "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
    "then": { "required": ["phone"] },
    "else": { "required": ["email"] },
    "additionalProperties": false
}"##)]
pub fn json_schema_2020_12_tool(name: Option<String>) -> String {
    format!("Valid: {}", name.as_deref().unwrap_or("nobody"))
}

/// Greets by name; never a task.
#[tool(read_only)]
pub fn greet(name: String) -> String {
    format!("Hello, {name}!")
}
