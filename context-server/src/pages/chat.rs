//! The messages of a branch.

use axum::extract::{Path, Query, State};
use context_runtime::MessageId;
use maud::{Markup, html};
use serde::Deserialize;

use super::row::row;
use super::shell::{Shell, Tab, counted, query};
use super::{OrPage, PageError};
use crate::api::Slice;
use crate::links::Links;
use crate::operations::BranchView;
use crate::{OperationError, Operations};

/// The number of rows that are fetched at once.
pub(crate) const CHUNK: usize = 30;
const LARGEST_CHUNK: usize = 120;

#[derive(Debug, Deserialize)]
pub(crate) struct At {
    branch: Option<String>,
    at: Option<String>,
    turn: Option<usize>,
}

pub(crate) async fn chat(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(at): Query<At>,
) -> Result<Markup, PageError> {
    let (view, asked) = shown(&operations, &chat, at).await.or_page(&links)?;
    let (_, branches, _) = operations.chat(&chat).await.or_page(&links)?;
    let title = view.chat.title.as_deref().unwrap_or(&chat).to_owned();
    let branch = (view.branch != view.chat.active).then(|| view.branch.to_string());
    let branch = branch.as_deref();
    // Another branch may become the active one while this page is open.
    let own = query(Some(view.branch.as_str()));
    let first = asked.unwrap_or(0) / CHUNK * CHUNK;
    let first_rows = chunk(&view, &chat, &links, first, CHUNK).await.or_page(&links)?;
    let body = html! {
        div class="frame" {
            nav class="side" aria-label="Turns" {
                div class="branchbox" {
                    label for="branch" { "Branch" }
                    select id="branch" data-do="branch" {
                        @for one in &branches {
                            option value=(one.name.as_str()) selected[one.name == view.branch] {
                                (one.name.as_str()) @if one.active { " ●" }
                            }
                        }
                    }
                }
                div class="outline" data-outline=(links.api(&chat, "outline"))
                    data-total=(view.turns()) data-query=(own) tabindex="0" role="region"
                    aria-label="Outline of turns" { div class="space" {} }
            }
            main id="main" data-view="chat" tabindex="-1"
                data-chat=(chat) data-branch=(view.branch.as_str()) data-query=(own)
                data-api=(links.api(&chat, "")) data-rows=(links.chat(&chat, "rows"))
                data-total=(view.rows()) data-chunk=(CHUNK) data-first=(first)
                data-generation=(view.chain.generation())
                data-boundary=[view.boundary().map(MessageId::as_str)]
                data-head=[view.chain.head().map(MessageId::as_str)]
                data-at=[asked] data-readonly=[operations.is_read_only().then_some("yes")] {
                div class="top" {
                    p class="facts" {
                        (counted(view.chain.len(), "message")) " · " (counted(view.turns(), "turn"))
                        span data-facts=(links.api(&chat, "facts")) {}
                    }
                    details class="on-top"
                        data-load={ (links.chat(&chat, "prompt/top")) (own) } {
                        summary { "System prompt and tools" }
                    }
                    @if view.chain.is_empty() { p class="empty" {
                        "This branch has no messages yet." } }
                }
                div class="list" { div class="window" { (first_rows) } }
            }
        }
        section id="answering" aria-label="The answer that is being written" hidden
            data-from=(links.chat(&chat, "answering")) {}
        button type="button" id="newer" hidden { "New messages ↓" }
    };
    Ok(Shell::new(&links, &title, Tab::Chat).chat(&chat, branch).page(&body))
}

/// Returns the branch to show, and the row that the address names. A message that is not on the
/// branch is looked for on the others.
async fn shown(
    operations: &Operations,
    chat: &str,
    at: At,
) -> Result<(std::sync::Arc<BranchView>, Option<usize>), OperationError> {
    let view = operations.branch(chat, at.branch.as_deref()).await?;
    let Some(message) = at.at.map(MessageId::from) else {
        let row = at.turn.and_then(|turn| view.row_of_turn(turn));
        return Ok((view, row));
    };
    if let Some(row) = view.row_of(&message) {
        return Ok((view, Some(row)));
    }
    for branch in operations.chat(chat).await?.1 {
        let other = operations.branch(chat, Some(branch.name.as_str())).await?;
        if let Some(row) = other.row_of(&message) {
            return Ok((other, Some(row)));
        }
    }
    Err(context_runtime::Error::not_found("chat", "message", &message).into())
}

pub(crate) async fn rows(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(slice): Query<Slice>,
) -> Result<Markup, OperationError> {
    let view = operations.branch(&chat, slice.branch.as_deref()).await?;
    let count = slice.count.unwrap_or(CHUNK).min(LARGEST_CHUNK);
    chunk(&view, &chat, &links, slice.from, count).await
}

/// Returns some rows. Markdown and colours take time, so other requests are worked on meanwhile.
async fn chunk(
    view: &std::sync::Arc<BranchView>,
    chat: &str,
    links: &Links,
    from: usize,
    count: usize,
) -> Result<Markup, OperationError> {
    let (view, chat, links) = (std::sync::Arc::clone(view), chat.to_owned(), links.clone());
    let work = move || {
        html! {
            @for at in from..from.saturating_add(count).min(view.rows()) {
                @if let Some(one) = view.row(at) { (row(one, &chat, &links)) }
            }
        }
    };
    Ok(tokio::task::spawn_blocking(work).await?)
}
