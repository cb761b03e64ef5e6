//! What tells a model how to work, beside the prompt itself: reminders, skills and instruction files.
//!
//! * [`reminder`](fn@reminder): short texts folded into messages when a predicate over the conversation says so.
//! * [`skills`]: folders with a `SKILL.md`, offered to the model by name and description.
//! * [`instruction_files`]: `AGENTS.md` and its kind, from the root of a project to the working folder.

pub mod instruction_files;
mod reminder;
pub mod skills;

pub use reminder::{
    Comparison, ConversationSummary, Folded, Predicate, Reminder, ReminderBuilder, ReminderError,
    ReminderTarget, Situation, ToolActivity, fold_reminders, is_synthetic, reminder, reminder_with,
    strip_ranges, strip_reminders,
};
