//! Random numbers of a call, all from one seed.
//!
//! Invariant: the same seed and attempt give the same numbers, and a position brings a generator
//! back to where it was; numbers of different attempts and of different generators are unrelated.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The seed of a call. Whoever knows it knows the call's random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed([u8; 32]);

impl Seed {
    /// A fresh seed from the operating system's seeded generator.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        rand::Rng::fill_bytes(&mut rand::rng(), &mut bytes);
        Self(bytes)
    }

    /// A seed of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes, for a store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(…)")
    }
}

/// Where the generators stand, in 32-bit words drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions {
    secure: u64,
    insecure: u64,
}

/// The generators of one run. They are made when a guest first asks.
pub struct Random {
    seed: Seed,
    attempt: u32,
    start: Positions,
    generators: Option<Box<Generators>>,
}

struct Generators {
    secure: ChaCha12Rng,
    insecure: ChaCha12Rng,
}

impl Random {
    /// The generators of an attempt, at their beginning.
    #[must_use]
    pub fn new(seed: Seed, attempt: u32) -> Self {
        Self {
            seed,
            attempt,
            start: Positions::default(),
            generators: None,
        }
    }

    fn stream(&self, number: u64) -> ChaCha12Rng {
        let mut generator = ChaCha12Rng::from_seed(self.seed.0);
        generator.set_stream(u64::from(self.attempt) * 4 + number);
        generator
    }

    fn generators(&mut self) -> &mut Generators {
        if self.generators.is_none() {
            let (mut secure, mut insecure) = (self.stream(0), self.stream(1));
            secure.set_word_pos(self.start.secure.into());
            insecure.set_word_pos(self.start.insecure.into());
            self.generators = Some(Box::new(Generators { secure, insecure }));
        }
        #[allow(clippy::unwrap_used, reason = "just made")]
        self.generators.as_deref_mut().unwrap()
    }

    /// Fills with numbers for `wasi:random/random`.
    pub fn secure(&mut self, bytes: &mut [u8]) {
        self.generators().secure.fill_bytes(bytes);
    }

    /// Fills with numbers for `wasi:random/insecure`.
    pub fn insecure(&mut self, bytes: &mut [u8]) {
        self.generators().insecure.fill_bytes(bytes);
    }

    /// The value of `wasi:random/insecure-seed`: the same each time.
    #[must_use]
    pub fn insecure_seed(&self) -> (u64, u64) {
        let mut generator = self.stream(2);
        (generator.next_u64(), generator.next_u64())
    }

    /// A number that no other call of this run gets, and that a run that goes the same way gets
    /// again, whatever its attempt.
    pub fn mark(&mut self) -> [u8; 16] {
        let place = self.positions().secure;
        self.secure(&mut [0; 4]);
        let digest = Sha256::new()
            .chain_update(self.seed.0)
            .chain_update(place.to_le_bytes())
            .finalize();
        let mut mark = [0; 16];
        mark.copy_from_slice(&digest[..16]);
        mark
    }

    /// Where the generators stand.
    #[must_use]
    pub fn positions(&self) -> Positions {
        match &self.generators {
            None => self.start,
            Some(generators) => Positions {
                secure: words(&generators.secure),
                insecure: words(&generators.insecure),
            },
        }
    }

    /// Brings the generators to where they stood.
    pub fn restore(&mut self, positions: Positions) {
        self.start = positions;
        self.generators = None;
    }
}

fn words(generator: &ChaCha12Rng) -> u64 {
    u64::try_from(generator.get_word_pos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(random: &mut Random) -> ([u8; 5], [u8; 5]) {
        let mut drawn = ([0; 5], [0; 5]);
        random.secure(&mut drawn.0);
        random.insecure(&mut drawn.1);
        drawn
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_positions_come_back() {
        let seed = Seed::from_bytes([7; 32]);
        let (mut one, mut two) = (Random::new(seed, 1), Random::new(seed, 1));
        assert_eq!(draw(&mut one), draw(&mut two));
        let positions = one.positions();
        let next = draw(&mut one);
        let mut later = Random::new(seed, 1);
        later.restore(positions);
        assert_eq!(later.positions(), positions);
        assert_eq!(draw(&mut later), next);
        assert_eq!(one.insecure_seed(), two.insecure_seed());
    }

    #[test]
    fn marks_differ_in_a_run_and_agree_between_runs_and_attempts() {
        let seed = Seed::from_bytes([7; 32]);
        let (mut one, mut two) = (Random::new(seed, 1), Random::new(seed, 2));
        let marks = [one.mark(), one.mark()];
        assert_ne!(marks[0], marks[1]);
        assert_eq!(marks, [two.mark(), two.mark()]);
        let mut other = Random::new(Seed::from_bytes([8; 32]), 1);
        assert_ne!(marks[0], other.mark());
    }

    #[test]
    fn attempts_and_generators_are_unrelated() {
        let seed = Seed::from_bytes([7; 32]);
        let first = draw(&mut Random::new(seed, 1));
        let second = draw(&mut Random::new(seed, 2));
        assert_ne!(first.0, first.1);
        assert_ne!(first, second);
    }
}
