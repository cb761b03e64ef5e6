//! The rules of OpenAI's Responses API.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::Value;

use super::body_path::{BodyPath, Findings, items, kind, text};
use super::forms::Forms;
use super::values::{
    self, IMAGES, base64_data, blank, cache_key, data_url, length, media_url, name, web_url,
};
use super::{Rule, Violation};

static FORMS: LazyLock<Forms> =
    LazyLock::new(|| Forms::read(include_str!("forms/responses.forms")));

/// The maximum length of the id of an item or a call.
const MAX_ID: usize = 64;
/// The minimum of `max_output_tokens`.
const LEAST_OUTPUT: i64 = 16;
/// The maximum length of a tool name.
const MAX_NAME: usize = 64;
/// Item types with a call, and the item types with its output. The provider's own tools hold their
/// output in the same item.
const PAIRS: [(&str, &str); 7] = [
    ("function_call", "function_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("computer_call", "computer_call_output"),
    ("local_shell_call", "local_shell_call_output"),
    ("shell_call", "shell_call_output"),
    ("apply_patch_call", "apply_patch_call_output"),
    ("program", "program_output"),
];
/// The prefixes of item ids.
const ID_STARTS: [(&str, &str); 4] =
    [("message", "msg"), ("function_call", "fc"), ("reasoning", "rs"), ("custom_tool_call", "ctc")];

pub(super) fn check(body: &Value) -> Vec<Violation> {
    let mut findings = Findings::default();
    FORMS.check("body", body, &BodyPath::Body, &mut findings);
    let at = BodyPath::Body.key("input");
    match body.get("input") {
        Some(Value::String(said)) => {
            findings.ask(!blank(said), Rule::Empty, &at, "a text without words")
        }
        Some(Value::Array(list)) => {
            findings.ask(!list.is_empty(), Rule::Empty, &at, "no items");
            for (i, each) in list.iter().enumerate() {
                item(each, &at.item(i), &mut findings);
            }
            ids(list, &at, &mut findings);
            pairs(list, &at, &mut findings);
            thoughts(list, &at, &mut findings);
        }
        _ => {}
    }
    tools(body, &mut findings);
    cache_key(body, &mut findings);
    if let Some(most) = body.get("max_output_tokens").and_then(Value::as_i64)
        && most < LEAST_OUTPUT
    {
        let at = BodyPath::Body.key("max_output_tokens");
        findings.add(Rule::Type, &at, format!("{most} is below the minimum of {LEAST_OUTPUT}"));
    }
    findings.into_violations()
}

/// Returns the type of an item. A message may omit it.
fn item_kind(item: &Value) -> &str {
    match kind(item) {
        "" if item.get("role").is_some() => "message",
        kind => kind,
    }
}

fn item(item: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    match item_kind(item) {
        "message" => message(item, at, findings),
        "function_call" => {
            if let Some(tool) = text(item, "name") {
                name(findings, &at.key("name"), tool, "_-", MAX_NAME);
            }
        }
        "function_call_output" | "custom_tool_call_output" => {
            let at = at.key("output");
            if let Some(Value::Array(parts)) = item.get("output") {
                findings.ask(!parts.is_empty(), Rule::Empty, &at, "a list without parts");
                for (i, each) in parts.iter().enumerate() {
                    part(each, &at.item(i), findings);
                }
            }
        }
        "reasoning" => {
            let id = text(item, "id").unwrap_or_default();
            let encrypted =
                text(item, "encrypted_content").is_none_or(|content| !content.is_empty());
            findings.ask(
                encrypted && !id.is_empty(),
                Rule::Thinking,
                at,
                "without id or with empty content",
            );
        }
        _ => {}
    }
}

fn message(message: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    let content = at.key("content");
    let by_model = text(message, "role") == Some("assistant");
    match message.get("content") {
        Some(Value::String(said)) => {
            findings.ask(!blank(said), Rule::Empty, &content, "a text without words")
        }
        Some(Value::Array(parts)) => {
            findings.ask(!parts.is_empty(), Rule::Empty, &content, "a list without parts");
            for (i, each) in parts.iter().enumerate() {
                let at = content.item(i);
                // The types allow output blocks in user messages. The service does not.
                let of_model = matches!(kind(each), "output_text" | "refusal");
                findings.ask(of_model == by_model, Rule::Place, &at, "a block of another role");
                part(each, &at, findings);
            }
        }
        _ => {}
    }
}

fn part(part: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    let said = |key| text(part, key);
    match kind(part) {
        "input_text" | "output_text" => {
            findings.ask(
                !blank(said("text").unwrap_or_default()),
                Rule::Empty,
                at,
                "a text without words",
            );
        }
        "input_image" => match (said("image_url"), said("file_id")) {
            (Some(url), None) => media_url(findings, &at.key("image_url"), url, &IMAGES),
            (None, Some(_)) => {}
            _ => findings.add(Rule::Media, at, "needs one of image_url and file_id"),
        },
        "input_file" => match (said("file_data"), said("file_url"), said("file_id")) {
            (Some(data), None, None) => {
                findings.ask(
                    said("filename").is_some(),
                    Rule::Media,
                    at,
                    "data without a filename",
                );
                base64_data(
                    findings,
                    &at.key("file_data"),
                    data_url(data).map_or(data, |(_, data)| data),
                );
            }
            (None, Some(url), None) => web_url(findings, &at.key("file_url"), url),
            (None, None, Some(_)) => {}
            _ => findings.add(Rule::Media, at, "needs one of file_data, file_url and file_id"),
        },
        _ => {}
    }
}

/// Checks that items have unique ids with the prefix of their type.
fn ids(list: &[Value], at: &BodyPath<'_>, findings: &mut Findings) {
    let mut seen = HashSet::new();
    for (i, item) in list.iter().enumerate() {
        let Some(id) = text(item, "id") else { continue };
        let (item_at, key) = (at.item(i), "id");
        let at = item_at.key(key);
        findings.ask(seen.insert(id), Rule::Duplicate, &at, "two items with one id");
        values::id(findings, &at, id);
        length(findings, &at, Rule::Id, id, MAX_ID);
        let start = ID_STARTS.iter().find(|(kind, _)| *kind == item_kind(item));
        if let Some((kind, start)) = start.filter(|(_, start)| !id.starts_with(start)) {
            findings.add(Rule::Id, &at, format!("the id of a {kind} begins with {start}"));
        }
    }
}

/// Checks that every call has exactly one output, anywhere after it.
fn pairs(list: &[Value], at: &BodyPath<'_>, findings: &mut Findings) {
    for (call_kind, output_kind) in PAIRS {
        let mut open: HashMap<&str, bool> = HashMap::new();
        for (i, item) in list.iter().enumerate() {
            // An old item type refers to its call by `id`.
            let key = if output_kind == "local_shell_call_output" && kind(item) == output_kind {
                "id"
            } else {
                "call_id"
            };
            let (at, id) = (at.item(i), text(item, key).unwrap_or_default());
            if kind(item) == call_kind {
                findings.ask(!id.is_empty(), Rule::Id, &at.key(key), "an id has letters");
                length(findings, &at.key(key), Rule::Id, id, MAX_ID);
                findings.ask(
                    open.insert(id, false).is_none(),
                    Rule::Duplicate,
                    &at,
                    "two calls with one id",
                );
            } else if kind(item) == output_kind {
                match open.get_mut(id) {
                    Some(answered) if !*answered => *answered = true,
                    Some(_) => {
                        findings.add(Rule::Duplicate, &at, format!("a second output of {id:?}"))
                    }
                    None => findings.add(
                        Rule::Pairing,
                        &at,
                        format!("an output of {id:?}, which no call before has"),
                    ),
                }
            }
        }
        let mut without: Vec<&str> =
            open.iter().filter(|(_, answered)| !**answered).map(|(id, _)| *id).collect();
        without.sort_unstable();
        if !without.is_empty() {
            findings.add(
                Rule::Pairing,
                at,
                format!("calls without output: {}", without.join(", ")),
            );
        }
    }
}

/// Checks that a reasoning item is followed by the item it led to.
fn thoughts(list: &[Value], at: &BodyPath<'_>, findings: &mut Findings) {
    let mut behind: Option<&Value> = None;
    for (i, item) in list.iter().enumerate().rev() {
        if item_kind(item) == "reasoning" {
            let led_to = behind.is_some_and(|next| match item_kind(next) {
                "message" => text(next, "role") == Some("assistant"),
                kind => {
                    kind == "reasoning"
                        || kind.ends_with("_call")
                        || matches!(kind, "program" | "item_reference")
                }
            });
            findings.ask(
                led_to,
                Rule::Thinking,
                &at.item(i),
                "not followed by what the model said or called",
            );
        }
        behind = Some(item);
    }
}

fn tools(body: &Value, findings: &mut Findings) {
    let at = BodyPath::Body.key("tools");
    let mut names = HashSet::new();
    for (i, tool) in items(body.get("tools")).iter().enumerate() {
        if let Some(tool) = text(tool, "name") {
            let (tool_at, key) = (at.item(i), "name");
            let at = tool_at.key(key);
            name(findings, &at, tool, "_-", MAX_NAME);
            findings.ask(names.insert(tool), Rule::Tools, &at, "two tools of one name");
        }
    }
    let Some(choice) = body.get("tool_choice") else { return };
    let at = BodyPath::Body.key("tool_choice");
    findings.ask(!items(body.get("tools")).is_empty(), Rule::Tools, &at, "a choice without tools");
    if matches!(kind(choice), "function" | "custom") {
        let chosen = text(choice, "name").unwrap_or_default();
        if !names.contains(chosen) {
            findings.add(Rule::Tools, &at, format!("{chosen:?} is not a tool of this request"));
        }
    }
}
