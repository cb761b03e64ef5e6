//! Safe display of untrusted text: names and messages cannot forge a line, control a terminal, or
//! hide. Also short forms of stored messages, for lists and drawings.

use std::borrow::Cow;

pub use context_core::base::display::{clean, clean_lines, is_hidden, preview};
use context_core::history::StoredBoundary;
use context_core::message::NodeKind;
use context_core::{Message, MessageId, Node, Part};

/// The number of characters of a message in a one-line preview.
const PREVIEW: usize = 72;

/// Returns the role of a message, or `boundary`.
pub fn role(node: &Node) -> &'static str {
    match node.kind {
        NodeKind::Message(role) => role.as_str(),
        NodeKind::Boundary => "boundary",
    }
}

/// Returns a node as one [cleaned](clean) line: the beginning of its message, or the description of
/// its boundary.
pub fn node_preview(node: &Node) -> String {
    node_line(node, PREVIEW)
}

/// Returns a node as [`node_preview`] does, with at most so many characters.
pub fn node_line(node: &Node, longest: usize) -> String {
    match (node.kind, node.message()) {
        (NodeKind::Boundary, _) => {
            boundary(node).map_or_else(String::new, |description| preview(&description, longest))
        }
        (_, Err(_)) => format!("({} version {})", node.body().kind(), node.body().version()),
        (_, Ok(message)) => preview(&summary(message), longest),
    }
}

/// Describes a boundary, for example `snip: 12 messages, 9,000 → 1,200 tokens, 5 messages left`.
/// Returns `None` if it cannot be read. The text is not [cleaned](clean).
pub fn boundary(node: &Node) -> Option<String> {
    let StoredBoundary { kind, description, before, after, retained, .. } =
        StoredBoundary::decode(node.body()).ok()?;
    let description =
        if description.is_empty() { String::new() } else { format!(": {description}") };
    let tokens = match before == after {
        true => String::new(),
        false => format!(", {before} → {after} tokens"),
    };
    let retained = count(usize::try_from(retained).unwrap_or(usize::MAX), "message");
    Some(format!("{}{description}{tokens}, {retained} left", kind.as_str()))
}

/// Describes the parts of a message.
fn summary(message: &Message) -> String {
    message.parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// Describes a part. Text is returned as it is, so the description is not [cleaned](clean).
pub fn part(part: &Part) -> Cow<'_, str> {
    match part {
        Part::Text(text) => text.text.to_cow(),
        Part::Reasoning(thought) => Cow::Owned(format!("(thought) {}", thought.text)),
        Part::ToolCall(call) => Cow::Owned(format!("→ {} {}", call.name, call.input.as_written())),
        Part::ToolResult(result) => {
            let name = result.name.as_deref().unwrap_or(&result.call_id);
            let failed = if result.is_error { " failed:" } else { "" };
            let output: Vec<_> = result.output.iter().map(self::part).collect();
            Cow::Owned(format!("← {name}{failed} {}", output.join(" ")))
        }
        Part::Image(_) => Cow::Borrowed("[image]"),
        Part::Document(_) => Cow::Borrowed("[document]"),
        Part::Audio(_) => Cow::Borrowed("[audio]"),
        Part::Data(data) => Cow::Owned(format!("[data {}]", data.name)),
        Part::Opaque(block) => Cow::Owned(format!("[block of {}]", block.provider)),
        _ => Cow::Borrowed("[unknown part]"),
    }
}

/// Returns a [cleaned](clean) id that fits into a column. A long id is shown by its end, which
/// distinguishes UUIDs.
pub fn short_id(id: &MessageId) -> String {
    const LONGEST: usize = 12;
    let id = clean(id.as_str());
    let count = id.chars().count();
    if count <= LONGEST {
        return id.into_owned();
    }
    std::iter::once('…').chain(id.chars().skip(count - 8)).collect()
}

/// Returns a number with its thousands set apart.
///
/// ```
/// use context_runtime::display::grouped;
///
/// assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with its noun in English, for example `1,234 messages`.
pub fn count(n: usize, one: &str) -> String {
    let plural = match (one.strip_suffix("ch"), one.strip_suffix("ry")) {
        _ if n == 1 => one.to_owned(),
        (Some(stem), _) => format!("{stem}ches"),
        (_, Some(stem)) => format!("{stem}ries"),
        _ => format!("{one}s"),
    };
    format!("{} {plural}", grouped(n as u64))
}
