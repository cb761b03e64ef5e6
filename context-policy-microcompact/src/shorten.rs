//! One result or one text of the user, shorter.

use context_core::base::JsonMap;
use context_core::history::HistoryView;
use context_core::history::shorten::kept_at;
use context_core::message::Text;
use context_core::{Json, Message, Metadata, Part, ToolResult};

use crate::content::{Piece, joined, media_note, pieces};
use crate::options::Bound;
use crate::preview::{CLEARED, LongText, SHORTENED, STORED, USER_TEXT_SHORTENED, behind_note};

/// The metadata key of a shortened result or text, and of a note for attached media: how many
/// tokens it had, and the bound.
const KEY: &str = "shortened";
/// The number of tokens that note and separators may add to the bound.
const TOLERANCE: u64 = 32;

/// Maximum length of a note with its reference, in bytes.
const MAX_NOTE: usize = 1_000;

/// A changed result.
#[derive(Debug)]
pub(crate) struct ShortenedResult {
    pub(crate) result: ToolResult,
    /// Whether its text was shortened, and not only media cleared.
    pub(crate) is_cut: bool,
}

/// Returns the result within the bound and without media, or `None` if it is so already. `known` is
/// its number of tokens, if that was computed before.
pub(crate) fn shorten(
    result: &ToolResult,
    known: Option<u64>,
    bound: Bound,
    view: &HistoryView<'_>,
) -> Option<ShortenedResult> {
    let (pieces, media) = pieces(result);
    let record = ShorteningRecord::of(&result.metadata);
    let limit = match bound {
        Bound::Preview { tokens } => tokens.saturating_add(TOLERANCE),
        Bound::Clear { .. } => 0,
    };
    let is_done = record.is_some_and(|record| record.is_within(bound));
    if !media && (is_done || known.is_some_and(|known| known <= limit)) {
        return None;
    }
    let text = joined(&pieces);
    // Recognises a result that was shortened without a record in its metadata, as another program
    // may have sent it here.
    let is_note = text.starts_with(CLEARED) || (limit == 0 && text.starts_with(SHORTENED));
    let measured = match known {
        Some(known) if !media => known,
        _ => tokens(&pieces, view),
    };
    let is_long = match bound {
        Bound::Preview { .. } => measured > limit,
        Bound::Clear { units } => text.len() > units && text.encode_utf16().count() > units,
    };
    if is_done || (is_note && text.len() < MAX_NOTE) || !is_long {
        return media.then(|| {
            let result = ToolResult { output: output(&pieces, None), ..without_output(result) };
            ShortenedResult { result, is_cut: false }
        });
    }
    let original = record.map_or(measured, |record| record.tokens.max(measured));
    let reference = kept_at(result, &text);
    let body = behind_note(&text, SHORTENED, reference.as_deref());
    let long = LongText {
        text: body,
        tokens: measured,
        original,
        reference: reference.as_deref(),
        note: SHORTENED,
    };
    let (short, limit) = match bound {
        Bound::Preview { tokens } => (long.shortened(tokens, limit, view), tokens),
        Bound::Clear { .. } => (long.cleared(), 0),
    };
    let mut result = ToolResult { output: output(&pieces, Some(short)), ..without_output(result) };
    result.metadata.insert(KEY, ShorteningRecord { tokens: original, bound: limit }.to_json());
    Some(ShortenedResult { result, is_cut: true })
}

/// Returns a text of the user within a number of tokens, or `None` if it is so already.
pub(crate) fn shorten_user_text(text: &Text, bound: u64, view: &HistoryView<'_>) -> Option<Text> {
    let record = ShorteningRecord::of(&text.metadata);
    if record.is_some_and(|record| record.bound <= bound) {
        return None;
    }
    let tokens = view.count_text(&text.text);
    let limit = bound.saturating_add(TOLERANCE);
    if tokens <= limit {
        return None;
    }
    let original = record.map_or(tokens, |record| record.tokens.max(tokens));
    let body = match record {
        Some(_) => behind_note(&text.text, USER_TEXT_SHORTENED, Some(STORED)),
        None => text.text.as_str(),
    };
    let long = LongText {
        text: body,
        tokens,
        original,
        reference: Some(STORED),
        note: USER_TEXT_SHORTENED,
    };
    let mut shorter =
        Text { text: long.shortened(bound, limit, view).into(), metadata: text.metadata.clone() };
    shorter.metadata.insert(KEY, ShorteningRecord { tokens: original, bound }.to_json());
    Some(shorter)
}

/// Returns the note that replaces attached media, or `None` for any other part.
pub(crate) fn cleared_attachment(part: &Part, view: &HistoryView<'_>) -> Option<Part> {
    let mut note = Text { text: media_note(part)?.into(), metadata: Metadata::default() };
    let tokens = view.counter().count_part(part).tokens();
    note.metadata.insert(KEY, ShorteningRecord { tokens, bound: 0 }.to_json());
    Some(Part::Text(note))
}

/// Returns whether a text of the message was shortened, or attached media were cleared.
pub(crate) fn is_shortened(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text(text) => ShorteningRecord::of(&text.metadata).is_some(),
        _ => false,
    })
}

fn tokens(pieces: &[Piece<'_>], view: &HistoryView<'_>) -> u64 {
    let tokens = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => view.count_text(text),
        Piece::Other(part) => view.counter().count_part(part).tokens(),
    });
    tokens.fold(0, u64::saturating_add)
}

/// Returns the pieces as parts, or the text `short` and the data, which is never sent.
fn output(pieces: &[Piece<'_>], short: Option<String>) -> Vec<Part> {
    let all = short.is_none();
    let parts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => all.then(|| Part::text(text.as_ref())),
        Piece::Other(part) => (all || matches!(part, Part::Data(_))).then(|| Part::clone(part)),
    });
    short.map(Part::text).into_iter().chain(parts).collect()
}

fn without_output(result: &ToolResult) -> ToolResult {
    ToolResult {
        call_id: result.call_id.clone(),
        name: result.name.clone(),
        output: Vec::new(),
        is_error: result.is_error,
        metadata: result.metadata.clone(),
    }
}

/// The record of an earlier run.
#[derive(Clone, Copy, Debug)]
struct ShorteningRecord {
    tokens: u64,
    bound: u64,
}

impl ShorteningRecord {
    fn of(metadata: &Metadata) -> Option<Self> {
        let facts: JsonMap = metadata.get(KEY)?.parse().ok()?;
        let number = |key: &str| facts.get(key)?.parse().ok();
        Some(Self { tokens: number("tokens")?, bound: number("bound")? })
    }

    fn is_within(self, bound: Bound) -> bool {
        match bound {
            Bound::Preview { tokens } => self.bound <= tokens,
            Bound::Clear { .. } => self.bound == 0,
        }
    }

    fn to_json(self) -> Json {
        let Self { tokens, bound } = self;
        Json::from_text(format!(r#"{{"tokens":{tokens},"bound":{bound}}}"#))
            .expect("numbers are JSON")
    }
}
