//! Makes thumbnails.
//!
//! A large image is worth a task; a small one is answered at once.

mod scale;
mod source;

use cofferdam_guest::prelude::*;
use scale::{Bounds, Format, Info};

/// From this many bytes on, a client that knows tasks gets one.
const TASK_BYTES: usize = 1 << 20;

/// The image and its thumbnail.
#[derive(Serialize, JsonSchema)]
struct Sizes {
    original: Info,
    thumbnail: Info,
}

/// Scales a PNG or JPEG image down to fit a width and a height. A smaller image keeps its size.
#[tool(
    title = "Thumbnail",
    task = "optional",
    read_only,
    idempotent,
    open_world = false
)]
fn thumbnail(
    call: &Call,
    /// The image, as base64 or as a `data:` URI. At most 24 megapixels.
    image: String,
    /// The thumbnail's largest width in pixels; 256 if left out.
    #[schemars(range(min = 1, max = 2048))]
    max_width: Option<u32>,
    /// Its largest height in pixels; 256 if left out.
    #[schemars(range(min = 1, max = 2048))]
    max_height: Option<u32>,
    /// Its format; that of the image if left out.
    format: Option<Format>,
) -> Result<(Image, String, Structured<Sizes>)> {
    let bounds = Bounds::new(max_width.unwrap_or(256), max_height.unwrap_or(256))?;
    let file = source::read(&image)?;
    if file.len() >= TASK_BYTES {
        call.start_task(
            TaskOptions::new()
                .ttl(Duration::from_secs(300))
                .status("Decoding"),
        )?;
    }
    call.progress(0, Some(3), "Decoding")?;
    let decoded = scale::decode(&file)?;
    call.progress(1, Some(3), "Scaling")?;
    let scaled = decoded.fit(bounds);
    call.progress(2, Some(3), "Encoding")?;
    let format = format.unwrap_or(decoded.info.format);
    let data = scale::encode(&scaled, format)?;
    call.progress(3, Some(3), "Done")?;
    let thumbnail = Info {
        format,
        width: scaled.width(),
        height: scaled.height(),
        bytes: data.len(),
    };
    let sizes = Sizes {
        original: decoded.info,
        thumbnail,
    };
    let text = format!("From {} to {}", sizes.original, sizes.thumbnail);
    Ok((
        Image::new(data, format.mime_type()),
        text,
        Structured(sizes),
    ))
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

    fn encoded(image: &image::RgbImage) -> String {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        STANDARD.encode(bytes.into_inner())
    }

    fn run(script: &Script, arguments: &Value) -> Result<ToolResult> {
        <thumbnail as Tool>::run(&script.call(), &arguments.to_string())
    }

    #[test]
    fn a_small_image_is_answered_at_once() {
        let script = Script::new();
        let image = encoded(&image::RgbImage::new(300, 100));
        let result = run(
            &script,
            &json!({ "image": image, "max_width": 30, "format": "jpeg" }),
        )
        .unwrap();
        let [Content::Image(image), Content::Text(text)] = &result.content[..] else {
            panic!("{result:?}")
        };
        assert_eq!(image.mime_type, "image/jpeg");
        let info = scale::decode(&image.data).unwrap().info;
        assert_eq!(
            (info.format, info.width, info.height),
            (Format::Jpeg, 30, 10)
        );
        assert!(
            text.text.starts_with("From PNG, 300 x 100 pixels, "),
            "{}",
            text.text
        );
        let told: Value = serde_json::from_str(result.structured.as_deref().unwrap()).unwrap();
        let expected =
            json!({ "format": "jpeg", "width": 30, "height": 10, "bytes": image.data.len() });
        assert_eq!(told["thumbnail"], expected);
        assert_eq!(script.status(), CallStatus::Inline);
        assert_eq!(script.progress().len(), 4);
    }

    #[test]
    fn a_large_image_is_a_task() {
        // Noise, so that the file is as large as its pixels.
        let mut state = 1_u32;
        let noise = image::RgbImage::from_fn(700, 600, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            image::Rgb([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8])
        });
        let script = Script::new();
        run(&script, &json!({ "image": encoded(&noise) })).unwrap();
        assert_eq!(script.status(), CallStatus::Working);
    }

    #[test]
    fn a_cancelled_call_stops_early() {
        let script = Script::new().cancel_after(1);
        let image = encoded(&image::RgbImage::new(10, 10));
        assert_eq!(run(&script, &json!({ "image": image })), Err(Error::Final));
    }
}
