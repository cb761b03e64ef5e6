//! The difference of two requests.

use axum::extract::{Path, Query, State};
use context_runtime::display::grouped;
use context_runtime::sent::{ChangeOfPieces, PieceChange, RequestPiece};
use maud::{Markup, html};
use serde::Deserialize;

use super::pieces::{badge, kind, preview};
use super::sent::money;
use super::sent_bar::bar;
use super::shell::{Shell, Tab};
use super::{OrPage, PageError};
use crate::content;
use crate::links::Links;
use crate::operations::{SentDifference, SentQuery};
use crate::{OperationError, Operations};

/// The pieces of a run that are listed.
const LISTED: usize = 12;

#[derive(Debug, Deserialize)]
pub(crate) struct Pair {
    before: Option<usize>,
    after: Option<usize>,
}

pub(crate) async fn compare(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(pair): Query<Pair>,
    Query(query): Query<SentQuery>,
) -> Result<Markup, PageError> {
    let (found, ..) = operations.chat(&chat).await.or_page(&links)?;
    let title = found.title.as_deref().unwrap_or(&chat).to_owned();
    let branch = query.branch.clone();
    let pair = (pair.before, pair.after);
    let found = operations.sent_difference(&chat, query, pair).await.or_page(&links)?;
    let settings = SentQuery { number: None, message: None, ..found.query.clone() }.encoded();
    let (before, after) = (found.older.number, found.newer.number);
    let sent = |number: usize| format!("{}?number={number}&{settings}", links.chat(&chat, "sent"));
    let step = |after: usize| format!("{}?after={after}&{settings}", links.chat(&chat, "compare"));
    let body = html! {
        main id="main" class="wide" data-view="compare" data-chat=(chat)
            data-api=(links.api(&chat, "")) {
            div class="heading" {
                h1 { "From request " (before) " to " (after) }
                span class="note" { "turn " (found.older.turn) " to " (found.newer.turn) }
                nav class="pages" aria-label="Requests" {
                    @if after > 2 { a rel="prev" href=(step(after - 1)) { "‹ to " (after - 1) } }
                    @if after < found.requests { a rel="next" href=(step(after + 1)) { "to "
                        (after + 1) " ›" } }
                }
                a href=(sent(before)) { "Request " (before) } a href=(sent(after)) { "Request "
                    (after) }
            }
            (sentence(&found))
            div class="two" {
                div { h2 { "Request " (before) ": " (grouped(found.older.tokens.tokens()))
                    " tokens" } (bar(&found.older)) }
                div { h2 { "Request " (after) ": " (grouped(found.newer.tokens.tokens()))
                    " tokens" } (bar(&found.newer)) }
            }
            h2 { "Pieces" }
            ol class="changes" {
                @for change in &found.difference.changes { (self::change(change, &found, &links,
                    &chat)) }
            }
            h2 { "Bodies, line by line" }
            details data-load={ (links.chat(&chat, "compare/bodies")) "?before=" (before)
                "&after=" (after) "&" (settings) } {
                summary { "Show" }
            }
        }
    };
    Ok(Shell::new(&links, &title, Tab::Compare).chat(&chat, branch.as_deref()).page(&body))
}

/// Returns the difference of the two bodies.
pub(crate) async fn bodies(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(pair): Query<Pair>,
    Query(query): Query<SentQuery>,
) -> Result<Markup, OperationError> {
    let found = operations.sent_difference(&chat, query, (pair.before, pair.after)).await?;
    let work = move || content::diff_json(found.older.body.as_str(), found.newer.body.as_str());
    Ok(tokio::task::spawn_blocking(work).await?)
}

/// Returns what happened to the prefix, in one sentence: tokens kept, first piece that differs,
/// cause, cost.
fn sentence(found: &SentDifference) -> Markup {
    let difference = &found.difference;
    let piece = difference.broken_at.and_then(|at| found.newer.pieces.get(at));
    html! {
        p class={ "alert" @if difference.lost > 0 { " bad" } @else if difference.cause.is_none() {
            " good" } } {
            b { (grouped(difference.shared)) " tokens" } " are the same from the start"
            @if let Some(cause) = &difference.cause {
                @if let Some(piece) = piece {
                    "; the first difference is the " (kind(piece)) " “" bdi { (preview(piece)) } "”"
                }
                ", because " (cause)
                @if difference.lost > 0 {
                    ". " (grouped(difference.lost)) " tokens that were in the cache are read again"
                    @if let Some(usd) = difference.lost_usd { ", which costs " b { (money(usd)) } }
                }
                "."
            } @else {
                ": the later request begins with all of the earlier one, and the cache holds."
            }
        }
    }
}

fn change(change: &PieceChange, found: &SentDifference, links: &Links, chat: &str) -> Markup {
    let (class, word) = match change.change {
        ChangeOfPieces::Same => ("same", "the same"),
        ChangeOfPieces::Changed => ("changed", "changed"),
        ChangeOfPieces::Removed => ("removed", "no longer sent"),
        ChangeOfPieces::Added => ("new", "new"),
        _ => ("other", "other"),
    };
    let of = match change.change {
        ChangeOfPieces::Removed => (&change.before, &found.older.pieces),
        _ => (&change.after, &found.newer.pieces),
    };
    // A piece that is no longer sent says why in the later request, where it is at its place.
    let in_newer = |piece: &RequestPiece| {
        let message = piece.message.as_ref().filter(|_| class == "removed")?;
        found.newer.piece(message).filter(|newer| !newer.is_sent())
    };
    let pieces = of.0.iter().filter_map(|at| of.1.get(*at));
    let pieces: Vec<&RequestPiece> = pieces.map(|it| in_newer(it).unwrap_or(it)).collect();
    let is_break = difference_begins(change, found);
    html! {
        @if is_break { li class="break" { "the cache ends here" } }
        li class=(class) {
            details open[class != "same" && pieces.len() <= LISTED] {
                summary {
                    b { (grouped(pieces.len() as u64)) " piece" @if pieces.len() != 1 { "s" } " "
                        (word) }
                    span class="n" {
                        @if change.tokens_before != change.tokens_after {
                            (grouped(change.tokens_before)) " → " (grouped(change.tokens_after))
                        } @else { (grouped(change.tokens_after)) }
                        " tokens"
                    }
                }
                ul {
                    @for piece in pieces.iter().take(LISTED * 4) {
                        li {
                            (badge(piece.fate)) " " span class="kind" { (kind(piece)) } " "
                            @if let Some(message) = &piece.message {
                                a href=(links.message(chat, Some(&found.branch),
                                    message.as_str())) dir="auto" { (preview(piece)) }
                            } @else { span dir="auto" { (preview(piece)) } }
                            @if class != "same" { span class="reason" { (piece.reason) } }
                        }
                    }
                    @if pieces.len() > LISTED * 4 { li class="note" { (pieces.len() - LISTED * 4)
                        " more" } }
                }
            }
        }
    }
}

fn difference_begins(change: &PieceChange, found: &SentDifference) -> bool {
    let Some(at) = found.difference.broken_at else { return false };
    found.difference.cause.is_some() && change.after.first() == Some(&at)
}
