//! Predicates that decide when a reminder fires.

mod calendar;
mod within;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::Offset;
use regex::{Regex, RegexBuilder};

use self::calendar::Rule;
pub use self::calendar::{Calendar, Hemisphere, Season, Weekday};
use super::recent::{Event, Recent};
use super::{ReminderError, Situation};

/// Maximum number of predicates in one predicate, itself included.
const LARGEST: usize = 1000;

/// A comparison with a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Comparison {
    /// Exactly this count.
    Exactly(u64),
    /// This count or more.
    AtLeast(u64),
    /// This count or less.
    AtMost(u64),
}

impl Comparison {
    /// Returns whether the comparison holds for `count`.
    pub fn holds(self, count: u64) -> bool {
        match self {
            Self::Exactly(expected) => count == expected,
            Self::AtLeast(expected) => count >= expected,
            Self::AtMost(expected) => count <= expected,
        }
    }
}

/// A condition under which a reminder fires. Cheap to clone; combined by [`all`](Self::all),
/// [`any`](Self::any) and `!`.
///
/// The constructors do not fail. [`ReminderBuilder::build`](super::ReminderBuilder::build) reports
/// an invalid predicate: a count of 0, an empty id, a pattern that is not a regular expression.
///
/// # Scope of each predicate
///
/// Turn, reply and step are those of [`ConversationSummary`](super::ConversationSummary). The
/// *news* is [`Situation::news`]: the last reply for the target user, the newest step for tool
/// output and steer, so that a call or a failure fires a reminder once and not at every later step.
/// Messages that are about to be saved count everywhere.
///
/// | scope | predicates |
/// |---|---|
/// | whole conversation | [`every_n_turns`](Self::every_n_turns), [`first_turns`](Self::first_turns), [`after_turn`](Self::after_turn), [`usage_exceeds`](Self::usage_exceeds), [`once`](Self::once) |
/// | whole conversation, whether the news changed it | [`every_n_tool_calls`](Self::every_n_tool_calls) |
/// | this turn | [`content_includes`](Self::content_includes), [`content_matches`](Self::content_matches), [`elapsed_exceeds`](Self::elapsed_exceeds) |
/// | last reply | [`tool_call_count`](Self::tool_call_count), [`tool_failure_streak`](Self::tool_failure_streak) |
/// | news | [`tool_called`](Self::tool_called), [`any_tool_called`](Self::any_tool_called), [`tool_failed`](Self::tool_failed), [`any_tool_failed`](Self::any_tool_failed), [`tool_output_contains`](Self::tool_output_contains) |
/// | last text of the model, of any turn | [`last_assistant_length`](Self::last_assistant_length) |
/// | the last turns, messages or time | [`tool_called_within`](Self::tool_called_within), [`any_tool_called_within`](Self::any_tool_called_within), [`tool_failed_within`](Self::tool_failed_within), [`any_tool_failed_within`](Self::any_tool_failed_within), [`reminded_within`](Self::reminded_within) |
/// | the local date and time | those of a [`Calendar`] |
///
/// Predicates that are not about the news stay true for a while: between the steps of one turn they
/// hold at each step, unless combined with one about the news or with `once`.
#[derive(Clone, Debug)]
pub struct Predicate {
    kind: Arc<Kind>,
    size: usize,
}

type Custom = dyn Fn(&Situation<'_>) -> bool + Send + Sync;

enum Kind {
    Invalid(ReminderError),
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
    Not(Predicate),
    Once(String),
    EveryNTurns(u64),
    FirstTurns(u64),
    AfterTurn(u64),
    ToolCalled(Option<String>),
    ToolFailed(Option<String>),
    ToolCallCount(Comparison),
    EveryNToolCalls(u64),
    ToolFailureStreak(u64),
    ToolOutput(Regex),
    Usage(u64),
    Elapsed(Duration),
    Content(Regex),
    LastAssistantLength(Comparison),
    Within(Event, Recent),
    Calendar(Offset, Rule),
    Custom(Box<Custom>),
}

impl Predicate {
    /// Holds in every `n`-th turn of the conversation: `n`, `2n`, and so on.
    pub fn every_n_turns(n: u64) -> Self {
        Self::counted("every_n_turns", n, Kind::EveryNTurns)
    }

    /// Holds in the first `n` turns of the conversation.
    pub fn first_turns(n: u64) -> Self {
        Self::counted("first_turns", n, Kind::FirstTurns)
    }

    /// Holds in every turn after the `n`-th of the conversation.
    pub fn after_turn(n: u64) -> Self {
        Kind::AfterTurn(n).into()
    }

    /// Holds if this tool was called in the news.
    pub fn tool_called(tool: impl Into<String>) -> Self {
        Kind::ToolCalled(Some(tool.into())).into()
    }

    /// Holds if any tool was called in the news.
    pub fn any_tool_called() -> Self {
        Kind::ToolCalled(None).into()
    }

    /// Holds if a call of this tool failed in the news. The tool is the one that was called or, if
    /// that call is not known, the one that the result names.
    pub fn tool_failed(tool: impl Into<String>) -> Self {
        Kind::ToolFailed(Some(tool.into())).into()
    }

    /// Holds if a call of any tool failed in the news.
    pub fn any_tool_failed() -> Self {
        Kind::ToolFailed(None).into()
    }

    /// Compares the number of tool calls in the last reply.
    pub fn tool_call_count(count: Comparison) -> Self {
        Kind::ToolCallCount(count).into()
    }

    /// Holds if, with the news, the number of calls in the whole conversation reached or passed a
    /// multiple of `n`. A step that calls several tools at once does not jump over the multiple.
    pub fn every_n_tool_calls(n: u64) -> Self {
        Self::counted("every_n_tool_calls", n, Kind::EveryNToolCalls)
    }

    /// Holds if at least the newest `n` results of the last reply failed.
    pub fn tool_failure_streak(n: u64) -> Self {
        Self::counted("tool_failure_streak", n, Kind::ToolFailureStreak)
    }

    /// Holds if a message with tool results of the news contains this text, ignoring case (simple
    /// Unicode folding).
    pub fn tool_output_contains(text: impl AsRef<str>) -> Self {
        Self::pattern(includes(text.as_ref()), Kind::ToolOutput)
    }

    /// Holds if at least this many tokens were used: of the total that the caller of the fold
    /// passed, otherwise of the usage that the messages of the conversation report.
    pub fn usage_exceeds(tokens: u64) -> Self {
        Kind::Usage(tokens).into()
    }

    /// Holds if the last message before this turn is at least this old. Never holds in a first
    /// turn.
    pub fn elapsed_exceeds(time: Duration) -> Self {
        Kind::Elapsed(time).into()
    }

    /// Holds if the user's text of this turn contains this text, ignoring case (simple Unicode
    /// folding).
    pub fn content_includes(text: impl AsRef<str>) -> Self {
        Self::pattern(includes(text.as_ref()), Kind::Content)
    }

    /// Holds if the user's text of this turn matches this regular expression somewhere.
    pub fn content_matches(pattern: impl AsRef<str>) -> Self {
        Self::pattern(Regex::new(pattern.as_ref()), Kind::Content)
    }

    /// Compares the number of characters (Unicode scalar values) of the model's last text; 0 before
    /// there is one.
    pub fn last_assistant_length(characters: Comparison) -> Self {
        Kind::LastAssistantLength(characters).into()
    }

    /// Holds once per conversation, durably. The id is stored with the message into which a
    /// reminder was folded because of this predicate, and found again in the chain. Reminders that
    /// share an id fire together, once.
    pub fn once(id: impl Into<String>) -> Self {
        let id = id.into();
        match id.trim().is_empty() {
            true => Kind::Invalid(ReminderError::EmptyOnceId).into(),
            false => Kind::Once(id).into(),
        }
    }

    /// Holds if `holds` returns `true`. `holds` should depend on the situation alone.
    pub fn custom(holds: impl Fn(&Situation<'_>) -> bool + Send + Sync + 'static) -> Self {
        Kind::Custom(Box::new(holds)).into()
    }

    /// Holds if all of these hold. Without any predicates it always holds.
    pub fn all(predicates: impl IntoIterator<Item = Self>) -> Self {
        Self::combined(predicates.into_iter().collect(), Kind::All)
    }

    /// Holds if one of these holds. Without any predicates it never holds.
    pub fn any(predicates: impl IntoIterator<Item = Self>) -> Self {
        Self::combined(predicates.into_iter().collect(), Kind::Any)
    }

    /// Holds if both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// Holds if one of the two holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    /// Returns whether the predicate holds.
    pub fn holds(&self, situation: &Situation<'_>) -> bool {
        self.evaluate(situation, true, &mut Vec::new())
    }

    /// Returns the `once` ids because of which the predicate holds, or `None` if it does not hold.
    pub(super) fn evidence(&self, situation: &Situation<'_>) -> Option<Vec<String>> {
        let mut once = Vec::new();
        self.evaluate(situation, true, &mut once).then_some(once)
    }

    /// Reports why the predicate is invalid.
    pub(super) fn check(&self) -> Result<(), ReminderError> {
        match &*self.kind {
            Kind::Invalid(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn counted(name: &'static str, n: u64, kind: impl FnOnce(u64) -> Kind) -> Self {
        match n {
            0 => Kind::Invalid(ReminderError::ZeroCount(name)).into(),
            n => kind(n).into(),
        }
    }

    fn pattern(pattern: Result<Regex, regex::Error>, kind: impl FnOnce(Regex) -> Kind) -> Self {
        pattern.map_or_else(|error| Kind::Invalid(error.into()), kind).into()
    }

    /// Combines predicates. The size is limited, counting shared predicates as often as they occur,
    /// because evaluation visits all of them. If one predicate is invalid, so is the combination.
    fn combined(predicates: Vec<Self>, kind: impl FnOnce(Vec<Self>) -> Kind) -> Self {
        if let Some(invalid) = predicates.iter().find(|predicate| predicate.check().is_err()) {
            return invalid.clone();
        }
        let size =
            predicates.iter().fold(1usize, |sum, predicate| sum.saturating_add(predicate.size));
        if size > LARGEST {
            return Kind::Invalid(ReminderError::PredicateTooLarge { limit: LARGEST }).into();
        }
        Self { kind: Arc::new(kind(predicates)), size }
    }

    /// Returns whether the predicate holds. If the result is `expected`, the ids that caused it are
    /// appended to `once`; otherwise `once` is unchanged.
    fn evaluate(&self, situation: &Situation<'_>, expected: bool, once: &mut Vec<String>) -> bool {
        let before = once.len();
        let holds = match &*self.kind {
            Kind::All(parts) => parts.iter().all(|part| part.evaluate(situation, expected, once)),
            Kind::Any(parts) => parts.iter().any(|part| part.evaluate(situation, expected, once)),
            Kind::Not(part) => !part.evaluate(situation, !expected, once),
            Kind::Once(id) if situation.summary().once_used(id) => false,
            Kind::Once(id) => {
                once.push(id.clone());
                true
            }
            simple => simple.holds(situation),
        };
        if holds != expected {
            once.truncate(before);
        }
        holds
    }
}

impl std::ops::Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        Self::combined(vec![self], |mut parts| match parts.pop() {
            Some(part) => Kind::Not(part),
            None => Kind::All(parts),
        })
    }
}

impl Kind {
    /// Returns whether a predicate that contains no others holds.
    fn holds(&self, situation: &Situation<'_>) -> bool {
        let summary = situation.summary();
        match self {
            Self::EveryNTurns(n) => situation.turn() > 0 && situation.turn().is_multiple_of(*n),
            Self::FirstTurns(n) => situation.turn() <= *n,
            Self::AfterTurn(n) => situation.turn() > *n,
            Self::ToolCalled(Some(tool)) => situation.news().calls_of(tool) > 0,
            Self::ToolCalled(None) => situation.news().calls() > 0,
            Self::ToolFailed(Some(tool)) => situation.news().failures_of(tool) > 0,
            Self::ToolFailed(None) => situation.news().failures() > 0,
            Self::ToolCallCount(count) => count.holds(summary.reply().calls()),
            Self::EveryNToolCalls(n) => {
                let all = summary.tool_calls();
                all / n > all.saturating_sub(situation.news().calls()) / n
            }
            Self::ToolFailureStreak(n) => summary.failure_streak() >= *n,
            Self::ToolOutput(pattern) => situation
                .news()
                .results()
                .iter()
                .any(|result| pattern.is_match(&result.readable_text())),
            Self::Usage(tokens) => situation.usage_tokens() >= *tokens,
            Self::Elapsed(time) => situation.elapsed().is_some_and(|elapsed| elapsed >= *time),
            Self::Content(pattern) => pattern.is_match(&situation.user_text()),
            Self::LastAssistantLength(length) => {
                length.holds(situation.assistant_text().chars().count() as u64)
            }
            Self::Within(event, recent) => {
                let happened = summary.last_of(event);
                happened
                    .is_some_and(|then| recent.includes(then, summary.position(situation.now())))
            }
            Self::Calendar(offset, rule) => rule.holds(*offset, situation),
            Self::Custom(holds) => holds(situation),
            Self::Invalid(_) | Self::All(_) | Self::Any(_) | Self::Not(_) | Self::Once(_) => false,
        }
    }
}

/// Returns a pattern that finds exactly this text, ignoring case.
fn includes(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build()
}

impl From<Kind> for Predicate {
    fn from(kind: Kind) -> Self {
        Self { kind: Arc::new(kind), size: 1 }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => f.debug_tuple("Invalid").field(error).finish(),
            Self::All(parts) => f.debug_tuple("All").field(parts).finish(),
            Self::Any(parts) => f.debug_tuple("Any").field(parts).finish(),
            Self::Not(part) => f.debug_tuple("Not").field(part).finish(),
            Self::Once(id) => write!(f, "Once({id:?})"),
            Self::EveryNTurns(n) => write!(f, "EveryNTurns({n})"),
            Self::FirstTurns(n) => write!(f, "FirstTurns({n})"),
            Self::AfterTurn(n) => write!(f, "AfterTurn({n})"),
            Self::ToolCalled(tool) => write!(f, "ToolCalled({tool:?})"),
            Self::ToolFailed(tool) => write!(f, "ToolFailed({tool:?})"),
            Self::ToolCallCount(count) => write!(f, "ToolCallCount({count:?})"),
            Self::EveryNToolCalls(n) => write!(f, "EveryNToolCalls({n})"),
            Self::ToolFailureStreak(n) => write!(f, "ToolFailureStreak({n})"),
            Self::ToolOutput(pattern) => write!(f, "ToolOutput({:?})", pattern.as_str()),
            Self::Usage(tokens) => write!(f, "Usage({tokens})"),
            Self::Elapsed(time) => write!(f, "Elapsed({time:?})"),
            Self::Content(pattern) => write!(f, "Content({:?})", pattern.as_str()),
            Self::LastAssistantLength(length) => write!(f, "LastAssistantLength({length:?})"),
            Self::Within(event, recent) => write!(f, "Within({event:?}, {recent:?})"),
            Self::Calendar(offset, rule) => write!(f, "Calendar({offset}, {rule:?})"),
            Self::Custom(_) => write!(f, "Custom"),
        }
    }
}
