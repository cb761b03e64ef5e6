//! Builds an answer from the output of the behaviour: assigns ids, counts tokens, applies the
//! output limit.

use context_core::model::{TokenCounter, Usage};

use super::answer::{End, Piece, ProviderAnswer};
use super::behaviour::AnswerPiece;
use super::cache::CacheUsage;

/// The properties of an answer besides its pieces.
pub(super) struct Draft<'a> {
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) number: u64,
    pub(super) model: String,
    pub(super) input: u64,
    pub(super) cached: CacheUsage,
    pub(super) reports_usage: bool,
    /// The maximum number of tokens of the answer.
    pub(super) most: Option<u64>,
}

impl Draft<'_> {
    /// Returns the answer with these pieces. Excess is cut off: texts anywhere, calls as a whole.
    pub(super) fn answer(&self, says: Vec<AnswerPiece>) -> ProviderAnswer {
        let (mut pieces, mut output, mut thinking) = (Vec::new(), 0_u64, 0_u64);
        let mut end = None;
        let mut calls = 0;
        for say in says {
            let left = self.most.map_or(u64::MAX, |most| most.saturating_sub(output));
            let counted = self.counter.count(&written(&say)).tokens();
            let is_whole = counted <= left;
            let piece = match say {
                AnswerPiece::Text(text) => {
                    Piece::Text(if is_whole { text } else { self.cut(&text, left) })
                }
                AnswerPiece::Thought(text) => {
                    Piece::Thought(if is_whole { text } else { self.cut(&text, left) })
                }
                AnswerPiece::Call { id, name, input } if is_whole => {
                    calls += 1;
                    let id = id.unwrap_or_else(|| self.call_id(calls));
                    Piece::Call { id, name, input }
                }
                AnswerPiece::Call { .. } => {
                    end = Some(End::Length);
                    break;
                }
            };
            let counted = counted.min(left);
            output = output.saturating_add(counted);
            let is_empty = match &piece {
                Piece::Text(text) => text.is_empty(),
                Piece::Thought(text) => {
                    thinking = thinking.saturating_add(counted);
                    text.is_empty()
                }
                Piece::Call { .. } | Piece::Compaction(_) => false,
            };
            if !is_empty {
                pieces.push(piece);
            }
            if !is_whole {
                end = Some(End::Length);
                break;
            }
        }
        let last = if calls > 0 { End::Calls } else { End::Done };
        let mut answer = self.composed(pieces, end.unwrap_or(last));
        answer.usage.output = output;
        answer.usage.reasoning = (thinking > 0).then_some(thinking);
        answer
    }

    /// Returns an empty answer.
    pub(super) fn nothing(&self, end: End) -> ProviderAnswer {
        self.composed(Vec::new(), end)
    }

    fn composed(&self, pieces: Vec<Piece>, end: End) -> ProviderAnswer {
        let mut usage = Usage::default();
        (usage.cache_read, usage.cache_write) = (self.cached.read, self.cached.written);
        usage.cache_write_long = self.cached.written_long;
        usage.input = self.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let model = self.model.clone();
        ProviderAnswer {
            number: self.number,
            model,
            pieces,
            end,
            usage,
            reports_usage: self.reports_usage,
        }
    }

    /// Returns an id that no other call of the simulator has.
    fn call_id(&self, nth: u64) -> String {
        format!("call_{}_{nth}", self.number)
    }

    /// Returns the longest prefix of a text that has at most this many tokens.
    fn cut(&self, text: &str, tokens: u64) -> String {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let fits = |end: &usize| self.counter.count(&text[..*end]).tokens() <= tokens;
        let end = ends.partition_point(fits).checked_sub(1).map_or(0, |at| ends[at]);
        text[..end].trim_end().to_owned()
    }
}

/// Returns the text whose tokens a piece costs.
fn written(say: &AnswerPiece) -> String {
    match say {
        AnswerPiece::Text(text) | AnswerPiece::Thought(text) => text.clone(),
        AnswerPiece::Call { name, input, .. } => format!("{name}{input}"),
    }
}
