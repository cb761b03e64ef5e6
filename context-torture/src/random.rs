//! Pseudorandom numbers, the same for the same seed.

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// Creates the generator for one check of a run.
    pub fn of(seed: u64, check: u64) -> Self {
        let mut random = Self(seed ^ check.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let _ = random.number();
        random
    }

    /// Returns a random 64-bit number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % (end.max(1) as u64)).unwrap_or_default()
    }

    /// Returns a random element.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Returns a different seed on each call.
pub fn fresh() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() >> 16
}
