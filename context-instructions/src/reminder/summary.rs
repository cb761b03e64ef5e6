//! The state of a conversation that predicates need, updated message by message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use context_core::base::JsonMap;
use context_core::{Json, Message, Node, Part, Role, Timestamp, ToolResult};

use super::element::{REMINDERS, SyntheticMetadata, marks};
use super::recent::{Event, Occurrence};
use super::strip_reminders;

/// The tool activity in a stretch of a conversation.
#[derive(Clone, Debug, Default)]
pub struct ToolActivity {
    calls: u64,
    failures: u64,
    tools: BTreeMap<Arc<str>, (u64, u64)>,
    results: Vec<Arc<Message>>,
}

impl ToolActivity {
    /// Returns how often any tool was called.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Returns how many results report a failed call.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Returns how often this tool was called.
    pub fn calls_of(&self, tool: &str) -> u64 {
        self.tools.get(tool).map_or(0, |(calls, _)| *calls)
    }

    /// Returns how many results of this tool report a failed call.
    pub fn failures_of(&self, tool: &str) -> u64 {
        self.tools.get(tool).map_or(0, |(_, failures)| *failures)
    }

    /// Returns the messages with the results, in order, without reminders.
    pub fn results(&self) -> &[Arc<Message>] {
        &self.results
    }

    fn called(&mut self, tool: &Arc<str>) {
        self.calls += 1;
        self.tools.entry(Arc::clone(tool)).or_default().0 += 1;
    }

    fn failed(&mut self, tool: Option<&Arc<str>>) {
        self.failures += 1;
        if let Some(tool) = tool {
            self.tools.entry(Arc::clone(tool)).or_default().1 += 1;
        }
    }
}

/// The state of a conversation that predicates need. Built by [`push`](Self::push) from the
/// messages of a chain in their order. Cheap to clone, so that pending messages can be added to a
/// copy.
///
/// * A **turn** is a message of the user that is not [synthetic](Message::is_synthetic).
/// * A **reply** is the activity of the model and its tools since the last turn. Until there is
///   any, it is the activity before that turn, so a reminder for the user's next message can look
///   at how the last turn went.
/// * A **step** is one answer of the model and the tool results that follow it.
///
/// A summary keeps counts of the whole conversation, texts of the last turn, tool results of one
/// reply, and the last use of each tool and reminder.
///
/// A message that changes one of the chain makes it necessary to rebuild the summary from there.
/// Filling a placeholder at the end changes nothing that was counted.
#[derive(Clone, Debug, Default)]
pub struct ConversationSummary {
    messages: u64,
    turns: u64,
    tool_calls: u64,
    usage: u64,
    last_time: Option<Timestamp>,
    before_turn: Option<Timestamp>,
    last_user: Option<Arc<Message>>,
    last_assistant: Option<Arc<Message>>,
    last_role: Option<Role>,
    reply: Arc<ToolActivity>,
    step: Arc<ToolActivity>,
    /// Whether the last turn has no answer yet.
    turn_open: bool,
    streak: u64,
    /// The unanswered calls of the newest step, by id, with their tools.
    open_calls: Arc<BTreeMap<String, Arc<str>>>,
    once: Arc<BTreeSet<String>>,
    /// When each event last happened.
    events: Arc<BTreeMap<Event, Occurrence>>,
}

impl ConversationSummary {
    /// Creates the summary of an empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next message. Boundaries, placeholders and messages that cannot be read are
    /// skipped.
    pub fn push(&mut self, node: &Node) {
        if node.role().is_none() || node.is_placeholder() {
            return;
        }
        let Ok(message) = node.message() else { return };
        self.messages += 1;
        let is_turn = message.role == Role::User && !message.is_synthetic();
        self.turns += u64::from(is_turn);
        self.collect_marks(message, node.created_at);
        match message.role {
            Role::User if is_turn => {
                self.turn_open = true;
                self.before_turn = self.last_time;
                self.last_user = Some(readable(message));
            }
            Role::Assistant => self.push_assistant(message, node.created_at),
            Role::Tool => self.push_results(message, node.created_at),
            Role::User | Role::System => {}
        }
        if let Some(usage) = message.metadata.get("usage") {
            self.usage = self.usage.saturating_add(total_tokens(usage));
        }
        self.last_role = Some(message.role);
        self.last_time = Some(node.created_at);
    }

    /// Returns the number of messages, without placeholders.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Returns the number of turns; the last one may still be unanswered.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Returns how often the model called a tool in the whole conversation.
    pub fn tool_calls(&self) -> u64 {
        self.tool_calls
    }

    /// Returns how many tokens the messages report as used: under `usage` of their metadata,
    /// `total_tokens` or else input, output and cache, in the spellings of the large providers.
    pub fn usage_tokens(&self) -> u64 {
        self.usage
    }

    /// Returns the user's last message, without reminders.
    pub fn last_user(&self) -> Option<&Arc<Message>> {
        self.last_user.as_ref()
    }

    /// Returns the model's last message that has any text.
    pub fn last_assistant(&self) -> Option<&Arc<Message>> {
        self.last_assistant.as_ref()
    }

    /// Returns the time of the last message before the current turn.
    pub fn before_turn(&self) -> Option<Timestamp> {
        self.before_turn
    }

    /// Returns the tool activity of the reply.
    pub fn reply(&self) -> &ToolActivity {
        &self.reply
    }

    /// Returns the tool activity of the newest step.
    pub fn step(&self) -> &ToolActivity {
        &self.step
    }

    /// Returns how many of the reply's newest results failed in a row.
    pub fn failure_streak(&self) -> u64 {
        self.streak
    }

    /// Returns whether the `once` of this id was used up.
    pub fn once_used(&self, id: &str) -> bool {
        self.once.contains(id)
    }

    /// Returns whether every call of the newest step has its result.
    pub(super) fn calls_are_answered(&self) -> bool {
        self.open_calls.is_empty()
    }

    /// Records that the `once` of this id is used up.
    pub(super) fn use_once(&mut self, id: &str) {
        if !self.once.contains(id) {
            Arc::make_mut(&mut self.once).insert(id.to_owned());
        }
    }

    /// Records that an event happens with the newest message.
    pub(super) fn happens(&mut self, event: Event, at: Timestamp) {
        let occurrence = self.position(at);
        Arc::make_mut(&mut self.events).insert(event, occurrence);
    }

    /// Returns when an event last happened.
    pub(super) fn last_of(&self, event: &Event) -> Option<Occurrence> {
        self.events.get(event).copied()
    }

    /// Returns the position of the newest message, at this time.
    pub(super) fn position(&self, at: Timestamp) -> Occurrence {
        Occurrence { turn: self.turns, message: self.messages, at }
    }

    fn collect_marks(&mut self, message: &Message, at: Timestamp) {
        for mark in marks(message).into_iter().flatten() {
            mark.once.iter().for_each(|id| self.use_once(id));
            if let Some(id) = mark.id {
                self.happens(Event::Reminded(id.into()), at);
            }
        }
        let synthetic =
            message.origin_record().and_then(|json| json.parse::<SyntheticMetadata>().ok());
        for id in synthetic.into_iter().flat_map(|synthetic| synthetic.once) {
            self.use_once(&id);
        }
    }

    fn begin_reply(&mut self) {
        if std::mem::take(&mut self.turn_open) {
            self.reply = Arc::default();
            self.begin_step();
            self.streak = 0;
        }
    }

    fn begin_step(&mut self) {
        self.step = Arc::default();
        self.open_calls = Arc::default();
    }

    fn push_assistant(&mut self, message: &Arc<Message>, at: Timestamp) {
        self.begin_reply();
        if self.last_role != Some(Role::Assistant) {
            self.begin_step();
        }
        if !message.plain_text().is_empty() {
            self.last_assistant = Some(Arc::clone(message));
        }
        for part in &message.parts {
            let Part::ToolCall(call) = part else { continue };
            let tool: Arc<str> = call.name.as_str().into();
            self.tool_calls += 1;
            Arc::make_mut(&mut self.reply).called(&tool);
            Arc::make_mut(&mut self.step).called(&tool);
            self.happens(Event::ToolCalled(None), at);
            self.happens(Event::ToolCalled(Some(Arc::clone(&tool))), at);
            Arc::make_mut(&mut self.open_calls).insert(call.id.clone(), tool);
        }
        // Results of a provider's own tools are in the same message.
        self.push_part_results(message, at);
    }

    fn push_results(&mut self, message: &Arc<Message>, at: Timestamp) {
        self.begin_reply();
        let message = readable(message);
        Arc::make_mut(&mut self.reply).results.push(Arc::clone(&message));
        Arc::make_mut(&mut self.step).results.push(Arc::clone(&message));
        self.push_part_results(&message, at);
    }

    fn push_part_results(&mut self, message: &Message, at: Timestamp) {
        for part in &message.parts {
            if let Part::ToolResult(result) = part {
                self.push_result(result, at);
            }
        }
    }

    fn push_result(&mut self, result: &ToolResult, at: Timestamp) {
        let called = match self.open_calls.contains_key(&result.call_id) {
            true => Arc::make_mut(&mut self.open_calls).remove(&result.call_id),
            false => None,
        };
        if !result.is_error {
            self.streak = 0;
            return;
        }
        self.streak += 1;
        let tool = called.or_else(|| result.name.as_deref().map(Arc::from));
        Arc::make_mut(&mut self.reply).failed(tool.as_ref());
        Arc::make_mut(&mut self.step).failed(tool.as_ref());
        self.happens(Event::ToolFailed(None), at);
        if tool.is_some() {
            self.happens(Event::ToolFailed(tool), at);
        }
    }
}

/// Returns the message without reminders, or the same message if it has none.
fn readable(message: &Arc<Message>) -> Arc<Message> {
    match message.metadata.get(REMINDERS) {
        Some(_) => Arc::new(strip_reminders(message)),
        None => Arc::clone(message),
    }
}

/// Returns the total tokens of a usage report in a provider's form; 0 for anything else.
pub fn total_tokens(usage: &Json) -> u64 {
    const TOTAL: [&str; 2] = ["total_tokens", "totalTokens"];
    const INPUT: [&str; 4] = ["input_tokens", "inputTokens", "prompt_tokens", "promptTokens"];
    const OUTPUT: [&str; 4] =
        ["output_tokens", "outputTokens", "completion_tokens", "completionTokens"];
    // Not part of the input where they are reported at this level.
    const CACHE: [&str; 2] = ["cache_read_input_tokens", "cache_creation_input_tokens"];
    let Ok(usage) = usage.parse::<JsonMap>() else { return 0 };
    let number = |key: &&str| usage.get(*key)?.parse::<u64>().ok();
    let first = |keys: &[&str]| keys.iter().find_map(number);
    first(&TOTAL).unwrap_or_else(|| {
        let parts = [first(&INPUT), first(&OUTPUT)].into_iter().chain(CACHE.iter().map(number));
        parts.flatten().fold(0, u64::saturating_add)
    })
}
