//! A compaction policy that replaces earlier messages with a checkpoint.
//!
//! [`Summarize`] asks a model for a summary of the older part of a conversation
//! ([`SummaryTask`](context_core::history::SummaryTask)) and turns the answer into a plan:
//!
//! ```text
//! before   [checkpoint]  first request  …………………………………………………………  newest steps
//! after    checkpoint    first request  newest request, if it is not among  newest steps
//! ```
//!
//! * There is one checkpoint, at the front. The previous checkpoint goes to the model as the
//!   summary so far and is replaced as a whole.
//! * The first and the newest request of the user stay. The first is shortened inside if it is
//!   larger than a summary may be.
//! * Pinned messages stay unchanged, and so do the user's requests within the view's
//!   [budget](context_core::history::HistoryView::user_words) for their words.
//! * System messages in front of the conversation stay where they are: they are not part of the
//!   conversation.
//! * The newest steps stay, as many as fit the goal besides all this. [`Summarize::keep_latest`]
//!   sets the least number.
//! * Facts that must not depend on the model's memory are carried beside the summary as
//!   [`CarriedFacts`]: the last state of the to-do list, the questions that the user was asked with
//!   their answers, the skills that were read, the files that were read and changed, and the
//!   decisions and open tasks that the summaries listed. So the call that holds such a fact may be
//!   summarised away, and a decision is not reworded with each summary.
//!
//! The policy sends nothing, and an answer that is refused changes nothing:
//! [`accept`](context_core::CompactionPolicy::accept) returns a plan or the reason for refusing.
//! The request is one user message with the conversation quoted in it, without tools, thoughts,
//! media and cache marks, so every provider takes it. Its input never exceeds
//! [`Summarize::window`]. Messages that do not fit even shortened wait for the next compaction: the
//! oldest part is summarised first.
//!
//! [`ProviderCompact`] cuts in the same way and lets the provider of the conversation write the
//! summary, where it offers that.
//!
//! [`Summarize::branch`] asks in the same way for a summary of a branch that is left, which the
//! conversation that goes on gets as a message.
//!
//! # Thoughts
//!
//! A provider that signs thoughts checks them, and compaction changes what stands before them. So
//! if a provider signed a thought of a finished turn, that provider's thoughts of the turn are left
//! out of the messages that stay. The thoughts of the running turn stay, because a tool step must
//! be sent back with them. Both rules follow Anthropic's documentation of extended thinking,
//! "Preserving thinking blocks": thoughts of earlier turns may be left out, and while tools are
//! used thoughts must be present and unchanged. Encrypted thoughts of a provider that signed none
//! in the turn stay, because items of OpenAI's Responses refer to them.
//!
//! # Sending the request
//!
//! A model that thinks spends part of `max_output_tokens` on thoughts. The caller that sends the
//! request switches thinking off, or raises the number.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{Answer, CompactionPolicy, Message, Role};
//! use context_core::history::{Goal, HistoryView, Proposal};
//! use context_core::model::Budget;
//! use context_core::model::{TokenCount, TokenCounter};
//! use context_policy_summarize::{SummaryCheckpoint, Summarize};
//!
//! #[derive(Debug)]
//! struct Words;
//!
//! impl TokenCounter for Words {
//!     fn name(&self) -> &str {
//!         "words"
//!     }
//!
//!     fn count(&self, text: &str) -> TokenCount {
//!         TokenCount::exact(text.split_whitespace().count() as u64)
//!     }
//! }
//!
//! let talk = (0..40).map(|turn| match turn % 2 {
//!     0 => Message::from("Look for another train.".repeat(40)),
//!     _ => Message::text(Role::Assistant, "There is one at noon. ".repeat(40)),
//! });
//! let messages: Vec<_> = talk.map(Arc::new).collect();
//! let view = HistoryView::new(&messages, &Words);
//!
//! let policy = Summarize::new();
//! let goal = Goal::new(Budget::new(6_000, 1_000), 0, 3_000);
//! let Proposal::Summary(task) = policy.plan(&view, &goal) else { panic!("too little to summarise") };
//! // Send `task.request` to a model; this is what it might say.
//! let text = "## Objective\nA train\n## Current state\nOne found\n## Remaining\nBook it\n## Files and artifacts\nNone";
//! let plan = policy.accept(&view, &task, &Answer::new(Message::text(Role::Assistant, text)))?;
//!
//! let compacted = plan.apply(&messages)?;
//! let checkpoint = SummaryCheckpoint::read(&compacted.messages[0]).unwrap();
//! assert_eq!((checkpoint.facts.tasks[0].as_str(), checkpoint.is_weak()), ("Book it", false));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod branch;
mod carried;
mod checkpoint;
mod cut;
mod files;
mod fit;
mod instruction;
mod judge;
mod policy;
mod prompt;
mod provider;
mod quote;
mod retained;
mod sections;
mod transcript;

pub use branch::BranchTask;
pub use carried::{CarriedFacts, CarriedTools, Question};
pub use checkpoint::SummaryCheckpoint;
pub use files::CarriedFile;
pub use policy::Summarize;
pub use prompt::{CORE_HEADINGS, HEADINGS};
pub use provider::ProviderCompact;
