//! Shortens messages that must stay.
//!
//! The longest texts are shortened to one common length, so that no more than necessary is lost and
//! short texts stay as they are. There are several steps: first results and answers, then the
//! messages that always stay, then removing media and thoughts and shortening inputs of calls, and
//! finally shortening every text to almost nothing. The first step that is enough is used.

use std::sync::Arc;

use context_core::history::HistoryView;
use context_core::history::shorten::{ends, kept_at};
use context_core::message::ToolInput;
use context_core::{Json, Message, Part};

/// The text between the beginning and the end of a shortened text.
const CUT: &str = "\n[… the middle was left out …]\n";
/// The replacement of a text that gets no room.
const LEFT_OUT: &str = "[left out]";
/// The key under which a shortened input of a call is written.
const SHORTENED: &str = "shortened";
/// Texts of fewer tokens are not shortened, except in the last step, which leaves as much of the
/// requests that always stay: a model that is asked nothing answers something else.
const SHORTEST: u64 = 32;

/// The steps of shortening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Step {
    /// Texts of messages that stay because they are new.
    New,
    /// Texts of all messages.
    All,
    /// Media and thoughts are removed, inputs of calls are shortened.
    Inputs,
    /// Texts may become only a note.
    Notes,
}

/// A message that stays.
#[derive(Clone, Debug)]
pub(crate) struct RetainedMessage {
    pub(crate) position: usize,
    pub(crate) message: Arc<Message>,
    /// Whether it always stays.
    pub(crate) is_anchor: bool,
    /// Whether it stays as it is.
    pub(crate) is_verbatim: bool,
}

impl RetainedMessage {
    fn may_change_in(&self, step: Step) -> bool {
        !self.is_verbatim && (step > Step::New || !self.is_anchor)
    }

    /// Returns how long a text may be where others may have this length.
    fn level(&self, level: u64) -> u64 {
        match self.is_anchor && self.message.is_request() {
            true => level.max(SHORTEST),
            false => level,
        }
    }
}

/// Shortens these messages to `tokens` tokens, or as close to that as makes sense.
pub(crate) fn fit(
    view: &HistoryView<'_>,
    mut retained: Vec<RetainedMessage>,
    tokens: u64,
) -> Vec<RetainedMessage> {
    // A counter may add other amounts for a whole than for its parts, so the result is counted and
    // the aim corrected.
    let mut aim = tokens;
    for _ in 0..4 {
        let total = total(view, &retained);
        if total <= tokens {
            break;
        }
        let before: Vec<Arc<Message>> =
            retained.iter().map(|entry| Arc::clone(&entry.message)).collect();
        shorten_once(view, &mut retained, aim, total);
        if retained.iter().zip(&before).all(|(now, before)| Arc::ptr_eq(&now.message, before)) {
            break;
        }
        aim = aim.saturating_sub(self::total(view, &retained).saturating_sub(tokens));
    }
    retained
}

/// Returns the total tokens. Unchanged messages have been counted before; only shortened ones are
/// counted again.
fn total(view: &HistoryView<'_>, retained: &[RetainedMessage]) -> u64 {
    let tokens = |entry: &RetainedMessage| match Arc::ptr_eq(
        &entry.message,
        &view.messages()[entry.position],
    ) {
        true => view.tokens(entry.position),
        false => view.count_shared(&entry.message),
    };
    retained.iter().map(tokens).fold(0, u64::saturating_add)
}

fn shorten_once(view: &HistoryView<'_>, retained: &mut [RetainedMessage], aim: u64, total: u64) {
    let mut step = Step::New;
    let mut total = total;
    loop {
        if step == Step::Inputs {
            for entry in retained.iter_mut().filter(|entry| entry.may_change_in(step)) {
                if let Some(bare) = without_media_and_thoughts(&entry.message) {
                    entry.message = Arc::new(bare);
                }
            }
            total = self::total(view, retained);
            if total <= aim {
                return;
            }
        }
        let lengths = lengths(view, retained, step);
        let fixed = total.saturating_sub(lengths.iter().sum());
        let room = aim.saturating_sub(fixed);
        let least = if step == Step::Notes { 0 } else { SHORTEST };
        let level = level(lengths, room);
        // `u64::MAX` means that no text needs shortening; the total is too large for another
        // reason.
        if level != u64::MAX && level >= least && room > 0 {
            return shorten(view, retained, step, level);
        }
        step = match step {
            Step::New => Step::All,
            Step::All => Step::Inputs,
            Step::Inputs => Step::Notes,
            // No step is enough. Then the texts keep a minimum instead of being removed altogether.
            Step::Notes => return shorten(view, retained, Step::Inputs, SHORTEST),
        };
    }
}

/// Returns how long the longest text may be so that the total is at most `room`.
fn level(mut lengths: Vec<u64>, room: u64) -> u64 {
    lengths.sort_unstable();
    let (mut left, mut longer) = (room, lengths.len() as u64);
    for length in lengths {
        if length.saturating_mul(longer) > left {
            return left / longer;
        }
        left -= length;
        longer -= 1;
    }
    u64::MAX
}

fn lengths(view: &HistoryView<'_>, retained: &mut [RetainedMessage], step: Step) -> Vec<u64> {
    let mut lengths = Vec::new();
    for entry in retained.iter().filter(|entry| entry.may_change_in(step)) {
        rewritten(&entry.message, step, &mut |text, _| {
            lengths.push(view.count_text(text));
            None
        });
    }
    lengths
}

fn shorten(view: &HistoryView<'_>, retained: &mut [RetainedMessage], step: Step, level: u64) {
    for entry in retained.iter_mut().filter(|entry| entry.may_change_in(step)) {
        let level = entry.level(level);
        if let Some(message) = rewritten(&entry.message, step, &mut |text, kept_at| {
            shortened(view, text, kept_at, level)
        }) {
            entry.message = Arc::new(message);
        }
    }
}

/// Returns the beginning and the end of a text, at most `level` tokens, and between them the place
/// where the whole text is kept, if there is room. Returns `None` if the text is not longer.
fn shortened(
    view: &HistoryView<'_>,
    text: &str,
    kept_at: Option<&str>,
    level: u64,
) -> Option<String> {
    let tokens = view.count_text(text);
    if tokens <= level {
        return None;
    }
    let with_line = kept_at
        .and_then(|line| excerpt_around(view, text, &format!("{CUT}{line}\n"), tokens, level));
    let short = with_line.or_else(|| excerpt_around(view, text, CUT, tokens, level));
    short.or_else(|| (view.count_text(LEFT_OUT) < tokens).then(|| LEFT_OUT.to_owned()))
}

/// Returns as much of a text's beginning and end around a note as fits into `tokens`; `None` if the
/// note alone is larger.
fn excerpt_around(
    view: &HistoryView<'_>,
    text: &str,
    note: &str,
    tokens: u64,
    level: u64,
) -> Option<String> {
    let share = |bytes: usize, of: u64, all: u64| {
        let part = (bytes as u128).saturating_mul(u128::from(of)) / u128::from(all.max(1));
        usize::try_from(part).unwrap_or(bytes)
    };
    let mut room = share(text.len(), level, tokens);
    for _ in 0..8 {
        let Some(half) = room.checked_sub(note.len()).map(|room| room / 2).filter(|half| *half > 0)
        else {
            break;
        };
        let Some((head, tail)) = ends(text, half, half) else { break };
        let short = format!("{head}{note}{tail}");
        let count = view.count_text(&short);
        if count <= level {
            return Some(short);
        }
        room = share(room, level, count).min(room - room / 10 - 1);
    }
    None
}

/// Returns the message with its texts replaced by `rewrite`, which also gets the place where the
/// whole text is kept. Returns `None` if nothing changes.
fn rewritten(
    message: &Message,
    step: Step,
    rewrite: &mut impl FnMut(&str, Option<&str>) -> Option<String>,
) -> Option<Message> {
    let mut out: Option<Message> = None;
    for (at, part) in message.parts.iter().enumerate() {
        let part = match part {
            Part::Text(text) => rewrite(&text.text, None).map(|short| {
                let mut text = text.clone();
                text.text = short.into();
                Part::Text(text)
            }),
            Part::ToolResult(result) => {
                let mut new = None;
                for (at, part) in result.output.iter().enumerate() {
                    if let Part::Text(text) = part
                        && let Some(short) =
                            rewrite(&text.text, kept_at(result, &text.text).as_deref())
                        && let Part::Text(text) =
                            &mut new.get_or_insert_with(|| result.clone()).output[at]
                    {
                        text.text = short.into();
                    }
                }
                new.map(Part::ToolResult)
            }
            Part::ToolCall(call) if step >= Step::Inputs => {
                rewrite(call.input.as_written(), None).and_then(|short| {
                    let input = match &call.input {
                        // The input was shortened before, and its text is the value.
                        ToolInput::Json(json) if is_shortened(json) => return None,
                        ToolInput::Json(_) => {
                            ToolInput::Json(serde_json::json!({ SHORTENED: short }).into())
                        }
                        ToolInput::Invalid(_) => ToolInput::Invalid(short),
                    };
                    let mut call = call.clone();
                    call.input = input;
                    Some(Part::ToolCall(call))
                })
            }
            _ => None,
        };
        if let Some(part) = part {
            out.get_or_insert_with(|| message.clone()).parts[at] = part;
        }
    }
    out
}

fn is_shortened(input: &Json) -> bool {
    input.as_str().strip_prefix("{\"").is_some_and(|rest| rest.starts_with(SHORTENED))
}

/// Returns the message without media and thoughts; `None` if it has none.
fn without_media_and_thoughts(message: &Message) -> Option<Message> {
    let is_media =
        |part: &Part| matches!(part, Part::Image(_) | Part::Document(_) | Part::Audio(_));
    let is_thought = |part: &Part| matches!(part, Part::Reasoning(_));
    let has = |part: &Part| match part {
        Part::ToolResult(result) => result.output.iter().any(is_media),
        part => is_media(part) || is_thought(part),
    };
    if !message.parts.iter().any(has) {
        return None;
    }
    let mut message = message.clone();
    let thoughts_alone = message.parts.iter().all(is_thought);
    message.parts.retain(|part| thoughts_alone || !is_thought(part));
    for part in &mut message.parts {
        match part {
            Part::ToolResult(result) => {
                result.output.iter_mut().filter(|part| is_media(part)).for_each(leave_note);
            }
            part if is_media(part) => leave_note(part),
            _ => {}
        }
    }
    Some(message)
}

fn leave_note(part: &mut Part) {
    let note = match part {
        Part::Image(_) => "[image left out]",
        Part::Document(_) => "[document left out]",
        _ => "[audio left out]",
    };
    *part = Part::text(note);
}
