//! The parts of a message as HTML.

use context_runtime::{Media, MediaSource, Part, Role, ToolCall, ToolResult};
use maud::{Markup, html};

use super::{arguments, code, long, markdown};

/// Media types that a browser shows as a picture and that cannot hold a program.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns a part of a message of this role.
pub(crate) fn part(part: &Part, role: Role) -> Markup {
    match part {
        Part::Text(text) if role == Role::Tool => long::plain(&text.text),
        Part::Text(text) => {
            html! { div class="md" dir="auto" { (markdown::markdown(&text.text)) } }
        }
        Part::Reasoning(thought) if thought.text.trim().is_empty() => html! {
            p class="note" { "Thought that only its provider can read" }
        },
        Part::Reasoning(thought) => html! {
            details class="thought" {
                summary { "Thought · " (words(&thought.text)) }
                div class="md" dir="auto" { (markdown::markdown(&thought.text)) }
            }
        },
        Part::ToolCall(one) => call(one, None),
        Part::ToolResult(one) => result(one),
        Part::Image(media) => picture(media),
        Part::Document(media) => file(media, "Document"),
        Part::Audio(media) => file(media, "Audio"),
        Part::Data(data) => folded_json(&format!("Data · {}", data.name), data.value.as_str()),
        Part::Opaque(block) => {
            folded_json(&format!("Block that only {} reads", block.provider), block.value.as_str())
        }
        Part::Unknown(value) => folded_json("Part of an unknown type", value.as_str()),
        _ => html! { p class="note" { "A part that this page does not know" } },
    }
}

fn words(text: &str) -> String {
    let words = text.split_whitespace().count();
    format!("{words} word{}", if words == 1 { "" } else { "s" })
}

/// Returns a call joined to its result. `None` for a call that nothing answers.
pub(crate) fn call(call: &ToolCall, answer: Option<&ToolResult>) -> Markup {
    let state = match answer {
        None => ("open", "no result"),
        Some(result) if result.is_error => ("failed", "failed"),
        Some(_) => ("done", "done"),
    };
    html! {
        section class={ "call " (state.0) } data-call=(call.id) {
            header {
                span class="dot" title=(state.1) { span class="hid" { (state.1) } }
                span class="tool" { (call.name) }
                span class="args" { (arguments::summary(call.input.as_written())) }
            }
            details class="input" { summary { "Arguments" } (arguments::arguments(call)) }
            @match answer {
                Some(answer) => (result(answer)),
                None => p class="note" { "No result was recorded." },
            }
        }
    }
}

/// Returns the output of a call.
pub(crate) fn result(result: &ToolResult) -> Markup {
    html! {
        div class={ "result" @if result.is_error { " failed" } } {
            @if result.output.is_empty() { p class="note" { "Empty result" } }
            @for part in &result.output {
                @match part {
                    Part::Text(text) => (output(&text.text)),
                    other => (self::part(other, Role::Tool)),
                }
            }
        }
    }
}

/// Returns the text of a result: JSON is indented.
pub(crate) fn output(text: &str) -> Markup {
    match code::indented(text) {
        Some(indented) => long::folded(&indented, |part| code::highlighted(part, "json")),
        None if text.trim().is_empty() => html! { p class="note" { "Empty result" } },
        None => long::plain(text),
    }
}

fn picture(media: &Media) -> Markup {
    let kind = media.media_type.as_deref().unwrap_or_default();
    match &media.source {
        MediaSource::Base64(data) if PICTURES.contains(&kind) && is_base64(data) => html! {
            img class="picture" loading="lazy" alt=(media.name.as_deref().unwrap_or("Image"))
                src={ "data:" (kind) ";base64," (data) };
        },
        _ => file(media, "Image"),
    }
}

fn is_base64(data: &str) -> bool {
    data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

fn file(media: &Media, kind: &str) -> Markup {
    let place = match &media.source {
        MediaSource::Base64(data) => format!("{} bytes", data.len() / 4 * 3),
        MediaSource::Url(url) if url.starts_with("data:") => "inline data".to_owned(),
        MediaSource::Url(url) => context_runtime::display::preview(url, 200),
        MediaSource::Reference(name) => context_runtime::display::preview(name, 200),
        _ => String::new(),
    };
    html! {
        p class="file" {
            (kind) " · " @if let Some(name) = &media.name { (name) " · " }
            @if let Some(kind) = &media.media_type { (kind) " · " } (place)
        }
    }
}

fn folded_json(title: &str, value: &str) -> Markup {
    html! {
        details class="data" { summary { (title) } pre class="text" { (code::json_text(value)) } }
    }
}
