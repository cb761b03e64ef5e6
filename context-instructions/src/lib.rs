//! What tells a model how to work, beside the prompt itself: reminders, skills and instruction files.
//!
//! * [`reminder`](fn@reminder): short texts folded into messages when a predicate over the conversation says so.
//! * Skills: folders with a `SKILL.md`, offered to the model by name and description ([`discover_skills`],
//!   [`available_skills`]).
//! * Instruction files: `AGENTS.md` and its kind, from the root of a project to the working folder
//!   ([`InstructionFiles`]).

mod files;
mod instruction_files;
mod reminder;
mod skills;

pub use instruction_files::{InstructionFile, InstructionFiles, InstructionOptions, InstructionScan};
pub use reminder::{
    Comparison, ConversationSummary, Folded, Predicate, Reminder, ReminderBuilder, ReminderError,
    ReminderTarget, Situation, ToolActivity, fold_reminders, reminder, reminder_with, strip_ranges,
    strip_reminders, total_tokens,
};
pub use skills::{
    MAX_DESCRIPTION_CHARS, MAX_SKILL_BYTES, MAX_SKILL_ENTRIES, Skill, SkillError, SkillFolders, SkillScan,
    available_skills, discover_skills,
};
