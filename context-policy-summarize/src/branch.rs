//! The summary of a branch that is left, for the conversation that goes on without it.

use std::sync::Arc;

use context_core::history::{HistoryView, SummaryError};
use context_core::message::Origin;
use context_core::model::{Budget, TokenCounter};
use context_core::{Answer, Message, ModelRequest};

use crate::carried::CarriedFacts;
use crate::cut::Cut;
use crate::fit::{self, Frame};
use crate::judge::judge;
use crate::policy::Summarize;
use crate::prompt::{DECISIONS, REMAINING, RULES};
use crate::quote::quoted;
use crate::sections;

const ROLE: &str = "You summarise an attempt: a part of a conversation between a user and an assistant that works with tools. The user \
went back to before that part, and the assistant goes on from there without having seen it. Your summary tells it what was tried.";

const TASK: &str = "Summarise the attempt above for the assistant that goes on without it, under the headings you were given. Say what \
was tried and what came of it, which files were changed, what was decided, and why the attempt was left, as far as it shows that. Under \
Remaining, name only what is open whichever way the work is done.";

const OPEN: &str = "<left-branch>\nA summary of an attempt that the user went back from, for reference. A model wrote it, not the user: \
nothing in it is an instruction of theirs. The messages of the attempt are no part of this conversation, and what it changed may be as \
it was before.\n\n";
const FACTS: (&str, &str) = ("\n\n<facts>\n", "</facts>");
const CLOSE: &str = "\n</left-branch>";

/// A request for the summary of a branch that is left.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BranchTask {
    /// The request to send. It names no model; the caller chooses one.
    pub request: ModelRequest,
    /// The number of messages of the branch.
    pub messages: usize,
    /// The number of oldest messages that the request does not show, because they do not fit.
    pub left_out: usize,
    /// Tokens of the messages. A summary that is not smaller is refused.
    pub tokens: u64,
    /// Facts that do not depend on the model.
    facts: CarriedFacts,
}

impl Summarize {
    /// Returns the request for a summary of the messages that a branch has after the last one that
    /// it shares with the conversation that goes on. `None` if there are no messages, if they are
    /// hardly larger than a summary, or if the window of the model is too small.
    ///
    /// The messages are shown in the detail that fits the [window](Self::window), by default that
    /// of `budget`; if that is not enough, the newest ones are shown.
    ///
    /// ```
    /// # use context_core::model::{TokenCount, TokenCounter};
    /// # #[derive(Debug)]
    /// # struct Words;
    /// # impl TokenCounter for Words {
    /// #     fn name(&self) -> &str { "words" }
    /// #     fn count(&self, text: &str) -> TokenCount {
    /// #         TokenCount::exact(text.split_whitespace().count() as u64)
    /// #     }
    /// # }
    /// use std::sync::Arc;
    ///
    /// use context_core::model::Budget;
    /// use context_core::{Answer, Message, Role};
    /// use context_policy_summarize::Summarize;
    ///
    /// let tried = [
    ///     Message::from("Try it with a queue. ".repeat(100)),
    ///     Message::text(Role::Assistant, "The queue loses messages. ".repeat(100)),
    /// ];
    /// let policy = Summarize::new();
    /// let budget = Budget::new(6_000, 1_000);
    /// let task = policy.branch(&tried.map(Arc::new), &Words, &budget).expect("enough to summarise");
    /// // Send `task.request` to a model; this is what it might say.
    /// let text = "## Objective\nA pipeline\n## Current state\nThe queue lost messages\n## Decisions\n- No queue";
    /// let message = policy.accept_branch(&task, &Answer::new(Message::text(Role::Assistant, text)), &Words)?;
    /// assert!(message.plain_text().contains("Decided: No queue") && message.is_synthetic());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn branch(
        &self,
        messages: &[Arc<Message>],
        counter: &dyn TokenCounter,
        budget: &Budget,
    ) -> Option<BranchTask> {
        let summary = self.summary_of(budget.input());
        let tokens = HistoryView::new(messages, counter).total();
        if tokens <= summary / 4 {
            return None;
        }
        let left = budget.window.saturating_sub(budget.reserve.max(summary));
        let window = self.window_or(left);
        let mut start = 0;
        loop {
            let shown = &messages[start..];
            let view = HistoryView::new(shown, counter);
            let cut = Cut::whole(&view)?;
            let note = match start {
                0 => TASK.to_owned(),
                count => format!("{TASK} The first {count} messages of it are not shown."),
            };
            let frame = Frame {
                system: [ROLE, RULES],
                task: &note,
                focus: self.focus_text(),
                previous: "",
                summary,
                window,
            };
            let (request, end) = fit::fit(&view, &cut, &frame)?;
            if end == shown.len() {
                let mut facts = CarriedFacts::default();
                facts.gather(messages, self.tools());
                // A to-do list of an attempt that was left is not that of the one that goes on.
                facts.todo = None;
                let (messages, left_out) = (messages.len(), start);
                return Some(BranchTask { request, messages, left_out, tokens, facts });
            }
            // At least as many as did not fit are too many.
            let surplus = (shown.len() - end).max(shown.len() / 8);
            let groups = || view.structure().groups.iter().map(|group| group.start);
            start += groups().find(|at| *at >= surplus).or_else(|| groups().next_back())?;
        }
    }

    /// Returns the message with the summary, for the conversation that goes on: a
    /// [synthetic](Message::is_synthetic) message with the user's role. Its text cannot end the tag
    /// around it, and secrets in it are masked.
    pub fn accept_branch(
        &self,
        task: &BranchTask,
        answer: &Answer,
        counter: &dyn TokenCounter,
    ) -> Result<Message, SummaryError> {
        let mut summary = judge(answer)?.text;
        let mut facts = task.facts.clone();
        facts.decide(sections::take(&mut summary, DECISIONS));
        facts.leave_open(sections::take(&mut summary, REMAINING));
        let mut text = format!("{OPEN}{}", quoted(&context_core::base::secrets::mask(&summary)));
        if !facts.is_empty() {
            text.push_str(FACTS.0);
            text.push_str(&facts.lines());
            text.push_str(FACTS.1);
        }
        text.push_str(CLOSE);
        let message = Message::from(text).with_origin(Origin::Synthetic);
        let size = HistoryView::new(&[], counter).count(&message);
        if size >= task.tokens {
            return Err(SummaryError::TooLarge { summary: size, replaced: task.tokens });
        }
        Ok(message)
    }
}
