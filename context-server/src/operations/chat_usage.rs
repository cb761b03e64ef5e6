//! The usage of a chat, summed from its rounds. Stores have no sums, so each round is read once and
//! again only when its revision has changed.

use std::collections::BTreeMap;

use context_runtime::store::{RoundQuery, TrajectoryStore};
use context_runtime::trajectory::{AgentRef, Measures, RoundRecord};

use super::ChatFacts;
use crate::OperationError;

/// The newest rounds whose usage is summed.
const ROUNDS: u32 = 2_000;
/// The newest rounds that are looked at for changes. Older ones are done.
const OPEN: usize = 50;
/// The number of rounds that are in memory with all of their steps at once.
const READ: u32 = 100;

/// The usage of the rounds of a chat's main agent.
#[derive(Default)]
pub(super) struct KeptUsage {
    rounds: BTreeMap<u32, RoundUsage>,
}

/// The usage of a round.
#[derive(Default)]
struct RoundUsage {
    revision: u64,
    model: Option<String>,
    input: Option<u64>,
    output: Option<u64>,
    usd: Option<f64>,
    lacks_tokens: bool,
    lacks_price: bool,
}

impl KeptUsage {
    /// Reads the rounds that are new or have changed.
    pub(super) async fn update(
        &mut self,
        store: &dyn TrajectoryStore,
        agent: &AgentRef,
    ) -> Result<(), OperationError> {
        let heads = store.rounds(&RoundQuery::of_agent(agent).limit(OPEN)).await?.items;
        let Some(newest) = heads.iter().map(|head| head.round.round).max() else {
            self.rounds.clear();
            return Ok(());
        };
        let first = (newest + 1).saturating_sub(ROUNDS);
        self.rounds = self.rounds.split_off(&first);
        self.rounds.split_off(&(newest + 1));
        let is_known = |number: u32, revision: u64| {
            self.rounds.get(&number).is_some_and(|known| known.revision == revision)
        };
        let changed = heads.iter().filter(|head| !is_known(head.round.round, head.revision));
        let changed = changed.map(|head| head.round.round).min();
        // A gap, such as that of everything at first, is read too.
        let known_end = self.rounds.keys().next_back().map_or(first, |last| last + 1);
        let mut from = changed.unwrap_or(newest + 1).min(known_end);
        while from <= newest {
            let until = (from + READ - 1).min(newest);
            for round in store.load_rounds(agent, from..=until).await? {
                self.rounds.insert(round.head.round.round, RoundUsage::of(&round));
            }
            from = until + 1;
        }
        Ok(())
    }

    /// Adds the sums to facts.
    pub(super) fn add_to(&self, facts: &mut ChatFacts) {
        let mut lacks = self.rounds.keys().next().is_some_and(|first| *first > 0);
        facts.partial |= lacks;
        facts.cost_at_least |= lacks;
        for round in self.rounds.values() {
            facts.model = round.model.clone().or(facts.model.take());
            add(&mut facts.input_tokens, round.input);
            add(&mut facts.output_tokens, round.output);
            if let Some(usd) = round.usd {
                facts.cost_usd = Some(facts.cost_usd.unwrap_or_default() + usd);
            }
            lacks |= round.lacks_tokens;
            facts.cost_at_least |= round.lacks_price;
        }
        facts.tokens_at_least |= lacks;
    }
}

impl RoundUsage {
    fn of(round: &RoundRecord) -> Self {
        let mut usage = Self { revision: round.head.revision, ..Self::default() };
        let measures = round.nodes.iter().filter_map(|node| node.measures.as_deref());
        for measures in measures.filter(|measures| is_model_call(measures)) {
            if let Some(model) = &measures.model {
                usage.model = Some(model.to_string());
            }
            add(&mut usage.input, measures.input_tokens);
            add(&mut usage.output, measures.output_tokens);
            usage.lacks_tokens |=
                measures.input_tokens.is_none() || measures.output_tokens.is_none();
            match measures.cost_usd {
                Some(usd) => usage.usd = Some(usage.usd.unwrap_or_default() + usd),
                None => usage.lacks_price = true,
            }
        }
        usage
    }
}

fn is_model_call(measures: &Measures) -> bool {
    measures.model.is_some()
        || measures.input_tokens.is_some()
        || measures.output_tokens.is_some()
        || measures.cost_usd.is_some()
}

fn add(sum: &mut Option<u64>, tokens: Option<u64>) {
    if let Some(tokens) = tokens {
        *sum = Some(sum.unwrap_or_default().saturating_add(tokens));
    }
}
