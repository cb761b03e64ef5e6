//! The text that asks for a summary at the end of the conversation itself. A provider that has the
//! conversation in its prompt cache reads it from there.

use std::fmt::Write;

use context_core::history::HistoryView;

use crate::cut::Cut;
use crate::prompt::CONTINUED_RULES;

/// The number of messages that are named by their beginning. Further ones are only counted.
const NAMED: usize = 12;
/// The length of such a beginning in characters.
const BEGINNING: usize = 60;

/// Returns the instruction for a summary of the messages before `end`, with at most this many
/// tokens.
pub(crate) fn instruction(
    view: &HistoryView<'_>,
    (cut, end): (&Cut, usize),
    (role, focus): (Option<&str>, Option<&str>),
    summary: u64,
) -> String {
    let mut text = String::from(
        "Stop here: this message is from the application. Do not go on with the task and do not answer the user. \
Summarise the conversation above. The summary will stand in place of its messages, and the assistant goes on from it without having seen them.",
    );
    if let Some(role) = role {
        let _ = write!(text, "\n{role}");
    }
    staying(&mut text, view, cut, end);
    let _ = write!(text, "\n\n{CONTINUED_RULES}\n- Write at most {} words.", summary / 2);
    if let Some(focus) = focus {
        let _ = write!(text, "\n\nHeed this above all: {focus}");
    }
    text
}

/// Says which messages stay beside the summary.
fn staying(text: &mut String, view: &HistoryView<'_>, cut: &Cut, end: usize) {
    let last = view.messages().len().saturating_sub(end);
    let kept: Vec<usize> = (cut.start..end).filter(|at| cut.is_anchor(*at)).collect();
    if last > 0 {
        let _ = write!(text, "\n\nThe last {last} messages before this one stay as they are.");
    }
    if kept.is_empty() {
        return;
    }
    text.push_str(" So do those that begin with:");
    for at in kept.iter().take(NAMED) {
        let plain = view.messages()[*at].plain_text();
        let line: String = plain.trim().chars().take(BEGINNING).collect();
        let _ = write!(text, "\n- {:?}", line);
    }
    if let Some(more) = kept.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let _ = write!(text, "\n- and {more} more of the user's requests");
    }
}
