//! The report of a request.

use context_core::history::PlanReport;
use context_core::model::{Budget, ModelCodec, TokenCount, TokenCounter};
use context_core::runtime::Breakdown;
use context_core::{Diagnostic, Json, MessageId, Timestamp};
use context_tokens::WindowSource;
use serde::Serialize;

use super::branch::{Branch, RequestEntry};
use super::compare::{Comparer, PrefixReport, writes_marks};
use super::cost::{InputCost, InputPrices};
use super::pieces::{Fate, PieceSource, RepairedHistory, RequestPiece};
use super::plans::CutInForce;
use super::session::{Prepared, Session};
use super::{ReplayError, ReplayOptions};

/// The author of the cuts of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestOrigin {
    /// The boundaries that are stored with the chat: what really was cut then.
    Recorded,
    /// The policies of the replay: what this library would send. Also if nothing was cut and the
    /// chat has no boundaries.
    Planned,
}

/// The tokens that the cuts in force save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SavedTokens {
    /// The tokens that the request has less than it would have without cuts.
    pub tokens: u64,
    /// Their price as uncached input, in US dollars, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

/// A request as it was or would be sent, with the reason for each piece.
///
/// As JSON it is an object with the fields below in their order; absent values are left out, and
/// counts of tokens are objects with `tokens`, `low` and `high`. Messages are in `body` alone: a
/// piece names its message by `message` and `position`.
#[derive(Clone, Debug, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct RequestReport {
    /// The number of the request, from 1.
    pub number: usize,
    /// The number of the user's requests so far.
    pub turn: usize,
    /// The answer. `None` for the next request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<MessageId>,
    /// The time of the newest message, which is taken for the time of the request.
    pub at: Timestamp,
    /// The author of the cuts.
    pub origin: RequestOrigin,
    /// Whether the stored system prompt is known to be the one of that time. If not, it is that of
    /// now, or the oldest one that the store still has.
    pub prompt_is_recorded: bool,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The source of the window.
    pub window_source: WindowSource,
    /// The window and the reserve.
    pub budget: Budget,
    /// The tokens of the request.
    pub tokens: TokenCount,
    /// The tokens of its parts.
    pub breakdown: Breakdown,
    /// Whether the request fits the window.
    pub fits: bool,
    /// The cost of the input, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<InputCost>,
    /// The tokens that the cuts in force save in this request.
    pub saved: SavedTokens,
    /// The prefix, compared with the request before.
    pub prefix: PrefixReport,
    /// The plans of this request, also those that were not carried out.
    pub plans: Vec<PlanReport>,
    /// The cuts in force, oldest first, those of this request included.
    pub cuts: Vec<CutInForce>,
    /// The pieces in the order of the request, with those that were left out at their places.
    pub pieces: Vec<RequestPiece>,
    /// Cuts, repairs, and content that the provider's form cannot represent. Paths name messages by
    /// id where there is one.
    pub diagnostics: Vec<Diagnostic>,
    /// Headers that the body needs besides those of every request, as pairs of name and value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: Json,
}

impl RequestReport {
    /// Returns the sum of the tokens of the pieces. Together with the framing it is the sum of the
    /// breakdown.
    pub fn tokens_of_pieces(&self) -> TokenCount {
        self.pieces.iter().map(|piece| piece.tokens).sum()
    }

    /// Returns the piece of a message. Of messages that are one piece, only the oldest is found.
    pub fn piece(&self, message: &MessageId) -> Option<&RequestPiece> {
        self.pieces.iter().find(|piece| piece.message.as_ref() == Some(message))
    }
}

/// The data of which a report is made.
pub(super) struct ReportSource<'a> {
    pub(super) branch: &'a Branch,
    pub(super) options: &'a ReplayOptions,
    pub(super) codec: &'a dyn ModelCodec,
    pub(super) window_source: WindowSource,
    pub(super) session: &'a Session,
}

impl ReportSource<'_> {
    pub(super) fn report(
        &self,
        entry: &RequestEntry,
        before: Option<&Prepared>,
        now: &Prepared,
    ) -> Result<RequestReport, ReplayError> {
        let (options, number) = (self.options, entry.number);
        let provider = || options.provider.clone();
        if now.is_sealed {
            return Err(ReplayError::Sealed { number, provider: provider() });
        }
        let context = &now.context;
        let lowered = self.codec.lower(&context.request).map_err(|source| ReplayError::Lower {
            number,
            provider: provider(),
            source,
        })?;
        let counter = self.session.counter();
        let counter: &dyn TokenCounter = &*counter;
        let records = &self.session.history.cuts;
        let cuts = records.get(..now.cuts).unwrap_or(records);
        let model = options.table().model(options.model_name());
        let instructions = options.instructions.iter();
        let source = PieceSource {
            branch: self.branch,
            prepared: now,
            cuts,
            base: self.session.history.base,
            counter,
            instructions: instructions.filter(|text| !text.trim().is_empty()).count(),
            left_out: options.left_out,
            end: entry.end,
        };
        let repaired = RepairedHistory::of(&now.entries);
        let mut pieces = source.pieces(&repaired);
        let (branch, provider) = (self.branch, options.provider.as_str());
        let comparer = Comparer { branch, cuts: records, counter, model, provider };
        let compared = comparer.compare(before, now);
        let mut prefix = compared.prefix;

        let total = context.breakdown.total();
        let prices = InputPrices::of(&model, &context.request, total.tokens());
        prefix.lost_usd = prices.filter(|_| prefix.lost > 0).map(|it| it.lost(prefix.lost));
        prefix.broken_at = broken_at(&pieces, &prefix, compared.shared);
        if let Some(shared) = compared.shared.filter(|_| prefix.reused > 0) {
            for piece in pieces.iter_mut().filter(|piece| piece.is_sent()) {
                piece.cached = piece.position.is_none_or(|at| at < shared);
            }
        }
        let writes = writes_marks(provider)
            && model.cache_rules().is_none_or(|rules| total.tokens() >= rules.minimum);
        let currency = options.table().currency();
        let amounts = (total.tokens(), prefix.reused);
        let cost = prices.map(|prices| prices.cost(&model, amounts, writes, currency));
        let tokens = saved(&pieces);
        let saved = SavedTokens { tokens, usd: prices.map(|prices| prices.input(tokens)) };
        let mut diagnostics = by_id(&repaired, now, self.branch, &context.diagnostics);
        diagnostics.extend(named(lowered.diagnostics, |at| {
            pieces.iter().find(|piece| piece.position == Some(at))?.message.clone()
        }));
        let budget = context.budget.unwrap_or(Budget::new(0, 0));
        Ok(RequestReport {
            number,
            turn: entry.turn,
            answer: entry.answer.clone(),
            at: entry.at,
            origin: self.origin(cuts, &pieces),
            prompt_is_recorded: now.prompt_is_recorded,
            provider: options.provider.clone(),
            model: model.name().to_owned(),
            window_source: self.window_source,
            budget,
            tokens: total,
            breakdown: context.breakdown,
            fits: total.tokens() <= budget.input(),
            cost,
            saved,
            prefix,
            plans: context.plans.clone(),
            cuts: self.in_force(cuts, now, entry.end),
            pieces,
            diagnostics,
            headers: lowered.headers,
            body: lowered.body,
        })
    }

    /// Returns who decided: the stored boundaries, unless a cut that is in force is of the replay.
    fn origin(
        &self,
        cuts: &[super::shown_history::CutRecord],
        pieces: &[RequestPiece],
    ) -> RequestOrigin {
        if !self.branch.has_boundaries || !self.options.boundaries {
            return RequestOrigin::Planned;
        }
        let is_own = |record: &super::shown_history::CutRecord| {
            record.cut.boundary.is_none()
                && pieces.iter().any(|piece| {
                    piece.request == record.cut.request
                        && piece.policy.as_deref() == Some(record.cut.name())
                })
        };
        match cuts.iter().any(is_own) {
            true => RequestOrigin::Planned,
            false => RequestOrigin::Recorded,
        }
    }

    /// Returns the cuts that still shorten, make or leave out something.
    fn in_force(
        &self,
        cuts: &[super::shown_history::CutRecord],
        now: &Prepared,
        end: usize,
    ) -> Vec<CutInForce> {
        let mut used = vec![false; cuts.len()];
        let mut mark = |cut: Option<u32>| {
            if let Some(used) = cut.and_then(|cut| used.get_mut(cut as usize)) {
                *used = true;
            }
        };
        let mut shown = vec![false; end];
        for entry in &now.entries {
            mark(entry.cut);
            if let Some(slot) = entry.stored.and_then(|at| shown.get_mut(at as usize)) {
                *slot = true;
            }
        }
        // Of the cuts that removed a message, the last one counts.
        let mut by = vec![None; end];
        for (cut, record) in cuts.iter().enumerate() {
            for position in &record.removed {
                if let Some(slot) = by.get_mut(*position as usize) {
                    *slot = u32::try_from(cut).ok();
                }
            }
        }
        let left_out = by.iter().zip(&shown).filter(|(_, shown)| !**shown);
        left_out.for_each(|(cut, _)| mark(cut.or(self.session.history.base)));
        let in_force = cuts.iter().zip(used).filter(|(_, used)| *used);
        in_force.map(|(record, _)| record.cut.clone()).collect()
    }
}

/// Returns what the cuts save, less what they added.
fn saved(pieces: &[RequestPiece]) -> u64 {
    let (mut saved, mut added) = (0_u64, 0_u64);
    for piece in pieces.iter().filter(|piece| piece.policy.is_some()) {
        match piece.fate {
            Fate::LeftOut | Fate::Shortened => {
                saved = saved
                    .saturating_add(piece.before.tokens())
                    .saturating_sub(piece.tokens.tokens());
            }
            Fate::Added => added = added.saturating_add(piece.tokens.tokens()),
            _ => {}
        }
    }
    saved.saturating_sub(added)
}

/// Returns the first piece that is not as in the request before.
fn broken_at(
    pieces: &[RequestPiece],
    prefix: &PrefixReport,
    shared: Option<usize>,
) -> Option<usize> {
    if prefix.intact {
        return None;
    }
    let Some(shared) = shared else { return Some(0).filter(|_| !pieces.is_empty()) };
    let named = prefix.message.as_ref();
    let own = pieces.iter().position(|piece| named.is_some() && piece.message.as_ref() == named);
    let after = pieces.iter().position(|piece| piece.position.is_some_and(|at| at >= shared));
    match (own, after) {
        (Some(own), Some(after)) => Some(own.min(after)),
        (own, after) => own.or(after),
    }
}

/// Returns the diagnostics of the runtime, of which those of the repair name messages by position.
fn by_id(
    repaired: &RepairedHistory,
    now: &Prepared,
    branch: &Branch,
    diagnostics: &[Diagnostic],
) -> Vec<Diagnostic> {
    let (own, others): (Vec<_>, Vec<_>) =
        diagnostics.iter().cloned().partition(|it| repaired.diagnostics.contains(it));
    let id = |at: usize| {
        let stored = now.entries.get(at)?.stored?;
        branch.chain.get(stored as usize).map(|node| node.id.clone())
    };
    let mut named_diagnostics = others;
    named_diagnostics.extend(named(own, id));
    named_diagnostics
}

/// Replaces positions of messages in paths by their ids, where there is one.
fn named(
    mut diagnostics: Vec<Diagnostic>,
    id: impl Fn(usize) -> Option<MessageId>,
) -> Vec<Diagnostic> {
    for diagnostic in &mut diagnostics {
        let path = diagnostic.path.strip_prefix("messages[").and_then(|path| path.split_once(']'));
        let name = path.and_then(|(position, rest)| Some((id(position.parse().ok()?)?, rest)));
        if let Some((id, rest)) = name {
            diagnostic.path = format!("{id}{rest}");
        }
    }
    diagnostics
}
