//! Portraits: descriptions of data nodes in a sentence or two, written by a language model.
//!
//! Data nodes are recorded by programs, which rarely describe them. [`Portraits`] asks a model in
//! the background. The request contains the action that made the node, the conclusion before it,
//! and the beginning of the node's content. The answer is written as the node's description.
//!
//! | kind | shown to the model | author of the description |
//! |---|---|---|
//! | Knowledge | type, the first 600 characters | the model |
//! | Tool | parameters and results | the model |
//! | Table | path, the first 50 rows of a csv or tsv | the model |
//! | File | path, the first 50 lines of a text | the model |
//! | Script | language, the first 600 characters | the model |
//! | Skill | | its front matter, or else the beginning of the text after it |
//! | Column | | none: table and label suffice |
//!
//! # Data sent to the model
//!
//! A request contains: the fields in this table, the kind and the label of the node; the name,
//! parameters, output and success of its action; and the text, goal and status of the conclusion.
//! Nothing else is sent, and nothing from other rounds, since the nodes that start a round were not
//! made by the round before. Files are read only below the working folder or the folders that
//! [`HostPreviews`] names; any other file that a tool named is described without its content. Known
//! forms of keys, and values whose names mark them as secrets, are
//! [masked](context_core::base::secrets) in the request; known forms of keys are masked in the
//! answer too. The whole request is text in one JSON object, which no content can close, and the
//! system prompt tells the model that it is data.
//!
//! The application decides when portraits are made: call [`Portraits::schedule`] as often as
//! needed, and [`Portraits::await_all`] once at the end.

mod cause;
mod failure;
mod maker;
mod options;
mod preview;
mod prompt;
mod redact;
mod schedule;

pub use failure::{PortraitError, PortraitFailure, PortraitReport};
pub use options::PortraitOptions;
pub use preview::{HostPreviews, ReadPreview};
pub use schedule::Portraits;
