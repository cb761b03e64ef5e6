//! The one repair of a history before it is sent: what every provider demands, done the same way
//! for all of them.
//!
//! Providers refuse requests whose calls and results do not stand together, that hold empty texts,
//! or that begin or end with the wrong role. Histories become like that by themselves: a run is
//! aborted, a window is cut, two writers race, a user interrupts. [`normalize`] makes of any
//! history one that is taken, and says what it did.
//!
//! What holds afterwards:
//!
//! * Every call has exactly one result, in messages of [`Role::Tool`] (or at the front of a message
//!   of the user) right behind the message that calls. Where ids repeat, calls and results are
//!   paired by position; of several results for one call the first that is no error counts. Results
//!   without calls are left out, calls without results are answered or removed, as [`Unanswered`]
//!   says. Ids are unique and such as the provider takes.
//! * No text is blank, no message without anything the provider can carry, no message nothing but
//!   thoughts unless the assistant goes on behind it.
//! * Behind the system messages in front comes a message of the user, and the assistant has the
//!   last word only where [`HistoryRules`] allow it.
//!
//! It is deterministic (ids it must invent come from positions), idempotent, and leaves a valid
//! history alone, in the same allocation. What it makes of the beginning of a history does not
//! depend on what follows, once calls have their results: so a prompt cache survives.
//!
//! It does not know wire forms: how parts, media and keys are written is a codec's business.

mod names;
mod pairs;
mod plan;
mod sink;
mod tools;

use std::borrow::Cow;
use std::sync::Arc;

pub use tools::{NormalizedTools, normalize_tools};

use context_core::ModelRequest;
use context_core::model::Unanswered;
use context_core::{Diagnostic, Message, Part, Role};

/// What a provider demands of a history as a whole, beyond what all demand. Begin with
/// [`HistoryRules::new`], the least there is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HistoryRules {
    /// Whether system messages may stand behind others. If not, those become messages of the user
    /// that say what they are; the ones in front stay and are the codec's to hoist.
    pub system_anywhere: bool,
    /// Whether the assistant may have the last word although the request is no prefill.
    pub assistant_last: bool,
    /// Whether the assistant may have the last word if the request is a prefill.
    pub prefill: bool,
    /// Whether neighbours of one role must be one message. Tools speak for the user here.
    pub alternate: bool,
    /// Whether the id of a call may have any character. If not: ASCII letters, digits, `_` and `-`.
    pub any_id: bool,
    /// How many characters the id of a call may have.
    pub max_id_len: usize,
    /// How many characters the name of a tool may have.
    pub max_name_len: usize,
    /// Which characters the name of a tool may have besides ASCII letters, digits, `_` and `-`.
    pub name_characters: &'static str,
    /// Whether the name of a tool must begin with a letter or `_`.
    pub name_begins_with_letter: bool,
    /// Whether a part has a place in a message of this role. A message none of whose parts has one
    /// is left out; parts beside others are the codec's to leave out.
    pub carries: fn(Role, &Part) -> bool,
}

impl HistoryRules {
    /// What follows a last word of the assistant that may not be the last.
    pub const CONTINUATION: &str = "Continue.";
    /// What comes before a first word of the assistant.
    pub const OPENING: &str = "[the conversation begins with the assistant]";

    /// The least: whatever some provider allows is allowed.
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
            carries: is_for_models,
        }
    }

    /// The name under which a tool is sent: the same in calls, which are repaired here, and in the
    /// list of tools, which a codec writes.
    pub fn tool_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        names::name(name, self)
    }
}

impl Default for HistoryRules {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether some provider has a place for a part.
fn is_for_models(_: Role, part: &Part) -> bool {
    !matches!(part, Part::Data(_) | Part::Unknown(_))
}

/// A history as a provider takes it.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Normalized<'a> {
    /// The messages: the ones given, if nothing had to be done. Those that stay as they are, are
    /// shared.
    pub messages: Cow<'a, [Arc<Message>]>,
    /// What was done. Paths name messages by their position in what was given.
    pub diagnostics: Vec<Diagnostic>,
    /// For each message the position of the one it was made of; none as long as they are the same.
    origins: Option<Vec<usize>>,
}

impl Normalized<'_> {
    /// Which of the given messages the one at `index` was made of, or was put beside.
    pub fn origin(&self, index: usize) -> usize {
        self.origins.as_ref().and_then(|origins| origins.get(index).copied()).unwrap_or(index)
    }
}

/// Makes a history valid: see [`HistoryRules`] and [`Unanswered`] for what is done and what can be
/// chosen. A `prefill` is a history whose last message, of the assistant, is the beginning of the
/// answer.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Json, Message, Part, Role, normalize};
/// use context_codec_kit::normalize::HistoryRules;
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
