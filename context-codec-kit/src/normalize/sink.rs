//! The output of normalization. It establishes the order of roles after calls and results have been
//! paired.

use context_core::message::Origin;
use std::borrow::Cow;
use std::sync::Arc;

use super::pairs::PartPosition;
use super::{HistoryRules, Normalized};
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::Text;
use context_core::{Diagnostic, Message, Metadata, Part, Role};

/// A message of the output.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// An input message, unchanged.
    Same(usize),
    /// A new message.
    New(Message),
}

/// The output list. It borrows the input until the first difference.
#[derive(Debug)]
pub(super) struct Sink<'a, 'r> {
    history: &'a [Arc<Message>],
    rules: &'r HistoryRules,
    /// Number of leading input messages that were output unchanged.
    same: usize,
    /// The output, after the first difference.
    out: Option<Vec<Arc<Message>>>,
    /// The input positions of the output messages.
    origins: Vec<usize>,
    /// Pending messages with only reasoning. They are output only if another assistant message
    /// follows.
    thoughts: Vec<(usize, Item)>,
    /// Whether a message other than a system message has been output.
    begun: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a, 'r> Sink<'a, 'r> {
    pub(super) fn new(history: &'a [Arc<Message>], rules: &'r HistoryRules) -> Self {
        let (origins, thoughts, diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        Self { history, rules, same: 0, out: None, origins, thoughts, begun: false, diagnostics }
    }

    /// Returns whether a message other than a system message has been output.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Adds a diagnostic about an input message.
    pub(super) fn note(&mut self, code: DiagnosticCode, at: usize, text: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(
            code,
            Severity::Info,
            format!("messages[{at}]"),
            text,
        ));
    }

    /// Adds a diagnostic about a part of an input message.
    pub(super) fn note_part(
        &mut self,
        code: DiagnosticCode,
        (m, p): PartPosition,
        text: impl Into<String>,
    ) {
        let path = format!("messages[{m}].parts[{p}]");
        self.diagnostics.push(Diagnostic::new(code, Severity::Warning, path, text));
    }

    fn message<'s>(&'s self, item: &'s Item) -> &'s Message {
        match item {
            Item::Same(index) => &self.history[*index],
            Item::New(message) => message,
        }
    }

    /// Accepts the next message, which was made from the input message at `from`.
    pub(super) fn push(&mut self, from: usize, item: Item) {
        let message = self.message(&item);
        let (role, only_thoughts) = (message.role, self.is_only_thoughts(message));
        if role == Role::Assistant && only_thoughts {
            self.thoughts.push((from, item));
            return;
        }
        match role {
            Role::Assistant => {
                for (from, thought) in std::mem::take(&mut self.thoughts) {
                    self.push_ordered(from, thought);
                }
            }
            _ => self.drop_thoughts(),
        }
        let item = match role {
            Role::System if self.begun && !self.rules.system_anywhere => {
                self.note(
                    DiagnosticCode::RolesAdjusted,
                    from,
                    "sent as a user message: a system message may only come first",
                );
                Item::New(quoted_system_message(self.message(&item)))
            }
            _ => item,
        };
        self.push_ordered(from, item);
    }

    /// Returns whether only reasoning would be sent of a message.
    fn is_only_thoughts(&self, message: &Message) -> bool {
        let is_silent = |part: &Part| {
            matches!(part, Part::Reasoning(_)) || !(self.rules.carries)(message.role, part)
        };
        message.parts.iter().all(is_silent)
    }

    fn drop_thoughts(&mut self) {
        for (from, _) in std::mem::take(&mut self.thoughts) {
            self.note(
                DiagnosticCode::EmptyRemoved,
                from,
                "left out: thoughts without anything after them",
            );
        }
    }

    /// Appends a message, preceded by any message that must come before it.
    fn push_ordered(&mut self, from: usize, item: Item) {
        let role = self.message(&item).role;
        if !self.begun && role == Role::Assistant {
            self.note(DiagnosticCode::RolesAdjusted, from, "a user message was inserted before it");
            self.append(from, Item::New(synthetic(HistoryRules::OPENING)));
        }
        self.begun |= role != Role::System;
        if self.rules.alternate
            && let Some(last) = self.last()
            && speaker(last.role) == speaker(role)
        {
            self.note(
                DiagnosticCode::RolesAdjusted,
                from,
                "joined with the message before it, which has the same role",
            );
            return self.join(item);
        }
        self.append(from, item);
    }

    fn last(&self) -> Option<&Message> {
        match &self.out {
            Some(out) => out.last().map(|message| &**message),
            None => self.same.checked_sub(1).map(|last| &*self.history[last]),
        }
    }

    fn append(&mut self, from: usize, item: Item) {
        if let (Item::Same(index), None) = (&item, &self.out)
            && *index == self.same
        {
            self.same += 1;
            return;
        }
        let history = self.history;
        self.materialized().push(match item {
            Item::Same(index) => Arc::clone(&history[index]),
            Item::New(message) => Arc::new(message),
        });
        self.origins.push(from);
    }

    fn join(&mut self, item: Item) {
        let more = self.message(&item).clone();
        let Some(last) = self.materialized().last_mut() else { return };
        let last = Arc::make_mut(last);
        // Metadata of one message may not apply to both.
        last.metadata = Metadata::default();
        if last.role != more.role {
            last.role = Role::User;
        }
        last.parts.extend(more.parts);
    }

    fn materialized(&mut self) -> &mut Vec<Arc<Message>> {
        let (history, same, origins) = (self.history, self.same, &mut self.origins);
        self.out.get_or_insert_with(|| {
            origins.extend(0..same);
            let mut out = Vec::with_capacity(history.len() + 1);
            out.extend_from_slice(&history[..same]);
            out
        })
    }

    /// Returns the result.
    pub(super) fn finish(mut self, prefill: bool) -> Normalized<'a> {
        self.drop_thoughts();
        let allowed = if prefill { self.rules.prefill } else { self.rules.assistant_last };
        if !allowed && self.last().is_some_and(|last| last.role == Role::Assistant) {
            let text =
                "a user message was inserted after it: the last message may not be the assistant's";
            let last = self.history.len().saturating_sub(1);
            self.note(DiagnosticCode::RolesAdjusted, last, text);
            self.append(last, Item::New(synthetic(HistoryRules::CONTINUATION)));
        }
        let (messages, origins) = match self.out {
            Some(out) => (Cow::Owned(out), Some(self.origins)),
            None => (Cow::Borrowed(&self.history[..self.same]), None),
        };
        Normalized { messages, diagnostics: self.diagnostics, origins }
    }
}

/// Returns the speaker of a role in a conversation with two sides.
fn speaker(role: Role) -> Role {
    match role {
        Role::Tool => Role::User,
        role => role,
    }
}

fn synthetic(text: &str) -> Message {
    Message::from(text).with_origin(Origin::Synthetic)
}

/// Converts a system message into a user message that is marked as system text.
fn quoted_system_message(message: &Message) -> Message {
    let marked = |part: &Part| match part {
        Part::Text(Text { text, metadata }) => Part::Text(Text {
            text: format!("<system>\n{text}\n</system>").into(),
            metadata: metadata.clone(),
        }),
        part => part.clone(),
    };
    Message::new(Role::User, message.parts.iter().map(marked)).with_origin(Origin::Synthetic)
}
