//! The difference of two requests.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use context_core::MessageId;
use serde::Serialize;

use super::compare::BreakCause;
use super::pieces::{Fate, PieceKind, RequestPiece};
use super::report::RequestReport;
use crate::display::grouped;

/// The change of pieces between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeOfPieces {
    /// Both requests have them.
    Same,
    /// Both requests have them, in different forms.
    Changed,
    /// Only the earlier request has them.
    Removed,
    /// Only the later request has them.
    Added,
}

/// Consecutive pieces with the same change. Pieces that neither request sent are not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PieceChange {
    /// The change.
    pub change: ChangeOfPieces,
    /// The pieces of the earlier request, as indexes of its report.
    pub before: Vec<usize>,
    /// The pieces of the later request, as indexes of its report.
    pub after: Vec<usize>,
    /// Their tokens in the earlier request.
    pub tokens_before: u64,
    /// Their tokens in the later request.
    pub tokens_after: u64,
}

/// The difference of two requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct RequestDiff {
    /// The number of the earlier request.
    pub before: usize,
    /// The number of the later request.
    pub after: usize,
    /// The changes in the order of the requests, as runs.
    pub changes: Vec<PieceChange>,
    /// The first piece of the later request that is not as in the earlier one, as an index of its
    /// report. `None` if it begins with the whole earlier request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_at: Option<usize>,
    /// The message where they part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The tokens that both requests begin with.
    pub shared: u64,
    /// The tokens of the later request that the earlier one had too, and that have to be read
    /// again.
    pub lost: u64,
    /// The cost of reading them again in US dollars, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_usd: Option<f64>,
    /// The reason why the later request does not begin with the earlier one, or is not cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<BreakCause>,
}

impl RequestDiff {
    /// Returns the difference of two requests. They may be of two replays, such as of two branches
    /// of a chat or of a what-if.
    pub fn between(before: &RequestReport, after: &RequestReport) -> Self {
        let changes = changes(&before.pieces, &after.pieces);
        let is_same = |change: &&PieceChange| change.change == ChangeOfPieces::Same;
        let leading = changes.iter().take_while(is_same);
        let shared = leading.map(|change| change.tokens_after).sum();
        let first = changes.iter().find(|change| !is_same(change));
        let has_all = first.is_none_or(|first| first.before.is_empty() && is_end(&changes));
        let next = |pieces: &[RequestPiece], at: Option<&usize>| {
            at.and_then(|at| pieces.get(*at)?.message.clone())
        };
        let message = first.filter(|_| !has_all).and_then(|first| {
            next(&before.pieces, first.before.first())
                .or_else(|| next(&after.pieces, first.after.first()))
        });
        let mut diff = Self {
            before: before.number,
            after: after.number,
            broken_at: first.filter(|_| !has_all).and_then(|first| {
                let own = message.as_ref().and_then(|id| {
                    after.pieces.iter().position(|piece| piece.message.as_ref() == Some(id))
                });
                own.or(first.after.first().copied())
            }),
            message,
            shared,
            lost: 0,
            lost_usd: None,
            cause: None,
            changes,
        };
        let same_target = before.model == after.model && before.provider == after.provider;
        if same_target && after.number == before.number + 1 && shares_session(before, after) {
            let prefix = &after.prefix;
            (diff.broken_at, diff.message) = (prefix.broken_at, prefix.message.clone());
            (diff.shared, diff.lost) = (prefix.shared, prefix.lost);
            (diff.lost_usd, diff.cause) = (prefix.lost_usd, prefix.cause.clone());
            return diff;
        }
        if !same_target {
            (diff.cause, diff.shared) = (Some(BreakCause::Model), 0);
        } else if !has_all {
            diff.cause = Some(cause(&diff, before, after));
            let behind = diff.changes.iter().skip_while(is_same);
            diff.lost = behind.filter(is_same).map(|change| change.tokens_after).sum();
        }
        diff
    }
}

/// Whether the prefix of a report is compared with this very request.
fn shares_session(before: &RequestReport, after: &RequestReport) -> bool {
    before.tokens.tokens() == after.prefix.before
}

fn is_end(changes: &[PieceChange]) -> bool {
    changes.iter().filter(|change| change.change != ChangeOfPieces::Same).count() == 1
}

/// Returns why two requests part.
fn cause(diff: &RequestDiff, before: &RequestReport, after: &RequestReport) -> BreakCause {
    let first = diff.changes.iter().find(|change| change.change != ChangeOfPieces::Same);
    let was = first.and_then(|first| before.pieces.get(*first.before.first()?));
    let leading = diff.changes.first().filter(|first| first.change == ChangeOfPieces::Same);
    let begin = leading.and_then(|leading| leading.after.last()).map_or(0, |last| last + 1);
    let is = after.pieces.get(begin..).unwrap_or_default().iter().find(|piece| piece.is_sent());
    match was.or(is).map(|piece| piece.kind) {
        Some(PieceKind::System | PieceKind::Instructions) => return BreakCause::SystemPrompt,
        Some(PieceKind::Tools) => return BreakCause::Tools,
        _ => {}
    }
    let now = was.and_then(|was| after.piece(was.message.as_ref()?)).or(is);
    let cut = |piece: &RequestPiece| {
        let policy = piece.policy.clone()?;
        Some(BreakCause::Cut { policy, request: piece.request })
    };
    match (now, was.and_then(|was| was.message.clone())) {
        (Some(now), Some(message)) if now.message.as_ref() == Some(&message) => match now.fate {
            Fate::Kept => was.filter(|was| was.fate != Fate::Kept).map(|_| BreakCause::Undo),
            Fate::Repaired => Some(BreakCause::Repair),
            _ => cut(now),
        }
        .unwrap_or(BreakCause::Edit { message }),
        (Some(now), _) if now.policy.is_some() => cut(now).unwrap_or(BreakCause::Other),
        (Some(now), _) => match &now.message {
            Some(message) => BreakCause::Branch { message: message.clone() },
            None => BreakCause::Other,
        },
        (None, _) => BreakCause::Other,
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Key<'p> {
    Message(&'p MessageId),
    Front(PieceKind, usize),
    Made(String),
}

fn keys(pieces: &[RequestPiece]) -> Vec<(usize, Key<'_>)> {
    let mut of_kind: HashMap<PieceKind, usize> = HashMap::new();
    let sent = pieces.iter().enumerate().filter(|(_, piece)| piece.is_sent());
    sent.map(|(at, piece)| {
        let key = match &piece.message {
            Some(id) => Key::Message(id),
            None if piece.messages == 0 => {
                let number = of_kind.entry(piece.kind).or_default();
                *number += 1;
                Key::Front(piece.kind, *number)
            }
            None => Key::Made(piece.text().into_owned()),
        };
        (at, key)
    })
    .collect()
}

fn is_same(a: &RequestPiece, b: &RequestPiece) -> bool {
    let messages = match (&a.sent, &b.sent) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (None, None) => true,
        _ => false,
    };
    messages && a.prompt == b.prompt
}

/// Returns the changes between the pieces that two requests sent.
fn changes(before: &[RequestPiece], after: &[RequestPiece]) -> Vec<PieceChange> {
    let (old, new) = (keys(before), keys(after));
    let positions: HashMap<&Key<'_>, usize> =
        new.iter().enumerate().map(|(at, (_, key))| (key, at)).collect();
    let mut runs = Runs { before, after, changes: Vec::new() };
    let mut next = 0;
    for (at, key) in &old {
        match positions.get(key).copied().filter(|position| *position >= next) {
            Some(position) => {
                new[next..position].iter().for_each(|(at, _)| {
                    runs.add(ChangeOfPieces::Added, None, Some(*at));
                });
                let with = new[position].0;
                let change = match is_same(&before[*at], &after[with]) {
                    true => ChangeOfPieces::Same,
                    false => ChangeOfPieces::Changed,
                };
                runs.add(change, Some(*at), Some(with));
                next = position + 1;
            }
            None => runs.add(ChangeOfPieces::Removed, Some(*at), None),
        }
    }
    new[next..].iter().for_each(|(at, _)| runs.add(ChangeOfPieces::Added, None, Some(*at)));
    runs.changes
}

struct Runs<'p> {
    before: &'p [RequestPiece],
    after: &'p [RequestPiece],
    changes: Vec<PieceChange>,
}

impl Runs<'_> {
    fn add(&mut self, change: ChangeOfPieces, before: Option<usize>, after: Option<usize>) {
        if self.changes.last().is_none_or(|last| last.change != change) {
            self.changes.push(PieceChange {
                change,
                before: Vec::new(),
                after: Vec::new(),
                tokens_before: 0,
                tokens_after: 0,
            });
        }
        let Some(run) = self.changes.last_mut() else { return };
        let tokens = |pieces: &[RequestPiece], at: usize| {
            pieces.get(at).map_or(0, |piece| piece.tokens.tokens())
        };
        if let Some(at) = before {
            run.before.push(at);
            run.tokens_before = run.tokens_before.saturating_add(tokens(self.before, at));
        }
        if let Some(at) = after {
            run.after.push(at);
            run.tokens_after = run.tokens_after.saturating_add(tokens(self.after, at));
        }
    }
}

impl fmt::Display for RequestDiff {
    /// Writes the changes, one on a line, and where the prefix broke.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} to {}", self.before, self.after)?;
        for change in &self.changes {
            let (name, pieces, tokens) = match change.change {
                ChangeOfPieces::Same => ("same", change.after.len(), change.tokens_after),
                ChangeOfPieces::Changed => ("changed", change.after.len(), change.tokens_after),
                ChangeOfPieces::Removed => ("removed", change.before.len(), change.tokens_before),
                ChangeOfPieces::Added => ("added", change.after.len(), change.tokens_after),
            };
            let plural = if pieces == 1 { "" } else { "s" };
            write!(f, "\n  {name:<8} {pieces} piece{plural}, {} tokens", grouped(tokens))?;
            if change.change == ChangeOfPieces::Changed {
                write!(f, ", {} before", grouped(change.tokens_before))?;
            }
        }
        let (shared, lost) = (grouped(self.shared), grouped(self.lost));
        write!(f, "\n  {shared} tokens shared, {lost} lost")?;
        if let Some(cause) = &self.cause {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}
