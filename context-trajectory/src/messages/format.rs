//! A compact text rendering of a conversation, for a model that continues or summarizes it.

use context_core::message::{ToolInput, is_blank};

use super::calls::{CallRecord, ERROR};
use super::python;
use super::record::{MessageRecord, RecordKind};

const HEADER: &str = "=== CURRENT CONTEXT ===";
const NOTHING: &str = "None";
const SEPARATOR: &str = "\n\n---\n\n";
const EMPTY: &str = "[Assistant]\n(Empty)";
/// The name shown for a call without a name.
const TOOL: &str = "tool";

/// Renders records as text: a header, then one block per record, separated by `---` lines. Without
/// anything to show, the text is `None`.
///
/// A leading user message is the question and is left out, since callers send it separately. Calls
/// show names and arguments without ids, results show the tool and the text, and lists of parts
/// show their texts, as described at [`MessageRecord::text`].
///
/// ```
/// use context_core::{Json, Message, Part, Role};
/// use context_trajectory::messages::{format_context, to_records};
///
/// let call = Part::tool_call("c1", "sum", Json::from_text(r#"{"b":2,"a":1}"#)?);
/// let run = [
///     Message::from("What is 1 + 2?"),
///     Message::new(Role::Assistant, [Part::text("Let me see."), call]),
/// ];
/// assert_eq!(
///     format_context(&to_records(&run)),
///     "=== CURRENT CONTEXT ===\n[Assistant]\nLet me see.\n[Assistant:tool_calls]\n\
///      [{\"args\": {\"a\": 1, \"b\": 2}, \"name\": \"sum\"}]"
/// );
/// # Ok::<_, serde_json::Error>(())
/// ```
pub fn format_context(records: &[MessageRecord]) -> String {
    let shown = match records.split_first() {
        Some((first, rest)) if first.kind() == RecordKind::Human => rest,
        _ => records,
    };
    let blocks: Vec<_> = shown.iter().filter_map(block).collect();
    if blocks.is_empty() {
        return NOTHING.to_owned();
    }
    format!("{HEADER}\n{}", blocks.join(SEPARATOR))
}

fn block(record: &MessageRecord) -> Option<String> {
    let text = record.text();
    Some(match record.kind() {
        RecordKind::Human => format!("[User]\n{text}"),
        RecordKind::System => format!("[System]\n{text}"),
        RecordKind::Tool => {
            let name = record.name();
            format!("<results>\n[Tool:{}]\n{text} \n</results>", name.as_deref().unwrap_or(TOOL))
        }
        RecordKind::Ai => answer(record, &text),
        RecordKind::Other => match record.type_name() {
            Some(name) => format!("[{name}]\n{text}"),
            None if text.is_empty() => return None,
            None => format!("[Message]\n{text}"),
        },
    })
}

fn answer(record: &MessageRecord, text: &str) -> String {
    let mut lines = Vec::new();
    if !text.is_empty() {
        lines.push(format!("[Assistant]\n{text}"));
    }
    let calls = record.calls();
    if !calls.is_empty() {
        lines.push(format!("[Assistant:tool_calls]\n{}", list(&calls, write_call)));
    }
    let invalid = record.invalid_calls();
    if !invalid.is_empty() {
        lines.push(format!("[Assistant:invalid_tool_calls]\n{}", list(&invalid, write_invalid)));
    }
    if lines.is_empty() {
        return EMPTY.to_owned();
    }
    let is_space = |c: char| is_blank(c.encode_utf8(&mut [0; 4]));
    lines.join("\n").trim_matches(is_space).to_owned()
}

fn list(calls: &[CallRecord], write: fn(&mut String, &CallRecord)) -> String {
    let mut out = String::from("[");
    for (i, call) in calls.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        write(&mut out, call);
    }
    out.push(']');
    out
}

fn write_call(out: &mut String, call: &CallRecord) {
    out.push_str("{\"args\": ");
    match &call.args {
        ToolInput::Json(json) => python::write(out, json.as_raw()),
        ToolInput::Invalid(text) => python::write_text(out, text),
    }
    write_name(out, call);
}

fn write_invalid(out: &mut String, call: &CallRecord) {
    out.push_str("{\"error\": ");
    match (&call.error, call.extra.get(ERROR)) {
        (Some(error), _) => python::write_text(out, error),
        (None, Some(other)) => python::write(out, other.as_raw()),
        (None, None) => python::write_text(out, ""),
    }
    write_name(out, call);
}

fn write_name(out: &mut String, call: &CallRecord) {
    out.push_str(", \"name\": ");
    let name = call.name.as_deref().filter(|name| !name.is_empty());
    python::write_text(out, name.unwrap_or(TOOL));
    out.push('}');
}
