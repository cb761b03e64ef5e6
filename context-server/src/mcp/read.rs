//! Reading messages: as many as fit with the ways on, or one of them piece by piece.

use std::collections::VecDeque;
use std::sync::Arc;

use context_runtime::display;
use context_runtime::store::Node;

use super::answer::{MOST_BYTES, time};
use super::arguments::ReadMessages;
use crate::OperationError;
use crate::operations::{
    NumberedBranch, NumberedMessage, NumberedMessages, Operations, message_text,
};

/// The most bytes of a message that is shown with others.
const MOST_AMONG_OTHERS: usize = 8_000;
/// The messages on each side of one that its answer offers to read.
const AROUND: u64 = 3;

pub(super) async fn read_messages(
    operations: &Operations,
    asked: ReadMessages,
) -> Result<String, OperationError> {
    let ReadMessages { chat, branch, first, last, message, offset } = asked;
    let branch = branch.as_deref();
    if let Some(message) = message {
        if first.or(last).is_some() {
            let problem = "it reads one message: leave `first` and `last` out, or this";
            return Err(OperationError::invalid("message", problem));
        }
        let found = operations.numbered_message(&chat, branch, &message).await?;
        return one(operations, &chat, &found, offset.unwrap_or_default()).await;
    }
    // An offset is within one message.
    let last = last.or(first.filter(|_| offset.is_some()));
    if offset.is_some() && first != last {
        let problem = "it needs one message: name it with `message`";
        return Err(OperationError::invalid("offset", problem));
    }
    let mut found = operations.numbered(&chat, branch, (first, last)).await?;
    match (first.filter(|_| first == last), found.nodes.pop()) {
        (Some(number), Some(node)) => {
            let found = NumberedMessage { node, number, branch: Some(found.branch) };
            one(operations, &chat, &found, offset.unwrap_or_default()).await
        }
        (_, newest) => {
            found.nodes.extend(newest);
            Ok(several(&found, first.is_some()))
        }
    }
}

/// Shows messages while they fit: from the first on, or up to the last.
fn several(found: &NumberedMessages, is_forward: bool) -> String {
    if found.nodes.is_empty() {
        return format!("[no messages on the branch {}]", found.branch.name);
    }
    let (mut shown, mut bytes) = (VecDeque::new(), 0);
    let mut numbers = (found.first..).zip(&found.nodes).collect::<VecDeque<_>>();
    let mut next = || if is_forward { numbers.pop_front() } else { numbers.pop_back() };
    let (mut first, mut last) = (u64::MAX, 0);
    while let Some((number, node)) = next() {
        let entry = entry(node, number);
        bytes += entry.len();
        if bytes > MOST_BYTES {
            break;
        }
        (first, last) = (first.min(number), last.max(number));
        if is_forward { shown.push_back(entry) } else { shown.push_front(entry) }
    }
    let (total, branch) = (found.branch.total, with_branch(&found.branch));
    let mut out = format!("[messages {first} to {last} of {total}{branch}");
    if first > 1 {
        out.push_str(&format!("; earlier ones: read_messages with last {}{branch}", first - 1));
    }
    if last < total {
        out.push_str(&format!("; later ones: read_messages with first {}{branch}", last + 1));
    }
    out.push_str("]\n");
    out.extend(shown);
    out
}

/// Shows a message among others: its beginning, if it is long.
fn entry(node: &Arc<Node>, number: u64) -> String {
    let text = message_text(node);
    let mut out = format!("\n{}\n", head(node, number));
    let end = text.floor_char_boundary(MOST_AMONG_OTHERS);
    out.push_str(&text[..end]);
    out.push('\n');
    if end < text.len() || is_spilled(node) {
        let shown = match end < text.len() {
            true => format!("{end} of {} bytes", text.len()),
            false => "a result is shortened".to_owned(),
        };
        let id = node.id.as_str();
        out.push_str(&format!("({shown}; all of it: read_messages with message {id:?})\n"));
    }
    out
}

/// Shows a piece of one message.
async fn one(
    operations: &Operations,
    chat: &str,
    found: &NumberedMessage,
    offset: usize,
) -> Result<String, OperationError> {
    let whole = operations.whole_text(chat, &found.node).await;
    if offset > 0 && offset >= whole.len() {
        let problem = format!("the message has {} bytes", whole.len());
        return Err(OperationError::invalid("offset", problem));
    }
    let start = whole.floor_char_boundary(offset);
    let end = whole.floor_char_boundary(start.saturating_add(MOST_BYTES));
    let number = found.number;
    let mut out = format!("[message {number}");
    match &found.branch {
        Some(branch) => {
            let (total, branch) = (branch.total, with_branch(branch));
            out.push_str(&format!(" of {total}{branch}"));
            if total > 1 {
                let first = number.saturating_sub(AROUND).max(1);
                let last = number.saturating_add(AROUND).min(total);
                out.push_str(&format!("; around it: first {first}, last {last}{branch}"));
            }
        }
        None => out.push_str(", which is on no branch any more"),
    }
    if start > 0 || end < whole.len() {
        out.push_str(&format!("; bytes {start} to {end} of {}", whole.len()));
    }
    if start > 0 {
        out.push_str(&format!("; go back with offset {}", start.saturating_sub(MOST_BYTES)));
    }
    if end < whole.len() {
        out.push_str(&format!("; go on with offset {end}"));
    }
    out.push_str(&format!("]\n\n{}\n{}", head(&found.node, number), &whole[start..end]));
    Ok(out)
}

fn head(node: &Node, number: u64) -> String {
    let (id, role) = (node.id.as_str(), display::role(node));
    let pinned = node.message().is_ok_and(|message| message.is_pinned());
    let pinned = if pinned { " · pinned" } else { "" };
    format!("#{number} · message {id:?} · {role} · {}{pinned}", time(node.created_at))
}

/// Returns the argument that a reader of another branch than the active one has to give.
fn with_branch(branch: &NumberedBranch) -> String {
    match branch.is_active {
        true => String::new(),
        false => format!(", branch {:?}", branch.name.as_str()),
    }
}

fn is_spilled(node: &Node) -> bool {
    use context_runtime::{Part, Spilled};
    node.message().is_ok_and(|message| {
        message.parts.iter().any(|part| match part {
            Part::ToolResult(result) => Spilled::of(&result.metadata).is_some(),
            _ => false,
        })
    })
}
