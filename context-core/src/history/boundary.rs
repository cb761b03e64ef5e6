//! Boundaries: compactions as nodes of the message graph.
//!
//! A compaction removes nothing. It adds a boundary node, which states what a model is shown of the
//! messages before it. The newest boundary on a chain is in force. So the whole history is kept, a
//! branch that was forked before a boundary is not compacted, and an undo is another boundary:
//! heads never move backwards.
//!
//! [`StoredBoundary`] is the body of such a node, [`shown`] applies it to a chain, and
//! [`BoundaryDraft`] creates one. The module is pure: it does not store nodes, generate ids, or
//! decide what to cut.
//!
//! # JSON form, version 1
//!
//! ```json
//! {
//!   "kind": "compact", "policy": "summarize", "what": "12 messages", "before": 9000, "after": 1200, "retained": 5,
//!   "front": [{"id": "m1"}, {"id": "b1/1", "message": {"role": "user", "parts": []}}],
//!   "since": 3,
//!   "replaced": [{"id": "m9", "of": "9f86d0…", "message": {"role": "tool", "parts": []}}],
//!   "undoes": "b0",
//!   "steps": [{"policy": "summarize", "kind": "compact", "what": "12 messages", "before": 9000, "after": 1200}]
//! }
//! ```
//!
//! The shown messages are `front`, then the `since` messages right before the boundary (not
//! counting other boundaries), then the messages after the boundary. A `front` entry without a
//! message refers to the stored message with that id. An entry with a message was made by a
//! compaction, and no stored message has its id. Retained messages are never copied, so their
//! amendments and redactions take effect behind a boundary, too. `replaced` holds shorter forms of
//! some messages; each is used only while the stored message still has the
//! [hash](crate::Message::hash) `of`. Empty fields are left out.

mod draft;
mod form;
mod window;

pub use draft::{BoundaryDraft, DraftError};
pub use form::{BoundaryStep, FrontEntry, Replacement, StoredBoundary};
pub use window::{ShownMessage, shown};
