//! From a file to a smaller image, and back to a file.
//!
//! Invariant: an image's size is checked before its pixels are decoded, so that a small file cannot
//! ask for more memory than a tool has.

use cofferdam_guest::{Error, Result, bail};
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Cursor;

/// The largest side of a thumbnail.
const MAX_SIDE: u32 = 2048;

/// The largest image that is decoded. A progressive JPEG takes nine bytes of memory for a pixel.
const MAX_PIXELS: u64 = 24_000_000;
const MAX_INPUT_SIDE: u32 = 16_384;
const MAX_DECODED_BYTES: u64 = 128 << 20;

const JPEG_QUALITY: u8 = 85;

/// How large a thumbnail may be, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    width: u32,
    height: u32,
}

impl Bounds {
    /// Fails for sides out of 1..=2048.
    pub(crate) fn new(width: u32, height: u32) -> Result<Self> {
        for (name, side) in [("max_width", width), ("max_height", height)] {
            if !(1..=MAX_SIDE).contains(&side) {
                bail!("{name} is {side}; it must be 1 to {MAX_SIDE}");
            }
        }
        Ok(Self { width, height })
    }

    fn turned(self) -> Self {
        Self {
            width: self.height,
            height: self.width,
        }
    }
}

/// A format of image files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Png,
    Jpeg,
}

impl Format {
    pub(crate) fn mime_type(self) -> &'static str {
        match self {
            Self::Png => ImageFormat::Png.to_mime_type(),
            Self::Jpeg => ImageFormat::Jpeg.to_mime_type(),
        }
    }
}

/// What a client may want to know of an image file.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Info {
    pub(crate) format: Format,
    /// In pixels.
    pub(crate) width: u32,
    /// In pixels.
    pub(crate) height: u32,
    /// The size of the file.
    pub(crate) bytes: usize,
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = match self.format {
            Format::Png => "PNG",
            Format::Jpeg => "JPEG",
        };
        let Self {
            width,
            height,
            bytes,
            ..
        } = self;
        write!(f, "{format}, {width} x {height} pixels, {bytes} bytes")
    }
}

/// A decoded file.
pub(crate) struct Decoded {
    /// How it is meant to be seen: a camera's photo may have to be turned.
    pub(crate) info: Info,
    pixels: DynamicImage,
    orientation: Orientation,
}

/// Decodes a PNG or JPEG.
pub(crate) fn decode(file: &[u8]) -> Result<Decoded> {
    let mut reader = ImageReader::new(Cursor::new(file)).with_guessed_format()?;
    let format = match reader.format() {
        Some(ImageFormat::Png) => Format::Png,
        Some(ImageFormat::Jpeg) => Format::Jpeg,
        Some(other) => bail!(
            "the image is neither PNG nor JPEG, but {}",
            other.to_mime_type()
        ),
        None => bail!("the image is neither PNG nor JPEG"),
    };
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_INPUT_SIDE);
    limits.max_image_height = Some(MAX_INPUT_SIDE);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);

    let mut decoder = reader.into_decoder().map_err(unreadable)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        bail!("the image has {width} x {height} pixels; at most {MAX_PIXELS} are decoded");
    }
    let bytes = decoder.total_bytes();
    if bytes > MAX_DECODED_BYTES {
        bail!("the image takes {bytes} bytes of memory; at most {MAX_DECODED_BYTES} are decoded");
    }
    let orientation = decoder.orientation().map_err(unreadable)?;
    let (seen_width, seen_height) = if turns(orientation) {
        (height, width)
    } else {
        (width, height)
    };
    Ok(Decoded {
        info: Info {
            format,
            width: seen_width,
            height: seen_height,
            bytes: file.len(),
        },
        pixels: DynamicImage::from_decoder(decoder).map_err(unreadable)?,
        orientation,
    })
}

impl Decoded {
    /// The image, no larger than `bounds` and than it was.
    pub(crate) fn fit(&self, bounds: Bounds) -> DynamicImage {
        let Bounds { width, height } = if turns(self.orientation) {
            bounds.turned()
        } else {
            bounds
        };
        let mut scaled = if self.pixels.width() <= width && self.pixels.height() <= height {
            self.pixels.clone()
        } else {
            self.pixels.thumbnail(width, height)
        };
        scaled.apply_orientation(self.orientation);
        scaled
    }
}

/// Writes an image file. A JPEG has no transparency and eight bits for each colour.
pub(crate) fn encode(image: &DynamicImage, format: Format) -> Result<Vec<u8>> {
    let mut file = Cursor::new(Vec::new());
    match format {
        Format::Png => image.write_to(&mut file, ImageFormat::Png)?,
        Format::Jpeg => {
            let encoder = JpegEncoder::new_with_quality(&mut file, JPEG_QUALITY);
            image.to_rgb8().write_with_encoder(encoder)?;
        }
    }
    Ok(file.into_inner())
}

fn unreadable(error: image::ImageError) -> Error {
    Error::tool(format!("the image cannot be read: {error}"))
}

/// Does this orientation swap width and height?
fn turns(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{GenericImageView, ImageEncoder, Rgb, RgbImage, Rgba, RgbaImage};

    fn png(image: &DynamicImage) -> Vec<u8> {
        encode(image, Format::Png).unwrap()
    }

    /// Left red, right blue.
    fn flag(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, _| {
            if x < width / 2 {
                Rgb([255, 0, 0])
            } else {
                Rgb([0, 0, 255])
            }
        })
    }

    fn message(result: Result<Decoded>) -> String {
        match result {
            Err(Error::Tool(message)) => message,
            Err(other) => panic!("{other:?}"),
            Ok(decoded) => panic!("it was accepted: {:?}", decoded.info),
        }
    }

    #[test]
    fn the_shape_and_the_colours_stay() {
        let decoded = decode(&png(&flag(400, 100).into())).unwrap();
        let scaled = decoded.fit(Bounds::new(100, 100).unwrap());
        assert_eq!(scaled.dimensions(), (100, 25));
        assert_eq!(scaled.get_pixel(10, 10), Rgba([255, 0, 0, 255]));
        assert_eq!(scaled.get_pixel(90, 10), Rgba([0, 0, 255, 255]));
    }

    #[test]
    fn a_small_image_is_not_enlarged() {
        let image = DynamicImage::from(flag(20, 10));
        let decoded = decode(&png(&image)).unwrap();
        assert_eq!(decoded.fit(Bounds::new(2048, 2048).unwrap()), image);
    }

    #[test]
    fn a_side_never_becomes_nothing() {
        let decoded = decode(&png(&flag(2000, 1).into())).unwrap();
        assert_eq!(
            decoded.fit(Bounds::new(10, 10).unwrap()).dimensions(),
            (10, 1)
        );
    }

    #[test]
    fn a_photo_is_turned_as_its_camera_says() {
        // TIFF header, one directory with one entry: orientation (0x0112), short, 1, value 6.
        let turn_right = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let mut file = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut file, 95);
        encoder.set_exif_metadata(turn_right.to_vec()).unwrap();
        encoder.encode_image(&flag(80, 40)).unwrap();

        let decoded = decode(&file).unwrap();
        assert_eq!((decoded.info.width, decoded.info.height), (40, 80));
        let scaled = decoded.fit(Bounds::new(40, 20).unwrap()).to_rgb8();
        assert_eq!(scaled.dimensions(), (10, 20));
        let (top, bottom) = (scaled.get_pixel(5, 2), scaled.get_pixel(5, 17));
        assert!(top[0] > 200 && top[2] < 60, "{top:?}");
        assert!(bottom[2] > 200 && bottom[0] < 60, "{bottom:?}");
    }

    #[test]
    fn a_jpeg_of_a_transparent_png_is_a_jpeg() {
        let image = DynamicImage::from(RgbaImage::from_pixel(8, 8, Rgba([9, 9, 9, 0])));
        let file = encode(&image, Format::Jpeg).unwrap();
        let decoded = decode(&file).unwrap();
        assert_eq!(decoded.info.format, Format::Jpeg);
        assert_eq!(decoded.info.bytes, file.len());
    }

    #[test]
    fn bounds_are_checked() {
        assert!(Bounds::new(1, 2048).is_ok());
        for (width, height) in [(0, 1), (1, 0), (2049, 1), (1, 2049)] {
            assert!(Bounds::new(width, height).is_err(), "{width} x {height}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(
            message(decode(b"hello")),
            "the image is neither PNG nor JPEG"
        );
        assert_eq!(
            message(decode(b"GIF89a\x01\0\x01\0")),
            "the image is neither PNG nor JPEG, but image/gif"
        );
        let file = png(&flag(20, 10).into());
        let text = message(decode(&file[..file.len() / 2]));
        assert!(text.starts_with("the image cannot be read: "), "{text}");
    }

    #[test]
    fn a_small_file_of_a_huge_image_is_refused_before_it_is_decoded() {
        let text = message(decode(&png(&DynamicImage::new_luma8(6000, 4001))));
        assert!(text.contains("6000 x 4001 pixels"), "{text}");
        let text = message(decode(&png(&DynamicImage::new_luma8(16_385, 1))));
        assert!(text.starts_with("the image cannot be read: "), "{text}");
        let text = message(decode(&png(&DynamicImage::new_rgba16(4200, 4000))));
        assert!(text.contains("bytes of memory"), "{text}");
    }
}
