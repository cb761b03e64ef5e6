//! A compaction policy that lets a checkpoint stand for earlier messages.
//!
//! [`Summarize`] asks a model for a summary of the older part of a conversation
//! ([`SummaryTask`](context_core::history::SummaryTask)) and makes of the answer a plan:
//!
//! ```text
//! before   [checkpoint]  first request  …………………………………………………………  newest steps
//! after    checkpoint    first request  newest request, if it is not among  newest steps
//! ```
//!
//! * There is one checkpoint, in front. The one before goes to the model as the summary so far and
//!   is replaced as a whole.
//! * The first request of the user and the newest stay. The first is shortened inside if it is
//!   larger than a summary may be.
//! * Messages of the system in front of the conversation stay where they are: they are no
//!   conversation.
//! * The newest steps stay, as many as fit the goal beside all this; see [`Summarize::keep_latest`]
//!   for the least.
//! * What must not depend on the model's memory is carried as [`Facts`]: the last state of the
//!   to-do list, what the user was asked and answered, which skills were read. So an early call of
//!   such a tool holds nothing up.
//!
//! Nothing is sent here, and an answer that is refused changes nothing:
//! [`accept`](context_core::CompactionPolicy::accept) gives a plan or says why not. The request is
//! one message of the user with the conversation quoted in it, without tools, thoughts, media and
//! cache marks, so every provider takes it; its input never exceeds [`Summarize::window`]. What
//! does not fit even shortened waits for the next compaction: the oldest part is summarised first.
//!
//! # Thoughts
//!
//! A provider that signs thoughts checks them, and what stands before them has changed. Thoughts of
//! turns that are over are left out of what stays if one of them is signed; those of the turn that
//! runs stay, since a step of tools must be sent back with them. Both is as Anthropic's
//! documentation of extended thinking has it under "Preserving thinking blocks": thoughts may be
//! left out of earlier turns, and while tools are used they have to be there, unchanged. Encrypted
//! thoughts without a signature stay: items of OpenAI's Responses refer to them.
//!
//! # Sending the request
//!
//! A model that thinks spends thoughts from `max_output_tokens`. Whoever sends the request switches
//! them off, or raises the number.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{Answer, CompactionPolicy, Message, Role};
//! use context_core::history::{Goal, HistoryView, Proposal};
//! use context_core::model::Budget;
//! use context_core::model::{TokenCount, TokenCounter};
//! use context_policy_summarize::{Checkpoint, Summarize};
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
//! let checkpoint = Checkpoint::read(&compacted.messages[0]).unwrap();
//! assert_eq!((checkpoint.summary.as_str(), checkpoint.is_weak()), (text, false));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod carried;
mod checkpoint;
mod cut;
mod fit;
mod judge;
mod policy;
mod prompt;
mod quote;
mod stays;
mod transcript;

pub use carried::{CarriedTools, Facts, Question};
pub use checkpoint::Checkpoint;
pub use policy::Summarize;
pub use prompt::{CORE_HEADINGS, HEADINGS};
