//! Normalization of a history before it is sent: one repair for the requirements of all providers.
//!
//! Providers refuse requests with unmatched calls and results, with blank texts, or with the wrong
//! first or last role. Such histories arise in practice: a run is aborted, a window is cut, two
//! writers race, a user interrupts. [`normalize`] turns any history into a valid one and reports
//! every repair.
//!
//! Guarantees of the result:
//!
//! * Every call has exactly one result, in messages of [`Role::Tool`] (or at the beginning of a
//!   user message) right after the calling message. If ids repeat, calls and results are paired by
//!   position. Of several results for one call, the first that is not an error counts. Results
//!   without calls are left out. Calls without results are answered or removed, according to
//!   [`Unanswered`]. Ids are unique and legal for the provider.
//! * Of a block and the text that [stands for it](context_core::message::Text::for_block), one is
//!   left if the rules are those of one provider: the block in the first message if the provider
//!   reads it, otherwise the text.
//! * There is no blank text, no message without a part that the provider can carry, and no message
//!   with only reasoning unless another assistant message follows.
//! * The first message after leading system messages is a user message. The last message is an
//!   assistant message only where [`HistoryRules`] allow it.
//!
//! Normalization is deterministic (invented ids derive from positions) and idempotent. A valid
//! history is returned unchanged, in the same allocation. Once calls have their results, the output
//! for the beginning of a history does not depend on later messages, so the prompt cache stays
//! valid.
//!
//! Wire forms are not considered here: codecs write parts, media and keys.

mod names;
mod pairs;
mod plan;
mod sink;
mod tools;

use std::borrow::Cow;
use std::sync::Arc;

pub use tools::{NormalizedTools, normalize_tools};

use context_core::model::Unanswered;
use context_core::{Diagnostic, Message, ModelRequest, Part, Role};

/// The requirements of a provider, beyond those that all providers share. [`HistoryRules::new`] is
/// the most permissive set.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HistoryRules {
    /// Whether system messages may follow other messages. If not, they become user messages that
    /// are marked as system text. Leading system messages are kept, and the codec moves them to
    /// their place.
    pub system_anywhere: bool,
    /// Whether an assistant message may be last although the request is not a prefill.
    pub assistant_last: bool,
    /// Whether an assistant message may be last if the request is a prefill.
    pub prefill: bool,
    /// Whether adjacent messages of one role must be merged. Tool messages count as user messages.
    pub alternate: bool,
    /// Whether call ids may contain any character. If not: ASCII letters, digits, `_` and `-`.
    pub any_id: bool,
    /// Maximum length of a call id in characters.
    pub max_id_len: usize,
    /// Maximum length of a tool name in characters.
    pub max_name_len: usize,
    /// Characters allowed in tool names in addition to ASCII letters, digits, `_` and `-`.
    pub name_characters: &'static str,
    /// Whether a tool name must begin with a letter or `_`.
    pub name_begins_with_letter: bool,
    /// Whether one is chosen of a block and the text that
    /// [stands for it](context_core::message::Text::for_block). Rules of several providers keep
    /// both.
    pub chooses_blocks: bool,
    /// Whether a part can be sent in a message of this role. A message without any such part is
    /// left out. Codecs leave out unsupported parts next to others.
    pub carries: fn(Role, &Part) -> bool,
}

impl HistoryRules {
    /// The text of the user message that is appended after a final assistant message that must not
    /// be last.
    pub const CONTINUATION: &str = "Continue.";
    /// The text of the user message that is inserted before a first assistant message.
    pub const OPENING: &str = "[the conversation begins with the assistant]";

    /// Creates the most permissive rules, which allow everything that some provider allows.
    pub const fn new() -> Self {
        Self {
            system_anywhere: true,
            assistant_last: true,
            prefill: true,
            alternate: false,
            any_id: true,
            max_id_len: usize::MAX,
            max_name_len: usize::MAX,
            name_characters: "",
            name_begins_with_letter: false,
            chooses_blocks: false,
            carries: is_for_models,
        }
    }

    /// Returns the name under which a tool is sent. The same in calls, which are repaired here, and
    /// in the list of tools, which a codec writes.
    pub fn tool_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        names::name(name, self)
    }
}

impl Default for HistoryRules {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns whether some provider can carry a part.
fn is_for_models(_: Role, part: &Part) -> bool {
    !matches!(part, Part::Data(_) | Part::Unknown(_))
}

/// A normalized history.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Normalized<'a> {
    /// The messages. Borrowed if nothing had to be changed; otherwise unchanged messages are
    /// shared.
    pub messages: Cow<'a, [Arc<Message>]>,
    /// The repairs. Paths name messages by their position in the input.
    pub diagnostics: Vec<Diagnostic>,
    /// For each message the position of its input message. `None` while output and input are equal.
    origins: Option<Vec<usize>>,
}

impl Normalized<'_> {
    /// Returns the position of the input message that the message at `index` was made from or was
    /// inserted next to.
    pub fn origin(&self, index: usize) -> usize {
        self.origins.as_ref().and_then(|origins| origins.get(index).copied()).unwrap_or(index)
    }
}

/// Normalizes a history. [`HistoryRules`] and [`Unanswered`] describe the repairs and the options.
/// A `prefill` is a history whose last message, an assistant message, is the beginning of the
/// answer.
///
/// ```
/// use std::sync::Arc;
///
/// use context_codec_kit::normalize::{HistoryRules, normalize};
/// use context_core::{Json, Message, Part, Role};
/// use context_core::model::Unanswered;
///
/// let call = Part::tool_call("c1", "weather", Json::from_text(r#"{"city": "Lisbon"}"#)?);
/// let history = [
///     Arc::new(Message::from("How is the weather?")),
///     Arc::new(Message::new(Role::Assistant, [call])),
///     Arc::new(Message::from("Never mind.")),
/// ];
/// let sent = normalize(&history, &HistoryRules::new(), Unanswered::Answer, false);
/// assert_eq!(sent.messages.len(), 4);
/// assert_eq!(sent.messages[2].role, Role::Tool);
/// assert_eq!(sent.diagnostics[0].code.as_str(), "tool_result_injected");
/// # Ok::<_, serde_json::Error>(())
/// ```
pub fn normalize<'a>(
    messages: &'a [Arc<Message>],
    rules: &HistoryRules,
    unanswered: Unanswered,
    prefill: bool,
) -> Normalized<'a> {
    let plan = plan::Plan::new(messages, rules, unanswered);
    plan.carry_out(prefill)
}

/// Makes the messages of a request valid; see [`normalize`].
pub fn normalize_request<'a>(request: &'a ModelRequest, rules: &HistoryRules) -> Normalized<'a> {
    normalize(&request.messages, rules, request.unanswered, request.prefill)
}
