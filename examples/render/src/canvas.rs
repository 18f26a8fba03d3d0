//! A square picture that is filled row by row.

use cofferdam_guest::prelude::*;
use png::{BitDepth, ColorType, Encoder};

/// The rows that are there so far.
pub(crate) struct Canvas {
    size: u32,
    pixels: Vec<u8>,
}

impl Canvas {
    pub(crate) fn new(size: u32) -> Self {
        Self {
            size,
            pixels: Vec::new(),
        }
    }

    /// Adds a row of as many pixels as the picture is wide.
    pub(crate) fn push_row(&mut self, row: impl Iterator<Item = [u8; 3]>) {
        self.pixels.extend(row.flatten());
    }

    /// The picture as a PNG, once all rows are there.
    pub(crate) fn into_png(self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, self.size, self.size);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_survive_the_png() {
        let mut canvas = Canvas::new(2);
        canvas.push_row([[1, 2, 3], [4, 5, 6]].into_iter());
        canvas.push_row([[7, 8, 9], [250, 251, 252]].into_iter());
        let png = canvas.into_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png))
            .read_info()
            .unwrap();
        let mut pixels = [0; 12];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, [1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252]);
    }

    #[test]
    fn an_unfinished_picture_is_an_error() {
        assert!(Canvas::new(2).into_png().is_err());
    }
}
