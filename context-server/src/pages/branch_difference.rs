//! Two branches side by side, from the message at which they part.

use axum::extract::{Path, Query, State};
use context_runtime::store::Branch;
use context_runtime::{Message, display};
use maud::{Markup, html};
use serde::Deserialize;

use super::shell::{Shell, Tab, counted};
use super::{OrPage, PageError};
use crate::links::{Links, encode};
use crate::operations::{BranchDifference, BranchView};
use crate::{Operations, content};

/// The messages of a side that are listed.
const LISTED: usize = 100;

#[derive(Debug, Deserialize)]
pub(crate) struct Sides {
    left: Option<String>,
    right: Option<String>,
}

/// The right branch is the active one if it is not named, and the left one the newest other: an
/// edit is the active branch, so the difference goes from the old text to the new one.
pub(crate) async fn branch_difference(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(sides): Query<Sides>,
) -> Result<Markup, PageError> {
    let (found, branches, _) = operations.chat(&chat).await.or_page(&links)?;
    let right = sides.right.unwrap_or_else(|| found.active.to_string());
    let other = branches.iter().rev().find(|branch| branch.name.as_str() != right);
    let left = sides.left.or_else(|| Some(other?.name.to_string()));
    let left = left.unwrap_or_else(|| right.clone());
    let difference = operations.branch_difference(&chat, &left, &right).await.or_page(&links)?;
    let title = found.title.as_deref().unwrap_or(&chat);
    let body = html! {
        main id="main" class="wide" data-view="branch-difference" data-chat=(chat) {
            div class="heading" {
                h1 { "Two branches" }
                a href=(links.chat(&chat, "branches")) { "All branches" }
            }
            form class="choose" action=(links.chat(&chat, "branches/compare")) {
                (choice("left", "Left", &branches, &left))
                (choice("right", "Right", &branches, &right))
                button { "Compare" }
            }
            p { (summary(&difference, &chat, &left, &links)) }
            @if let Some((before, after)) = edited(&difference) {
                h2 { "Where they part, the message was written anew" }
                (content::diff_lines(&before.plain_text(), &after.plain_text()))
            }
            div class="sides" {
                (side(&difference.left_view, difference.common, &chat, &links))
                (side(&difference.right_view, difference.common, &chat, &links))
            }
        }
    };
    Ok(Shell::new(&links, title, Tab::Branches).chat(&chat, None).page(&body))
}

fn choice(name: &str, label: &str, branches: &[Branch], chosen: &str) -> Markup {
    html! {
        label { span { (label) } " " select name=(name) {
            @for branch in branches {
                option value=(branch.name.as_str()) selected[branch.name.as_str() == chosen] {
                    (branch.name.as_str()) @if branch.active { " ●" } }
            }
        } }
    }
}

fn summary(difference: &BranchDifference, chat: &str, left: &str, links: &Links) -> Markup {
    html! {
        @match &difference.at {
            Some(at) => {
                (counted(difference.common, "message")) " are the same, the last of them "
                a href=(links.message(chat, Some(left), at.as_str())) { "here" } "."
            },
            None => "They share no message.",
        }
        @if difference.left.is_empty() && difference.right.is_empty() {
            " Neither has more: they are the same."
        }
    }
}

/// Returns the first messages after the fork, if one may be an edit of the other.
fn edited(difference: &BranchDifference) -> Option<(&Message, &Message)> {
    let left = difference.left_view.chain.get(difference.common)?.message().ok()?;
    let right = difference.right_view.chain.get(difference.common)?.message().ok()?;
    let has_text = |message: &Message| !message.plain_text().trim().is_empty();
    (left.role == right.role && has_text(left) && has_text(right)).then_some((left, right))
}

fn side(view: &BranchView, common: usize, chat: &str, links: &Links) -> Markup {
    let own = view.chain.len().saturating_sub(common);
    html! {
        section aria-label=(view.branch.as_str()) {
            h2 {
                a href={ (links.chat(chat, "")) "?branch=" (encode(view.branch.as_str())) } {
                    bdi { (view.branch.as_str()) } }
                span class="note" { " " (counted(own, "message")) " of its own" }
            }
            @if own == 0 { p class="note" { "It ends where they part." } }
            ol class="own" {
                @for node in view.chain.iter().skip(common).take(LISTED) {
                    li {
                        span class="note" { (display::role(node)) } " "
                        a dir="auto" href=(links.message(chat, Some(view.branch.as_str()),
                            node.id.as_str())) {
                            @let text = display::node_preview(node);
                            @if text.is_empty() { "(no text)" } @else { (text) }
                        }
                    }
                }
            }
            @if own > LISTED { p class="note" { "and " (counted(own - LISTED, "message"))
                " more on the branch" } }
        }
    }
}
