//! Rounds of trajectories: the implementation of each call. The layout is described in
//! [`fields`](crate::rounds::fields).
//!
//! The rounds of a user are in one slot together with their two indexes, so a commit is one script.
//! An expired round leaves its index entries. Readers ignore them, and they are removed when the
//! rounds of the user are listed, or a few at a time when new rounds are begun.

pub(crate) mod fields;
pub(crate) mod form;
pub(crate) mod index;
pub(crate) mod names;

use std::ops::RangeInclusive;

use async_trait::async_trait;
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{
    AgentRef, Change, RoundHead, RoundRecord, RoundRef, TrajectoryError,
};
use context_core::{ChatId, MessageId, UserId};
use redis::{Value, cmd};

use crate::error::{Fault, Result};
use crate::keys::Keys;
use crate::reply::Reply;
use crate::rounds::fields::{Fields, read_round};
use crate::rounds::form::{EDGES_BYTES, write_change, write_edge, write_node};
use crate::rounds::index::{BATCH, Dropped, SAMPLE};
use crate::scripts::ROUND_RECORD;
use crate::shared::{ATTEMPTS, Shared, check_bytes};
use crate::{rounds, seals};

#[async_trait]
impl TrajectoryStore for Shared {
    async fn record_round(&self, commit: &RoundCommit) -> context_core::Result<RecordOutcome> {
        commit.check()?;
        record(self, commit).await.map_err(|fault| fault.during("record_round"))
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> context_core::Result<Vec<RoundRecord>> {
        agent.check("load_rounds")?;
        load(self, agent, rounds).await.map_err(|fault| fault.during("load_rounds"))
    }

    async fn rounds(&self, query: &RoundQuery) -> context_core::Result<Page<RoundHead>> {
        query.check()?;
        list(self, query).await.map_err(|fault| fault.during("rounds"))
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> context_core::Result<Vec<MessageNode>> {
        let nodes = index::nodes_of_message(self, user, &Keys::message(chat, message)).await;
        nodes.map_err(|fault| fault.during("nodes_of_message"))
    }

    async fn prune_rounds(&self, wanted: &RoundPrune) -> context_core::Result<RoundsPruned> {
        wanted.check()?;
        prune(self, wanted).await.map_err(|fault| fault.during("prune_rounds"))
    }
}

async fn record(shared: &Shared, commit: &RoundCommit) -> Result<RecordOutcome> {
    const OPERATION: &str = "record_round";
    let round = &commit.head.round;
    let user = &round.agent.user;
    let head = serde_json::to_vec(&commit.head)
        .map_err(|_| Fault::Corrupt("a head cannot be written", None))?;
    let head = seals::seal("h", head);
    let edges = edges_of(commit)?;
    let mut bytes = head.len() + edges.iter().map(Vec::len).sum::<usize>();
    let [list, links] = shared.keys.round_indexes(user);
    let mut call = ROUND_RECORD.key(list);
    call.key(links).key(shared.keys.round(round));
    let key = seals::seal("k", commit.key.as_str().as_bytes().to_vec());
    call.arg(commit.expected).arg(commit.head.revision).arg(key).arg(shared.ttl);
    call.arg(rounds::names::of(round)).arg(round.round).arg(head).arg(edges.len()).arg(edges);
    for change in &commit.changes {
        match change {
            Change::NodeAdded { node } => {
                let record = seals::seal(&format!("n{}", node.id.ordinal), write_node(node)?);
                let messages: String = node
                    .messages
                    .iter()
                    .map(|link| Keys::message(&link.chat, &link.message))
                    .collect();
                bytes += record.len() + messages.len();
                call.arg("n").arg(node.id.ordinal).arg(record).arg(messages);
            }
            Change::NodeChanged { id, version, now } => {
                let record = seals::seal(&format!("v{}", id.ordinal), write_change(version, now)?);
                bytes += record.len();
                call.arg("c").arg(id.ordinal).arg(record);
            }
            Change::NodeRemoved { id } => {
                call.arg("x").arg(id.ordinal);
            }
            Change::EdgeAdded { .. } => {}
            _ => return Err(Fault::Corrupt("a change that this store does not know", None)),
        }
    }
    check_bytes(OPERATION, bytes)?;
    let mut reply = Reply::of(shared.connection.call::<Value>(&call).await?)?;
    match reply.number()? {
        1 => {}
        2 => return Ok(RecordOutcome::Replayed),
        3 => {
            let actual = crate::history::fields::read_number(&reply.bytes()?)?;
            return Ok(RecordOutcome::Conflict { actual });
        }
        _ => {
            let what = "a change does not fit what is there".to_owned();
            return Err(TrajectoryError::Damaged { what }.during(OPERATION).into());
        }
    }
    if shared.ttl > 0 && commit.expected == 0 {
        let names = cmd("ZRANDMEMBER").arg(&shared.keys.round_indexes(user)[0]).arg(SAMPLE).clone();
        let names: Vec<Vec<u8>> = shared.connection.run(&names).await?;
        index::sweep(shared, user, names).await?;
    }
    Ok(RecordOutcome::Applied)
}

/// Returns the new edges, in parts that fit one field.
fn edges_of(commit: &RoundCommit) -> Result<Vec<Vec<u8>>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for change in &commit.changes {
        let Change::EdgeAdded { edge } = change else { continue };
        let mut record = Vec::with_capacity(14 + edge.name.len());
        write_edge(edge, &mut record)?;
        match parts.last_mut() {
            Some(part) if part.len() + record.len() <= EDGES_BYTES => part.extend(record),
            _ => parts.push(record),
        }
    }
    Ok(parts)
}

async fn load(
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
    rounds.collect::<Option<_>>().ok_or_else(index::strange_name)
}

async fn list(shared: &Shared, query: &RoundQuery) -> Result<Page<RoundHead>> {
    let mut walk = index::Walk::of(query.user.clone(), query.session.as_ref(), query.agent);
    if let (Some(session), Some(agent), Some(before)) = (&query.session, query.agent, query.before)
    {
        walk.start_behind(rounds::names::of_round(session, agent, before));
    }
    if let Some((session, agent, round)) = query.behind()? {
        walk.start_behind(rounds::names::of_round(&session, agent, round));
    }
    let wanted = |round: &RoundRef| {
        query.agent.is_none_or(|agent| agent == round.agent.agent)
            && query.before.is_none_or(|before| round.round < before)
    };
    let mut items = Vec::new();
    while items.len() <= query.limit
        && let Some(heads) = walk.next(shared, query.limit + 1, wanted).await?
    {
        items.extend(heads);
    }
    let more = items.len() > query.limit;
    items.truncate(query.limit);
    let next = items.last().filter(|_| more).map(|last: &RoundHead| last.round.cursor());
    Ok(Page { items, next })
}

/// Removes rounds, in batches of as many as are read at once. A round that is written to meanwhile
/// is read again.
async fn prune(shared: &Shared, prune: &RoundPrune) -> Result<RoundsPruned> {
    let mut pruned = RoundsPruned::default();
    let mut walk = index::Walk::of(prune.user.clone(), prune.session.as_ref(), prune.agent);
    let wanted = |round: &RoundRef| prune.agent.is_none_or(|agent| agent == round.agent.agent);
    while let Some(mut heads) = walk.next(shared, BATCH, wanted).await? {
        let mut tries = 0;
        loop {
            heads.retain(|head| prune.takes(head));
            if heads.is_empty() {
                break;
            }
            if tries == ATTEMPTS {
                return Err(Fault::Beaten);
            }
            tries += 1;
            let rounds =
                heads.iter().map(|head| (head.round.clone(), head.revision.to_string())).collect();
            let dropped = index::drop_rounds(shared, &prune.user, rounds).await?;
            let mut changed = Vec::new();
            for (head, dropped) in heads.iter().zip(dropped) {
                match dropped {
                    Dropped::Changed => changed.push(head.round.clone()),
                    Dropped::Now => pruned.count(head),
                    Dropped::Before => {}
                }
            }
            heads = index::heads(shared, &changed).await?.into_iter().flatten().collect();
        }
    }
    Ok(pruned)
}
