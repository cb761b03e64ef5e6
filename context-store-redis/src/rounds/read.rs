//! Reading the rounds of an agent, and listing rounds page by page.

use std::ops::RangeInclusive;

use context_core::store::{Page, RoundQuery};
use context_core::trajectory::{AgentRef, RoundHead, RoundRecord, RoundRef};
use redis::cmd;

use crate::connections::shared::Shared;
use crate::error::Result;
use crate::rounds;
use crate::rounds::fields::{Fields, read_round};
use crate::rounds::index::{self, BATCH};

pub(crate) async fn load(
    shared: &Shared,
    agent: &AgentRef,
    rounds: RangeInclusive<u32>,
) -> Result<Vec<RoundRecord>> {
    if rounds.is_empty() {
        return Ok(Vec::new());
    }
    let (first, last) = (*rounds.start(), *rounds.end());
    // A range of up to a batch takes one round trip. For a wider range, the index is read first.
    let numbers = match usize::try_from(last - first) {
        Ok(width) if width < BATCH => rounds.collect(),
        _ => listed(shared, agent, first, last).await?,
    };
    let mut records = Vec::new();
    for numbers in numbers.chunks(BATCH) {
        let mut pipe = redis::pipe();
        for number in numbers {
            pipe.cmd("HGETALL").arg(shared.keys.round(&agent.round(*number)));
        }
        for fields in shared.connection.pipe::<Vec<Fields>>(&pipe).await? {
            records.extend(read_round("load_rounds", &fields)?);
        }
    }
    Ok(records)
}

/// Returns the numbers of the agent's rounds, from the index.
async fn listed(shared: &Shared, agent: &AgentRef, first: u32, last: u32) -> Result<Vec<u32>> {
    let name = |round| rounds::names::of_round(&agent.session, agent.agent, round);
    let mut range = cmd("ZRANGEBYLEX");
    range.arg(&shared.keys.round_indexes(&agent.user)[0]);
    range.arg([b"[", &name(last)[..]].concat()).arg([b"[", &name(first)[..]].concat());
    let names: Vec<Vec<u8>> = shared.connection.run(&range).await?;
    // The index has the highest number first.
    let rounds = names
        .iter()
        .rev()
        .map(|name| rounds::names::read(&agent.user, name).map(|round| round.round));
    rounds.collect::<Option<_>>().ok_or_else(index::unreadable_name)
}

pub(crate) async fn list(shared: &Shared, query: &RoundQuery) -> Result<Page<RoundHead>> {
    let mut pages = index::RoundPages::of(query.user.clone(), query.session.as_ref(), query.agent);
    if let (Some(session), Some(agent), Some(before)) = (&query.session, query.agent, query.before)
    {
        pages.start_behind(rounds::names::of_round(session, agent, before));
    }
    if let Some((session, agent, round)) = query.after_round()? {
        pages.start_behind(rounds::names::of_round(&session, agent, round));
    }
    let wanted = |round: &RoundRef| {
        query.agent.is_none_or(|agent| agent == round.agent.agent)
            && query.before.is_none_or(|before| round.round < before)
    };
    let mut items = Vec::new();
    while items.len() <= query.limit
        && let Some(heads) = pages.next(shared, query.limit + 1, wanted).await?
    {
        items.extend(heads);
    }
    let more = items.len() > query.limit;
    items.truncate(query.limit);
    let next = items.last().filter(|_| more).map(|last: &RoundHead| last.round.cursor());
    Ok(Page { items, next })
}
