//! The rules of Anthropic's Messages API.

mod compaction;
mod marks;
mod pairs;

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::body_path::{BodyPath, Findings, items, kind, text};
use super::forms::Forms;
use super::values::{base64_data, blank, id, letters, name, web_url};
use super::{Rule, Violation};

static FORMS: LazyLock<Forms> =
    LazyLock::new(|| Forms::read(include_str!("forms/anthropic.forms")));

/// The maximum length of a tool name.
const MAX_NAME: usize = 128;

pub(super) fn check(body: &Value) -> Vec<Violation> {
    let mut findings = Findings::default();
    FORMS.check("body", body, &BodyPath::Body, &mut findings);
    system(body, &mut findings);
    let at = BodyPath::Body.key("messages");
    let messages = items(body.get("messages"));
    findings.ask(!messages.is_empty(), Rule::Empty, &at, "no messages");
    for (i, each) in messages.iter().enumerate() {
        message(each, &at.item(i), &mut findings);
    }
    pairs::check(messages, &at, &mut findings);
    if !compaction::is_asked_for(body) {
        last_words(messages, &at, &mut findings);
    }
    compaction::check(body, &mut findings);
    tools(body, &mut findings);
    marks::check(body, &mut findings);
    no_answer(body, &mut findings);
    findings.into_violations()
}

/// Checks what stands beside a limit of no output tokens, with which a request only fills the
/// prompt cache.
fn no_answer(body: &Value, findings: &mut Findings) {
    if body.get("max_tokens").and_then(Value::as_i64) != Some(0) {
        return;
    }
    let is = |path: &str, of: &[&str]| {
        body.pointer(path).and_then(Value::as_str).is_some_and(|value| of.contains(&value))
    };
    let beside = [
        ("stream", body.get("stream") == Some(&Value::Bool(true))),
        ("thinking", is("/thinking/type", &["enabled"])),
        ("output_config", body.pointer("/output_config/format").is_some_and(|it| !it.is_null())),
        ("tool_choice", is("/tool_choice/type", &["any", "tool"])),
    ];
    for (key, _) in beside.into_iter().filter(|(_, stands)| *stands) {
        let at = BodyPath::Body.key(key);
        findings.add(Rule::Place, &at, "not beside max_tokens 0".to_owned());
    }
}

fn system(body: &Value, findings: &mut Findings) {
    let at = BodyPath::Body.key("system");
    match body.get("system") {
        Some(Value::String(said)) => {
            findings.ask(!blank(said), Rule::Empty, &at, "a text without words")
        }
        Some(Value::Array(blocks)) => {
            findings.ask(!blocks.is_empty(), Rule::Empty, &at, "a list without blocks");
            for (i, each) in blocks.iter().enumerate() {
                block(each, None, &at.item(i), findings);
            }
        }
        _ => {}
    }
}

fn message(message: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    let content = at.key("content");
    match message.get("content") {
        Some(Value::String(said)) => {
            findings.ask(!blank(said), Rule::Empty, &content, "a text without words")
        }
        Some(Value::Array(blocks)) => {
            findings.ask(!blocks.is_empty(), Rule::Empty, &content, "a list without blocks");
            for (i, each) in blocks.iter().enumerate() {
                block(each, text(message, "role"), &content.item(i), findings);
            }
        }
        _ => {}
    }
}

/// Returns the only role that may have a block of this kind. The published types allow both roles;
/// the service does not.
fn speaker(kind: &str) -> Option<&'static str> {
    match kind {
        "image" | "document" | "search_result" | "tool_result" | "container_upload" => Some("user"),
        "thinking" | "redacted_thinking" | "tool_use" | "server_tool_use" => Some("assistant"),
        kind if kind.ends_with("_tool_result") => Some("assistant"),
        _ => None,
    }
}

fn block(block: &Value, role: Option<&str>, at: &BodyPath<'_>, findings: &mut Findings) {
    let kind = kind(block);
    if let (Some(role), Some(speaker)) = (role, speaker(kind)) {
        // Files made by a provider's tool come back in the assistant message.
        let allowed = role == speaker || kind == "container_upload";
        findings.ask(allowed, Rule::Place, at, "a block of another role");
    }
    let said = |key| text(block, key);
    match kind {
        "text" => findings.ask(
            !blank(said("text").unwrap_or_default()),
            Rule::Empty,
            at,
            "a text without words",
        ),
        "image" | "document" => source(block, at, findings),
        "thinking" => {
            let signed = said("signature").is_some_and(|signature| !signature.is_empty());
            findings.ask(signed, Rule::Thinking, at, "a thought without a signature");
        }
        "redacted_thinking" => {
            let there = said("data").is_some_and(|data| !data.is_empty());
            findings.ask(there, Rule::Thinking, at, "a thought without data");
        }
        "tool_use" => {
            findings.ask(
                block.get("input").is_some_and(Value::is_object),
                Rule::ToolInput,
                at,
                "no object",
            );
            id(findings, &at.key("id"), said("id").unwrap_or_default());
            name(findings, &at.key("name"), said("name").unwrap_or_default(), "_-", MAX_NAME);
        }
        "server_tool_use" => {
            findings.ask(
                block.get("input").is_some_and(Value::is_object),
                Rule::ToolInput,
                at,
                "no object",
            );
            server_id(said("id"), &at.key("id"), findings);
        }
        "tool_result" => result(block, at, findings),
        // Tools of MCP servers are called under ids of another form.
        kind if kind.ends_with("_tool_result") && kind != "mcp_tool_result" => {
            server_id(said("tool_use_id"), &at.key("tool_use_id"), findings)
        }
        _ => {}
    }
}

fn server_id(id: Option<&str>, at: &BodyPath<'_>, findings: &mut Findings) {
    let good =
        id.and_then(|id| id.strip_prefix("srvtoolu_")).is_some_and(|rest| letters(rest, "_"));
    findings.ask(
        good,
        Rule::Id,
        at,
        "an id of a server's tool is srvtoolu_ and letters, digits and _",
    );
}

fn source(block: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    let Some(source) = block.get("source") else { return };
    let at = at.key("source");
    match kind(source) {
        "base64" => {
            base64_data(findings, &at.key("data"), text(source, "data").unwrap_or_default())
        }
        "url" => web_url(findings, &at.key("url"), text(source, "url").unwrap_or_default()),
        "text" => {
            let said = text(source, "data").unwrap_or_default();
            findings.ask(!blank(said), Rule::Empty, &at, "a document without words");
        }
        "content" => {
            let (at, key) = (&at, "content");
            for (i, each) in items(source.get(key)).iter().enumerate() {
                block_of_result(each, &at.key(key).item(i), findings);
            }
        }
        _ => {}
    }
}

fn result(result: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    id(findings, &at.key("tool_use_id"), text(result, "tool_use_id").unwrap_or_default());
    let failed = result.get("is_error").and_then(Value::as_bool) == Some(true);
    let list = at.key("content");
    for (i, each) in items(result.get("content")).iter().enumerate() {
        let at = list.item(i);
        block_of_result(each, &at, findings);
        findings.ask(
            !failed || kind(each) == "text",
            Rule::Place,
            &at,
            "an error that is not text",
        );
    }
}

fn block_of_result(block: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    match kind(block) {
        "text" => {
            let said = text(block, "text").unwrap_or_default();
            findings.ask(!blank(said), Rule::Empty, at, "a text without words");
        }
        "image" | "document" => source(block, at, findings),
        _ => {}
    }
}

/// Checks that a trailing assistant message, which the model would continue, ends neither with a
/// thinking block nor with white space.
fn last_words(messages: &[Value], list: &BodyPath<'_>, findings: &mut Findings) {
    let Some(last) = messages.last().filter(|last| text(last, "role") == Some("assistant")) else {
        return;
    };
    let at = list.item(messages.len() - 1);
    let said = match last.get("content") {
        Some(Value::String(said)) => Some(said.as_str()),
        Some(Value::Array(blocks)) => blocks.last().and_then(|block| {
            let thinks = kind(block).ends_with("thinking");
            findings.ask(!thinks, Rule::Thinking, &at, "the last block is a thought");
            text(block, "text")
        }),
        _ => None,
    };
    let spaces = said.is_some_and(|said| said.ends_with(char::is_whitespace));
    findings.ask(!spaces, Rule::Empty, &at, "the text to go on with ends with spaces");
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
        if let Some(schema) = tool.get("input_schema") {
            let object = text(schema, "type") == Some("object");
            findings.ask(
                object,
                Rule::Tools,
                &at.item(i).key("input_schema"),
                "the schema of an input is an object's",
            );
        }
    }
    let Some(choice) = body.get("tool_choice") else { return };
    let at = BodyPath::Body.key("tool_choice");
    let there = !items(body.get("tools")).is_empty();
    findings.ask(there, Rule::Tools, &at, "a choice without tools");
    if kind(choice) == "tool" {
        let chosen = text(choice, "name").unwrap_or_default();
        if !names.contains(chosen) {
            findings.add(Rule::Tools, &at, format!("{chosen:?} is not a tool of this request"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(messages: Value) -> Vec<Rule> {
        let findings = check(&json!({"model": "m", "max_tokens": 9, "messages": messages}));
        findings.into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_tool_of_the_server_may_wait_for_calls_it_made() {
        let used = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}});
        let call = |by: &str| {
            let caller = json!({"type": "code_execution_20250825", "tool_id": by});
            json!({"type": "tool_use", "id": "c", "name": "look", "input": {}, "caller": caller})
        };
        let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "x"});
        let came = json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content":
            {"type": "code_execution_result", "stdout": "", "stderr": "", "return_code": 0, "content": []}});
        let user = |content: Value| json!({"role": "user", "content": content});
        let model = |content: Value| json!({"role": "assistant", "content": content});
        let asked = |by: &str| [user(json!("q")), model(json!([used, call(by)]))];
        let [q, waits] = asked("srvtoolu_1");
        let (answered, goes_on) = (user(json!([result])), model(json!([came])));
        assert_eq!(faults(json!([q, waits, answered])), []);
        assert_eq!(faults(json!([q, waits, answered, goes_on])), []);
        // Calls by another tool do not count, and neither does a turn in which the user adds a
        // text.
        let [_, other] = asked("srvtoolu_2");
        assert_eq!(faults(json!([q, other, answered])), [Rule::Pairing]);
        assert_eq!(faults(json!([q, waits, answered, user(json!("and?"))])), [Rule::Pairing]);
        let more = user(json!([result, {"type": "text", "text": "and?"}]));
        assert_eq!(faults(json!([q, waits, more, goes_on])), [Rule::Pairing, Rule::Pairing]);
    }

    #[test]
    fn tools_of_other_servers_have_ids_of_their_own() {
        let block = json!({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1",
            "is_error": false, "content": []});
        let findings = faults(
            json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": [block]}]),
        );
        assert!(!findings.contains(&Rule::Id) && findings.contains(&Rule::Pairing), "{findings:?}");
    }
}
