//! Short texts that are folded into messages when a predicate over the conversation says so.
//!
//! A model forgets what it was told long ago. A [`Reminder`] says it again where it counts: behind
//! what the user wrote, inside what a tool answered, or between two steps of the model. It becomes
//! an element `<system-reminder>TEXT</system-reminder>` of a stored message, so that the stored
//! chain is what the model saw and a prompt cache stays valid, and the message's metadata says
//! where it stands, so that [`strip_reminders`] can take it out again for a reader.
//!
//! # Who does what
//!
//! * [`reminder`] and [`ReminderBuilder`] make reminders; whatever could not work is an error of
//!   [`ReminderBuilder::build`].
//! * A [`Predicate`] says when. It looks at a [`Situation`]: a [`ConversationSummary`] of all
//!   messages, the time and the usage.
//! * [`fold_reminders`] puts what fires into messages that are about to be saved.
//!
//! # What it does not do
//!
//! It reads no clock, makes no ids, stores nothing and renders no fragments; all of that is handed
//! in. It does not look for reminders by their text: a user may quote one. And it leaves alone what
//! the model has answered.

mod element;
mod error;
mod fold;
mod predicate;
mod situation;
mod strip;
mod summary;
mod text;

pub use error::ReminderError;
pub use fold::{Folded, fold_reminders};
pub use predicate::{Comparison, Predicate};
pub use situation::Situation;
pub use strip::{strip_ranges, strip_reminders};
pub use summary::{ConversationSummary, ToolActivity, total_tokens};
pub use text::{Reminder, ReminderBuilder, ReminderTarget, reminder, reminder_with};
