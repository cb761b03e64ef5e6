//! Statistics of a run, computed from its records.

use serde::Serialize;

use super::record::{MessageRecord, RecordKind};
use super::usage::{TokenUsage, rounded};

/// Whether the time that tools take counts for a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolTime {
    /// A round ends with the last user or model message. All time between two such messages counts,
    /// including the time of tools. A result after the last one does not.
    #[default]
    Between,
    /// A round ends with the last record of any kind, so results after the last answer count.
    Counted,
}

/// Statistics of one round: a question and everything up to the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RoundStatistics {
    /// The number of the round, from 0.
    pub round: usize,
    /// The sum over the model's records.
    #[serde(flatten)]
    pub usage: TokenUsage,
    /// Seconds between the earliest and the latest time, rounded to hundredths. 0 if fewer than two
    /// times are known.
    pub elapsed_sec: f64,
    /// The [`TokenUsage::cache_hit_rate`] of the sum.
    pub cache_hit_rate: f64,
}

/// Returns the statistics of each round.
///
/// A round starts at a user message that follows a model message; several user messages in a row
/// are one question. Model messages before the first question belong to no round, and a question
/// without an answer is a round of zeros. A message that replaces earlier ones (a
/// [checkpoint](context_core::Message::is_checkpoint), or marked as folded) carries the time of the
/// folding, which is ignored.
pub fn round_statistics(records: &[MessageRecord], tools: ToolTime) -> Vec<RoundStatistics> {
    let mut rounds: Vec<Round> = Vec::new();
    for record in records {
        let begins = |round: Option<&Round>| round.is_none_or(|round| round.answered);
        match record.kind() {
            RecordKind::Human => {
                if begins(rounds.last()) {
                    rounds.push(Round::default());
                }
            }
            RecordKind::Ai => {
                if let Some(round) = rounds.last_mut() {
                    round.answered = true;
                    round.usage = round.usage.plus(record.usage().unwrap_or_default());
                }
            }
            RecordKind::Tool if tools == ToolTime::Counted => {}
            RecordKind::Tool | RecordKind::System | RecordKind::Other => continue,
        }
        let time = record.seconds().filter(|_| !record.stands_for_earlier());
        if let (Some(round), Some(time)) = (rounds.last_mut(), time) {
            let (from, to) = round.times.unwrap_or((time, time));
            round.times = Some((from.min(time), to.max(time)));
        }
    }
    rounds.iter().enumerate().map(|(i, round)| round.statistics(i)).collect()
}

#[derive(Default)]
struct Round {
    usage: TokenUsage,
    times: Option<(f64, f64)>,
    answered: bool,
}

impl Round {
    fn statistics(&self, round: usize) -> RoundStatistics {
        RoundStatistics {
            round,
            usage: self.usage,
            elapsed_sec: self.times.map_or(0.0, |(from, to)| rounded(to - from, 2)),
            cache_hit_rate: self.usage.cache_hit_rate(),
        }
    }
}

/// Counts over a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunStatistics {
    /// The number of model messages.
    pub num_turns: usize,
    /// The number of valid tool calls.
    pub num_valid_tool_calls: usize,
    /// The number of invalid tool calls.
    pub num_invalid_tool_calls: usize,
    /// The number of valid calls that asked a person.
    pub hitl_count: usize,
}

impl RunStatistics {
    /// Counts records. `asks_a_person` returns whether a tool, given by name, asks a person.
    pub fn of(records: &[MessageRecord], asks_a_person: impl Fn(&str) -> bool) -> Self {
        let mut all = Self::default();
        for record in records.iter().filter(|record| record.kind() == RecordKind::Ai) {
            let calls = record.calls();
            all.num_turns += 1;
            all.num_valid_tool_calls += calls.len();
            all.num_invalid_tool_calls += record.invalid_calls().len();
            all.hitl_count += calls
                .iter()
                .filter(|call| call.name.as_deref().is_some_and(&asks_a_person))
                .count();
        }
        all
    }
}
