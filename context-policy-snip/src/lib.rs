//! A compaction policy that leaves out the middle of a conversation: [`Snip`].
//!
//! The user's first request and the newest messages say most about what is to be done now. This
//! policy leaves out the messages between them, in whole steps, and puts one message in their place
//! that says how many were left out.
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
//! The policy does not decide when to compact, does not summarise the messages it leaves out, and
//! does not shorten the messages it keeps. The messages that must stay may be larger than the goal.

mod gap;
mod linked_groups;
mod policy;
mod select;

pub use policy::Snip;
