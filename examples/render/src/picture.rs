//! What can be drawn: a value between 0 and 1 for each pixel, and a colour for each value.

use cofferdam_guest::prelude::*;

/// How often a point is iterated before it counts as inside.
const ITERATIONS: u32 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    /// The Mandelbrot set
    Mandelbrot,
    /// The Julia set of -0.8 + 0.156i
    Julia,
    /// From the upper left to the lower right
    Gradient,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Palette {
    Grey,
    Fire,
    Sea,
}

impl Subject {
    /// The value of a pixel of a square picture.
    pub(crate) fn value(self, x: u32, y: u32, size: u32) -> f64 {
        // The middle of the pixel, from 0 to 1.
        let part = |n: u32| (f64::from(n) + 0.5) / f64::from(size);
        let (x, y) = (part(x), part(y));
        match self {
            Self::Mandelbrot => escape((0.0, 0.0), (3.0 * x - 2.25, 3.0 * y - 1.5)),
            Self::Julia => escape((3.2 * x - 1.6, 3.2 * y - 1.6), (-0.8, 0.156)),
            Self::Gradient => (x + y) / 2.0,
        }
    }
}

/// How fast z² + c grows from z: 0 at once, 1 never.
fn escape(z: (f64, f64), c: (f64, f64)) -> f64 {
    let (mut re, mut im) = z;
    for n in 0..ITERATIONS {
        let (re2, im2) = (re * re, im * im);
        if re2 + im2 > 4.0 {
            return f64::from(n) / f64::from(ITERATIONS);
        }
        im = 2.0 * re * im + c.1;
        re = re2 - im2 + c.0;
    }
    1.0
}

impl Palette {
    /// The colour of a value between 0 and 1, as red, green and blue.
    pub(crate) fn colour(self, value: f64) -> [u8; 3] {
        // The root spreads the small values, of which fractals have most.
        let light = value.clamp(0.0, 1.0).sqrt();
        let channel = |from: f64, to: f64| {
            (255.0 * ((light - from) / (to - from)).clamp(0.0, 1.0)).round() as u8
        };
        match self {
            Self::Grey => [channel(0.0, 1.0); 3],
            Self::Fire => [channel(0.0, 0.4), channel(0.3, 0.8), channel(0.7, 1.0)],
            Self::Sea => [channel(0.7, 1.0), channel(0.3, 0.9), channel(0.0, 0.6)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_where_it_should_be() {
        // The origin never escapes, and a corner does at once.
        assert_eq!(escape((0.0, 0.0), (0.0, 0.0)), 1.0);
        assert_eq!(escape((0.0, 0.0), (-1.0, 0.0)), 1.0);
        assert!(escape((0.0, 0.0), (2.0, 2.0)) < 0.01);
        assert!(Subject::Mandelbrot.value(0, 0, 100) < 0.05);
        assert_eq!(Subject::Mandelbrot.value(75, 50, 100), 1.0);
    }

    #[test]
    fn pictures_are_symmetric_as_their_sets_are() {
        for (x, y) in [(10, 20), (33, 7), (60, 45)] {
            // Conjugation, and a half turn.
            assert_eq!(
                Subject::Mandelbrot.value(x, y, 100),
                Subject::Mandelbrot.value(x, 99 - y, 100)
            );
            assert_eq!(
                Subject::Julia.value(x, y, 100),
                Subject::Julia.value(99 - x, 99 - y, 100)
            );
        }
    }

    #[test]
    fn palettes_go_from_dark_to_light() {
        for palette in [Palette::Grey, Palette::Fire, Palette::Sea] {
            assert_eq!(palette.colour(0.0), [0; 3]);
            assert_eq!(palette.colour(1.0), [255; 3]);
            let light = |value| {
                palette
                    .colour(value)
                    .iter()
                    .map(|channel| u32::from(*channel))
                    .sum::<u32>()
            };
            assert!((0..100).map(|n| light(f64::from(n) / 100.0)).is_sorted());
        }
        assert_eq!(Palette::Grey.colour(-1.0), Palette::Grey.colour(0.0));
    }
}
