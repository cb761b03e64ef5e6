//! Boundaries: compactions as nodes of the message graph.
//!
//! A compaction removes nothing. It adds a node that says what a model is shown of what comes
//! before it, and the newest boundary on a chain is the one in force. So the whole history stays, a
//! branch that was forked before a boundary is not compacted, and an undo is a boundary too:
//! nothing moves backwards.
//!
//! [`StoredBoundary`] is the body of such a node, [`shown`] reads a chain through it,
//! [`BoundaryDraft`] makes one. All of it is pure: who stores nodes and gives them ids is
//! elsewhere, and so is who decides what to cut.
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
//! What is shown is `front`, then the `since` messages that come right before the boundary, other
//! boundaries not counted, then what follows it. In `front` an entry without a message stands for
//! the stored message of that id, and one with a message is one that a compaction made, whose id no
//! stored message has. Messages that stay are never copied, so an amendment or a redaction of one
//! holds behind a boundary too; `replaced` gives shorter forms of some, each good only as long as
//! the stored message still has the [hash](crate::Message::hash) `of`. Fields that say nothing are
//! left out.

mod draft;
mod form;
mod window;

pub use draft::{BoundaryDraft, DraftError};
pub use form::{BoundaryStep, FrontEntry, Replacement, StoredBoundary};
pub use window::{Shown, shown};
