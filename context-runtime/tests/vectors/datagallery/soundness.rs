//! Invariants of our result where the recorded system is at fault.

use std::collections::HashMap;

use context_runtime::trajectory::messages::{
    CallRecord, Cleaning, ImportedMessages, MessageRecord, RecordKind, clean,
};
use serde_json::Value;

use super::typed::list;
use crate::judge::Difference;

/// Formats a history for people.
pub(super) fn written(records: &[MessageRecord]) -> String {
    records.iter().map(|record| record.to_json().as_str().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Checks that calls and results are adjacent, that everything valid stays, and that a second pass
/// changes nothing.
pub(super) fn cleaned(given: &[MessageRecord]) -> Result<String, Difference> {
    let rule = "pairs valid, whole turns kept, repair loses nothing, idempotent";
    for how in [Cleaning::Drop, Cleaning::Repair] {
        let ours = clean(given.to_vec(), how).records;
        let fault =
            |what: String| Difference::new(format!("{rule} ({how:?})"), what, written(&ours));
        pairs_valid(&ours, how).map_err(&fault)?;
        if clean(ours.clone(), how).records != ours {
            return Err(fault("the same when cleaned again".to_owned()));
        }
        let mut must = if how == Cleaning::Drop { whole_turns(given) } else { said(given) };
        for record in said(&ours) {
            must.iter().position(|text| *text == record).map(|at| must.remove(at));
        }
        if let Some(lost) = must.first() {
            return Err(fault(format!("{lost:?}")));
        }
    }
    Ok(rule.to_owned())
}

/// Returns all messages except those of the application.
fn said(records: &[MessageRecord]) -> Vec<(RecordKind, String)> {
    let people = records.iter().filter(|record| record.kind() != RecordKind::System);
    people.map(|record| (record.kind(), record.text())).collect()
}

fn counted(calls: &[CallRecord]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for call in calls {
        *counts.entry(call.key().unwrap_or_default().to_owned()).or_default() += 1;
    }
    counts
}

/// Returns the texts of users, and of complete turns of the model.
fn whole_turns(records: &[MessageRecord]) -> Vec<(RecordKind, String)> {
    let mut kept = Vec::new();
    let records: Vec<_> =
        records.iter().filter(|record| record.kind() != RecordKind::System).collect();
    for turn in records.chunk_by(|_, record| record.kind() == RecordKind::Tool) {
        let (Some(head), results) = (turn.first(), &turn[1..]) else { continue };
        if head.kind() == RecordKind::Tool {
            continue;
        }
        let (mut calls, mut invalid) = (counted(&head.calls()), counted(&head.invalid_calls()));
        let mut whole = !calls.contains_key("");
        let mut said = vec![(head.kind(), head.text())];
        for result in results {
            let id = result.tool_call_id().unwrap_or_default().trim().to_owned();
            let of_a_call =
                [&mut calls, &mut invalid].into_iter().any(|left| match left.get_mut(&id) {
                    Some(left) if *left > 0 && !id.is_empty() => {
                        *left -= 1;
                        true
                    }
                    _ => false,
                });
            if of_a_call {
                said.push((result.kind(), result.text()));
            }
        }
        whole &= calls.values().all(|left| *left == 0);
        if whole {
            kept.extend(said);
        }
    }
    kept
}

fn pairs_valid(records: &[MessageRecord], how: Cleaning) -> Result<(), String> {
    let (mut open, mut optional) = (HashMap::new(), HashMap::new());
    for (at, record) in records.iter().enumerate() {
        if record.kind() == RecordKind::Tool {
            let id = record.tool_call_id().unwrap_or_default().trim().to_owned();
            let taken =
                [&mut open, &mut optional].into_iter().any(|left: &mut HashMap<String, usize>| {
                    left.get_mut(&id).filter(|left| **left > 0).map(|left| *left -= 1).is_some()
                });
            if !taken || id.is_empty() {
                return Err(format!("a call {id:?} in front of message {at}"));
            }
            continue;
        }
        if open.values().any(|left| *left > 0) {
            return Err(format!("all results in front of message {at}"));
        }
        (open, optional) = (counted(&record.calls()), counted(&record.invalid_calls()));
        if how == Cleaning::Repair {
            for (id, count) in optional.drain() {
                *open.entry(id).or_default() += count;
            }
        }
    }
    if open.values().any(|left| *left > 0) {
        Err("all results at the end".to_owned())
    } else {
        Ok(())
    }
}

/// Checks that all texts and calls except the question are shown, that no programming language
/// syntax is, and that no header stands alone.
pub(super) fn formatted(messages: &Value, ours: &str) -> Result<String, Difference> {
    let rule = "texts, names, arguments and errors shown but for the question, no header alone";
    let fault = |what: &str| Difference::new(rule, what, ours);
    let below = ours.strip_prefix("=== CURRENT CONTEXT ===");
    if below.is_some_and(|below| below.trim().is_empty()) {
        return Err(fault("something below the header"));
    }
    if ours.contains("{'") || ours.contains("['") || ours.contains("[{'") {
        return Err(fault("no text of a programming language"));
    }
    let is_question =
        |message: &&Value| message["role"] == "user" || message["type"] == "HumanMessage";
    let question = usize::from(list(messages).next().filter(is_question).is_some());
    let mut needed = Vec::new();
    for message in list(messages).skip(question) {
        match &message["content"] {
            Value::String(text) => needed.push(text.clone()),
            content => needed
                .extend(list(content).filter_map(|part| Some(part["text"].as_str()?.to_owned()))),
        }
        for holder in [message, &message["additional_kwargs"]] {
            for key in ["tool_calls", "invalid_tool_calls"] {
                list(&holder[key]).for_each(|call| leaves(call, &mut needed));
            }
        }
    }
    match needed.iter().find(|text| !ours.contains(text.as_str())) {
        Some(lost) => Err(fault(lost)),
        None => Ok(rule.to_owned()),
    }
}

/// Collects the name of a call, its error, and the texts and numbers of its arguments.
fn leaves(call: &Value, out: &mut Vec<String>) {
    let form = if call["function"].is_object() { &call["function"] } else { call };
    out.extend(
        [&form["name"], &call["error"]].into_iter().filter_map(Value::as_str).map(str::to_owned),
    );
    let arguments = form["arguments"]
        .as_str()
        .map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.into()));
    let mut left = vec![arguments.unwrap_or_else(|| form["args"].clone())];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => out.push(text),
            Value::Number(number) => out.push(number.to_string()),
            Value::Array(items) => left.extend(items),
            Value::Object(map) => left.extend(map.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Checks that every item of a list was read or reported.
pub(super) fn accounted(items: usize, ours: &ImportedMessages) -> Result<String, Difference> {
    let rule = "every item is read or reported";
    let mut at: Vec<_> = ours.unread.iter().map(|unread| unread.index).collect();
    at.dedup();
    let told = ours.records.len() + at.len();
    if told == items { Ok(rule.to_owned()) } else { Err(Difference::new(rule, items, told)) }
}
