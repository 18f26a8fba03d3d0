//! Palettes: the colour of a brightness.

use schemars::JsonSchema;
use serde::Deserialize;

/// The colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Palette {
    /// Black to white
    Grey,
    /// Black, red, yellow, white
    Fire,
    /// Deep blue, turquoise, white
    Ocean,
}

type Colour = [u8; 3];

impl Palette {
    /// The RGB colour of a brightness, 0 to 1; what is beyond has the colour of the end.
    pub(crate) fn colour(self, brightness: f64) -> Colour {
        let stops = self.stops();
        let last = stops.len() - 1;
        let place = brightness.clamp(0.0, 1.0) * last as f64;
        let left = (place as usize).min(last - 1);
        let part = place - left as f64;
        std::array::from_fn(|channel| {
            let (from, to) = (stops[left][channel], stops[left + 1][channel]);
            (f64::from(from) * (1.0 - part) + f64::from(to) * part).round() as u8
        })
    }

    /// Colours at equal distances, at least two.
    fn stops(self) -> &'static [Colour] {
        match self {
            Self::Grey => &[[0, 0, 0], [255, 255, 255]],
            Self::Fire => &[[0, 0, 0], [190, 20, 10], [255, 200, 30], [255, 255, 255]],
            Self::Ocean => &[[4, 8, 48], [20, 120, 180], [120, 220, 210], [255, 255, 255]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_met_and_mixed_between() {
        assert_eq!(Palette::Grey.colour(0.0), [0, 0, 0]);
        assert_eq!(Palette::Grey.colour(0.5), [128, 128, 128]);
        assert_eq!(Palette::Grey.colour(1.0), [255, 255, 255]);
        assert_eq!(Palette::Fire.colour(1.0 / 3.0), [190, 20, 10]);
        assert_eq!(Palette::Ocean.colour(0.5), [70, 170, 195]);
    }

    #[test]
    fn beyond_the_ends_is_the_end() {
        assert_eq!(Palette::Ocean.colour(-1.0), [4, 8, 48]);
        assert_eq!(Palette::Ocean.colour(2.0), [255, 255, 255]);
    }
}
