//! Instructions to the model besides the prompt itself: reminders, skills and instruction files.
//!
//! * [`reminder`](fn@reminder): short texts that are folded into a message when a predicate over
//!   the conversation holds.
//! * Skills: folders with a `SKILL.md`, offered to the model by name and description
//!   ([`discover_skills`], [`available_skills`]).
//! * Instruction files: `AGENTS.md` and similar files, from the root of a project down to the
//!   working folder ([`InstructionFiles`]).
//!
//! Skills and instruction files become fragments. An engine renders them with the rest of the
//! prompt, and folds reminders into a message when it saves that message. The functions that scan
//! folders and files read the file system. Nothing in this crate uses a clock, the network or a
//! store.
//!
//! ```no_run
//! use context_core::{Fragment, Timestamp};
//! use context_instructions::{InstructionFiles, InstructionOptions, SkillFolders, available_skills};
//!
//! let mut skills = SkillFolders::new([".agents/skills"]);
//! let mut files = InstructionFiles::new(".", InstructionOptions::default());
//! // Before each turn: what did not change is not read again, and gives the same fragments.
//! let mut prompt = |now: Timestamp| -> [Fragment; 2] {
//!     let (skills, files) = (skills.scan(now), files.scan(now));
//!     [available_skills(&skills.skills).with_id("skills"), files.fragment.with_id("project")]
//! };
//! # let _ = prompt;
//! ```

mod files;
mod instruction_files;
mod reminder;
mod skills;

pub use instruction_files::{
    InstructionFile, InstructionFiles, InstructionOptions, InstructionScan,
};
pub use reminder::{
    Calendar, Comparison, ConversationSummary, Folded, Hemisphere, Predicate, Recent, Reminder,
    ReminderBuilder, ReminderError, ReminderTarget, Season, Situation, ToolActivity, Weekday,
    fold_reminders, reminder, reminder_ids, reminder_with, strip_ranges, strip_reminders,
    total_tokens,
};
pub use skills::{
    MAX_DESCRIPTION_CHARS, MAX_SKILL_BYTES, MAX_SKILL_ENTRIES, Skill, SkillError, SkillFolders,
    SkillScan, available_skills, discover_skills,
};
