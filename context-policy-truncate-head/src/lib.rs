//! A compaction policy that keeps only the newest part of a conversation that is too long. It is
//! the last resort: it needs no model, and comes as close to the goal as shortened texts allow.
//!
//! Some messages always stay: a checkpoint and system messages in front, the first and the newest
//! request of the user, calls with their results, and the request that began the turn in which the
//! kept part begins. If these alone are too large, their longest texts are shortened inside, tool
//! results before the user's texts. So even a single message that is larger than the window can be
//! compacted. Pinned messages, and requests within the view's budget for the user's words, stay
//! and are never shortened.
//!
//! [`TruncateHead`] is a [`CompactionPolicy`](context_core::CompactionPolicy) and a
//! [`RecoveryPolicy`](context_core::history::RecoveryPolicy). It neither summarises nor chooses by
//! content, and it does not decide when to cut.
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::{Message, Role};
//! use context_core::history::HistoryView;
//! use context_core::model::{TokenCount, TokenCounter};
//! use context_policy_truncate_head::truncate_head;
//!
//! # #[derive(Debug)]
//! # struct Bytes;
//! # impl TokenCounter for Bytes {
//! #     fn name(&self) -> &str { "bytes" }
//! #     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64) }
//! # }
//! let history: Vec<Arc<Message>> = (0..40)
//!     .map(|turn| match turn % 2 {
//!         0 => Message::from(format!("question {turn}, and what I know of it so far")),
//!         _ => Message::text(Role::Assistant, format!("answer {turn}, with reasons for it")),
//!     })
//!     .map(Arc::new)
//!     .collect();
//! let view = HistoryView::new(&history, &Bytes);
//! let plan = truncate_head(&view, 0.5).into_plan().ok_or("nothing to cut")?;
//! assert!(plan.after <= plan.before / 2);
//! let kept = plan.apply(&history)?.messages;
//! assert_eq!(kept[0], history[0]);
//! assert_eq!(kept[1].plain_text(), "[23 earlier messages were left out here]");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod cut;
mod gap;
mod policy;
mod select;
mod shorten;

pub use policy::{Measure, TruncateHead, truncate_head};
pub use select::newest;
