//! Import and export of the round files of DataGallery's dataagent.
//!
//! Dataagent stores a round of an agent as `Run{round}_Sub{agent}.json`, a graph in the node-link
//! format of networkx, and `Run{round}_Sub{agent}.meta.json`, with the question and the open ends.
//! The format has two versions. The first names the list of edges `links` and has ten node types.
//! The second names it `edges`, adds `Response`, and fills more fields. [`import_round`] and
//! [`import_folder`] read both versions with the same result; [`export_round`] and
//! [`export_folder`] write either ([`Generation`]).
//!
//! # Mapping
//!
//! A vertex `Type(label)` becomes a node of that kind. The label is everything between the first
//! and the last parenthesis. Nodes are numbered in file order. The files contain no times, so the
//! caller passes them, and no versions, authors or measurements.
//!
//! An import never fails because of one part: a part that cannot be read is left out and reported
//! as an [`ImportFinding`]. The resulting rounds are sound: the flow has no cycle, every edge has
//! both ends, and no label occurs twice. Bridges are derived, so those in a file are left out as
//! well.
//!
//! An export contains what the format can hold. It has no place for times, versions, authors,
//! measurements, message links, queues and references to earlier rounds. They are not written as
//! additional attributes either, because dataagent fails to load a whole session with one unknown
//! attribute. Everything else that could not be written is reported as an [`Omission`]. Dataagent
//! splits a label with parentheses at the last opening one and therefore shows such a node under a
//! different label.
//!
//! The database tables of the first version and the message files are not handled here.

mod document;
mod export;
mod finding;
mod flow;
mod folder;
mod import;
mod node;
mod text;

pub use export::{Export, Generation, Omission, export_round};
pub use finding::{ImportFinding, Problem};
pub use folder::{FolderExport, FolderImport, export_folder, import_folder};
pub use import::{RoundImport, import_round};
