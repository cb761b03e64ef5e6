//! Skills: folders with a `SKILL.md`, offered to the model by name and description.
//!
//! A skill is a folder whose file `SKILL.md` begins with front matter in YAML between two lines
//! `---`. The keys `name` and `description` are needed, every other key is kept as metadata. The
//! model is shown only these and the path ([`available_skills`]); it reads the rest with the tools
//! it has, or the application hands it over ([`Skill::instructions`]).
//!
//! [`discover_skills`] looks once; [`SkillFolders`] remembers, and reads again only what changed.
//! One bad skill hides no other: it becomes a [`Diagnostic`](context_core::Diagnostic).
//!
//! What a skill says is *trusted*: somebody installed it in a folder the application was told of,
//! and the model is meant to follow it. Renderers escape it as they escape everything, so it cannot
//! look like another part of the prompt. Whoever works in folders of strangers asks the user before
//! they become roots, or marks the fragment ([`untrusted`](context_core::Fragment::untrusted)).
//!
//! Not here: running what a skill brings along, and enforcing keys such as `allowed-tools`. Names
//! need not be those of their folders, nor of any special form.
//!
//! Reading blocks. It is a few small files; use a thread for blocking work if the disk is slow.

mod discover;
mod fragment;
mod front_matter;
mod skill;

pub use discover::{MAX_SKILL_ENTRIES, SkillFolders, SkillScan, discover_skills};
pub use fragment::{MAX_DESCRIPTION_CHARS, available_skills};
pub use skill::{MAX_SKILL_BYTES, Skill, SkillError};
