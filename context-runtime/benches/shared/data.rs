//! The measured messages: 400 bytes of words each, the same in every run.

use context_runtime::{Message, Role, Timestamp, store::Node};

const WORDS: u64 = 4096;

/// Returns a message of 400 bytes of text; user and assistant take turns.
pub(crate) fn node(i: usize) -> Node {
    let role = if i.is_multiple_of(2) { Role::User } else { Role::Assistant };
    Node::new(id(i), Message::text(role, text(i)), Timestamp::from_micros(i as i64))
}

pub(crate) fn nodes(range: std::ops::Range<usize>) -> Vec<Node> {
    range.map(node).collect()
}

/// Returns an id in the form of a UUID of version 7: new ones sort after old ones.
pub(crate) fn id(i: usize) -> String {
    format!(
        "01920000-{:04x}-7{:03x}-9{:03x}-{:012x}",
        i >> 12,
        i & 0xfff,
        (i * 7) & 0xfff,
        i.wrapping_mul(0x9E37_79B9)
    )
}

/// Returns words with a natural distribution: few that are frequent, many that are rare.
pub(crate) fn text(i: usize) -> String {
    let mut text = format!("Message {i}:");
    // Far apart, since neighbours would draw the same numbers one position later.
    let mut state = (i as u64).wrapping_mul(0xD134_2543_DE82_EF95);
    while text.len() < 400 {
        let uniform = mix(&mut state) as f64 / u64::MAX as f64;
        text.push(' ');
        text.push_str(&word((uniform.powi(3) * WORDS as f64) as u64));
    }
    text.truncate(400);
    text
}

/// Returns the word of a rank. The lower the rank, the more common the word. Rank 20 is in one
/// message of six, rank 60 in one of twelve, rank 150 in one of twenty.
pub(crate) fn word(rank: u64) -> String {
    let mut word = String::new();
    let mut rest = rank + 60;
    while rest > 0 {
        let n = (rest % 60) as usize;
        word.push(char::from(b"bdfgklmnprst"[n / 5]));
        word.push(char::from(b"aeiou"[n % 5]));
        rest /= 60;
    }
    word
}

/// Returns the next random number of a seed: SplitMix64.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
