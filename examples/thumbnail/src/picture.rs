//! Pixels: decoding within bounds, scaling, encoding.

use cofferdam_guest::prelude::*;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::io::Cursor;

/// Larger images are refused before their pixels are decoded.
const MAX_PIXELS: u64 = 32_000_000;
/// What the decoder may take for the pixels, in bytes. It leaves half of a usual sandbox.
const MAX_BYTES: u64 = 128 << 20;

/// The formats that are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Png,
    Jpeg,
}

impl Format {
    pub(crate) fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

/// A width and a height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Size {
    pub(crate) fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// Reads the format and the size from an image's head.
pub(crate) fn inspect(bytes: &[u8]) -> Result<(Format, Size)> {
    let format = match image::guess_format(bytes) {
        Ok(ImageFormat::Png) => Format::Png,
        Ok(ImageFormat::Jpeg) => Format::Jpeg,
        _ => bail!("The image is neither a PNG nor a JPEG."),
    };
    let (width, height) = reader(bytes)?.into_dimensions().map_err(damaged)?;
    let size = Size { width, height };
    if size.pixels() > MAX_PIXELS {
        bail!("The image has {width} x {height} pixels; at most {MAX_PIXELS} are taken.");
    }
    Ok((format, size))
}

/// A decoded image.
pub(crate) struct Picture(DynamicImage);

impl Picture {
    /// Decodes an image, turned the way its camera was held.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut decoder = reader(bytes)?.into_decoder().map_err(damaged)?;
        let orientation = decoder.orientation().map_err(damaged)?;
        let mut image = DynamicImage::from_decoder(decoder).map_err(damaged)?;
        image.apply_orientation(orientation);
        Ok(Self(image))
    }

    pub(crate) fn size(&self) -> Size {
        Size {
            width: self.0.width(),
            height: self.0.height(),
        }
    }

    /// The image scaled down to fit `bound`, in its proportions; never scaled up.
    pub(crate) fn fit(&self, bound: Size) -> Self {
        let Size { width, height } = self.size();
        if width <= bound.width && height <= bound.height {
            return Self(self.0.clone());
        }
        Self(self.0.thumbnail(bound.width, bound.height))
    }

    pub(crate) fn encode(&self, format: Format) -> Result<Vec<u8>> {
        let mut bytes = Cursor::new(Vec::new());
        match format {
            Format::Png => self.0.write_to(&mut bytes, ImageFormat::Png)?,
            // JPEG knows neither transparency nor 16 bits.
            Format::Jpeg => self.0.to_rgb8().write_to(&mut bytes, ImageFormat::Jpeg)?,
        }
        Ok(bytes.into_inner())
    }
}

fn reader(bytes: &[u8]) -> Result<ImageReader<Cursor<&[u8]>>> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits);
    Ok(reader)
}

fn damaged(error: image::ImageError) -> Error {
    match error {
        image::ImageError::Limits(_) => Error::tool(format!(
            "The image needs more than {} MiB of memory.",
            MAX_BYTES >> 20
        )),
        error => Error::tool(format!("The image cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    fn size(width: u32, height: u32) -> Size {
        Size { width, height }
    }

    fn encoded(image: &DynamicImage, format: Format) -> Vec<u8> {
        Picture(image.clone()).encode(format).unwrap()
    }

    #[test]
    fn an_image_keeps_its_proportions_and_never_grows() {
        let picture = Picture(DynamicImage::ImageRgb8(RgbImage::new(400, 100)));
        assert_eq!(picture.fit(size(200, 200)).size(), size(200, 50));
        assert_eq!(picture.fit(size(2000, 50)).size(), size(200, 50));
        assert_eq!(picture.fit(size(1000, 1000)).size(), size(400, 100));
        // However thin, something is left of it.
        let thin = Picture(DynamicImage::ImageRgb8(RgbImage::new(5000, 1)));
        assert_eq!(thin.fit(size(10, 10)).size(), size(10, 1));
    }

    #[test]
    fn colours_survive_both_formats() {
        let red = DynamicImage::ImageRgb8(RgbImage::from_pixel(64, 64, Rgb([200, 20, 30])));
        for format in [Format::Png, Format::Jpeg] {
            let bytes = encoded(&red, format);
            assert_eq!(inspect(&bytes).unwrap(), (format, size(64, 64)));
            let small = Picture::decode(&bytes).unwrap().fit(size(8, 8));
            let pixel = small.0.to_rgb8().get_pixel(4, 4).0;
            for (channel, expected) in pixel.into_iter().zip([200_u8, 20, 30]) {
                assert!(channel.abs_diff(expected) <= 6, "{format:?}: {pixel:?}");
            }
        }
    }

    #[test]
    fn transparency_is_dropped_for_jpeg_only() {
        let glass = DynamicImage::ImageRgba8(RgbaImage::from_pixel(4, 4, Rgba([1, 2, 3, 0])));
        assert!(
            Picture::decode(&encoded(&glass, Format::Png))
                .unwrap()
                .0
                .color()
                .has_alpha()
        );
        assert!(
            !Picture::decode(&encoded(&glass, Format::Jpeg))
                .unwrap()
                .0
                .color()
                .has_alpha()
        );
    }

    #[test]
    fn bad_images_are_refused_with_a_reason() {
        let told = |bytes: &[u8]| match inspect(bytes).and_then(|_| Picture::decode(bytes)) {
            Err(Error::Tool(text)) => text,
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("it was taken"),
        };
        assert!(told(b"GIF89a").contains("neither a PNG nor a JPEG"));
        let whole = encoded(&DynamicImage::ImageRgb8(RgbImage::new(50, 50)), Format::Png);
        assert!(told(&whole[..whole.len() / 2]).contains("cannot be read"));
        // A head that claims more pixels than there may be, as a bomb does.
        let mut huge = whole;
        huge[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
        let crc = crc32(&huge[12..29]);
        huge[29..33].copy_from_slice(&crc.to_be_bytes());
        assert!(told(&huge).contains("65535 x 65535 pixels"));
    }

    /// The checksum of a PNG chunk.
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |crc: u32, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
            })
        })
    }
}
