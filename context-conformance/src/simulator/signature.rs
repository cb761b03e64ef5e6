//! Signatures of thoughts: enough to notice that one was changed.

use std::hash::{DefaultHasher, Hash, Hasher};

/// How every signature of the simulator begins.
const START: &str = "c2ltdWxhdGVk";

/// The signature of a thought, in the alphabet of Base64.
pub(super) fn sign(thought: &str) -> String {
    let mut hasher = DefaultHasher::new();
    thought.hash(&mut hasher);
    format!("{START}{:016x}", hasher.finish())
}

/// Whether this may be the signature of a thought. Those that were made elsewhere are believed.
pub(super) fn is_of(signature: &str, thought: &str) -> bool {
    !signature.starts_with(START) || signature == sign(thought)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_thought() {
        assert!(is_of(&sign("a"), "a") && !is_of(&sign("a"), "b") && is_of("EqQBCkYIBRgC", "b"));
        assert_eq!(sign("a").len() % 4, 0);
    }
}
