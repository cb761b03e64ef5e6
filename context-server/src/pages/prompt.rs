//! The prompt of a chat.

use axum::extract::{Path, Query, State};
use context_runtime::Role;
use context_runtime::display::grouped;
use maud::{Markup, html};

use super::shell::{Shell, Tab, time};
use super::{OrPage, PageError};
use crate::api::memory::OfPrompt;
use crate::links::Links;
use crate::operations::{PromptFragment, PromptTool, PromptView};
use crate::{OperationError, Operations, content};

pub(crate) async fn prompt(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(asked): Query<OfPrompt>,
) -> Result<Markup, PageError> {
    let (found, ..) = operations.chat(&chat).await.or_page(&links)?;
    let branch = asked.branch.as_deref().filter(|branch| !branch.is_empty());
    let view = operations.prompt(&chat, branch, asked.model.as_deref()).await.or_page(&links)?;
    let title = found.title.as_deref().unwrap_or(&chat);
    let is_empty = view.fragments.is_empty() && view.system.is_empty() && view.tools.is_empty();
    let body = html! {
        main id="main" class="wide prompt" data-view="prompt" tabindex="-1" data-chat=(chat)
            data-api=(links.api(&chat, "")) {
            div class="heading" {
                h1 { "Prompt" }
                span class="note" { "Tokens as counted for " bdi { (view.model) } }
            }
            @for diagnostic in &view.diagnostics { p class="note" { (diagnostic) } }
            @if is_empty {
                div class="empty" {
                    p { "Nothing of a prompt is stored with this chat: no fragments, no system messages, no tools." }
                    p { "Fragments that a program sets with " code { ".persisted()" }
                        " are kept and shown here. Others are set by the program for each request." }
                }
            }
            (system(&view, &chat, &links))
            (fragments(&view, &chat, &links))
            (formats(&view))
            (tools(&view.tools))
        }
    };
    Ok(Shell::new(&links, title, Tab::Prompt).chat(&chat, branch).page(&body))
}

/// The prompt as the chat shows it on top: system messages that are rows are not repeated.
pub(crate) async fn prompt_on_top(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(asked): Query<OfPrompt>,
) -> Result<Markup, OperationError> {
    let branch = asked.branch.as_deref().filter(|branch| !branch.is_empty());
    let mut view = operations.prompt(&chat, branch, asked.model.as_deref()).await?;
    let is_row = view.system.iter().any(|text| text.message.is_some());
    view.system.retain(|text| text.message.is_none());
    view.more_system = 0;
    view.formats.truncate(1);
    let is_empty = view.fragments.is_empty() && view.system.is_empty() && view.tools.is_empty();
    Ok(html! {
        @if is_empty && is_row {
            p class="note" { "The system prompt is a message of this chat. No tools are stored." }
        } @else if is_empty {
            p class="note" { "The program sends them with each request: nothing is stored." }
        }
        (system(&view, &chat, &links))
        (formats(&view))
        (tools(&view.tools))
    })
}

fn tokens(number: u64) -> Markup {
    html! { span class="n note" { (grouped(number)) " tokens" } }
}

fn system(view: &PromptView, chat: &str, links: &Links) -> Markup {
    html! {
        @if !view.system.is_empty() {
            h2 { "System messages" }
            @for text in &view.system {
                details class="part" open[view.system.len() < 4] {
                    summary {
                        @match &text.message {
                            Some(message) => {
                                span class="name" { "message " bdi { (message.as_str()) } }
                            },
                            None => span class="name" { "of the imported file" },
                        }
                        (tokens(text.tokens))
                    }
                    // A link within the summary would be a control within a control.
                    @if let Some(message) = &text.message {
                        @let of = links.message(chat, Some(&view.branch), message.as_str());
                        p { a href=(of) { "In the chat" } }
                    }
                    @for part in &text.parts { (content::part(part, Role::System)) }
                }
            }
            @if view.more_system > 0 {
                p class="note" { (view.more_system) " further system messages are in the chat." }
            }
        }
    }
}

fn fragments(view: &PromptView, chat: &str, links: &Links) -> Markup {
    html! {
        @if !view.fragments.is_empty() {
            h2 { "Fragments" }
            @for fragment in &view.fragments { (self::fragment(fragment, chat, links)) }
        }
    }
}

fn fragment(fragment: &PromptFragment, chat: &str, links: &Links) -> Markup {
    html! {
        details class={ "part" @if fragment.untrusted { " untrusted" } } {
            summary {
                span class="name" { bdi { (fragment.name) } }
                @if !fragment.kind.is_empty() { span class="badge" { bdi { (fragment.kind) } } }
                @if !fragment.persisted { span class="badge" { "not persisted" } }
                @if fragment.lazy { span class="badge" { "loaded when it is needed" } }
                @if fragment.untrusted {
                    span class="badge bad"
                        title="Its content is data of others and is marked as such" { "untrusted" }
                } @else {
                    span class="badge" { "trusted" }
                }
                @match fragment.tokens {
                    Some(count) => (tokens(count)),
                    None => span class="n note" { "tokens unknown" },
                }
            }
            dl class="fields" {
                @if let Some(id) = &fragment.id { dt { "Id" } dd { (id) } }
                @if let Some(at) = fragment.stored_at { dt { "Stored" } dd { (time(at)) } }
                @if let Some(message) = &fragment.stored_with {
                    dt { "Stored with" }
                    @let address = links.message(chat, None, message.as_str());
                    dd { a href=(address) { (message.as_str()) } }
                }
                @if fragment.versions > 1 { dt { "Versions" } dd { (fragment.versions) } }
                @for (name, value) in fragment.metadata.iter() {
                    dt { bdi { (name) } }
                    dd { (context_runtime::display::preview(value.as_str(), 400)) }
                }
            }
            @match &fragment.rendered {
                Some(text) => { h3 { "Rendered" } (content::plain(text)) },
                None => p class="note" { "It cannot be rendered alone." },
            }
            @if let Some(raw) = &fragment.raw { h3 { "Raw" } (content::output(raw)) }
        }
    }
}

fn formats(view: &PromptView) -> Markup {
    html! {
        @if !view.fragments.is_empty() {
            h2 { "The whole prompt" }
            @for (at, format) in view.formats.iter().enumerate() {
                details class="part" open[at == 0] {
                    summary { span class="name" { (format.name) } (tokens(format.tokens)) }
                    @match (&format.text, &format.error) {
                        (Some(text), _) => (content::plain(text)),
                        (None, Some(error)) => p class="note" { "Cannot be rendered: " (error) },
                        (None, None) => {},
                    }
                }
            }
        }
    }
}

fn tools(tools: &[PromptTool]) -> Markup {
    html! {
        @if !tools.is_empty() {
            h2 { "Tools " span class="note" { (tools.len()) } }
            @for tool in tools {
                details class="part" {
                    summary {
                        span class="name tool" {
                            @if tool.name.is_empty() {
                                "of the provider"
                            } @else {
                                bdi { (tool.name) }
                            }
                        }
                        @if let Some(text) = &tool.description {
                            @let beginning = context_runtime::display::preview(text, 160);
                            span class="text" dir="auto" { (beginning) }
                        }
                        (tokens(tool.tokens))
                    }
                    @if let Some(text) = &tool.description { (content::plain(text)) }
                    (content::output(&tool.schema))
                }
            }
        }
    }
}
