//! Short texts that are folded into messages when a predicate over the conversation holds.
//!
//! A model forgets instructions of long ago. A [`Reminder`] repeats one where it counts: after the
//! user's text, inside a tool result, or between two steps of the model. It becomes an element
//! `<system-reminder>TEXT</system-reminder>` of a stored message, so that the stored chain is what
//! the model saw and a prompt cache stays valid. The message's metadata records where the element
//! stands, so that [`strip_reminders`] can remove it again for a reader.
//!
//! # Parts
//!
//! * [`reminder`] and [`ReminderBuilder`] make reminders. A reminder that cannot work is an error
//!   of [`ReminderBuilder::build`].
//! * A [`Predicate`] decides when a reminder fires. It looks at a [`Situation`]: a
//!   [`ConversationSummary`] of all messages, the time and the token usage.
//! * [`fold_reminders`] folds the reminders that fire into messages that are about to be saved.
//!
//! # What it does not do
//!
//! This module reads no clock, makes no ids, stores nothing and renders no fragments; the caller
//! passes times and ids in. It does not search for reminders by their text, because a user may
//! quote one. It does not change messages of the model.

mod element;
mod error;
mod fold;
mod predicate;
mod recent;
mod situation;
mod strip;
mod summary;
mod text;

pub use error::ReminderError;
pub use fold::{Folded, fold_reminders, reminder_ids};
pub use predicate::{Calendar, Comparison, Hemisphere, Predicate, Season, Weekday};
pub use recent::Recent;
pub use situation::Situation;
pub use strip::{strip_ranges, strip_reminders};
pub use summary::{ConversationSummary, ToolActivity, total_tokens};
pub use text::{Reminder, ReminderBuilder, ReminderTarget, reminder, reminder_with};
