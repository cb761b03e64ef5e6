//! A report as text for people.

use std::fmt;

use context_core::model::TokenCount;

use super::pieces::{Fate, PieceKind, RequestPiece};
use super::report::{RequestOrigin, RequestReport};
use crate::display::grouped;

impl RequestReport {
    fn parts(&self) -> [(&'static str, TokenCount); 7] {
        let parts = &self.breakdown;
        [
            ("system", parts.system),
            ("instructions", parts.instructions),
            ("tools", parts.tools),
            ("checkpoint", parts.checkpoint),
            ("history", parts.history),
            ("recall", parts.recall),
            ("framing", parts.framing),
        ]
    }

    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} of turn {}, {} ", self.number, self.turn, self.provider)?;
        write!(f, "{}", self.model)?;
        f.write_str(match self.origin {
            RequestOrigin::Recorded => ", cut as recorded",
            RequestOrigin::Planned => ", cut as planned",
        })?;
        let (total, fit) = (grouped(self.tokens.tokens()), grouped(self.budget.input()));
        write!(f, "\n{total} of {fit} tokens that fit")?;
        if !self.tokens.is_exact() {
            let (low, high) = (grouped(self.tokens.low()), grouped(self.tokens.high()));
            write!(f, " ({low} to {high})")?;
        }
        for (at, (name, count)) in
            self.parts().into_iter().filter(|(_, count)| count.high() > 0).enumerate()
        {
            let sign = if at == 0 { ": " } else { ", " };
            write!(f, "{sign}{name} {}", grouped(count.tokens()))?;
        }
        if let Some(cost) = &self.cost {
            write!(f, "\ninput {:.4} {}", cost.total, cost.currency)?;
            write!(f, ", {:.4} without the cache", cost.without_cache)?;
        }
        if self.saved.tokens > 0 {
            write!(f, "\ncuts save {} tokens", grouped(self.saved.tokens))?;
            if let Some(usd) = self.saved.usd {
                write!(f, ", {usd:.4} USD")?;
            }
        }
        Ok(())
    }

    fn write_prefix(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = &self.prefix;
        let (shared, reused) = (grouped(prefix.shared), grouped(prefix.reused));
        write!(f, "\nprefix: {shared} tokens shared, {reused} cached")?;
        if prefix.lost > 0 {
            write!(f, ", {} lost", grouped(prefix.lost))?;
            if let Some(usd) = prefix.lost_usd {
                write!(f, " ({usd:.4} USD)")?;
            }
        }
        if let Some(cause) = &prefix.cause {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RequestReport {
    /// Writes the figures, then a line for each piece. Runs of pieces that were kept share a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        self.write_prefix(f)?;
        for plan in &self.plans {
            let (before, after) = (grouped(plan.before), grouped(plan.after));
            let applied = if plan.applied { "" } else { ", not carried out" };
            write!(f, "\nplan: {}, {}, ", plan.policy, plan.description)?;
            write!(f, "{before} to {after} tokens, {}{applied}", plan.reason)?;
        }
        let mut pieces = self.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            let is_plain =
                |piece: &RequestPiece| piece.fate == Fate::Kept && piece.kind == PieceKind::Message;
            let (mut count, mut tokens) = (1_usize, piece.tokens);
            if is_plain(piece) {
                while let Some(next) =
                    pieces.next_if(|next| is_plain(next) && next.cached == piece.cached)
                {
                    count += 1;
                    tokens += next.tokens;
                }
            }
            write_piece(f, piece, count, tokens)?;
        }
        for diagnostic in &self.diagnostics {
            write!(f, "\n{}: {}", diagnostic.path, diagnostic.message)?;
        }
        Ok(())
    }
}

fn write_piece(
    f: &mut fmt::Formatter<'_>,
    piece: &RequestPiece,
    count: usize,
    tokens: TokenCount,
) -> fmt::Result {
    let mark = if piece.cached { '=' } else { ' ' };
    let fate = match piece.fate {
        Fate::Kept => "kept",
        Fate::Shortened => "shortened",
        Fate::LeftOut => "left out",
        Fate::Added => "added",
        Fate::Repaired => "repaired",
        Fate::Recalled => "recalled",
    };
    write!(f, "\n {mark} {fate:<9} {:>9} ", grouped(tokens.tokens()))?;
    match (&piece.message, piece.role, count) {
        (_, _, 2..) => return write!(f, " {count} messages"),
        (Some(id), Some(role), _) => write!(f, " {role} {id}")?,
        (Some(id), None, _) => write!(f, " {id}")?,
        (None, _, _) => f.write_str(match piece.kind {
            PieceKind::System => " system prompt",
            PieceKind::Instructions => " instructions",
            PieceKind::Tools => " tools",
            PieceKind::Checkpoint => " checkpoint",
            PieceKind::Recall => " recall",
            PieceKind::Placeholder => " placeholder",
            PieceKind::Message => " message",
        })?,
    }
    match piece.fate {
        Fate::Kept => Ok(()),
        _ => write!(f, ": {}", piece.reason),
    }
}
