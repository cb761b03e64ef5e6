//! The treatment of each part, and the order of the output.

use context_core::message::Origin;
use std::borrow::Cow;
use std::sync::Arc;

use super::names::{self, Ids};
use super::pairs::{Pairs, PartClass};
use super::sink::{Item, Sink};
use super::{HistoryRules, Normalized};
use context_core::base::DiagnosticCode;
use context_core::model::Unanswered;
use context_core::{Message, Part, Role, ToolCall, ToolResult};

/// All decisions that precede the output.
#[derive(Debug)]
pub(super) struct Plan<'a, 'r> {
    history: &'a [Arc<Message>],
    rules: &'r HistoryRules,
    pairs: Pairs<'a>,
    /// For each call the form in which it is sent. `None` for a removed call.
    sent: Vec<Option<SentCall<'a>>>,
}

/// A call as it is sent.
#[derive(Debug)]
struct SentCall<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    /// Whether the id or the name differs from the original.
    is_renamed: bool,
}

/// The parts of a message to output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartSelection {
    All,
    /// All parts except results.
    Others,
}

impl<'a, 'r> Plan<'a, 'r> {
    pub(super) fn new(
        history: &'a [Arc<Message>],
        rules: &'r HistoryRules,
        unanswered: Unanswered,
    ) -> Self {
        let pairs = Pairs::of(history);
        let is_regular =
            !pairs.repeats && pairs.calls.iter().all(|call| names::is_legal_id(call.id, rules));
        let mut ids = Ids::of(if is_regular { 0 } else { pairs.calls.len() });
        let sent = pairs.calls.iter().map(|call| {
            let is_sent = call.result.is_some() || unanswered == Unanswered::Answer;
            is_sent.then(|| {
                // Most histories have legal, unique ids, and need no allocator.
                let id = match is_regular {
                    true => Cow::Borrowed(call.id),
                    false => ids.assign(call.id, call.position, rules),
                };
                let name = names::name(call.name, rules);
                let is_renamed = *id != *call.id || *name != *call.name;
                SentCall { id, name, is_renamed }
            })
        });
        let sent = sent.collect();
        Self { history, rules, pairs, sent }
    }

    /// Produces the output.
    pub(super) fn carry_out(self, prefill: bool) -> Normalized<'a> {
        let mut sink = Sink::new(self.history, self.rules);
        let mut next = 0;
        while next < self.history.len() {
            let index = next;
            next += 1;
            self.report(index, &mut sink);
            if let Some(item) = self.message(index, PartSelection::Others, &mut sink) {
                sink.push(index, item);
            }
            let calls = self.pairs.calls_of(index).filter(|call| self.sent[*call].is_some());
            let mut open: Vec<usize> = calls.collect();
            while !open.is_empty()
                && let Some(left) = self.open_after(next, &open)
            {
                open = left;
                self.report(next, &mut sink);
                if let Some(item) = self.message(next, PartSelection::All, &mut sink) {
                    sink.push(next, item);
                }
                next += 1;
            }
            if !open.is_empty() {
                let results =
                    open.iter().map(|call| self.result_of(*call, &mut sink)).collect::<Vec<_>>();
                sink.push(index, Item::New(Message::new(Role::Tool, results)));
            }
        }
        sink.finish(prefill)
    }

    /// Reports the treatment of the calls, results and blank texts of a message.
    fn report(&self, index: usize, sink: &mut Sink<'_, '_>) {
        for (p, class) in self.pairs.classes(index).iter().enumerate() {
            let (code, message) = match class {
                PartClass::Content | PartClass::Result(_) => continue,
                PartClass::Blank => {
                    (DiagnosticCode::EmptyRemoved, "left out: it is blank".to_owned())
                }
                PartClass::StrayCall => (
                    DiagnosticCode::ToolCallRemoved,
                    "left out: only the assistant calls tools".to_owned(),
                ),
                PartClass::Orphan => {
                    let message = "left out: a result without a call before it, or one too many";
                    (DiagnosticCode::ToolResultOrphaned, message.to_owned())
                }
                PartClass::Call(call) => {
                    let known = &self.pairs.calls[*call];
                    match &self.sent[*call] {
                        None => {
                            let message =
                                format!("left out: the call of {:?} has no result", known.name);
                            (DiagnosticCode::ToolCallRemoved, message)
                        }
                        Some(sent) => {
                            if sent.is_renamed {
                                let message = format!("sent as {:?} of {:?}", sent.id, sent.name);
                                sink.note_part(
                                    DiagnosticCode::ToolCallRenamed,
                                    (index, p),
                                    message,
                                );
                            }
                            if known.result.is_some() {
                                continue;
                            }
                            let message = format!(
                                "the call of {:?} has no result: answered by a placeholder",
                                known.name
                            );
                            (DiagnosticCode::ToolResultInjected, message)
                        }
                    }
                }
            };
            sink.note_part(code, (index, p), message);
        }
    }

    /// Returns the `open` calls that remain open after the message at `index`, if the message may
    /// directly follow the calls. It may if its results belong to these calls and come before its
    /// other parts, and if its other parts would not separate a call from its result.
    fn open_after(&self, index: usize, open: &[usize]) -> Option<Vec<usize>> {
        let message = self.history.get(index)?;
        if matches!(message.role, Role::Assistant | Role::System) {
            return None;
        }
        let (mut left, mut others, mut results) = (open.to_vec(), false, false);
        for class in self.pairs.classes(index) {
            match class {
                PartClass::Content => others = true,
                PartClass::Result(_) if others => return None,
                PartClass::Result(call) => {
                    let position = left.iter().position(|open| open == call)?;
                    left.remove(position);
                    results = true;
                }
                PartClass::Blank
                | PartClass::Call(_)
                | PartClass::StrayCall
                | PartClass::Orphan => {}
            }
        }
        let is_misplaced = others && (message.role == Role::Tool || !left.is_empty());
        (results && !is_misplaced).then_some(left)
    }

    /// Returns a message without the parts that are left out. `None` if nothing remains that can be
    /// sent.
    fn message(
        &self,
        index: usize,
        selection: PartSelection,
        sink: &mut Sink<'_, '_>,
    ) -> Option<Item> {
        let (message, classes) = (&*self.history[index], self.pairs.classes(index));
        // Content of a tool message other than results is sent as the user's.
        let role = if selection == PartSelection::Others && message.role == Role::Tool {
            Role::User
        } else {
            message.role
        };
        let unsent = self.unsent(message, role, sink.has_begun());
        let (mut is_same, mut carried, mut content_left) = (unsent.is_none(), false, false);
        for (p, (part, class)) in message.parts.iter().zip(classes).enumerate() {
            if unsent == Some(p) {
                continue;
            }
            is_same &= match class {
                PartClass::Content => true,
                PartClass::Result(call) => {
                    selection == PartSelection::All && self.is_unchanged(*call)
                }
                PartClass::Call(call) => self.is_unchanged(*call),
                PartClass::Blank | PartClass::StrayCall | PartClass::Orphan => false,
            };
            if self.is_content(*class) {
                content_left = true;
                carried = carried || (self.rules.carries)(role, part);
            }
            carried |= selection == PartSelection::All && matches!(class, PartClass::Result(_));
        }
        if !carried {
            if content_left {
                sink.note(
                    DiagnosticCode::Unrepresentable,
                    index,
                    "left out: nothing in it can be sent",
                );
            } else if message.parts.is_empty() {
                sink.note(DiagnosticCode::EmptyRemoved, index, "left out: it is empty");
            }
            return None;
        }
        if role != message.role {
            let message = "its content besides results is sent as a user message";
            sink.note(DiagnosticCode::RolesAdjusted, index, message);
        } else if is_same {
            return Some(Item::Same(index));
        }
        let parts = message.parts.iter().zip(classes).enumerate();
        let parts = parts.filter(|(p, _)| unsent != Some(*p));
        let parts = parts.filter_map(|(_, (part, class))| match class {
            PartClass::Result(_) if selection == PartSelection::All => {
                Some(self.part(part, *class))
            }
            class => self.is_content(*class).then(|| self.part(part, *class)),
        });
        Some(Item::New(Message::new(role, parts).with_metadata(message.metadata.clone())))
    }

    /// Returns the index of the part that is not sent of a block and the text that stands for it.
    /// The block stands for the whole beginning of a conversation, so it is sent only in the first
    /// message.
    fn unsent(&self, message: &Message, role: Role, has_begun: bool) -> Option<usize> {
        let both = message.substituted_block().filter(|_| self.rules.chooses_blocks)?;
        let is_read = !has_begun && (self.rules.carries)(role, &message.parts[both.block_at]);
        Some(if is_read { both.text_at } else { both.block_at })
    }

    /// Returns whether a part stays in its message.
    fn is_content(&self, class: PartClass) -> bool {
        match class {
            PartClass::Content => true,
            PartClass::Call(call) => self.sent[call].is_some(),
            PartClass::Blank | PartClass::StrayCall | PartClass::Result(_) | PartClass::Orphan => {
                false
            }
        }
    }

    fn is_unchanged(&self, call: usize) -> bool {
        self.sent[call].as_ref().is_some_and(|sent| !sent.is_renamed)
    }

    /// Returns a part with the id and name under which it is sent.
    fn part(&self, part: &Part, class: PartClass) -> Part {
        let (PartClass::Call(call) | PartClass::Result(call)) = class else { return part.clone() };
        let Some(SentCall { id, name, .. }) = &self.sent[call] else { return part.clone() };
        match part {
            Part::ToolCall(call) => {
                let (id, name) = (id.clone().into_owned(), name.clone().into_owned());
                Part::ToolCall(ToolCall { id, name, ..call.clone() })
            }
            Part::ToolResult(result) => {
                Part::ToolResult(ToolResult { call_id: id.clone().into_owned(), ..result.clone() })
            }
            part => part.clone(),
        }
    }

    /// Returns the result of a call whose result does not follow it: the moved result, or a
    /// placeholder.
    fn result_of(&self, call: usize, sink: &mut Sink<'_, '_>) -> Part {
        let known = &self.pairs.calls[call];
        if let Some((m, p)) = known.result {
            sink.note_part(DiagnosticCode::ToolResultMoved, (m, p), "moved to its call");
            return self.part(&self.history[m].parts[p], PartClass::Result(call));
        }
        let (id, name) = match &self.sent[call] {
            Some(sent) => (sent.id.clone().into_owned(), sent.name.clone().into_owned()),
            None => (known.id.to_owned(), known.name.to_owned()),
        };
        Part::ToolResult(ToolResult {
            call_id: id,
            name: Some(name),
            output: vec![Part::text(Unanswered::TEXT)],
            is_error: true,
            metadata: Origin::Synthetic.to_metadata(),
        })
    }
}
