//! Sentences for people about the pieces of a request.

use std::sync::Arc;

use context_core::model::TokenCount;
use context_core::{Message, Node, Role};

use super::pieces::{PieceKind, RequestPiece};
use super::plans::CutInForce;
use crate::display::grouped;

/// The reason for a message of which media were replaced.
pub(super) const MEDIA_AS_TEXT: &str =
    "A text stands in place of media, which this model does not read.";

/// A stored message that is not part of a request.
pub(super) struct Removal<'a> {
    pub(super) position: u32,
    pub(super) node: &'a Arc<Node>,
    /// The cut that removed it, if it is known.
    pub(super) cut: Option<&'a CutInForce>,
    /// Whether the repair left it out.
    pub(super) by_repair: bool,
}

pub(super) fn front(kind: PieceKind) -> &'static str {
    match kind {
        PieceKind::Instructions => "Part of every request, after the system prompt.",
        _ => "Part of every request, in front of the conversation.",
    }
}

pub(super) fn tools(tools: usize, output: bool) -> String {
    let plural = if tools == 1 { "" } else { "s" };
    let output = if output { " and the form of the answer" } else { "" };
    format!("{tools} tool{plural}{output}, part of every request.")
}

pub(super) fn kept(tokens: TokenCount) -> String {
    format!("Sent as it is stored, {} tokens.", grouped(tokens.tokens()))
}

pub(super) fn inserted(role: Role) -> String {
    format!("The repair added a message of the role {role}, which providers require here.")
}

pub(super) fn repaired(piece: &RequestPiece) -> String {
    let (before, after) = (grouped(piece.before.tokens()), grouped(piece.tokens.tokens()));
    format!(
        "The repair changed it to a form that providers accept: {before} tokens became {after}."
    )
}

pub(super) fn added(cut: Option<&CutInForce>, message: &Message) -> String {
    let purpose = match message.is_checkpoint() {
        true => "It stands for the messages before it",
        false => "It notes that messages were left out here",
    };
    match cut {
        Some(cut) => format!("{purpose}: {}.", made_by(cut)),
        None => format!("{purpose}."),
    }
}

pub(super) fn shortened(cut: &CutInForce, piece: &RequestPiece) -> String {
    let (before, after) = (grouped(piece.before.tokens()), grouped(piece.tokens.tokens()));
    let (policy, place, why) = (cut.name(), place(cut), because(cut));
    format!("{policy} shortened it from {before} to {after} tokens{place}{why}.")
}

pub(super) fn left_out(removal: &Removal<'_>, messages: usize, tokens: TokenCount) -> String {
    let tokens = grouped(tokens.tokens());
    let (subject, are) = match messages {
        1 => ("it".to_owned(), "It is"),
        _ => (format!("{} messages", grouped(messages as u64)), "They are"),
    };
    match removal.cut {
        _ if removal.by_repair => {
            format!(
                "The repair left {subject} out, {tokens} tokens: providers do not accept it here."
            )
        }
        Some(cut) => {
            let (policy, place, why) = (cut.name(), place(cut), because(cut));
            format!("{policy} left {subject} out{place}, which saves {tokens} tokens{why}.")
        }
        None if !removal.node.is_readable() => {
            format!("{are} stored in a form that this program does not read.")
        }
        None => format!("{are} not shown, which saves {tokens} tokens."),
    }
}

/// Returns the part of a sentence that names the cut's author.
fn made_by(cut: &CutInForce) -> String {
    let (before, after) = (grouped(cut.before), grouped(cut.after));
    let (place, why) = (place(cut), because(cut));
    format!("{} cut the history from {before} to {after} tokens{place}{why}", cut.name())
}

fn place(cut: &CutInForce) -> String {
    cut.request.map(|number| format!(" in request {number}")).unwrap_or_default()
}

fn because(cut: &CutInForce) -> String {
    match cut.reason.as_str() {
        "" => String::new(),
        reason => format!(", because {reason}"),
    }
}
