//! Scenes: how bright each point of a unit square is.

use schemars::JsonSchema;
use serde::Deserialize;

/// After this many steps, a point is taken to be in the set.
const MAX_STEPS: u32 = 256;

/// How far from the origin a point is surely lost, squared. Larger makes smoother bands.
const LOST: f64 = 256.0;

/// The point whose Julia set is drawn.
const JULIA: (f64, f64) = (-0.8, 0.156);

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scene {
    /// The Mandelbrot set
    Mandelbrot,
    /// A Julia set
    Julia,
    /// A plain gradient
    Gradient,
}

impl Scene {
    /// The brightness, 0 to 1, at a place: 0 to 1 from left to right and from top to bottom.
    pub(crate) fn brightness(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Mandelbrot => escape((0.0, 0.0), (3.0 * x - 2.25, 3.0 * y - 1.5)),
            Self::Julia => escape((3.2 * x - 1.6, 3.2 * y - 1.6), JULIA),
            Self::Gradient => f64::midpoint(x, y),
        }
    }
}

/// How soon `z = z² + c` is lost, from 0 (at once) to 1 (late); 0 for points that never are.
fn escape((mut re, mut im): (f64, f64), c: (f64, f64)) -> f64 {
    for step in 0..MAX_STEPS {
        let (re2, im2) = (re * re, im * im);
        let distance = re2 + im2;
        if distance > LOST {
            // The fraction of a step makes one smooth surface of the steps.
            let smooth = f64::from(step) + 1.0 - distance.log2().log2() + LOST.log2().log2();
            return (smooth / f64::from(MAX_STEPS)).clamp(0.0, 1.0).sqrt();
        }
        im = 2.0 * re * im + c.1;
        re = re2 - im2 + c.0;
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_the_set_are_dark() {
        // 0 and -1 are in the Mandelbrot set.
        assert_eq!(Scene::Mandelbrot.brightness(0.75, 0.5), 0.0);
        assert_eq!(Scene::Mandelbrot.brightness(1.25 / 3.0, 0.5), 0.0);
        // 0.75 is not.
        assert!(Scene::Mandelbrot.brightness(1.0, 0.5) > 0.0);
    }

    #[test]
    fn sets_have_their_symmetry() {
        for step in 0..50 {
            let (x, y) = (f64::from(step) / 50.0, f64::from(step * 7 % 50) / 50.0);
            for (scene, mirrored) in [
                (Scene::Mandelbrot, (x, 1.0 - y)),
                (Scene::Julia, (1.0 - x, 1.0 - y)),
            ] {
                let difference = scene.brightness(x, y) - scene.brightness(mirrored.0, mirrored.1);
                assert!(difference.abs() < 0.05, "{scene:?} at {x}, {y}");
            }
        }
    }

    #[test]
    fn brightness_stays_in_its_bounds() {
        for scene in [Scene::Mandelbrot, Scene::Julia, Scene::Gradient] {
            for step in 0..=400 {
                let (x, y) = (f64::from(step % 21) / 20.0, f64::from(step / 21) / 19.5);
                let brightness = scene.brightness(x, y);
                assert!(
                    (0.0..=1.0).contains(&brightness),
                    "{scene:?} at {x}, {y}: {brightness}"
                );
            }
        }
    }
}
