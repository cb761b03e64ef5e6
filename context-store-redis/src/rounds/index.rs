//! The two indexes over the rounds of a user: the rounds, and the links from nodes to messages.

use context_core::base::limits;
use context_core::store::MessageNode;
use context_core::trajectory::{RoundHead, RoundRef};
use context_core::{SessionId, UserId};
use redis::cmd;

use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::rounds;
use crate::rounds::fields::read_head;
use crate::scripts::ROUND_DROP;

/// The number of rounds read at once.
pub(crate) const BATCH: usize = 256;

/// The number of entries that a new round checks, if rounds expire.
pub(crate) const SAMPLE: usize = 8;

pub(crate) fn unreadable_name() -> Fault {
    Fault::Corrupt("an index of rounds has an entry that is not the name of a round", None)
}

/// An iteration over the rounds of a user in the order of the index.
pub(crate) struct RoundPages {
    user: UserId,
    /// The range that is left, in the form of the command's arguments. `None` if nothing is left.
    range: Option<[Vec<u8>; 2]>,
}

impl RoundPages {
    /// Iterates over all rounds, those of a session, or those of an agent of the session.
    pub(crate) fn of(user: UserId, session: Option<&SessionId>, agent: Option<u32>) -> Self {
        let start = session.map(|session| match agent {
            Some(agent) => rounds::names::of_agent(session, agent),
            None => rounds::names::of_session(session),
        });
        let range = match start {
            Some(start) => {
                [[b"[", &start[..]].concat(), [b"(", &rounds::names::behind(&start)[..]].concat()]
            }
            None => [b"-".to_vec(), b"+".to_vec()],
        };
        Self { user, range: Some(range) }
    }

    /// Continues after this name, unless the range begins after it anyway.
    pub(crate) fn start_behind(&mut self, name: Vec<u8>) {
        let Some([start, _]) = &mut self.range else { return };
        if *start == b"-" || start[1..] <= name[..] {
            *start = [b"(", &name[..]].concat();
        }
    }

    /// Returns the heads of the next selected rounds, from at most this many entries, or `None`
    /// after the last entry. Entries of rounds that do not exist are removed.
    pub(crate) async fn next(
        &mut self,
        shared: &Shared,
        many: usize,
        wanted: impl Fn(&RoundRef) -> bool,
    ) -> Result<Option<Vec<RoundHead>>> {
        let Some([start, end]) = &self.range else { return Ok(None) };
        let many = many.min(limits::MAX_PAGE);
        let mut range = cmd("ZRANGEBYLEX");
        range.arg(&shared.keys.round_indexes(&self.user)[0]).arg(&start[..]).arg(&end[..]);
        let names: Vec<Vec<u8>> =
            shared.connection.run(range.arg("LIMIT").arg(0).arg(many)).await?;
        self.range = match names.last() {
            Some(last) if names.len() == many => Some([[b"(", &last[..]].concat(), end.clone()]),
            _ => None,
        };
        let rounds = rounds_of(&self.user, &names)?;
        let rounds: Vec<RoundRef> = rounds.into_iter().filter(wanted).collect();
        let (mut found, mut gone) = (Vec::new(), Vec::new());
        for (round, head) in rounds.iter().zip(heads(shared, &rounds).await?) {
            match head {
                Some(head) => found.push(head),
                None => gone.push(rounds::names::of(round)),
            }
        }
        if !shared.connection.read_only() {
            sweep(shared, &self.user, gone).await?;
        }
        Ok(Some(found))
    }
}

/// Parses the rounds of these names.
pub(crate) fn rounds_of(user: &UserId, names: &[Vec<u8>]) -> Result<Vec<RoundRef>> {
    names.iter().map(|name| rounds::names::read(user, name).ok_or_else(unreadable_name)).collect()
}

/// Returns the heads of rounds of one user, with `None` for those that do not exist.
pub(crate) async fn heads(shared: &Shared, rounds: &[RoundRef]) -> Result<Vec<Option<RoundHead>>> {
    if rounds.is_empty() {
        return Ok(Vec::new());
    }
    let mut pipe = redis::pipe();
    for round in rounds {
        pipe.cmd("HGET").arg(shared.keys.round(round)).arg("h");
    }
    let heads: Vec<Option<Vec<u8>>> = shared.connection.pipe(&pipe).await?;
    heads.into_iter().map(|head| head.map(|head| read_head(&head)).transpose()).collect()
}

/// The result of removing a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundRemoval {
    /// The round exists with another revision.
    Changed,
    Removed,
    /// The round did not exist.
    Absent,
}

/// Matches any revision.
pub(crate) const ANY: &str = "*";
/// Matches no revision, so an existing round stays.
const NONE: &str = "-";

/// Removes rounds of one user that have these revisions, each with its index entries. For rounds
/// that do not exist, only the entries are removed.
pub(crate) async fn drop_rounds(
    shared: &Shared,
    user: &UserId,
    rounds: Vec<(RoundRef, String)>,
) -> Result<Vec<RoundRemoval>> {
    let mut all = Vec::with_capacity(rounds.len());
    for rounds in rounds.chunks(BATCH) {
        let [list, links] = shared.keys.round_indexes(user);
        let mut call = ROUND_DROP.key(list);
        call.key(links);
        for (round, revision) in rounds {
            call.key(shared.keys.round(round)).arg(rounds::names::of(round)).arg(revision);
        }
        let answers: Vec<i64> = shared.connection.call(&call).await?;
        all.extend(answers.into_iter().map(|answer| match answer {
            0 => RoundRemoval::Changed,
            1 => RoundRemoval::Removed,
            _ => RoundRemoval::Absent,
        }));
    }
    Ok(all)
}

/// Removes the entries of those of these rounds that do not exist.
pub(crate) async fn sweep(shared: &Shared, user: &UserId, names: Vec<Vec<u8>>) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let rounds = rounds_of(user, &names)?.into_iter().map(|round| (round, NONE.to_owned()));
    drop_rounds(shared, user, rounds.collect()).await.map(drop)
}

/// Returns the nodes that are linked to a message, sorted.
pub(crate) async fn nodes_of_message(
    shared: &Shared,
    user: &UserId,
    message: &str,
) -> Result<Vec<MessageNode>> {
    let start = format!("m{message}");
    let mut range = cmd("ZRANGEBYLEX");
    range.arg(&shared.keys.round_indexes(user)[1]);
    range
        .arg(format!("[{start}"))
        .arg([b"(", &rounds::names::behind(start.as_bytes())[..]].concat());
    let entries: Vec<Vec<u8>> = shared.connection.run(&range).await?;
    let nodes =
        entries.iter().map(|entry| rounds::names::node_of(user, entry).ok_or_else(unreadable_name));
    let mut nodes = nodes.collect::<Result<Vec<_>>>()?;
    // Expired rounds have left their entries.
    let mut there = Vec::with_capacity(nodes.len());
    for nodes in nodes.chunks(BATCH) {
        let mut pipe = redis::pipe();
        for node in nodes {
            pipe.cmd("EXISTS").arg(shared.keys.round(&node.agent.round(node.node.round)));
        }
        there.extend(shared.connection.pipe::<Vec<bool>>(&pipe).await?);
    }
    let mut there = there.into_iter();
    nodes.retain(|_| there.next().unwrap_or(false));
    nodes.sort_unstable();
    Ok(nodes)
}
