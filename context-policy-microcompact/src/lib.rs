//! A compaction policy that shortens old tool results: [`Microcompact`].
//!
//! A tool result of twenty calls ago is rarely read again, and such results are most of a long
//! conversation. This policy keeps the beginning and the end of each old result, adds a note of how
//! long the result was, and keeps the call it belongs to. No message is added or removed, and no
//! model is asked.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{CompactionPolicy, Message, Part, Role};
//! use context_core::history::{Goal, HistoryView};
//! use context_core::model::{Budget, TokenCount, TokenCounter};
//! use context_policy_microcompact::Microcompact;
//!
//! # #[derive(Debug)]
//! # struct Quarters;
//! # impl TokenCounter for Quarters {
//! #     fn name(&self) -> &str { "quarters" }
//! #     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64 / 4) }
//! # }
//! let mut messages = vec![Arc::new(Message::from("What does the project do?"))];
//! for n in 0..6 {
//!     let call = Part::tool_call(format!("c{n}"), "read_file", "a.rs");
//!     messages.push(Arc::new(Message::new(Role::Assistant, [call])));
//!     let result = Part::tool_result(format!("c{n}"), "let x = 1;\n".repeat(2_000));
//!     messages.push(Arc::new(Message::new(Role::Tool, [result])));
//! }
//! let view = HistoryView::new(&messages, &Quarters);
//! let goal = Goal::new(Budget::new(200_000, 8_000), 0, 100_000);
//! let plan = Microcompact::new().plan(&view, &goal).into_plan().unwrap();
//! assert_eq!(plan.description, "2 results shortened"); // the four newest stay
//! assert!(plan.saved() > 9_000);
//! ```
//!
//! Long texts of the user stay whole, unless [`Microcompact::user_texts`] bounds them: then they
//! are shortened to their ends too, as soon as the policy runs, and the stored message keeps the
//! whole text.
//!
//! The policy does not decide when to compact: the caller does, with
//! [`Plan::price`](context_core::history::Plan::price). It does not keep the whole result anywhere
//! (results that are too large when they arrive are spilled before they enter a conversation), and
//! it does not touch results that the model has not read yet.
//!
//! All old results are shortened in one plan, whatever the goal asks. Each change of an old message
//! makes the provider read everything after it again, so one large change is cheaper than many
//! small ones.

mod candidates;
mod content;
mod options;
mod policy;
mod preview;
mod shorten;

pub use options::Tools;
pub use policy::Microcompact;
