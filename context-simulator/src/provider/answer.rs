//! The content of an answer, independent of the wire form.

use context_core::Json;
use context_core::model::Usage;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Call {
        id: String,
        name: String,
        input: Json,
    },
    Thought(String),
    /// The compaction of the conversation, by its summary.
    Compaction(String),
}

/// The reason why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The answer is complete.
    Done,
    /// The answer waits for tool results.
    Calls,
    /// The output limit was reached.
    Length,
    /// The provider withholds the answer.
    Filtered,
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct ProviderAnswer {
    /// The number of the request that the answer belongs to. Ids are derived from it.
    pub(super) number: u64,
    pub(super) model: String,
    pub(super) pieces: Vec<Piece>,
    pub(super) end: End,
    pub(super) usage: Usage,
    /// Whether the caller asked for usage in the stream.
    pub(super) reports_usage: bool,
}

impl ProviderAnswer {
    /// Returns the id of the answer, with the prefix that the provider uses.
    pub(super) fn id(&self, start: &str) -> String {
        format!("{start}{:06}", self.number)
    }

    /// Returns the answer to a request for a compaction: one block with the text, or nothing if the
    /// text is not whole.
    pub(super) fn compacted(mut self) -> Self {
        let texts = std::mem::take(&mut self.pieces).into_iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        });
        let summary = texts.collect::<Vec<_>>().join("\n");
        if self.end == End::Done && !summary.trim().is_empty() {
            self.pieces.push(Piece::Compaction(summary));
        }
        self
    }

    /// Returns whether the answer is a compaction.
    pub(super) fn is_compaction(&self) -> bool {
        matches!(self.pieces[..], [Piece::Compaction(_)])
    }

    /// Returns the tokens of thinking.
    pub(super) fn thinking(&self) -> u64 {
        self.usage.reasoning.unwrap_or_default()
    }
}

/// Splits a text into the deltas of a stream: a few words each, at most 64.
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
