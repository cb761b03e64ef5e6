//! What is remembered of a user.

use axum::extract::{Query, State};
use context_runtime::display::grouped;
use context_runtime::memory::{MemoryScope, Trust};
use maud::{Markup, html};

use super::shell::{Shell, Tab, time};
use super::{OrPage, PageError};
use crate::api::memory::Remembered;
use crate::links::{Links, encode};
use crate::operations::{MemoryEntry, MemoryPage, MemoryRecall};
use crate::{OperationError, Operations};

pub(crate) async fn memory(
    State(operations): State<Operations>,
    links: Links,
    Query(asked): Query<Remembered>,
) -> Result<Markup, PageError> {
    let (scope, after) = (asked.scope.as_deref(), asked.after.as_deref());
    let page = match operations.remembered(scope, after).await {
        Err(OperationError::Missing { .. }) => None,
        found => Some(found.or_page(&links)?),
    };
    let recall = match asked.q.trim() {
        "" => None,
        _ if page.is_none() => None,
        _ => {
            let found = operations.would_recall(&asked.q, scope, asked.tokens).await;
            Some(found.or_page(&links)?)
        }
    };
    let body = html! {
        main id="main" class="wide memory" data-view="memory" tabindex="-1"
            data-api=(links.to("/api/v1/memory"))
            data-readonly=[operations.is_read_only().then_some("yes")] {
            div class="heading" { h1 { "Memory" } (count(page.as_ref())) }
            @match &page {
                None => p class="empty" { "This store keeps no memories." },
                Some(page) if page.scopes.is_empty() => (empty(&operations)),
                Some(page) => {
                    (question(page, &asked, &links))
                    @if let Some(recall) = &recall { (recalled(recall, &asked.q, &links)) }
                    (remembered(page, &asked, &operations, &links))
                },
            }
        }
    };
    Ok(Shell::new(&links, "Memory", Tab::None).page(&body))
}

fn count(page: Option<&MemoryPage>) -> Markup {
    let all = page.map(|page| page.scopes.iter().map(|scope| scope.memories).sum::<u64>());
    html! { @if let Some(all) = all { span class="note" { (grouped(all)) " records" } } }
}

fn empty(operations: &Operations) -> Markup {
    html! {
        div class="empty" {
            p { "Nothing is remembered of " b { bdi { (operations.owner().as_str()) } } "." }
            p { "An agent remembers its turns if its runtime has a memory; or add some here:" }
            pre { code {
                "context memory add 'I like a seat at the window.'\n"
                "context memory add --chat CHAT     # what was said in a chat"
            } }
        }
    }
}

/// Returns the fields for a recall and for the scope.
fn question(page: &MemoryPage, asked: &Remembered, links: &Links) -> Markup {
    let chosen = asked.scope.as_deref().unwrap_or_default();
    html! {
        form class="recallform" action=(links.to("/memory")) {
            label {
                span class="note" { "What would be recalled for" }
                input type="search" name="q" value=(asked.q) placeholder="a question or a topic"
                    autocomplete="off";
            }
            label {
                span class="note" { "Scope" }
                select name="scope" {
                    option value="" { "the user; all memories listed" }
                    @for scope in page.scopes.iter().take(500) {
                        option value=(scope.key) selected[scope.key == chosen] {
                            (within(&scope.scope)) " (" (scope.memories) ")"
                        }
                    }
                }
            }
            button type="submit" class="primary" { "Recall" }
        }
    }
}

/// Describes a scope without its user.
fn within(scope: &MemoryScope) -> String {
    let session = scope.session.as_ref().map(|session| session.as_str());
    let named = [
        ("project", scope.project.as_deref()),
        ("agent", scope.agent.as_deref()),
        ("session", session),
    ];
    let named = named.iter().filter_map(|(part, name)| name.map(|name| format!("{part} {name}")));
    let named: Vec<_> = named.collect();
    if named.is_empty() { "the user".to_owned() } else { named.join(", ") }
}

fn recalled(recall: &MemoryRecall, text: &str, links: &Links) -> Markup {
    html! {
        section class="recall" {
            h2 {
                "Recalled for “" bdi { (context_runtime::display::preview(text, 80)) } "” "
                span class="note" {
                    (recall.memories.len()) " in this order, " (grouped(recall.tokens))
                    " of at most " (grouped(recall.max_tokens)) " tokens"
                }
            }
            @if recall.memories.is_empty() {
                p class="note" { "No memory would be recalled." }
            }
            @for diagnostic in &recall.diagnostics { p class="note" { (diagnostic) } }
            ol class="memories" {
                @for memory in &recall.memories { li { (entry(memory, links, false)) } }
            }
        }
    }
}

fn remembered(
    page: &MemoryPage,
    asked: &Remembered,
    operations: &Operations,
    links: &Links,
) -> Markup {
    html! {
        h2 { "Remembered, newest first" }
        @if page.unseen_scopes > 0 {
            p class="note" { (page.unseen_scopes) " scopes are not looked into: choose one above." }
        }
        @if page.memories.is_empty() { p class="note" { "Nothing in this scope." } }
        ol class="memories" {
            @for memory in &page.memories {
                li { (entry(memory, links, !operations.is_read_only())) }
            }
        }
        @if let Some(next) = &page.next {
            p { a class="more" rel="next" href={
                (links.to("/memory")) "?after=" (encode(next))
                @if let Some(scope) = &asked.scope { "&scope=" (encode(scope)) }
            } { "Older memories" } }
        }
    }
}

fn entry(memory: &MemoryEntry, links: &Links, can_forget: bool) -> Markup {
    html! {
        div class={ "facts" @if memory.quarantine.is_some() { " quarantined" } } {
            span class="badge" { bdi { (memory.kind) } }
            (trust(memory.trust))
            @if let Some(reason) = &memory.quarantine {
                span class="badge bad" title="It is kept and not recalled" {
                    "in quarantine" @if !reason.is_empty() { ": " bdi { (reason) } }
                }
            }
            @if let Some(score) = memory.score {
                span class="n" title="Comparable within this recall" {
                    "score " (format!("{score:.3}"))
                }
            }
            span class="n note" { (grouped(memory.tokens)) " tokens" }
            @if let Some(speaker) = &memory.speaker {
                span class="note" { "said by " bdi { (speaker) } }
            }
            @if let Some(at) = memory.at { span class="note" { (time(at)) } }
            @if let Some(source) = &memory.source {
                @let session = source.session.as_str();
                span class="note" { "from "
                    @match &source.message {
                        Some(message) => {
                            @let address = links.message(session, None, message.as_str());
                            a href=(address) { bdi { (session) } }
                        },
                        None => a href=(links.chat(session, "")) { bdi { (session) } },
                    }
                }
            }
            @if let Some(scope) = &memory.scope {
                @if *scope != MemoryScope::new(scope.user.clone()) {
                    span class="note" { "only in " bdi { (within(scope)) } }
                }
                @if let (true, Some(id)) = (can_forget, &memory.id) {
                    button type="button" class="forget" data-forget=(id)
                        data-scope=(serde_json::to_string(scope).unwrap_or_default()) { "Forget…" }
                }
            }
        }
        p class="said" dir="auto" {
            @if let Some(key) = &memory.key { b { bdi { (key) } } " " }
            (context_runtime::display::preview(&memory.text, 1_200))
        }
        (uses(memory, links))
    }
}

fn trust(trust: Option<Trust>) -> Markup {
    html! {
        @match trust {
            Some(Trust::Foreign) => span class="badge bad" title="Content of a third party" {
                "foreign" },
            Some(trust) => span class="badge" title="Class of trust" { (trust.as_str()) },
            None => span class="badge" title="Class of trust" { "trust unknown" },
        }
    }
}

fn uses(memory: &MemoryEntry, links: &Links) -> Markup {
    let uses = memory.uses.as_deref().unwrap_or_default();
    html! {
        @if !uses.is_empty() {
            details class="uses" {
                summary { "Used in " (uses.len()) " turn" @if uses.len() != 1 { "s" } }
                ul {
                    @for (session, turn, at) in uses.iter().take(50) {
                        li {
                            a href=(links.message(session, None, turn)) { bdi { (session) } }
                            " " (time(*at))
                        }
                    }
                }
                @if uses.len() > 50 { p class="note" { (uses.len() - 50) " older uses" } }
            }
        }
    }
}
