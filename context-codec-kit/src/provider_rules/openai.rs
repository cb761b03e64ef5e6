//! The rules of OpenAI's Chat Completions API.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::body_path::{BodyPath, Findings, items, kind, text};
use super::forms::Forms;
use super::values::{
    IMAGES, base64_data, blank, cache_key, data_url, length, letters, media_url, name,
};
use super::{Rule, Violation};

static FORMS: LazyLock<Forms> = LazyLock::new(|| Forms::read(include_str!("forms/openai.forms")));

/// The maximum length of the id of a call.
const MAX_ID: usize = 40;
/// The maximum length of the name of a tool, of a speaker or of an output schema.
const MAX_NAME: usize = 64;

pub(super) fn check(body: &Value) -> Vec<Violation> {
    let mut findings = Findings::default();
    FORMS.check("body", body, &BodyPath::Body, &mut findings);
    let at = BodyPath::Body.key("messages");
    let messages = items(body.get("messages"));
    findings.ask(!messages.is_empty(), Rule::Empty, &at, "no messages");
    for (i, each) in messages.iter().enumerate() {
        message(each, &at.item(i), &mut findings);
    }
    pairs(messages, &at, &mut findings);
    tools(body, &mut findings);
    cache_key(body, &mut findings);
    findings.into_violations()
}

fn message(message: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    if let (Some(speaker), false) =
        (text(message, "name"), text(message, "role") == Some("function"))
    {
        let at = at.key("name");
        let good = !speaker.is_empty()
            && !speaker.contains(|c: char| c.is_whitespace() || "<|\\/>".contains(c));
        findings.ask(good, Rule::Name, &at, "a speaker's name has no spaces and none of <|\\/>");
        length(findings, &at, Rule::Name, speaker, MAX_NAME);
    }
    let content = at.key("content");
    match message.get("content") {
        // The result of a tool may be empty. The content of other roles may not.
        Some(Value::String(said)) if blank(said) => match text(message, "role") {
            Some("tool" | "function") => {}
            Some("assistant") if has_calls(message) || text(message, "refusal").is_some() => {}
            _ => findings.add(Rule::Empty, &content, "a text without words"),
        },
        Some(Value::Array(parts)) => {
            findings.ask(!parts.is_empty(), Rule::Empty, &content, "a list without parts");
            for (i, each) in parts.iter().enumerate() {
                part(each, &content.item(i), findings);
            }
        }
        _ => {}
    }
    if let Some(calls) = message.get("tool_calls") {
        let at = at.key("tool_calls");
        findings.ask(
            calls.as_array().is_some_and(|calls| !calls.is_empty()),
            Rule::Empty,
            &at,
            "a list without calls",
        );
        for (i, each) in items(Some(calls)).iter().enumerate() {
            call(each, &at.item(i), findings);
        }
    }
    if let Some(function) = message.get("function_call").and_then(|call| text(call, "name")) {
        name(findings, &at.key("function_call").key("name"), function, "_-", MAX_NAME);
    }
}

fn part(part: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    match kind(part) {
        "text" => findings.ask(
            !blank(text(part, "text").unwrap_or_default()),
            Rule::Empty,
            at,
            "a text without words",
        ),
        "image_url" => {
            let at = at.key("image_url");
            if let Some(url) = part.get("image_url").and_then(|image| text(image, "url")) {
                media_url(findings, &at.key("url"), url, &IMAGES);
            }
        }
        "input_audio" => {
            let at = at.key("input_audio");
            if let Some(data) = part.get("input_audio").and_then(|audio| text(audio, "data")) {
                base64_data(findings, &at.key("data"), data);
            }
        }
        "file" => {
            let at = at.key("file");
            let said = |key| part.get("file").and_then(|file| text(file, key));
            match (said("file_data"), said("file_id")) {
                (None, None) => findings.add(Rule::Media, &at, "neither file_data nor file_id"),
                (Some(_), Some(_)) => findings.add(Rule::Media, &at, "both file_data and file_id"),
                (Some(data), None) => {
                    findings.ask(
                        said("filename").is_some(),
                        Rule::Media,
                        &at,
                        "data without a filename",
                    );
                    let data = data_url(data).map_or(data, |(_, data)| data);
                    base64_data(findings, &at.key("file_data"), data);
                }
                (None, Some(_)) => {}
            }
        }
        _ => {}
    }
}

fn call(call: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    if let Some(id) = text(call, "id") {
        findings.ask(!id.is_empty(), Rule::Id, &at.key("id"), "an id has letters");
        length(findings, &at.key("id"), Rule::Id, id, MAX_ID);
    }
    for key in ["function", "custom"] {
        if let Some(tool) = call.get(key).and_then(|called| text(called, "name")) {
            name(findings, &at.key(key).key("name"), tool, "_-", MAX_NAME);
        }
    }
}

fn has_calls(message: &Value) -> bool {
    !items(message.get("tool_calls")).is_empty()
}

/// Checks that the results directly follow the message with their calls, exactly one per call.
fn pairs(messages: &[Value], list: &BodyPath<'_>, findings: &mut Findings) {
    let mut open: Vec<&str> = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        let at = list.item(i);
        let role = text(message, "role").unwrap_or_default();
        if role == "tool" {
            let id = text(message, "tool_call_id").unwrap_or_default();
            match open.iter().position(|call| *call == id) {
                Some(place) => drop(open.remove(place)),
                None => findings.add(
                    Rule::Pairing,
                    &at,
                    format!("a result of {id:?}, which no open call has"),
                ),
            }
            continue;
        }
        unanswered(&mut open, &at, findings);
        if role == "function" {
            let before = i.checked_sub(1).and_then(|i| messages.get(i));
            let called = before
                .and_then(|before| before.get("function_call"))
                .and_then(|call| text(call, "name"));
            let fits = called.is_some() && called == text(message, "name");
            findings.ask(fits, Rule::Pairing, &at, "a function's answer not right behind its call");
        }
        if role == "assistant" {
            open = items(message.get("tool_calls"))
                .iter()
                .filter_map(|call| text(call, "id"))
                .collect();
            let different: HashSet<&str> = open.iter().copied().collect();
            let once = different.len() == open.len();
            findings.ask(once, Rule::Duplicate, &at.key("tool_calls"), "two calls with one id");
            let says = ["content", "refusal", "audio"].iter().any(|key| is_there(message.get(key)));
            findings.ask(
                says || has_calls(message),
                Rule::Empty,
                &at,
                "says nothing and calls nothing",
            );
        }
    }
    unanswered(&mut open, list, findings);
}

fn unanswered(open: &mut Vec<&str>, at: &BodyPath<'_>, findings: &mut Findings) {
    if !open.is_empty() {
        findings.add(
            Rule::Pairing,
            at,
            format!("before it, calls without results: {}", open.join(", ")),
        );
    }
    open.clear();
}

/// Whether a value has content: it is not null, and not an empty text, list or object.
fn is_there(value: Option<&Value>) -> bool {
    value.is_some_and(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    })
}

fn tools(body: &Value, findings: &mut Findings) {
    let at = BodyPath::Body.key("tools");
    let mut names = HashSet::new();
    for (i, tool) in items(body.get("tools")).iter().enumerate() {
        let at = at.item(i);
        let which = kind(tool);
        if let Some(tool) = tool.get(which).and_then(|tool| text(tool, "name")) {
            let (inner, named) = (at.key(which), "name");
            let at = inner.key(named);
            name(findings, &at, tool, "_-", MAX_NAME);
            findings.ask(names.insert(tool), Rule::Tools, &at, "two tools of one name");
        }
    }
    if let Some(tools) = body.get("tools") {
        findings.ask(!items(Some(tools)).is_empty(), Rule::Tools, &at, "a list without tools");
    }
    if let Some(choice) = body.get("tool_choice") {
        let at = BodyPath::Body.key("tool_choice");
        findings.ask(body.get("tools").is_some(), Rule::Tools, &at, "a choice without tools");
        let chosen = choice.get(kind(choice)).and_then(|tool| text(tool, "name"));
        if let Some(tool) = chosen.filter(|tool| !names.contains(tool)) {
            findings.add(Rule::Tools, &at, format!("{tool:?} is not a tool of this request"));
        }
    }
    let form = body.get("response_format").and_then(|format| format.get("json_schema"));
    if let Some(form) = form.and_then(|form| text(form, "name")) {
        let at = BodyPath::Body.key("response_format");
        findings.ask(
            letters(form, "_-"),
            Rule::Name,
            &at,
            "the name of a form has letters, digits, _ and -",
        );
        length(findings, &at, Rule::Name, form, MAX_NAME);
    }
}
