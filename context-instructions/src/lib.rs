//! What tells a model how to work, beside the prompt itself: reminders, skills and instruction files.
//!
//! * [`reminder`]: short texts folded into messages when a predicate over the conversation says so.
//! * [`skills`]: folders with a `SKILL.md`, offered to the model by name and description.
//! * [`instruction_files`]: `AGENTS.md` and its kind, from the root of a project to the working folder.

pub mod instruction_files;
pub mod reminder;
pub mod skills;
