//! Tests of message records: cleaning, formatting, statistics, logs.

mod any;
mod clean;
mod convert;
mod format;
mod import;
mod log;
mod statistics;

use context_core::Json;
use context_trajectory::messages::MessageRecord;

/// Parses a record.
fn record(text: &str) -> MessageRecord {
    MessageRecord::from_json(&Json::from_text(text).unwrap()).unwrap()
}

fn user(text: &str) -> MessageRecord {
    record(r#"{"type":"HumanMessage"}"#).with("content", text)
}

fn ai(text: &str, calls: &str) -> MessageRecord {
    record(r#"{"type":"AIMessage"}"#)
        .with("content", text)
        .with("tool_calls", Json::from_text(calls).unwrap())
}

fn result(id: &str, text: &str) -> MessageRecord {
    record(r#"{"type":"ToolMessage"}"#).with("content", text).with("tool_call_id", id)
}

/// Returns records as lines, for snapshots.
fn lines(records: &[MessageRecord]) -> String {
    let line = |record: &MessageRecord| {
        let calls =
            record.calls().into_iter().map(|call| format!(" ->{}", call.id.unwrap_or_default()));
        let id = record.tool_call_id().map(|id| format!(" <-{id}")).unwrap_or_default();
        let mark = if record.is_synthetic() { " (made)" } else { "" };
        let name = record.type_name().unwrap_or_default().replace("Message", "");
        format!("{name}: {}{}{id}{mark}\n", record.text(), calls.collect::<String>())
    };
    records.iter().map(line).collect()
}
