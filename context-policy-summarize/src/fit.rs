//! The request for a summary, shortened to fit the model that writes it.

use context_core::message::Origin;
use std::cell::LazyCell;
use std::ops::Deref;

use context_core::history::HistoryView;
use context_core::model::{CacheMarks, TokenCounter};
use context_core::{Message, ModelRequest};

use crate::cut::Cut;
use crate::quote::{ExcerptLimits, quoted};
use crate::transcript::{Detail, transcript};

/// The parts of a request besides the conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// The parts of the system prompt.
    pub(crate) system: [&'a str; 2],
    /// The task at the end.
    pub(crate) task: &'a str,
    /// Further instructions that the model should heed.
    pub(crate) focus: Option<&'a str>,
    /// The previous summaries, in order.
    pub(crate) previous: &'a str,
    /// The largest number of tokens of the summary.
    pub(crate) summary: u64,
    /// The largest number of tokens of the request.
    pub(crate) window: u64,
}

/// Maximum number of attempts to shrink the conversation if the whole request counts more than its
/// parts did.
const TRIES: usize = 4;

/// Returns the request, and the end of the part it covers; `None` if not even the shortest fits. It
/// shows less of each message rather than covering fewer messages. If that is not enough, it covers
/// the oldest.
pub(crate) fn fit(
    view: &HistoryView<'_>,
    cut: &Cut,
    frame: &Frame<'_>,
) -> Option<(ModelRequest, usize)> {
    let counter = view.counter();
    let empty = counter.count_request(&frame.request("", "")).total().high();
    let room = frame.window.checked_sub(empty)?;
    let previous = shrunk(counter, &quoted(frame.previous), room / 2)?;
    let mut room = room.saturating_sub(counter.count(&previous).high());

    let shown = Detail::LEVELS
        .map(|detail| LazyCell::new(move || RenderedMessages::new(view, cut, detail)));
    for _ in 0..TRIES {
        let (text, end) = conversation(counter, &shown, cut, room)?;
        let request = frame.request(&previous, &text);
        if counter.count_request(&request).total().high() <= frame.window {
            return Some((request, end));
        }
        room = room / 4 * 3;
    }
    None
}

/// The messages as text at one level of detail.
struct RenderedMessages {
    texts: Vec<String>,
    /// For each message, an upper limit of the tokens of all messages before it, and at the end of
    /// all messages.
    sums: Vec<u64>,
}

impl RenderedMessages {
    fn new(view: &HistoryView<'_>, cut: &Cut, detail: Detail) -> Self {
        let messages = &view.messages()[cut.start..cut.end()];
        let texts = transcript(messages, cut.start, |at| cut.is_anchor(at), detail);
        let mut sums = vec![0_u64];
        for text in &texts {
            let before = sums.last().copied().unwrap_or(0);
            sums.push(before.saturating_add(view.counter().count(text).high()));
        }
        Self { texts, sums }
    }
}

/// Returns the conversation within `room` tokens, and the end of the part it shows.
fn conversation<S: Deref<Target = RenderedMessages>>(
    counter: &dyn TokenCounter,
    shown: &[S],
    cut: &Cut,
    room: u64,
) -> Option<(String, usize)> {
    let tokens = |shown: &RenderedMessages, end: usize| {
        shown.sums.get(end - cut.start).copied().unwrap_or(u64::MAX)
    };
    if let Some(all) = shown.iter().find(|shown| tokens(shown, cut.end()) <= room) {
        return Some((all.texts.concat(), cut.end()));
    }
    let least = shown.last()?;
    if let Some(end) = cut.ends.iter().rev().find(|end| tokens(least, **end) <= room) {
        return Some((least.texts[..end - cut.start].concat(), *end));
    }
    // Not even the shortest step fits, so its middle is left out.
    let end = cut.ends.first().copied()?;
    let text = shrunk(counter, &least.texts[..end - cut.start].concat(), room)?;
    Some((text, end))
}

/// Returns the text with as much of its middle left out as `room` tokens require, or `None` if
/// hardly anything would be left.
fn shrunk(counter: &dyn TokenCounter, text: &str, room: u64) -> Option<String> {
    let mut short = text.to_owned();
    let mut bytes = text.len();
    loop {
        let tokens = counter.count(&short).high();
        if tokens <= room {
            return Some(short);
        }
        let share = bytes as f64 * (room as f64 / tokens as f64) * 0.9;
        bytes = (share as usize).min(bytes / 8 * 7);
        if bytes < 64 {
            return None;
        }
        short = ExcerptLimits::of(bytes).of_text(text);
    }
}

impl Frame<'_> {
    /// Builds one user message that quotes everything. Every provider takes it, whatever calls and
    /// media the conversation has. Nothing is cached, because nothing of the request is sent again.
    fn request(&self, previous: &str, conversation: &str) -> ModelRequest {
        let mut text = String::with_capacity(previous.len() + conversation.len() + 512);
        if !previous.is_empty() {
            text.push_str("<summary-so-far>\n");
            text.push_str(previous);
            text.push_str("\n</summary-so-far>\n\n");
        }
        text.push_str("<conversation>\n");
        text.push_str(conversation);
        text.push_str("</conversation>\n\n<task>\n");
        text.push_str(self.task);
        if let Some(focus) = self.focus {
            text.push_str("\nHeed this above all: ");
            text.push_str(&quoted(focus));
        }
        text.push_str("\n</task>");
        let [role, rules] = self.system;
        ModelRequest::new([Message::from(text).with_origin(Origin::Synthetic)])
            .system(role)
            .system(rules)
            .max_output_tokens(self.summary)
            .cache(CacheMarks::Existing)
    }
}
