//! A past request: what was sent, what was cut and why.

use axum::extract::{Path, Query, State};
use context_runtime::display::grouped;
use context_runtime::sent::RequestOrigin;
use maud::{Markup, html};
use serde::Deserialize;

use super::pieces::{self, pieces};
use super::sent_bar::bar;
use super::sent_controls::controls;
use super::shell::{Shell, Tab, time};
use super::{OrPage, PageError};
use crate::content;
use crate::links::{Links, encode};
use crate::operations::{SentAnswer, SentQuery};
use crate::{OperationError, Operations};

pub(crate) async fn sent(
    State(operations): State<Operations>,
    links: Links,
    Path(chat): Path<String>,
    Query(query): Query<SentQuery>,
) -> Result<Markup, PageError> {
    let (found, ..) = operations.chat(&chat).await.or_page(&links)?;
    let title = found.title.as_deref().unwrap_or(&chat).to_owned();
    let branch = query.branch.clone();
    let view = Shell::new(&links, &title, Tab::Sent).chat(&chat, branch.as_deref());
    let answer = match operations.sent(&chat, query.clone()).await {
        Ok(answer) => answer,
        // Settings that do not work are shown beside their fields.
        Err(error @ OperationError::Invalid { .. }) => {
            let body = html! {
                main id="main" class="wide" data-view="sent" data-chat=(chat) {
                    h1 { "Sent" }
                    p class="alert bad" { (error) }
                    (controls(&query, None, &links, &chat, operations.is_read_only()))
                }
            };
            return Ok(view.page(&body));
        }
        Err(error) => return Err(error).or_page(&links),
    };
    let body = html! {
        main id="main" class="wide" data-view="sent" data-chat=(chat) data-api=(links.api(&chat,
            ""))
            data-branch=(answer.branch)
            data-model=(answer.report.model) {
            (heading(&answer, &links, &chat))
            (controls(&answer.query, Some(&answer.report), &links, &chat,
                operations.is_read_only()))
            (summary(&answer))
            (bar(&answer.report))
            (pieces(&answer, &links, &chat))
            (plans(&answer))
            (diagnostics(&answer))
            (body(&answer, &links, &chat))
        }
    };
    Ok(view.page(&body))
}

fn heading(answer: &SentAnswer, links: &Links, chat: &str) -> Markup {
    let report = &answer.report;
    let address = |number: usize| {
        let query = SentQuery { number: Some(number), message: None, ..answer.query.clone() };
        format!("{}?{}", links.chat(chat, "sent"), query.encoded())
    };
    html! {
        div class="heading" {
            h1 { "Request " (report.number) " of " (answer.requests) }
            span class="note" { "turn " (report.turn) " · " (time(report.at)) }
            nav class="pages" aria-label="Requests" {
                @if let Some(before) = &answer.neighbours[0] {
                    a rel="prev" href=(address(before.number)) title="The request before (k)" {
                        "‹ " (before.number) }
                }
                @if let Some(after) = &answer.neighbours[1] {
                    a rel="next" href=(address(after.number)) title="The request after (j)" {
                        (after.number) " ›" }
                }
            }
            @if let Some(message) = &report.answer {
                a href=(links.message(chat, Some(&answer.branch), message.as_str())) {
                    "Its answer" }
            } @else { span class="badge" { "not answered yet" } }
            @if report.number > 1 {
                @let query = SentQuery { message: None, number: None, ..answer.query.clone() };
                a href={ (links.chat(chat, "compare")) "?after=" (report.number) "&"
                    (query.encoded()) } {
                    "Difference to request " (report.number - 1)
                }
            }
        }
    }
}

/// Returns what matters of the request in sentences.
fn summary(answer: &SentAnswer) -> Markup {
    let report = &answer.report;
    let (fit, tokens) = (report.budget.input(), report.tokens);
    html! {
        div class="summary" {
            p {
                b { (grouped(tokens.tokens())) " tokens" }
                @if !tokens.is_exact() {
                    " (" (grouped(tokens.low())) " to " (grouped(tokens.high())) ", estimated)"
                }
                " of the " (grouped(fit)) " that fit"
                @if !report.fits { " — " b class="bad" { "too large" } }
                @if let Some(cost) = &report.cost {
                    ". Input costs " b { (money(cost.total)) }
                    @if cost.without_cache > cost.total {
                        " with the cache, " (money(cost.without_cache)) " without"
                    }
                    " (prices of " (cost.as_of) ")"
                }
                "."
            }
            @if report.saved.tokens > 0 {
                p class="alert good" {
                    "Cuts left out or shortened " (cut_pieces(answer)) ", which saves "
                    b { (grouped(report.saved.tokens)) " tokens" }
                    @if let Some(usd) = report.saved.usd { " (" (money(usd))
                        " at the price of uncached input)" }
                    " in this request."
                }
            }
            (prefix(answer))
            p class="note" {
                @match report.origin {
                    RequestOrigin::Recorded => {
                        "Recomputed. The cuts are those that were stored with the chat at that time."
                    }
                    _ => {
                        "Recomputed: this is what this library sends for this history with these settings. "
                        "No compaction that is stored with the chat decided it."
                    }
                }
                @if !report.prompt_is_recorded {
                    " The store has no version of the system prompt with that time, so it is the "
                    "present one, or the oldest that is kept."
                }
                " Memories that were recalled and prompts that are not persisted are not stored "
                "with a chat, so they are not in it."
                @if !answer.tools_known {
                    " The tools of the program are not stored with a chat, so the body has none."
                }
            }
        }
    }
}

fn cut_pieces(answer: &SentAnswer) -> String {
    use context_runtime::sent::Fate;
    let cut = answer.report.pieces.iter().filter(|piece| piece.policy.is_some());
    let cut = cut.filter(|piece| matches!(piece.fate, Fate::LeftOut | Fate::Shortened));
    let count: usize = cut.map(|piece| piece.messages.max(1)).sum();
    format!("{} message{}", grouped(count as u64), if count == 1 { "" } else { "s" })
}

/// Returns what became of the provider's cache.
fn prefix(answer: &SentAnswer) -> Markup {
    let prefix = &answer.report.prefix;
    html! {
        @match &prefix.cause {
            None if prefix.reused == 0 => p {
                "It begins with all of the request before, of which the provider caches nothing: "
                "it is too short, or not marked."
            },
            None => p {
                "It begins with all of the request before: " (grouped(prefix.reused))
                " tokens should be in the provider's cache."
            },
            Some(cause) if answer.report.number == 1 => p class="note" {
                "Nothing can be in the provider's cache: " (cause) "."
            },
            Some(cause) => p class={ "alert" @if prefix.lost > 0 { " bad" } } {
                "The cache was lost "
                @if let Some(at) = prefix.broken_at { "at " a href={ "#piece-" (at) } { "piece "
                    (at + 1) } }
                ": " (cause) ". "
                (grouped(prefix.shared)) " tokens are shared with the request before, "
                (grouped(prefix.reused)) " of them cached"
                @if prefix.lost > 0 {
                    "; " b { (grouped(prefix.lost)) " tokens are read again" }
                    @if let Some(usd) = prefix.lost_usd { ", which costs " (money(usd)) }
                }
                "."
            },
        }
    }
}

pub(crate) fn money(usd: f64) -> String {
    match usd {
        usd if usd >= 0.1 => format!("${usd:.2}"),
        usd if usd >= 0.0001 => format!("${usd:.4}"),
        _ => "$0".to_owned(),
    }
}

fn plans(answer: &SentAnswer) -> Markup {
    let report = &answer.report;
    html! {
        @if !report.cuts.is_empty() || !report.plans.is_empty() {
            h2 { "Cuts" }
            div class="scroll" tabindex="0" role="region" aria-label="Cuts" {
                table class="data" {
                    thead { tr { th { "Policy" } th { "Cut" } th { "When" }
                        th class="n" { "Before" } th class="n" { "After" } th { "Why" } } }
                    tbody {
                        @for cut in &report.cuts {
                            tr {
                                td { (name(&cut.policy)) }
                                td { (cut.description) }
                                td { @match cut.request {
                                    Some(number) if number == report.number => "this request",
                                    Some(number) => { "request " (number) },
                                    None => "before",
                                } }
                                td class="n" { (grouped(cut.before)) } td class="n" {
                                    (grouped(cut.after)) }
                                td { (cut.reason) }
                            }
                        }
                        @for plan in report.plans.iter().filter(|plan| !plan.applied) {
                            tr class="dim" {
                                td { (plan.policy) } td { (plan.description) } td {
                                    "not carried out" }
                                td class="n" { (grouped(plan.before)) } td class="n" {
                                    (grouped(plan.after)) }
                                td { (plan.reason) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn name(policy: &str) -> &str {
    if policy.is_empty() { "by hand" } else { policy }
}

fn diagnostics(answer: &SentAnswer) -> Markup {
    html! {
        @if !answer.report.diagnostics.is_empty() {
            h2 { "Repairs and losses" }
            ul { @for one in answer.report.diagnostics.iter().take(200) { li { (one) } } }
        }
    }
}

/// Returns the body, fetched when it is opened.
fn body(answer: &SentAnswer, links: &Links, chat: &str) -> Markup {
    let report = &answer.report;
    let query = SentQuery { number: Some(report.number), message: None, ..answer.query.clone() };
    let address = format!("{}?{}", links.api(chat, "sent/body"), query.encoded());
    html! {
        h2 { "Request body" }
        p {
            button type="button" data-do="copy-body" data-from=(address) { "Copy as JSON" } " "
            button type="button" data-do="copy-curl" data-from=(address)
                data-provider=(report.provider)
                data-model=(report.model) { "Copy as curl" }
            span class="note" { " " (grouped(report.body.as_str().len() as u64)) " bytes of JSON" }
            @for (name, value) in &report.headers { span class="note" { " · header " code { (name)
                ": " (value) } } }
        }
        details data-load={ (links.chat(chat, "sent/body")) "?" (query.encoded()) } {
            summary { "Show" }
        }
    }
}

/// Returns the body of a request, indented and coloured.
pub(crate) async fn shown_body(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(query): Query<SentQuery>,
) -> Result<Markup, OperationError> {
    let answer = operations.sent(&chat, query).await?;
    Ok(tokio::task::spawn_blocking(move || content::json_block(answer.report.body.as_str()))
        .await?)
}

/// The piece of a request.
#[derive(Debug, Deserialize)]
pub(crate) struct PieceAt {
    piece: usize,
}

/// Returns the text of a piece, as it was sent and as it was.
pub(crate) async fn piece(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(at): Query<PieceAt>,
    Query(query): Query<SentQuery>,
) -> Result<Markup, OperationError> {
    let answer = operations.sent(&chat, query).await?;
    let work = move || answer.report.pieces.get(at.piece).map(pieces::text_of);
    let shown = tokio::task::spawn_blocking(work).await?;
    shown.ok_or_else(|| OperationError::invalid("piece", "the request has no such piece"))
}

impl SentQuery {
    /// Returns the settings as a query.
    pub(crate) fn encoded(&self) -> String {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let fields = [
            ("branch", self.branch.clone()),
            ("message", self.message.as_ref().map(ToString::to_string)),
            ("number", number(self.number.map(|number| number as u64))),
            ("provider", self.provider.clone()),
            ("model", self.model.clone()),
            ("window", number(self.window)),
            ("reserve", number(self.reserve)),
            ("policies", self.policies.clone()),
            ("uncut", self.uncut.then(|| "true".to_owned())),
        ];
        let given = fields.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.map(|(name, value)| format!("{name}={}", encode(value))).collect::<Vec<_>>().join("&")
    }
}
