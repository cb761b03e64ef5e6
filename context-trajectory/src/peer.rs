//! Files of DataGallery's dataagent: rounds of their users, read and written.
//!
//! That program keeps a round of an agent as `Run{round}_Sub{agent}.json`, a graph in the node-link
//! form of networkx, and `Run{round}_Sub{agent}.meta.json` with the question and the open ends.
//! There are two generations: the first names the list of edges `links` and has ten types of nodes,
//! the second names it `edges`, has `Response` too, and fills more fields. [`import_round`] and
//! [`import_folder`] take either and make the same of both; [`export_round`] and [`export_folder`]
//! write either ([`Generation`]).
//!
//! # What becomes of what
//!
//! A vertex `Type(label)` becomes a node of that kind: the label is all between the first
//! parenthesis and the last. Nodes are numbered in the order of the file. What the files do not say
//! (times) is what the caller says; there are no versions, authors and measures in them.
//!
//! An import never fails on a part: what cannot be taken is left out, and each such thing is a
//! [`Finding`] that says what and why. The rounds that come of it are sound: no cycle in the flow,
//! no edge without an end, no label twice. Bridges are derived, so those in a file are left out as
//! well.
//!
//! An export has what the form holds. Times, versions, authors, measures, links to messages, queues
//! and references to earlier rounds it does not hold, and they are not hidden in attributes of our
//! own either, because that program fails on a whole session for one attribute it does not know.
//! What else could not be written is a [`LeftOut`]. That program reads a label with parentheses at
//! the last opening one, so it shows such a node under another label.
//!
//! What is not here: the database tables of the first generation; messages, which are in files of
//! their own.

mod document;
mod export;
mod finding;
mod flow;
mod folder;
mod import;
mod node;
mod text;

pub use export::{Export, Generation, LeftOut, export_round};
pub use finding::{Finding, Problem};
pub use folder::{FolderExport, FolderImport, export_folder, import_folder};
pub use import::{RoundImport, import_round};
