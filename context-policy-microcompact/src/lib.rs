//! A compaction policy that shortens old results of tools: [`Microcompact`].
//!
//! What a tool answered twenty calls ago is rarely read again, and is most of a long conversation.
//! This policy leaves the beginning and the end of each old result, a note of how long it was, and
//! the call it belongs to. No message comes or goes, no model is asked.
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
//! assert_eq!(plan.what, "2 results shortened"); // the four newest stay
//! assert!(plan.saved() > 9_000);
//! ```
//!
//! What it does not do: decide when (whoever calls does, with
//! [`Plan::price`](context_core::history::Plan::price)), keep the whole result somewhere (results
//! too large at once are spilled before they enter a conversation), touch what the model has not
//! read yet.
//!
//! All old results are shortened in one plan, whatever the goal asks: each change of an old message
//! makes the provider read again all that follows it, so one large change is cheaper than many
//! small ones.

mod candidates;
mod content;
mod options;
mod policy;
mod preview;
mod shorten;

pub use options::Tools;
pub use policy::Microcompact;
