//! The arguments of tool calls: a line that says the most, and the whole in the form that fits.

use context_runtime::ToolCall;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{code, diff, long};

/// The longest summary in characters.
const SUMMARY: usize = 140;
/// Keys whose values say the most about a call, in order.
const TELLING: [&str; 16] = [
    "command",
    "cmd",
    "file_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "name",
    "reservation_id",
    "order_id",
    "user_id",
    "id",
    "thought",
    "prompt",
    "text",
];

/// Returns the beginning of the arguments that say the most about a call, on one line.
pub(crate) fn summary(written: &str) -> String {
    let text = match serde_json::from_str::<Value>(written) {
        Ok(Value::Object(fields)) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            let rank = |key: &str| TELLING.iter().position(|telling| *telling == key);
            keys.sort_by_key(|key| rank(key).unwrap_or(TELLING.len()));
            let shown = keys.iter().filter_map(|key| {
                let value = match &fields[*key] {
                    Value::String(text) if rank(key) == Some(0) || fields.len() == 1 => {
                        text.clone()
                    }
                    Value::Null => return None,
                    Value::String(text) => format!("{key}: {text}"),
                    other => format!("{key}: {other}"),
                };
                Some(value)
            });
            shown.collect::<Vec<_>>().join(" · ")
        }
        Ok(other) => other.to_string(),
        Err(_) => written.to_owned(),
    };
    context_runtime::display::preview(&text, SUMMARY)
}

/// Returns the arguments: an edit as a difference, a file as code, a command as a command, anything
/// else as JSON.
pub(crate) fn arguments(call: &ToolCall) -> Markup {
    let written = call.input.as_written();
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(written) else {
        return html! { pre class="text" { (code::json_text(written)) } };
    };
    let text = |names: &[&'static str]| {
        names.iter().find_map(|name| Some((*name, fields.get(*name)?.as_str()?)))
    };
    let file = text(&["file_path", "path", "filename", "file"]);
    let language =
        file.and_then(|(_, path)| path.rsplit_once('.')).map_or("", |(_, language)| language);
    let before = text(&["old_string", "old_str", "oldText", "old_text"]);
    let after = text(&["new_string", "new_str", "newText", "new_text"]);
    if let (Some((old, before)), Some((new, after))) = (before, after) {
        return html! { (rest(&fields, &[old, new])) (diff::lines(before, after)) };
    }
    if let Some((name, patch)) = text(&["patch", "diff"]) {
        return html! { (rest(&fields, &[name])) (diff::patch(patch)) };
    }
    if let Some((name, content)) =
        text(&["content", "file_text", "contents"]).filter(|_| file.is_some())
    {
        let shown = long::folded(content, |part| code::highlighted(part, language));
        return html! { (rest(&fields, &[name])) (shown) };
    }
    if let Some((name, command)) = text(&["command", "cmd", "script"]) {
        let shown = long::folded(command, |part| code::highlighted(part, "bash"));
        return html! { (rest(&fields, &[name])) (shown) };
    }
    if let Some((name, code)) = text(&["code", "source", "python"]) {
        let shown = long::folded(code, |part| code::highlighted(part, "python"));
        return html! { (rest(&fields, &[name])) (shown) };
    }
    let indented = code::indented(written).unwrap_or_else(|| written.to_owned());
    long::folded(&indented, |part| code::highlighted(part, "json"))
}

/// Returns the fields besides these as a small table.
fn rest(fields: &Map<String, Value>, without: &[&str]) -> Markup {
    let rest: Vec<_> =
        fields.iter().filter(|(name, _)| !without.contains(&name.as_str())).collect();
    html! {
        @if !rest.is_empty() {
            dl class="fields" {
                @for (name, value) in rest {
                    dt { (name) }
                    dd {
                        @match value {
                            Value::String(text) => (context_runtime::display::preview(text, 400)),
                            other => (context_runtime::display::preview(&other.to_string(), 400)),
                        }
                    }
                }
            }
        }
    }
}
