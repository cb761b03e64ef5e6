//! The list of chats.

use axum::extract::{Query, State};
use context_runtime::display::grouped;
use maud::{Markup, html};
use serde::Deserialize;

use super::shell::{Shell, Tab, time};
use super::{OrPage, PageError};
use crate::Operations;
use crate::links::{Links, encode};

#[derive(Debug, Deserialize)]
pub(crate) struct After {
    after: Option<String>,
}

pub(crate) async fn chats(
    State(operations): State<Operations>,
    links: Links,
    Query(After { after }): Query<After>,
) -> Result<Markup, PageError> {
    let page = operations.chats(after.as_deref()).await.or_page(&links)?;
    let body = html! {
        main id="main" class="wide" data-view="chats" {
            div class="heading" {
                h1 { "Chats" }
                @if !page.chats.is_empty() {
                    input id="filter" type="search" placeholder="Filter by title, model, branch"
                        aria-label="Filter the list" autocomplete="off";
                    span id="shown" class="note" role="status" {}
                }
            }
            @if page.chats.is_empty() {
                (empty(&operations))
            } @else {
                div class="scroll" tabindex="0" role="region" aria-label="Chats" {
                    table class="chats" {
                        thead { tr {
                            th { "Chat" } th { "Model" }
                            th class="n" { "Messages" } th class="n" { "Branches" }
                            th class="n" { "Tokens" } th class="n" { "Cost" }
                            th class="n" { "Failures" } th { "When" }
                        } }
                        tbody {
                            @for chat in &page.chats {
                                tr data-facts=(links.api(&chat.chat, "facts")) tabindex="-1" {
                                    td class="name" {
                                        a href=(links.chat(&chat.chat, "")) {
                                            bdi { (chat.title.as_deref().unwrap_or(&chat.chat)) }
                                        }
                                        @if chat.title.is_some() {
                                            span class="id" { bdi { (chat.chat) } }
                                        }
                                    }
                                    td class="model" {}
                                    td class="n" { (grouped(chat.messages)) }
                                    td class="n" { (grouped(chat.branches)) }
                                    td class="n tokens" {} td class="n cost" {} td
                                        class="n failures" {}
                                    td class="when" { (time(chat.updated_at)) }
                                }
                            }
                        }
                    }
                }
                @if let Some(next) = &page.next {
                    p { a class="more" rel="next" href={ "?after=" (encode(next)) } {
                        "Older chats" } }
                }
            }
        }
    };
    Ok(Shell::new(&links, "Chats", Tab::None).page(&body))
}

fn empty(operations: &Operations) -> Markup {
    html! {
        div class="empty" {
            p { "The user " b { bdi { (operations.owner().as_str()) } }
                " has no chats in this store." }
            p { "Bring some in:" }
            pre { code {
                "context import ~/.claude/projects     # sessions of a coding agent\n"
                "context ui conversation.json          # look at a file without a store"
            } }
        }
    }
}
