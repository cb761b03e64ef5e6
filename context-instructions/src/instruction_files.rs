//! Instruction files: `AGENTS.md` and its kind, from the root of a project to the working folder.
//!
//! [`InstructionFiles`] looks in every folder from the project's root down to the working folder
//! and makes one fragment of what it finds, nearest last, because the nearest file wins and what
//! stands last is heeded most. Files named by path, such as one in the user's home, stand before
//! all of them. A file that two places lead to is taken once, for the nearest.
//!
//! The whole has a limit, and so has each file. Room is given to the nearest file first; a farther
//! one is cut behind a line or left out, and a note for the model says what is missing where. Blank
//! files are as good as absent. A byte order mark is dropped, and line ends are those of Unix, so
//! that a prompt does not depend on how a file was checked out.
//!
//! Scanning again reads only what changed, and as long as nothing did the fragment is the same one.
//!
//! The files are *trusted*: they are the user's word on the user's project. A project of strangers
//! can say anything in them; whoever works in one asks the user before scanning it, or marks the
//! fragment ([`untrusted`](context_core::Fragment::untrusted)).
//!
//! Not here: `@path` imports inside the files are text and not followed, front matter is text as
//! well, and folders below the working folder are not looked at.
//!
//! Reading blocks. It is a few small files; use a thread for blocking work if the disk is slow.

mod budget;
mod fragment;
mod options;
mod places;
mod scan;
mod text;

pub use options::InstructionOptions;
pub use scan::{InstructionFile, InstructionFiles, InstructionScan};
