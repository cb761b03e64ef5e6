//! Reminders: when they fire, where they are folded, and that they can be removed again.

mod calendar;
mod folding;
mod predicates;
mod stripping;
mod within;

use std::sync::Arc;

use context_core::{Json, Message, MessageId, Node, Part, Role, Timestamp};
use context_instructions::{
    ConversationSummary, Folded, Reminder, ReminderBuilder, ReminderTarget, fold_reminders,
};
use serde_json::json;

/// A conversation that is saved message by message, a second apart, as an application would.
#[derive(Default)]
struct ConversationFixture {
    /// The summary of the stored messages.
    summary: ConversationSummary,
    stored: Vec<Arc<Node>>,
    pending: Vec<Arc<Node>>,
    seconds: i64,
    usage: Option<u64>,
}

impl ConversationFixture {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.seconds * 1_000_000)
    }

    /// Adds a message that is to be saved.
    fn add(&mut self, message: impl Into<Message>) -> &mut Self {
        let id = format!("m{}", self.stored.len() + self.pending.len());
        let message: Message = message.into();
        self.seconds += 1;
        self.pending.push(Arc::new(Node::new(id, message, self.now())));
        self
    }

    fn fold(&mut self, reminders: &[Reminder]) -> Folded {
        let (now, id) = (self.now(), format!("steer-{}", self.stored.len()));
        fold_reminders(reminders, &self.summary, &mut self.pending, now, self.usage, || {
            MessageId::from(id)
        })
    }

    /// Folds and saves; returns whether any reminder fired.
    fn save(&mut self, reminders: &[Reminder]) -> bool {
        let folded = self.fold(reminders);
        for node in self.pending.drain(..) {
            // The saved node is read back from its bytes.
            let read = Node::from_encoded(
                node.id.clone(),
                node.kind,
                node.created_at,
                node.body().clone(),
            );
            self.summary.push(&read);
            self.stored.push(Arc::new(read));
        }
        folded.fired > 0
    }

    fn texts(&self) -> Vec<String> {
        self.pending.iter().map(|node| node.message().unwrap().readable_text()).collect()
    }
}

fn build(builder: ReminderBuilder) -> Vec<Reminder> {
    vec![builder.build().unwrap()]
}

fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

/// Returns a step in which the model calls these tools; the ids are made of names and positions.
fn calls(tools: &[&str]) -> Message {
    let calls = tools.iter().enumerate();
    Message::new(
        Role::Assistant,
        calls.map(|(at, tool)| Part::tool_call(format!("{tool}-{at}"), *tool, json!({}))),
    )
}

/// Returns the results of the tools.
fn results(tools: &[&str], text: &str) -> Message {
    let results = tools.iter().enumerate();
    Message::new(
        Role::Tool,
        results.map(|(at, tool)| Part::tool_result(format!("{tool}-{at}"), text)),
    )
}

/// Returns the results of the tools, all of them failed.
fn failures(tools: &[&str]) -> Message {
    let mut message = results(tools, "it failed");
    for part in &mut message.parts {
        if let Part::ToolResult(result) = part {
            result.is_error = true;
        }
    }
    message
}

fn with_usage(mut message: Message, usage: serde_json::Value) -> Message {
    message.metadata.insert("usage", Json::from(usage));
    message
}

const ALL_TARGETS: [ReminderTarget; 3] =
    [ReminderTarget::User, ReminderTarget::ToolOutput, ReminderTarget::Steer];
