//! Signatures of thinking blocks: sufficient to detect a change.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The prefix of every signature of the simulator.
const START: &str = "c2ltdWxhdGVk";

/// Returns the signature of a text, in the alphabet of Base64.
pub(super) fn sign(thought: &str) -> String {
    let mut hasher = DefaultHasher::new();
    thought.hash(&mut hasher);
    format!("{START}{:016x}", hasher.finish())
}

/// Whether this may be the signature of the text. Signatures from elsewhere are accepted.
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
