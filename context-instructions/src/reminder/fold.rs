//! Folding of reminders into messages that are about to be saved.

use context_core::message::Origin;
use std::sync::Arc;

use context_core::message::Text;
use context_core::{Json, Message, MessageId, Node, Part, Role, Timestamp};

use super::element::{Mark, REMINDERS, SOURCE, SyntheticMetadata, marks};
use super::recent::Event;
use super::{ConversationSummary, Reminder, ReminderTarget, Situation};

/// The result of a fold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Folded {
    /// The number of reminders that fired.
    pub fired: usize,
    /// The `once` ids that were used up, in order.
    pub once: Vec<String>,
    /// The pending messages that were changed, in their order.
    pub changed: Vec<MessageId>,
    /// The synthetic message that was added to the pending messages, if any.
    pub steer: Option<MessageId>,
}

/// Evaluates every reminder, in the order given, and folds those that fire into the `pending`
/// messages.
///
/// `summary` covers the chain that `pending` follows, without `pending`. `usage` is the total of
/// tokens used, if the caller keeps one; otherwise the usage in the messages' metadata counts.
/// `make_id` is called once if a message is added.
///
/// * Target user: the last pending message of the user, if no answer of the model is pending after
///   it.
/// * Target tool-output: the last result of the last pending tool message, under the same
///   condition.
/// * Target steer: one synthetic user message after the last pending message, if that message is a
///   tool message and all calls of its step are answered.
///
/// A message that already carries reminders gets no more, so folding again after a failed save
/// changes nothing. Placeholders do not count as answers; they stay after the folded message. A
/// message that a reminder is folded into keeps its id, time and revision. Its token count is
/// dropped, because it no longer fits.
///
/// # Metadata
///
/// * `reminders` of a message with folded reminders: a list of
///   `{"part": 0, "output": 0, "start": 1, "end": 53, "once": ["once"], "id": "id"}`. `output` is
///   present for tool results only and counts the parts of the result. `start` and `end` count
///   Unicode scalar values. `once` is left out when empty, and so is the `id` of the reminder.
/// * `synthetic` of a message that neither the user nor the model wrote:
///   `{"source": "reminder", "once": ["id"]}`. Such a message is not a turn, whatever its source.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Message, MessageId, Node, Timestamp};
/// use context_instructions::{ConversationSummary, fold_reminders, reminder, strip_reminders};
///
/// let now = Timestamp::from_micros(0);
/// let mut summary = ConversationSummary::new();
/// let mut pending = vec![Arc::new(Node::new("m1", Message::from("Why?"), now))];
/// let cite = [reminder("Cite sources.").build()?];
/// let folded = fold_reminders(&cite, &summary, &mut pending, now, None, || MessageId::from("m2"));
/// assert_eq!(folded.fired, 1);
///
/// let message = pending[0].message()?;
/// assert_eq!(message.plain_text(), "Why?<system-reminder>Cite sources.</system-reminder>");
/// assert_eq!(strip_reminders(message), Message::from("Why?"));
/// // Saved: the chain is what the summary is of.
/// pending.iter().for_each(|node| summary.push(node));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn fold_reminders(
    reminders: &[Reminder],
    summary: &ConversationSummary,
    pending: &mut Vec<Arc<Node>>,
    now: Timestamp,
    usage: Option<u64>,
    make_id: impl FnOnce() -> MessageId,
) -> Folded {
    let mut folded = Folded::default();
    if reminders.is_empty() || pending.is_empty() {
        return folded;
    }
    let mut summary = summary.clone();
    pending.iter().for_each(|node| summary.push(node));
    let positions = TargetPositions::find(pending, &summary);
    let [mut to_user, mut to_tool, mut to_steer] = [const { Vec::new() }; 3];
    for reminder in reminders {
        let (position, fired) = match reminder.target() {
            ReminderTarget::User => (positions.user, &mut to_user),
            ReminderTarget::ToolOutput => (positions.tool, &mut to_tool),
            ReminderTarget::Steer => (positions.steer, &mut to_steer),
        };
        if position.is_none() {
            continue;
        }
        let situation = Situation::new(&summary, reminder.target(), now, usage);
        let Some((element, once)) = reminder.fire(&situation) else { continue };
        once.iter().for_each(|id| summary.use_once(id));
        let id = reminder.id().map(str::to_owned);
        if let Some(id) = &id {
            summary.happens(Event::Reminded(id.as_str().into()), now);
        }
        folded.fired += 1;
        folded.once.extend_from_slice(&once);
        fired.push(FiredReminder { element, as_part: reminder.as_part(), once, id });
    }
    for (position, fired) in [(positions.user, to_user), (positions.tool, to_tool)] {
        if let Some(node) =
            position.filter(|_| !fired.is_empty()).and_then(|at| pending.get_mut(at))
            && let Ok(message) = node.message()
        {
            *node = Arc::new(with_message(node, fold_into(Message::clone(message), fired)));
            folded.changed.push(node.id.clone());
        }
    }
    folded.changed.sort_by_key(|id| pending.iter().position(|node| node.id == *id));
    if let Some(last) = positions.steer.filter(|_| !to_steer.is_empty()) {
        let node = Node::new(make_id(), steer(to_steer), now);
        folded.steer = Some(node.id.clone());
        pending.insert(last + 1, Arc::new(node));
    }
    folded
}

/// Returns the [ids](Reminder::id) of the reminders that were folded into a message, in the order
/// in which they were. Those without an id are left out.
pub fn reminder_ids(message: &Message) -> impl Iterator<Item = String> {
    marks(message).into_iter().flatten().filter_map(|mark| mark.id)
}

/// A reminder that fired.
struct FiredReminder {
    element: String,
    as_part: bool,
    once: Vec<String>,
    id: Option<String>,
}

/// The pending messages that reminders are folded into, one index per target.
#[derive(Default)]
struct TargetPositions {
    user: Option<usize>,
    tool: Option<usize>,
    /// The message that the steer message follows.
    steer: Option<usize>,
}

impl TargetPositions {
    fn find(pending: &[Arc<Node>], summary: &ConversationSummary) -> Self {
        let mut positions = Self::default();
        let (mut has_user, mut has_tool, mut is_last) = (false, false, true);
        for (at, node) in
            pending.iter().enumerate().rev().filter(|(_, node)| !node.is_placeholder())
        {
            // A boundary, or a message that cannot be read, ends the search.
            let Ok(message) = node.message() else { break };
            let free = message.metadata.get(REMINDERS).is_none();
            match message.role {
                Role::Assistant => break,
                Role::User if message.is_synthetic() || has_user => {}
                Role::User => {
                    has_user = true;
                    positions.user = free.then_some(at);
                }
                Role::Tool => {
                    let has_result =
                        message.parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
                    if !has_tool {
                        positions.tool = (free && has_result).then_some(at);
                    }
                    if is_last && summary.calls_are_answered() {
                        positions.steer = Some(at);
                    }
                    has_tool = true;
                }
                Role::System => {}
            }
            is_last = false;
        }
        positions
    }
}

/// Returns the same node with another message of the same role.
fn with_message(node: &Node, message: Message) -> Node {
    let mut changed = Node::new(&node.id, message, node.created_at);
    changed.revision = node.revision;
    changed
}

fn fold_into(mut message: Message, fired: Vec<FiredReminder>) -> Message {
    let results = |part: &Part| matches!(part, Part::ToolResult(_));
    let result =
        (message.role == Role::Tool).then(|| message.parts.iter().rposition(results)).flatten();
    let marks: Vec<Mark> = match result.and_then(|at| Some((at, message.parts.get_mut(at)?))) {
        Some((part, Part::ToolResult(result))) => append(&mut result.output, fired)
            .into_iter()
            .map(|mark| Mark { output: Some(mark.part), part, ..mark })
            .collect(),
        _ => append(&mut message.parts, fired),
    };
    mark(&mut message, &marks);
    message
}

fn steer(fired: Vec<FiredReminder>) -> Message {
    let once = fired.iter().flat_map(|fired| fired.once.iter().cloned()).collect();
    let mut message = Message::new(Role::User, []);
    let marks = append(&mut message.parts, fired);
    if let Ok(json) = Json::from_serialize(&SyntheticMetadata { source: SOURCE.to_owned(), once }) {
        message = message.with_origin_record(Origin::Synthetic, json);
    }
    mark(&mut message, &marks);
    message
}

fn mark(message: &mut Message, marks: &[Mark]) {
    if let Ok(json) = Json::from_serialize(marks) {
        message.metadata.insert(REMINDERS, json);
    }
}

/// Appends the elements to the last text that was there before, or as parts of their own. An empty
/// text does not count: a part that holds only reminders is one that was added by a fold.
fn append(parts: &mut Vec<Part>, fired: Vec<FiredReminder>) -> Vec<Mark> {
    let last = parts.iter().rposition(|part| matches!(part, Part::Text(_)));
    let last =
        last.filter(|at| matches!(parts.get(*at), Some(Part::Text(text)) if !text.text.is_empty()));
    let mut marks = Vec::with_capacity(fired.len());
    let mut end = None;
    for FiredReminder { element, as_part, once, id } in fired {
        let length = element.chars().count();
        let inline = last.filter(|_| !as_part).and_then(|at| match parts.get_mut(at) {
            Some(Part::Text(text)) => Some((at, text)),
            _ => None,
        });
        let (part, start) = match inline {
            Some((part, Text { text, .. })) => {
                let start = end.unwrap_or_else(|| text.chars().count());
                *text = format!("{text}{element}").into();
                end = Some(start + length);
                (part, start)
            }
            None => {
                parts.push(Part::text(element));
                (parts.len() - 1, 0)
            }
        };
        marks.push(Mark { part, output: None, start, end: start + length, once, id });
    }
    marks
}
