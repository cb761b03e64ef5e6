//! A step of a run in full.

use context_runtime::display::grouped;
use context_runtime::trajectory::{
    Field, FieldForm, FieldValue, Measures, TrajectoryNode, TrajectoryNodeKind, Version,
};
use context_runtime::{Part, Timestamp, ToolCall, ToolResult};
use maud::{Markup, html};

use super::run::Place;
use super::shell::time;
use crate::content;
use crate::links::encode;
use crate::operations::{StepDetail, StepLink};

/// Fields that the panel shows elsewhere.
const SHOWN: [&str; 12] = [
    "query",
    "content",
    "response",
    "reasoning_content",
    "action",
    "params",
    "output",
    "success",
    "knowledge_content",
    "script_content",
    "tool_params",
    "tool_returns",
];

/// Fields of data that are its content.
const DATA: [&str; 4] = ["knowledge_content", "script_content", "tool_params", "tool_returns"];

/// Returns a step in full.
pub(super) fn detail(step: &StepDetail, place: &Place<'_>) -> Markup {
    let node = &*step.node;
    html! {
        header {
            h2 { (node.kind().as_str()) " " span class="id" { (step.step) } }
            span class={ "state " (step.state.as_str()) } { (step.state.as_str()) }
            a class="when" href=(place.step(place.view, Some(step.step)))
                title="Link to this step" {
                "recorded " (time(node.created_at))
            }
        }
        (messages(node, place))
        @if !node.description.trim().is_empty() {
            p class="described" dir="auto" { (node.description) }
        }
        (body(node))
        (measures(node.measures.as_deref()))
        @if let Some(author) = &node.author { p class="note" { "By " bdi { (author) } } }
        (links("Called by", step.caller.as_slice(), place))
        (links("Called", &step.called, place))
        (links("Read this data", &step.read, place))
        (links("Read by", &step.read_by, place))
        @if step.unseen_rounds > 0 {
            p class="note" { (step.unseen_rounds) " later rounds were not looked at for uses." }
        }
        (links("After", &step.before, place))
        (links("Followed by", &step.after, place))
        @if !node.versions.is_empty() {
            details class="versions" {
                summary {
                    (node.versions.len()) " earlier version"
                    @if node.versions.len() > 1 { "s" }
                }
                @for version in node.versions.iter().rev() { (self::version(version)) }
            }
        }
    }
}

fn messages(node: &TrajectoryNode, place: &Place<'_>) -> Markup {
    html! {
        // The message of a chat that is gone cannot be shown.
        @let links = || node.messages.iter().filter(|link| {
            place.chat.is_some() || link.chat.as_str() != place.session
        });
        @if links().next().is_some() {
            p class="acts" {
                @for link in links() {
                    @let (chat, message) = (link.chat.as_str(), link.message.as_str());
                    @let is_own = Some(chat) == place.chat;
                    @let branch = place.branch.filter(|_| is_own);
                    a class="button" href=(place.links.message(chat, branch, message)) {
                        "In the chat"
                    }
                    @if !matches!(node.kind(), TrajectoryNodeKind::Query) {
                        @let sent = place.links.chat(chat, "sent");
                        a class="button" href={ (sent) "?message=" (encode(message)) } {
                            "What was sent"
                        }
                    }
                    @if is_own {
                        a class="button" href=(place.message("provenance", message)) { "Its data" }
                    }
                }
            }
        }
    }
}

fn body(node: &TrajectoryNode) -> Markup {
    let body = &node.body;
    let thought = body.text("reasoning_content");
    html! {
        @if !thought.trim().is_empty() {
            details class="thought" open[body.headline().trim().is_empty()] {
                summary { "Thought" }
                div class="md" dir="auto" { (content::markdown(thought)) }
            }
        }
        @match node.kind() {
            TrajectoryNodeKind::Action => {
                @if let Some((call, result)) = call(node) {
                    (content::call(&call, result.as_ref()))
                }
            },
            kind if kind.is_computation() => {
                div class="md" dir="auto" { (content::markdown(body.headline())) }
            },
            _ => {
                @for name in DATA {
                    @if let Some(value) = body.get(name) { (content::output(&text(value))) }
                }
            },
        }
        @let more: Vec<_> = body.iter().filter(|(field, value)| is_more(field, value)).collect();
        @if !more.is_empty() {
            dl class="fields" {
                @for (field, value) in more {
                    dt { (field.name) }
                    dd { (value_of(field.form, value)) }
                }
            }
        }
    }
}

fn is_more(field: &Field, value: &FieldValue) -> bool {
    let json = value.to_json();
    !SHOWN.contains(&field.name) && field.default != Some(json.as_str()) && json.as_str() != "\"\""
}

fn value_of(form: FieldForm, value: &FieldValue) -> Markup {
    let text = text(value);
    if form == FieldForm::Text && !text.contains('\n') && text.len() < 400 {
        return html! { (text) };
    }
    content::output(&text)
}

/// Returns a value as text: a string without its quotes.
fn text(value: &FieldValue) -> String {
    match value {
        FieldValue::Text(text) => text.to_string(),
        other => {
            let json = other.to_json();
            json.to_text().unwrap_or_else(|| json.as_str().to_owned())
        }
    }
}

/// Returns an action as a call with its result, if it has one.
fn call(node: &TrajectoryNode) -> Option<(ToolCall, Option<ToolResult>)> {
    let body = &node.body;
    let params = body.get("params").map(|params| params.to_json().as_str().to_owned());
    let params: serde_json::Value =
        params.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let Part::ToolCall(call) = Part::tool_call(&*node.label, body.text("action"), params) else {
        return None;
    };
    let succeeded = body.get("success").is_some_and(|it| it.to_json().as_str() == "true");
    let output = body.get("output").map(text).unwrap_or_default();
    let result = match succeeded {
        true => Some(call.result(output)),
        false if output == "Pending" => None,
        false => Some(call.error(output)),
    };
    Some((call, result))
}

fn measures(measures: Option<&Measures>) -> Markup {
    let Some(known) = measures else {
        return html! { p class="note" { "No times, tokens or cost were recorded." } };
    };
    let number = |number: Option<u64>| number.map(grouped);
    let facts = [
        ("Model", known.model.as_deref().map(str::to_owned)),
        ("Provider", known.provider.as_deref().map(str::to_owned)),
        ("Input tokens", number(known.input_tokens)),
        ("of these cached", number(known.cache_read_tokens)),
        ("written to the cache", number(known.cache_write_tokens)),
        ("Output tokens", number(known.output_tokens)),
        ("of these thoughts", number(known.reasoning_tokens)),
        ("Cost", known.cost_usd.map(|cost| format!("${cost}"))),
        ("Error", known.error.as_deref().map(str::to_owned)),
    ];
    html! {
        dl class="fields measures" {
            @for (name, value) in facts {
                @if let Some(value) = value { dt { (name) } dd { (value) } }
            }
            @if let Some(at) = known.started_at { dt { "Started" } dd { (moment(at)) } }
            @if let Some(at) = known.ended_at { dt { "Ended" } dd { (moment(at)) } }
        }
    }
}

/// Returns a time to the microsecond, since steps are compared.
fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros())
        .map_or_else(|_| "–".to_owned(), |at| at.to_string())
}

/// Returns links to steps under a name.
pub(super) fn links(name: &str, links: &[StepLink], place: &Place<'_>) -> Markup {
    html! {
        @if !links.is_empty() {
            h3 { (name) }
            ul class="steplinks" {
                @for link in links {
                    li {
                        a href=(place.step(place.view, Some(link.node))) data-step=(link.node) {
                            span class="id" { (link.node) }
                            @if link.kind.is_empty() {
                                " a step that is no longer there"
                            } @else {
                                " " (link.kind) " " bdi { (link.text) }
                            }
                        }
                        @if !link.edge.is_empty() { " " span class="note" { (link.edge) } }
                    }
                }
            }
        }
    }
}

fn version(version: &Version) -> Markup {
    html! {
        section class="version" {
            p class="note" {
                "Version " (version.number) ", until " (time(version.at))
                @if let Some(author) = &version.author { ", changed by " bdi { (author) } }
            }
            dl class="fields" {
                @for (name, value) in version.previous.iter() {
                    dt { (name) }
                    dd { (content::output(&text(value))) }
                }
            }
        }
    }
}
