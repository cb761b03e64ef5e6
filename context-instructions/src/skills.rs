//! Skills: folders with a `SKILL.md`, offered to the model by name and description.
//!
//! A skill is a folder whose file `SKILL.md` begins with YAML front matter between two lines `---`.
//! The keys `name` and `description` are required; every other key is kept as metadata. The model
//! sees only these and the path ([`available_skills`]). It reads the rest with the tools it has, or
//! the application passes it on ([`Skill::instructions`]).
//!
//! [`discover_skills`] scans once. [`SkillFolders`] keeps a cache and reads only changed files
//! again. A bad skill does not hide others: it becomes a [`Diagnostic`](context_core::Diagnostic).
//!
//! The content of a skill is *trusted*: it was installed in a folder that the application names,
//! and the model is meant to follow it. Renderers escape it like everything else, so it cannot look
//! like another part of the prompt. An application that works in folders of strangers asks the user
//! before they become roots, or marks the fragment
//! ([`untrusted`](context_core::Fragment::untrusted)).
//!
//! Not supported: running programs that a skill contains, and enforcing keys such as
//! `allowed-tools`. Names need not be those of their folders, nor of any special form.
//!
//! Reading blocks the thread. The files are few and small; use a thread for blocking work if the
//! disk is slow.

mod discover;
mod fragment;
mod front_matter;
mod skill;

pub use discover::{MAX_SKILL_ENTRIES, SkillFolders, SkillScan, discover_skills};
pub use fragment::{MAX_DESCRIPTION_CHARS, available_skills};
pub use skill::{MAX_SKILL_BYTES, Skill, SkillError};
