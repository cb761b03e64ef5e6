//! An answer before a provider gives it its form.

use context_core::Json;
use context_core::model::Usage;

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Call { id: String, name: String, input: Json },
    Thought(String),
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is done.
    Done,
    /// It waits for results.
    Calls,
    /// The output limit was reached.
    Length,
    /// The provider takes it back.
    Filtered,
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// Which request of the simulator it answers; ids are made of it.
    pub(super) number: u64,
    pub(super) model: String,
    pub(super) pieces: Vec<Piece>,
    pub(super) end: End,
    pub(super) usage: Usage,
    /// Whether the caller asked for usage in events.
    pub(super) reports_usage: bool,
}

impl Said {
    /// The id of the answer, behind how this provider begins one.
    pub(super) fn id(&self, start: &str) -> String {
        format!("{start}{:06}", self.number)
    }

    /// The tokens of thoughts.
    pub(super) fn thinking(&self) -> u64 {
        self.usage.reasoning.unwrap_or_default()
    }
}

/// A text as it comes in events: in pieces of a few words, never too many of them.
pub(super) fn in_pieces(text: &str) -> impl Iterator<Item = &str> {
    const LEAST: usize = 24;
    const MOST_PIECES: usize = 64;
    let size = LEAST.max(text.len().div_ceil(MOST_PIECES));
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        for text in ["", "a", &"é".repeat(100), &"word ".repeat(10_000)] {
            let pieces: Vec<&str> = in_pieces(text).collect();
            assert_eq!(pieces.concat(), text);
            assert!(pieces.len() <= 64);
        }
    }
}
