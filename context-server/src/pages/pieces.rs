//! The pieces of a request, with those that were left out at their places.

use context_runtime::display::grouped;
use context_runtime::sent::{Fate, PieceKind, RequestPiece};
use maud::{Markup, html};

use crate::content;
use crate::links::Links;
use crate::operations::{SentAnswer, SentQuery};

/// The pieces of one fate in a row that are shown before the rest of them is folded.
const SHOWN: usize = 8;

/// Returns the list of pieces.
pub(crate) fn pieces(answer: &SentAnswer, links: &Links, chat: &str) -> Markup {
    let pieces = &answer.report.pieces;
    let query =
        SentQuery { number: Some(answer.report.number), message: None, ..answer.query.clone() };
    let query = query.encoded();
    let list = PieceList { answer, links, chat, query: &query };
    html! {
        h2 { "Pieces" span class="note" {
            " in the order of the request; what was left out is at its place" } }
        (counts(pieces))
        div class="pieces" {
            @for run in runs(pieces) {
                @if run.len() > 2 * SHOWN {
                    @let (head, tail) = (run.start + SHOWN, run.end - 2);
                    (list.part(run.start..head))
                    details class="run" {
                        summary { (grouped((tail - head) as u64)) " more " (word(&pieces[head]))
                            " · "
                            (grouped(pieces[head..tail].iter().map(|it|
                                it.before.tokens().max(it.tokens.tokens())).sum())) " tokens" }
                        (list.part(head..tail))
                    }
                    (list.part(tail..run.end))
                } @else { (list.part(run)) }
            }
        }
    }
}

/// Returns how many pieces have each fate.
fn counts(pieces: &[RequestPiece]) -> Markup {
    let all =
        [Fate::Kept, Fate::Shortened, Fate::LeftOut, Fate::Added, Fate::Repaired, Fate::Recalled];
    html! {
        p class="counts" {
            @for fate in all {
                @let of = pieces.iter().filter(|piece| piece.fate == fate);
                @let count = of.map(|piece| piece.messages.max(1)).sum::<usize>();
                @if count > 0 { span { (badge(fate)) " " (grouped(count as u64)) } }
            }
        }
    }
}

/// Returns the runs of neighbours with the same fate and policy.
fn runs(pieces: &[RequestPiece]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if pieces[run.start].fate == piece.fate
                    && pieces[run.start].policy == piece.policy
                    && pieces[run.start].kind == piece.kind =>
            {
                run.end = at + 1
            }
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// The data of a list of pieces.
struct PieceList<'a> {
    answer: &'a SentAnswer,
    links: &'a Links,
    chat: &'a str,
    query: &'a str,
}

impl PieceList<'_> {
    fn part(&self, range: std::ops::Range<usize>) -> Markup {
        html! { @for at in range { (self.piece(at, &self.answer.report.pieces[at])) } }
    }

    fn piece(&self, at: usize, piece: &RequestPiece) -> Markup {
        let (now, before) = (piece.tokens.tokens(), piece.before.tokens());
        let is_break =
            self.answer.report.prefix.broken_at == Some(at) && self.answer.report.number > 1;
        html! {
            @if is_break { div class="break" id="break" { "the cache ends here" } }
            details id={ "piece-" (at) } class={ "piece " (class(piece.fate)) @if piece.cached {
                " cached" } }
                data-load={ (self.links.chat(self.chat, "sent/piece")) "?piece=" (at) "&"
                    (self.query) } {
                summary title=(piece.reason) {
                    (badge(piece.fate))
                    span class="kind" { (kind(piece)) }
                    span class="preview" dir="auto" { (preview(piece)) }
                    @if piece.cached { span class="badge cache" title="In the provider's cache" {
                        "cached" } }
                    span class="n" {
                        @if piece.fate == Fate::LeftOut { s { (grouped(before)) } }
                        @else if before > now { s { (grouped(before)) } " " (grouped(now)) }
                        @else { (grouped(now)) }
                    }
                }
                p class="reason" {
                    (piece.reason)
                    @if let Some(policy) = &piece.policy { " · policy " code { (policy) } }
                    @if let Some(number) = piece.request { " · since request " (number) }
                    @if let Some(message) = &piece.message {
                        " · " a href=(self.links.message(self.chat, Some(&self.answer.branch),
                            message.as_str())) { "in the chat" }
                    }
                }
            }
        }
    }
}

/// Returns the text of a piece as it was sent, and as it was if that differs.
pub(crate) fn text_of(piece: &RequestPiece) -> Markup {
    let (sent, original) = (piece.text(), piece.original_text());
    let parts = |message: &context_runtime::Message| {
        html! { @for part in &message.parts { (content::part(part, message.role)) } }
    };
    html! {
        @match (piece.fate, &piece.sent, &piece.original) {
            (Fate::LeftOut, _, Some(original)) => (parts(original)),
            (Fate::LeftOut, ..) => p class="note" { "Several messages: open them in the chat." },
            (Fate::Shortened | Fate::Repaired, Some(_), Some(_)) if sent != original => {
                h3 { "What changed" } (content::diff_lines(&original, &sent))
            },
            (_, Some(sent), _) => (parts(sent)),
            _ => (content::plain(&sent)),
        }
    }
}

pub(crate) fn class(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::Shortened => "shortened",
        Fate::LeftOut => "left-out",
        Fate::Added => "added",
        Fate::Repaired => "repaired",
        Fate::Recalled => "recalled",
        _ => "other",
    }
}

pub(crate) fn badge(fate: Fate) -> Markup {
    let name = match fate {
        Fate::LeftOut => "left out",
        other => class(other),
    };
    html! { span class={ "fate " (class(fate)) } { (name) } }
}

fn word(piece: &RequestPiece) -> &'static str {
    match piece.fate {
        Fate::LeftOut => "left out",
        other => class(other),
    }
}

pub(crate) fn kind(piece: &RequestPiece) -> String {
    match (piece.kind, piece.role) {
        (PieceKind::System, _) => "system prompt".to_owned(),
        (PieceKind::Instructions, _) => "instructions".to_owned(),
        (PieceKind::Tools, _) => "tools".to_owned(),
        (PieceKind::Checkpoint, _) => "checkpoint".to_owned(),
        (PieceKind::Recall, _) => "memory".to_owned(),
        (PieceKind::Placeholder, _) => "placeholder".to_owned(),
        (_, Some(role)) if piece.messages > 1 => {
            format!("{} messages, from {role}", piece.messages)
        }
        (_, Some(role)) => role.to_string(),
        _ => "message".to_owned(),
    }
}

pub(crate) fn preview(piece: &RequestPiece) -> String {
    let message = piece.sent.as_ref().or(piece.original.as_ref());
    match message {
        Some(message) => {
            let parts: Vec<_> = message.parts.iter().map(context_runtime::display::part).collect();
            context_runtime::display::preview(&parts.join(" "), 160)
        }
        None => context_runtime::display::preview(&piece.text(), 160),
    }
}
