//! Makes thumbnails.
//!
//! A large image is worth a task; a small one is answered at once.

mod picture;
mod source;

use cofferdam_guest::prelude::*;
use picture::{Format, Picture, Size};

/// From this many pixels on, a client that knows tasks gets one.
const TASK_PIXELS: u64 = 1_000_000;

/// What came of it.
#[derive(Serialize, JsonSchema)]
struct Thumbnail {
    format: Format,
    original: Size,
    thumbnail: Size,
}

/// Scales a PNG or JPEG image down to fit a width and a height; a smaller image keeps its size.
#[tool(
    title = "Thumbnail",
    task = "optional",
    read_only,
    idempotent,
    open_world = false
)]
fn thumbnail(
    call: &Call,
    /// The image, as base64 or as a `data:` URI. At most 32 megapixels.
    image: String,
    /// In pixels; 256 if left out.
    #[schemars(range(min = 1, max = 2048))]
    max_width: Option<u32>,
    /// In pixels; 256 if left out.
    #[schemars(range(min = 1, max = 2048))]
    max_height: Option<u32>,
    /// Of the thumbnail; that of the image if left out.
    format: Option<Format>,
) -> Result<(Image, Structured<Thumbnail>)> {
    let bound = Size {
        width: max_width.unwrap_or(256),
        height: max_height.unwrap_or(256),
    };
    let bytes = source::read(&image)?;
    let (source_format, original) = picture::inspect(&bytes)?;
    if original.pixels() >= TASK_PIXELS {
        call.start_task(
            TaskOptions::new()
                .ttl(Duration::from_secs(300))
                .status("Decoding"),
        )?;
    }
    call.progress(0, Some(3), "Decoding")?;
    let picture = Picture::decode(&bytes)?;
    call.progress(1, Some(3), "Scaling")?;
    let small = picture.fit(bound);
    call.progress(2, Some(3), "Encoding")?;
    let format = format.unwrap_or(source_format);
    let data = small.encode(format)?;
    call.progress(3, Some(3), "Done")?;
    let told = Thumbnail {
        format,
        original: picture.size(),
        thumbnail: small.size(),
    };
    Ok((Image::new(data, format.mime_type()), Structured(told)))
}

cofferdam_guest::export!(thumbnail);

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use cofferdam_guest::testing::Script;
    use cofferdam_guest::{CallStatus, Content, Tool};
    use serde_json::{Value, json};

    fn encoded(width: u32, height: u32) -> String {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(width, height)
            .write_to(&mut bytes, image::ImageFormat::Png)
            .unwrap();
        STANDARD.encode(bytes.into_inner())
    }

    fn run(script: &Script, arguments: &Value) -> Result<ToolResult> {
        <thumbnail as Tool>::run(&script.call(), &arguments.to_string())
    }

    #[test]
    fn a_small_image_is_answered_at_once() {
        let script = Script::new();
        let result = run(
            &script,
            &json!({ "image": encoded(300, 100), "max_width": 30, "format": "jpeg" }),
        )
        .unwrap();
        let [Content::Image(image)] = result.content.as_slice() else {
            panic!("no image: {result:?}")
        };
        assert_eq!(image.mime_type, "image/jpeg");
        assert_eq!(
            picture::inspect(&image.data).unwrap(),
            (
                Format::Jpeg,
                Size {
                    width: 30,
                    height: 10
                }
            )
        );
        let told: Value = serde_json::from_str(&result.structured.unwrap()).unwrap();
        assert_eq!(
            told,
            json!({
                "format": "jpeg",
                "original": { "width": 300, "height": 100 },
                "thumbnail": { "width": 30, "height": 10 }
            })
        );
        assert_eq!(script.status(), CallStatus::Inline);
        assert_eq!(script.progress().len(), 4);
    }

    #[test]
    fn a_large_image_is_a_task() {
        let script = Script::new();
        run(&script, &json!({ "image": encoded(1000, 1000) })).unwrap();
        assert_eq!(script.status(), CallStatus::Working);
    }

    #[test]
    fn a_cancelled_call_stops_early() {
        let script = Script::new().cancel_after(1);
        assert_eq!(
            run(&script, &json!({ "image": encoded(10, 10) })),
            Err(Error::Final)
        );
    }
}
