//! The tokens and the cost of each turn.

use std::collections::HashMap;

use context_core::MessageId;
use context_core::model::{TokenCounter, Usage};
use context_core::trajectory::{Measures, RoundRecord};
use serde::Serialize;

use super::compare::{Comparer, writes_marks};
use super::cost::InputPrices;
use super::session::Session;
use super::{ReplayError, RequestReplay};

/// The tokens and the cost of a turn: of all requests from one message of the user to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TurnCost {
    /// The number of the turn, from 1. 0 for requests before the first message of the user.
    pub turn: usize,
    /// The first request of the turn.
    pub first_request: usize,
    /// The number of requests.
    pub requests: usize,
    /// Tokens of input, cached ones included.
    pub input: u64,
    /// Tokens of output.
    pub output: u64,
    /// Tokens of input that were read from the provider's cache.
    pub cached: u64,
    /// The cost in US dollars. `None` if the price of one of the requests is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// The number of requests whose usage is not recorded, and was estimated.
    pub estimated: usize,
}

impl RequestReplay {
    /// Returns the cost of each turn, oldest first. The usage of an answer is that of the node that
    /// `rounds` link to the answer; else the replay estimates it. The next request, which has no
    /// answer, is not counted.
    ///
    /// Every request without a recorded usage is prepared, in one session from the first on.
    pub fn turn_costs(&mut self, rounds: &[RoundRecord]) -> Result<Vec<TurnCost>, ReplayError> {
        let recorded = recorded(rounds, self.options().chat.chat.as_str());
        let model = self.options().table().model(self.options().model_name());
        let mut session: Option<Session> = None;
        let mut turns: Vec<TurnCost> = Vec::new();
        for entry in &self.branch().requests {
            let Some(answer) = &entry.answer else { continue };
            if turns.last().is_none_or(|last| last.turn != entry.turn) {
                let (turn, usd) = (entry.turn, Some(0.0));
                let first_request = entry.number;
                turns.push(TurnCost { turn, first_request, usd, ..TurnCost::default() });
            }
            let (usage, usd) = match recorded.get(answer) {
                Some(measures) => {
                    let usage = usage_of(measures);
                    let priced = measures.model.as_deref().unwrap_or(model.name());
                    let price = || self.options().table().model(priced).cost(&usage);
                    let usd = measures.cost_usd.or_else(|| price().map(|cost| cost.amount));
                    (usage, usd)
                }
                None => {
                    let mut open = match session.take() {
                        Some(session) => session,
                        None => self.session_from(entry.number.saturating_sub(1).max(1))?,
                    };
                    self.prepare_in(&mut open, entry.number)?;
                    let usage = self.estimate(&open, entry.number, answer);
                    session = Some(open);
                    let usd = model.cost(&usage).map(|cost| cost.amount);
                    (usage, usd)
                }
            };
            let Some(turn) = turns.last_mut() else { continue };
            turn.requests += 1;
            turn.estimated += usize::from(!recorded.contains_key(answer));
            turn.input = turn.input.saturating_add(usage.total_input());
            turn.output = turn.output.saturating_add(usage.output);
            turn.cached = turn.cached.saturating_add(usage.cache_read);
            turn.usd = turn.usd.zip(usd).map(|(sum, usd)| sum + usd);
        }
        Ok(turns)
    }

    /// Returns the usage of a prepared request, by the counts of the replay.
    fn estimate(&self, session: &Session, number: usize, answer: &MessageId) -> Usage {
        let Some(now) = session.get(number) else { return Usage::default() };
        let counter = session.counter();
        let counter: &dyn TokenCounter = &*counter;
        let (options, branch) = (self.options(), self.branch());
        let model = options.table().model(options.model_name());
        let (cuts, provider) = (session.history.cuts.as_slice(), options.provider.as_str());
        let comparer = Comparer { branch, cuts, counter, model, provider };
        let reused = comparer.compare(session.get(number - 1), now).prefix.reused;
        let total = now.context.breakdown.total().tokens();
        let mut usage = Usage::new(total.saturating_sub(reused), 0);
        usage.cache_read = reused.min(total);
        let prices = InputPrices::of(&model, &now.context.request, total);
        if prices.is_some_and(|prices| prices.has_write()) && writes_marks(provider) {
            (usage.cache_write, usage.input) = (usage.input, 0);
        }
        let answer = branch.positions.get(answer).and_then(|at| branch.chain.get(*at));
        let answer = answer.and_then(|node| node.message().ok());
        usage.output = answer.map_or(0, |answer| counter.count_shared(answer).tokens());
        usage
    }
}

/// Returns the measures of the answers of a chat that rounds have a usage of.
fn recorded<'r>(rounds: &'r [RoundRecord], chat: &str) -> HashMap<&'r MessageId, &'r Measures> {
    let nodes = rounds.iter().flat_map(|round| &round.nodes);
    let counted = nodes.filter_map(|node| {
        let measures = node.measures.as_deref()?;
        measures.input_tokens.map(|_| (node, measures))
    });
    let links = counted.flat_map(|(node, measures)| {
        let own = node.messages.iter().filter(|link| link.chat.as_str() == chat);
        own.map(move |link| (&link.message, measures))
    });
    links.collect()
}

fn usage_of(measures: &Measures) -> Usage {
    let mut usage = Usage::default();
    usage.cache_read = measures.cache_read_tokens.unwrap_or_default();
    usage.cache_write = measures.cache_write_tokens.unwrap_or_default();
    let input = measures.input_tokens.unwrap_or_default();
    usage.input = input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
    usage.output = measures.output_tokens.unwrap_or_default();
    usage.reasoning = measures.reasoning_tokens;
    usage
}
