//! Portraits: what a piece of data is, said by a language model in a sentence or two.
//!
//! Data nodes are recorded by programs, which rarely say what they are about. [`Portraits`] asks a
//! model in the background, from the action that made them, the conclusion before it, and the
//! beginning of their content, and writes the answer as their description.
//!
//! | kind | what the model sees of it | who describes it |
//! |---|---|---|
//! | Knowledge | sort, the first 600 characters | the model |
//! | Tool | what it takes and returns | the model |
//! | Table | path, the first 50 rows of a csv or tsv | the model |
//! | File | path, the first 50 lines of a text | the model |
//! | Script | language, the first 600 characters | the model |
//! | Skill | | its own front matter, or the beginning of what stands behind it |
//! | Column | | nobody: its table and its label say what it is |
//!
//! # What a model is shown
//!
//! The fields of this table, the kind and the label of the node, of its action the name, what it
//! was called with, and what came out, of the conclusion what it says, its goal and its status.
//! Nothing else, and nothing of another round: what a round began with was not made by the round
//! before. Of files, those below the working folder, or the folders that [`HostPreviews`] names:
//! what else a tool has named is described without its content. Keys are
//! [masked](context_core::base::secrets) in all of it, and in the answer, and so are values that
//! are secrets by their name. All of it stands as texts in one JSON object, which no content can
//! end: to the model it is data, and the system prompt says so.
//!
//! What is not here: when portraits are made. Whoever runs the agent calls [`Portraits::schedule`]
//! as often as it likes, and [`Portraits::await_all`] once at the end.

mod cause;
mod failure;
mod job;
mod options;
mod preview;
mod prompt;
mod redact;
mod schedule;

pub use failure::{PortraitError, PortraitFailure, PortraitReport};
pub use options::PortraitOptions;
pub use preview::{HostPreviews, ReadPreview};
pub use schedule::Portraits;
