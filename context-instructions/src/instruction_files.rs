//! Instruction files: `AGENTS.md` and similar files, from the root of a project to the working
//! folder.
//!
//! [`InstructionFiles`] looks in every folder from the project's root down to the working folder
//! and makes one fragment of the files it finds, nearest last: the nearest file wins, and models
//! heed the last text most. Files named by path, such as one in the user's home, come before all of
//! them. A file that is reachable from two places is taken once, for the nearest.
//!
//! The total size is limited, and so is the size of each file. The nearest file gets its room
//! first. A farther file is cut after a line or left out, and a note tells the model what is
//! missing. Blank files are treated as absent. A byte order mark is dropped, and line ends become
//! those of Unix, so that a prompt does not depend on how a file was checked out.
//!
//! Another scan reads only changed files. While nothing changes, the fragment is the same.
//!
//! The files are *trusted*: they are the user's instructions for the user's project. A project of
//! strangers can say anything in them. An application that works in such a project asks the user
//! before scanning it, or marks the fragment ([`untrusted`](context_core::Fragment::untrusted)).
//!
//! Not supported: `@path` imports inside the files are text and are not followed, front matter is
//! text as well, and folders below the working folder are not searched.
//!
//! Reading blocks the thread. The files are few and small; use a thread for blocking work if the
//! disk is slow.

mod budget;
mod fragment;
mod locations;
mod options;
mod scan;
mod text;

pub use options::InstructionOptions;
pub use scan::{InstructionFile, InstructionFiles, InstructionScan};
