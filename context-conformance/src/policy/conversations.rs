//! Random conversations that are too long, with goals.

use context_core::message::Origin;
use std::sync::Arc;

use context_core::history::{CacheState, Goal, HistoryView};
use context_core::model::Budget;
use context_core::{Message, Part};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::QuarterCounter;
use crate::histories::{MessageList, damaged};

/// A conversation with the goal of its compaction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionCase {
    /// The conversation.
    pub messages: MessageList,
    /// The goal of a compaction.
    pub goal: Goal,
    /// The budget of the user's words, in tokens; see [`HistoryView::user_words`].
    pub user_words: u64,
}

impl CompactionCase {
    /// Creates a case whose goal is this many tokens of history.
    pub(super) fn new(messages: MessageList, history: u64) -> Self {
        let outside = 100;
        let budget = Budget::new(200_000, 8_000);
        let goal = Goal::new(budget, outside, history.saturating_add(outside));
        Self { messages, goal, user_words: 0 }
    }

    /// Returns a view of a form of the conversation.
    pub(super) fn view<'v>(&self, messages: &'v [Arc<Message>]) -> HistoryView<'v> {
        HistoryView::new(messages, &QuarterCounter).user_words(self.user_words)
    }
}

/// Generates conversations of several turns after damage. Some have long texts, checkpoints and
/// gaps. Their goals are met already, attainable or unattainable.
pub fn conversations() -> impl Strategy<Value = CompactionCase> {
    let histories = vec(damaged().prop_map(|(history, _)| history), 1..4);
    let long = vec((any::<Index>(), 1_000_usize..20_000), 0..6);
    let gap = proptest::option::weighted(0.2, any::<Index>());
    let checkpoint = prop::bool::weighted(0.3);
    let pins = vec(any::<Index>(), 0..3);
    let words = prop_oneof![2 => Just(0_u64), 1 => 1_u64..2_000];
    let (percent, warm) =
        (prop_oneof![1 => Just(0_u64), 6 => 1_u64..130], prop::bool::weighted(0.3));
    (histories, long, gap, checkpoint, pins, words, percent, warm).prop_map(
        |(histories, long, gap, checkpoint, pins, words, percent, warm)| {
            let mut messages = histories.concat();
            long.iter().for_each(|(at, bytes)| lengthen(&mut messages, at, *bytes));
            for pin in &pins {
                let at = pin.index(messages.len().max(1));
                if let Some(message) = messages.get_mut(at) {
                    *message = Arc::new(Message::clone(message).pinned());
                }
            }
            if let Some(at) = gap {
                let left_out = "Something was left out here, by somebody else.";
                messages.insert(
                    at.index(messages.len() + 1),
                    Arc::new(Message::from(left_out).with_origin(Origin::Gap)),
                );
            }
            if checkpoint {
                let summary = Message::from("A summary of what was said before.");
                messages.insert(0, Arc::new(summary.with_origin(Origin::Checkpoint)));
            }
            let total = HistoryView::new(&messages, &QuarterCounter).total();
            let mut case = CompactionCase::new(messages, total.saturating_mul(percent) / 100);
            case.user_words = words;
            if warm {
                let mut cached = CacheState::default();
                cached.messages = case.messages.len() / 2;
                case.goal = case.goal.cache(cached);
            }
            case
        },
    )
}

/// Extends a text of a part of one message to this length, preferably the text of a result.
fn lengthen(history: &mut MessageList, at: &Index, bytes: usize) {
    if history.is_empty() {
        return;
    }
    let at = at.index(history.len());
    for part in &mut Arc::make_mut(&mut history[at]).parts {
        let text = match part {
            Part::Text(text) => text,
            Part::ToolResult(result) => match result.output.first_mut() {
                Some(Part::Text(text)) => text,
                _ => continue,
            },
            _ => continue,
        };
        let words = if text.text.is_empty() { "more" } else { text.text.as_str() };
        text.text = words.repeat(bytes / words.len() + 1).into();
        return;
    }
}
