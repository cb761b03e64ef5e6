//! A compaction policy that leaves out the middle of a conversation: [`Snip`].
//!
//! What the user asked first and what was said last say most about what is to be done now. This
//! policy leaves out what stands between, in whole steps, and puts a message in its place that says
//! how much that was.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{CompactionPolicy, Message, Role};
//! use context_core::history::{Goal, HistoryView};
//! use context_core::model::{Budget, TokenCount, TokenCounter};
//! use context_policy_snip::Snip;
//!
//! # #[derive(Debug)]
//! # struct Quarters;
//! # impl TokenCounter for Quarters {
//! #     fn name(&self) -> &str { "quarters" }
//! #     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64 / 4) }
//! # }
//! let turn = |n| [Message::from(format!("question {n}")), Message::text(Role::Assistant, "word ".repeat(200))];
//! let messages: Vec<_> = (0..12).flat_map(turn).map(Arc::new).collect();
//! let view = HistoryView::new(&messages, &Quarters);
//! let goal = Goal::new(Budget::new(200_000, 8_000), 0, 1_000);
//! let plan = Snip::new().plan(&view, &goal).into_plan().unwrap();
//! assert!(plan.after <= 1_000);
//! let left = plan.apply(&messages).unwrap().messages;
//! assert_eq!(left[0].plain_text(), "question 0");
//! assert_eq!(left[1].plain_text(), "[8 turns (17 messages) in the middle were left out]");
//! ```
//!
//! What it does not do: decide when, summarise what it leaves out, shorten what it keeps. What must
//! stay may be more than the goal.

mod gap;
mod linked;
mod policy;
mod select;

pub use policy::Snip;
