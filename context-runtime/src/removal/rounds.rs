//! Rounds of trajectories that stand for removed content.
//!
//! A changed node keeps its earlier forms. So a node that must be emptied is removed, and added
//! again without its content, in two commits. A reader that sees the round between them misses the
//! node. If the process ends in between, the node stays removed, with the edges to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use context_core::base::{CommitKey, limits};
use context_core::store::{
    Cursor, PageWalk, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, TrajectoryStore,
};
use context_core::trajectory::{
    AgentRef, Change, Edge, NodeId, RoundHead, RoundRecord, RoundRef, RoundState, TrajectoryNode,
    TrajectoryNodeKind,
};
use context_core::{
    ChatId, ChatRef, Error, ErrorKind, MessageId, Node, Result, SessionId, Store, Timestamp,
};

use super::memories::session;
use super::walk::RemovalWalk;
use super::{Remaining, RemainingKind, RemainingReason, RemovalOptions};

const OPERATION: &str = "redact_round";

/// The maximum number of attempts at a change that conflicts with other writers of the round.
const ATTEMPTS: usize = 16;

/// Empties the nodes that stand for messages of a chat, and those with a result that one of the
/// messages has.
pub(super) async fn clear_linked(
    store: &dyn Store,
    chat: &ChatRef,
    (messages, stored): (&[MessageId], &[Arc<Node>]),
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let Some(trajectories) = store.trajectories() else { return Ok(()) };
    let wanted: BTreeSet<&MessageId> = messages.iter().collect();
    let linked = |node: &TrajectoryNode| {
        node.messages.iter().any(|link| link.chat == chat.chat && wanted.contains(&link.message))
    };
    let results = results(chat, stored);
    let mut rounds = linked_rounds(trajectories, chat, messages).await?;
    rounds.extend(results.keys().cloned());
    for round in rounds {
        walk.options.cancel.check(OPERATION)?;
        let calls = results.get(&round).map_or(&[][..], Vec::as_slice);
        let has_result = |node: &TrajectoryNode| {
            node.kind() == TrajectoryNodeKind::Action
                && node.messages.iter().any(|link| link.chat == chat.chat)
                && calls.iter().any(|call| is_of_call(&node.label, call))
        };
        clear(trajectories, &round, |node| linked(node) || has_result(node), walk).await?;
    }
    Ok(())
}

/// Returns the calls whose results are in the messages, by the round in which they were written. An
/// action is linked to the message of its result when it is called. A turn that is continued later
/// stores the result in another message.
fn results(chat: &ChatRef, stored: &[Arc<Node>]) -> BTreeMap<RoundRef, Vec<Arc<str>>> {
    let mut results: BTreeMap<RoundRef, Vec<Arc<str>>> = BTreeMap::new();
    for message in stored.iter().filter_map(|node| node.message().ok()) {
        let run = message.written_in().and_then(|written_in| written_in.run);
        if let Some(round) = run.and_then(|run| round_of_run(chat, &run)) {
            let calls = message.tool_results().map(|result| Arc::from(&*result.call_id));
            results.entry(round).or_default().extend(calls);
        }
    }
    results.retain(|_, calls| !calls.is_empty());
    results
}

/// Returns the round that the run of a message names.
fn round_of_run(chat: &ChatRef, run: &str) -> Option<RoundRef> {
    let mut parts = run.rsplitn(3, '/');
    let (round, agent, session) = (parts.next()?, parts.next()?, parts.next()?);
    let agent = AgentRef::new(chat.user.clone(), session, agent.parse().ok()?);
    Some(agent.round(round.parse().ok()?))
}

/// Whether an action with this label is one of this call. The label of a call is its id, or the
/// hash of a long one; a repeated id is numbered.
fn is_of_call(label: &str, call: &str) -> bool {
    let is_numbered = |rest: &str| rest.is_empty() || rest.starts_with('#');
    label.strip_prefix(call).is_some_and(is_numbered) || {
        let hash = blake3::hash(call.as_bytes()).to_hex();
        label.strip_prefix(hash.as_str()).is_some_and(is_numbered)
    }
}

/// Returns the rounds with a node that stands for one of the messages.
pub(super) async fn linked_rounds(
    trajectories: &dyn TrajectoryStore,
    chat: &ChatRef,
    messages: &[MessageId],
) -> Result<BTreeSet<RoundRef>> {
    let mut rounds = BTreeSet::new();
    for message in messages {
        let nodes = trajectories.nodes_of_message(&chat.user, &chat.chat, message).await?;
        rounds.extend(nodes.into_iter().map(|found| found.agent.round(found.node.round)));
    }
    Ok(rounds)
}

/// Returns all rounds of a user that stand for a message of a chat. Reads all rounds, for a chat
/// whose messages do not exist any more.
pub(super) async fn rounds_of_missing_chat(
    trajectories: &dyn TrajectoryStore,
    chat: &ChatRef,
    options: &RemovalOptions,
) -> Result<BTreeSet<RoundRef>> {
    let mut rounds = BTreeSet::new();
    for head in heads(trajectories, RoundQuery::of_user(chat.user.clone())).await? {
        options.cancel.check(OPERATION)?;
        if let Some(record) = load(trajectories, &head.round).await?
            && links(&record).any(|linked| *linked == chat.chat)
        {
            rounds.insert(head.round);
        }
    }
    Ok(rounds)
}

/// Removes the content of a chat from rounds. A session with only rounds of this chat is deleted.
/// In any other session, rounds of this chat alone stay but are emptied, and in shared rounds the
/// nodes for messages of this chat are emptied.
pub(super) async fn remove_of_chat(
    store: &dyn Store,
    chat: &ChatRef,
    linked: BTreeSet<RoundRef>,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let Some(trajectories) = store.trajectories() else { return Ok(()) };
    let mut sessions: BTreeSet<SessionId> =
        linked.into_iter().map(|round| round.agent.session).collect();
    sessions.insert(session(&chat.chat));
    for name in sessions {
        walk.options.cancel.check(OPERATION)?;
        let query = RoundQuery::of_user(chat.user.clone()).session(name.clone());
        let mut rounds: BTreeMap<RoundRef, RoundOwner> = BTreeMap::new();
        for head in heads(trajectories, query).await? {
            if let Some(record) = load(trajectories, &head.round).await? {
                rounds.insert(head.round, RoundOwner::of(&record, &chat.chat));
            }
        }
        if rounds.is_empty() {
            continue;
        }
        if rounds.values().all(|belonging| *belonging == RoundOwner::Own) {
            if walk.options.dry_run {
                for round in rounds.keys() {
                    walk.report.rounds += u64::from(walk.plan("round", None, round, None));
                }
                continue;
            }
            let prune = RoundPrune::of_user(chat.user.clone()).session(name);
            walk.report.rounds += trajectories.prune_rounds(&prune).await?.rounds;
            continue;
        }
        for (round, belonging) in rounds {
            let linked =
                |node: &TrajectoryNode| node.messages.iter().any(|link| link.chat == chat.chat);
            match belonging {
                RoundOwner::Own => clear(trajectories, &round, |_| true, walk).await?,
                RoundOwner::Shared => clear(trajectories, &round, linked, walk).await?,
                RoundOwner::Other => {}
            }
        }
    }
    Ok(())
}

/// The chats a round belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoundOwner {
    /// This chat alone.
    Own,
    /// This chat and others.
    Shared,
    /// Other chats alone.
    Other,
}

impl RoundOwner {
    /// A round that stands for no message belongs to the chat with the name of its session.
    fn of(record: &RoundRecord, chat: &ChatId) -> Self {
        let chats: BTreeSet<&ChatId> = links(record).collect();
        let is_session = record.head.round.agent.session.as_str() == chat.as_str();
        match (chats.contains(chat), chats.len()) {
            (true, 1) => Self::Own,
            (true, _) => Self::Shared,
            (false, 0) if is_session => Self::Own,
            (false, _) => Self::Other,
        }
    }
}

fn links(record: &RoundRecord) -> impl Iterator<Item = &ChatId> {
    record.nodes.iter().flat_map(|node| node.messages.iter().map(|link| &link.chat))
}

/// Returns the heads of the matching rounds.
pub(super) async fn heads(
    trajectories: &dyn TrajectoryStore,
    query: RoundQuery,
) -> Result<Vec<RoundHead>> {
    let query = query.limit(limits::MAX_PAGE);
    let read = |after: Option<Cursor>| {
        let query = query.clone().after(after);
        async move { trajectories.rounds(&query).await }
    };
    PageWalk::new("rounds", "round").collect(read).await
}

/// Returns a round, if it exists.
pub(super) async fn load(
    trajectories: &dyn TrajectoryStore,
    round: &RoundRef,
) -> Result<Option<RoundRecord>> {
    let found = trajectories.load_rounds(&round.agent, round.round..=round.round).await?;
    Ok(found.into_iter().next())
}

/// Empties the matching nodes of a round, and its title if its question is among them.
async fn clear(
    trajectories: &dyn TrajectoryStore,
    round: &RoundRef,
    meant: impl Fn(&TrajectoryNode) -> bool,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let (mut cleared, mut refused) = (0, 0);
    while let Some(record) = load(trajectories, round).await? {
        let mut wanted =
            record.nodes.iter().filter(|node| meant(node) && node.redacted() != ***node);
        if walk.options.dry_run {
            for node in wanted {
                cleared += u64::from(walk.plan("node", None, node_name(node, round), None));
            }
            break;
        }
        let Some(node) = wanted.next().map(Arc::clone) else { break };
        if replace(trajectories, record, &node, walk.options.now).await? {
            cleared += 1;
        } else {
            refused += 1;
        }
        if refused > ATTEMPTS {
            return Err(contended());
        }
    }
    walk.report.nodes += cleared;
    if cleared > 0
        && let Some(record) = load(trajectories, round).await?
        && record.head.state == RoundState::Open
    {
        let left = Remaining::new(RemainingKind::Round, None, round, RemainingReason::Open);
        walk.report.remaining.push(left);
    }
    Ok(())
}

/// Returns the name of a node among all nodes of a user.
pub(super) fn node_name(node: &TrajectoryNode, round: &RoundRef) -> String {
    format!("{} in {round}", node.id)
}

fn contended() -> Error {
    Error::new(ErrorKind::Conflict, OPERATION, "other writers keep writing to the round")
}

/// Removes a node and adds it again without its content. Returns false if another writer was first.
async fn replace(
    trajectories: &dyn TrajectoryStore,
    record: RoundRecord,
    node: &TrajectoryNode,
    now: Timestamp,
) -> Result<bool> {
    let (id, ordinal) = (node.id, node.id.ordinal);
    let was_query = record.head.query == Some(ordinal);
    let endpoints = record.head.endpoints.clone();
    let mut head = next_head(&record.head, now);
    head.nodes = head.nodes.saturating_sub(1);
    head.endpoints.retain(|endpoint| *endpoint != ordinal);
    if was_query {
        head.query = None;
        head.title = "".into();
    }
    let removal = commit(vec![Change::NodeRemoved { id }], head);
    if let RecordOutcome::Conflict { .. } = trajectories.record_round(&removal).await? {
        return Ok(false);
    }
    let there = |node: NodeId, record: &RoundRecord| {
        node == id || node.round != id.round || record.nodes.iter().any(|known| known.id == node)
    };
    let mut changes = vec![Change::NodeAdded { node: Arc::new(node.redacted()) }];
    let edges: Vec<&Edge> =
        record.edges.iter().filter(|edge| edge.from == id || edge.to == id).collect();
    for _ in 0..ATTEMPTS {
        let Some(now_there) = load(trajectories, &record.head.round).await? else {
            return Ok(true);
        };
        if now_there.nodes.iter().any(|known| known.id == id) {
            return Ok(true);
        }
        let mut head = next_head(&now_there.head, now);
        head.nodes += 1;
        if was_query && head.query.is_none() {
            head.query = Some(ordinal);
        }
        if endpoints.contains(&ordinal) {
            head.endpoints.push(ordinal);
            head.endpoints.sort_unstable();
        }
        changes.truncate(1);
        let edges =
            edges.iter().filter(|edge| there(edge.from, &now_there) && there(edge.to, &now_there));
        changes.extend(
            edges
                .take(limits::MAX_COMMIT_ITEMS - 1)
                .map(|edge| Change::EdgeAdded { edge: (*edge).clone() }),
        );
        match trajectories.record_round(&commit(changes.clone(), head)).await? {
            RecordOutcome::Conflict { .. } => {}
            _ => return Ok(true),
        }
    }
    Err(contended())
}

fn next_head(head: &RoundHead, now: Timestamp) -> RoundHead {
    let mut next = head.clone();
    next.revision += 1;
    next.updated_at = next.updated_at.max(now);
    next
}

/// Returns a commit whose key is derived from its changes, so that a concurrent removal recognizes
/// it as its own.
fn commit(changes: Vec<Change>, head: RoundHead) -> RoundCommit {
    let mut hasher = blake3::Hasher::new_derive_key("context-runtime redaction of a round, form 1");
    for part in
        [head.round.agent.user.as_str(), &head.round.to_string(), &head.revision.to_string()]
    {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    for change in &changes {
        if let Ok(json) = serde_json::to_vec(change) {
            hasher.update(&json);
        }
    }
    RoundCommit::new(CommitKey::from(hasher.finalize().to_hex().as_str()), changes, head)
}
