//! The account of a turn.

use std::fmt;
use std::time::Duration;

use context_core::Diagnostic;
use context_core::history::{Attempt, PlanReport};
use context_core::model::Usage;

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TurnOutcome {
    /// The turn has not ended.
    #[default]
    Open,
    /// The model answered.
    Answered,
    /// The turn was cancelled, or ended before the model answered.
    Interrupted,
    /// The turn ended with an error.
    Failed,
}

/// What a turn used and did, from the question on.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TurnReport {
    /// How the turn ended.
    pub outcome: TurnOutcome,
    /// The number of requests to models, with retries and summaries.
    pub calls: u32,
    /// The number of requests that were sent again unchanged.
    pub retries: u32,
    /// The number of times that the model got tool results.
    pub steps: u32,
    /// The number of tool results.
    pub tool_results: u32,
    /// The token usage of all calls.
    pub usage: Usage,
    /// The cost of all calls in US dollars. `None` if a price is not known.
    pub cost_usd: Option<f64>,
    /// The input tokens that a provider should have read from its prompt cache and did not. What it
    /// read and wrote is in `usage`.
    pub cache_lost: u64,
    /// The time from the question to the end of the turn, or to now.
    pub elapsed: Duration,
    /// The plans that cut the history.
    pub plans: Vec<PlanReport>,
    /// The attempts to recover from refusals and broken answers.
    pub attempts: Vec<Attempt>,
    /// The bytes of tool results that were stored as blobs, and shown as previews.
    pub spilled_bytes: u64,
    /// The tools that were called and not run, because the turn ended first.
    pub not_run: Vec<String>,
    /// The number of data nodes whose description was not ready when the turn ended.
    pub descriptions_pending: usize,
    /// What the parts reported: cuts, repairs, memories and nodes that could not be stored.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for TurnReport {
    /// Writes `1204 tokens in (1000 cached), 88 out · 0.0123 USD · 2 calls`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.usage)?;
        if let Some(cost) = self.cost_usd {
            write!(f, " · {cost:.4} USD")?;
        }
        let plural = if self.calls == 1 { "" } else { "s" };
        write!(f, " · {} call{plural}", self.calls)
    }
}
