//! A row of a chat.

use std::collections::HashMap;

use context_runtime::store::{Node, NodeKind};
use context_runtime::{Message, Part, Role, ToolResult};
use maud::{Markup, html};

use super::shell::{query, time};
use crate::content;
use crate::links::{Links, encode};
use crate::operations::Row;

/// Returns a row: a request, an answer with its calls and their results, or a compaction.
pub(crate) fn row(row: Row<'_>, chat: &str, links: &Links) -> Markup {
    let node = row.node;
    let id = node.id.as_str();
    let kind = match node.kind {
        NodeKind::Boundary => "boundary",
        NodeKind::Message(role) => role.as_str(),
    };
    let left_out = row.is_left_out();
    html! {
        article class={ "row " (kind) @if left_out { " left-out" } }
            data-row=(row.at) data-id=(id) data-kind=(kind) data-turn=(row.turn)
            tabindex="-1" aria-label={ (name(node)) " " (row.at + 1) } {
            header {
                span class="who" { (name(node)) }
                @if node.revision > 0 { span class="badge" title="Amended since" { "edited" } }
                @if left_out {
                    a class="badge"
                        href={ (links.chat(chat, "sent")) (query(row.other_branch())) }
                        title="A compaction cut this message: requests since then are without it. Shows the newest" {
                        "not sent any more"
                    }
                }
                span class="space" {}
                @if kind == "assistant" {
                    a class="sent" href={ (links.chat(chat, "sent")) "?message=" (encode(id)) }
                        title="The request that this answers (s)" { "sent" }
                    a class="sent" href={ (links.chat(chat, "run")) "?view=provenance&message="
                        (encode(id)) } title="The data that fed this answer" { "data" }
                }
                a class="when" href={ "?at=" (encode(id)) } title="Link to this message" {
                    (time(node.created_at))
                }
                button type="button" class="icon more" data-do="menu" title="Actions (.)"
                    aria-label="Actions" aria-haspopup="menu" { "⋯" }
            }
            (body(row))
        }
    }
}

fn name(node: &Node) -> &'static str {
    match node.kind {
        NodeKind::Boundary => "Compaction",
        NodeKind::Message(Role::User) => "User",
        NodeKind::Message(Role::Assistant) => "Assistant",
        NodeKind::Message(Role::System) => "System",
        NodeKind::Message(Role::Tool) => "Tool results",
    }
}

fn body(row: Row<'_>) -> Markup {
    let node = row.node;
    if node.kind == NodeKind::Boundary {
        let text = context_runtime::display::boundary(node);
        return html! { p class="cut" {
        (text.as_deref().unwrap_or("A compaction that this version cannot read")) } };
    }
    let message = match node.message() {
        Ok(message) => message,
        Err(error) => return html! { p class="note" { "This message cannot be read: " (error) } },
    };
    let results: Vec<_> = row.results().filter_map(|node| node.message().ok()).collect();
    let mut answers: HashMap<&str, &ToolResult> = HashMap::new();
    for result in results.iter().flat_map(|message| message.tool_results()) {
        answers.insert(&result.call_id, result);
    }
    if message.role == Role::System {
        let words = message.plain_text().split_whitespace().count();
        return html! {
            details class="thought" {
                summary { (context_runtime::display::preview(&message.plain_text(), 90)) " · "
                    (words) " words" }
                (own(message, &mut answers))
            }
        };
    }
    html! {
        (own(message, &mut answers))
        // Whatever else the tool messages hold, and results without a call.
        @for message in &results {
            @for part in &message.parts {
                @match part {
                    Part::ToolResult(result) => {
                        @if answers.remove(result.call_id.as_str()).is_some() {
                            p class="note" { "Result without a call: " code { (result.call_id) } }
                            (content::result(result))
                        }
                    },
                    other => (content::part(other, message.role)),
                }
            }
        }
    }
}

fn own<'m>(message: &'m Message, answers: &mut HashMap<&'m str, &'m ToolResult>) -> Markup {
    html! {
        @if message.parts.is_empty() { p class="note" { "Empty message" } }
        @for part in &message.parts {
            @match part {
                Part::ToolCall(call) => (content::call(call, answers.remove(call.id.as_str()))),
                other => (content::part(other, message.role)),
            }
        }
    }
}
