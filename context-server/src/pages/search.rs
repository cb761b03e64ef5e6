//! Hits of a search.

use axum::extract::{Query, State};
use maud::{Markup, html};

use super::shell::{Shell, Tab, time};
use super::{OrPage, PageError};
use crate::Operations;
use crate::api::Words;
use crate::links::{Links, encode};

pub(crate) async fn search(
    State(operations): State<Operations>,
    links: Links,
    Query(words): Query<Words>,
) -> Result<Markup, PageError> {
    let chat = words.chat.as_deref().filter(|chat| !chat.is_empty());
    let found = operations.search(&words.q, chat, words.after.as_deref()).await.or_page(&links)?;
    let body = html! {
        main id="main" class="wide" data-view="search" {
            div class="heading" {
                h1 { "Search" }
                @if let Some(chat) = chat {
                    span class="note" { "in " a href=(links.chat(chat, "")) {
                        bdi { (found.title.as_deref().unwrap_or(chat)) }
                    } " · "
                        a href={ (links.to("/search")) "?q=" (encode(&words.q)) } { "in all chats"
                            } }
                }
            }
            @if words.q.trim().is_empty() {
                p class="empty" {
                    "Type words: messages that have all of them are listed, in any language." }
            } @else if found.hits.is_empty() {
                p class="empty" { "No message has all of these words: " b { bdi { (words.q) } }
                    ". Ids are not searched." }
            }
            ol class="hits" {
                @for hit in &found.hits {
                    @let of = links.message(&hit.chat, None, &hit.message);
                    li { a href={ (of) "&words=" (encode(&words.q)) } {
                        span class="of" {
                            bdi title=(hit.chat) { (hit.title.as_deref().unwrap_or(&hit.chat)) }
                            " · " (hit.role) " · " (time(hit.created_at))
                        }
                        span class="snippet" dir="auto" {
                            @if hit.cut_before { "… " }
                            @for (piece, is_hit) in &hit.snippet {
                                @if *is_hit { mark { (piece) } } @else { (piece) }
                            }
                            @if hit.cut_after { " …" }
                        }
                    } }
                }
            }
            @if found.calls_left_out {
                p class="note" { "Calls of older messages were not searched." }
            }
            @if let Some(next) = &found.next {
                p { a class="more" rel="next" href={ "?q=" (encode(&words.q)) "&after="
                    (encode(next))
                    @if let Some(chat) = chat { "&chat=" (encode(chat)) } } { "More" } }
            }
        }
    };
    Ok(Shell::new(&links, "Search", Tab::None).words(&words.q).page(&body))
}
