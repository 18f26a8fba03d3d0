//! Every kind of content that a result may have.

use cofferdam_guest::prelude::*;

/// One red pixel.
pub const PIXEL: &[u8] = include_bytes!("pixel.png");
/// A hundredth of a second of silence.
const SILENCE: &[u8] = include_bytes!("silence.wav");

/// Returns a text.
#[tool]
pub fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool]
pub fn test_image_content() -> Image {
    Image::png(PIXEL.to_vec())
}

/// Returns a sound.
#[tool]
pub fn test_audio_content() -> Audio {
    Audio::wav(SILENCE.to_vec())
}

/// Returns an embedded resource.
#[tool]
pub fn test_embedded_resource() -> EmbeddedResource {
    EmbeddedResource::text(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    )
}

/// Returns a text, an image and a resource.
#[tool]
pub fn test_multiple_content_types() -> (&'static str, Image, EmbeddedResource) {
    let json = r#"{"test":"data","value":123}"#;
    let resource =
        EmbeddedResource::text("test://mixed-content-resource", "application/json", json);
    (
        "Multiple content types test:",
        test_image_content(),
        resource,
    )
}

/// Always fails.
#[tool]
pub fn test_error_handling() -> Result<()> {
    bail!("This tool intentionally returns an error for testing");
}
