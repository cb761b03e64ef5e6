//! Numbers of a run, from its records.

use serde::Serialize;

use super::record::{MessageRecord, RecordKind};
use super::usage::{TokenUsage, rounded};

/// Whether the time that tools take counts as time of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolTime {
    /// A round ends with the last message of the user or the model: time between two of them
    /// counts, whatever ran meanwhile; a result behind the last one does not.
    #[default]
    Between,
    /// A round ends with the last record of any kind, so results behind the last answer count.
    Counted,
}

/// Numbers of one round: a question and all that follows, up to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RoundStatistics {
    /// Which, from 0.
    pub round: usize,
    /// The sum over the model's records.
    #[serde(flatten)]
    pub usage: TokenUsage,
    /// Seconds between the earliest and the latest time, to the hundredth; 0 where less than two
    /// are known.
    pub elapsed_sec: f64,
    /// [`TokenUsage::cache_hit_rate`], of the sum.
    pub cache_hit_rate: f64,
}

/// The numbers of each round.
///
/// A round begins at a message of the user behind one of the model: several in a row are one
/// question. What the model says in front of any question belongs to no round; a question without
/// an answer is a round of zeros. The time of a message that stands for earlier ones (a
/// [checkpoint](context_core::Message::is_checkpoint), or marked as folded) is that of the folding,
/// and counts for nothing.
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

/// Counts of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunStatistics {
    /// How often the model spoke.
    pub num_turns: usize,
    /// How many calls of tools it made.
    pub num_valid_tool_calls: usize,
    /// How many calls it wrote wrong.
    pub num_invalid_tool_calls: usize,
    /// How many of the valid calls asked a person.
    pub hitl_count: usize,
}

impl RunStatistics {
    /// Counts records. `asks_a_person` says so of a tool by its name.
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
