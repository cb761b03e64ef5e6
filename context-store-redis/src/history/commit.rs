//! The commit, for every kind of commit and every outcome.
//!
//! [`decide_commit`] decides, after one read of the chat. The writes are applied only if the chat
//! has not changed since. Otherwise everything starts again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{Commit, CommitOutcome, Committed, Target};
use context_core::{BranchName, MessageId, Node};
use context_store_kit::{
    BranchHead, CommitDecision, CommitFacts, CommitPlan, changes, decide_commit, needs_chat, pack,
    seen_on,
};
use serde::{Deserialize, Serialize};

use crate::chat::change::{ChangeOutcome, ChatChange};
use crate::chat::fields::{self, BLOCK, Position, Tip};
use crate::chat::snapshot::{ChatHeader, ChatSnapshot};
use crate::connections::shared::{ATTEMPTS, Shared, check_bytes};
use crate::error::{Fault, Result};
use crate::fragments::log::WrittenBy;
use crate::history::append::append;
use crate::history::facts::{FactFields, StoredFacts};
use crate::history::messages::placed;
use crate::history::{ref_log, runs};
use crate::values::unreadable;
use crate::{checksums, fragments};

const OPERATION: &str = "commit";

/// The stored result of a commit with a key.
#[derive(Serialize, Deserialize)]
struct StoredOutcome {
    digest: String,
    branch: Option<BranchName>,
    head: Option<MessageId>,
}

/// Commits, and waits until the server has flushed the commit if it asks for more than the server
/// does by itself.
pub(crate) async fn commit(shared: &Shared, commit: &Commit) -> Result<CommitOutcome> {
    shared.server.strongest.check_commit(commit)?;
    if commit.durability.is_none_or(|asked| asked <= shared.server.durability) {
        return write_commit(shared, commit).await;
    }
    let known = shared.flushes.known_runs();
    let outcome = write_commit(shared, commit).await?;
    // A commit that is known already was perhaps written without waiting.
    if let CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) = &outcome {
        shared.flushes.wait(&shared.keys.chat(&commit.chat), known).await?;
    }
    Ok(outcome)
}

async fn write_commit(shared: &Shared, commit: &Commit) -> Result<CommitOutcome> {
    let nodes = commit.nodes.iter().chain(changes(commit).map(|(node, _)| node));
    let nodes = nodes.map(|node| node.body().bytes().len());
    let bytes = nodes
        .chain(commit.fragments.iter().map(|fragment| fragment.body.bytes().len()))
        .sum::<usize>();
    check_bytes(OPERATION, bytes)?;
    if let Some(committed) = append(shared, commit).await? {
        return Ok(CommitOutcome::Applied(committed));
    }
    let asked = FactFields::of(commit);
    for _ in 0..ATTEMPTS {
        let snapshot = shared.snapshot(OPERATION, &commit.chat, &asked.fields).await?;
        let found = asked.read(&snapshot)?;
        match decide(shared, commit, &snapshot, found).await? {
            Decision::Answer(outcome) => return Ok(outcome),
            Decision::Retry => {}
            Decision::Write(change, committed) => {
                match change.apply(shared, OPERATION, &commit.chat, &snapshot).await? {
                    ChangeOutcome::Applied => return Ok(CommitOutcome::Applied(committed)),
                    ChangeOutcome::Grafted(onto) => {
                        return Ok(CommitOutcome::Applied(committed.with_onto(onto)));
                    }
                    ChangeOutcome::Conflict => {}
                }
            }
        }
    }
    Err(Fault::Contended)
}

enum Decision {
    /// The answer is known and nothing is written.
    Answer(CommitOutcome),
    Write(Box<ChatChange>, Committed),
    /// The chat was changed while it was read.
    Retry,
}

async fn decide(
    shared: &Shared,
    commit: &Commit,
    snapshot: &ChatSnapshot,
    mut found: StoredFacts,
) -> Result<Decision> {
    let mut facts = CommitFacts::new();
    if let (Some(key), Some(known)) = (&commit.key, &found.known) {
        let known = checksums::opened(&fields::key(key), known)?;
        let known: StoredOutcome = serde_json::from_slice(known).map_err(|_| unreadable())?;
        let digest = blake3::Hash::from_hex(&known.digest).map_err(|_| unreadable())?;
        facts.known = Some((digest.into(), Committed::new(known.branch, known.head)));
    }
    facts.stored = std::mem::take(&mut found.positions);
    facts.lease = found.lease.take();
    if let Some((branch, last)) = facts.repeated_on(commit)
        && let (Some(tip), Some(last)) = (snapshot.tip(branch), facts.stored.get(last))
        && snapshot.tree.holds(tip, *last)?
    {
        let new = commit.nodes.iter().map(|node| &node.id);
        let new: Vec<_> = new.filter_map(|id| Some((id, *facts.stored.get(id)?))).collect();
        let Some(repeated) = placed(shared, &commit.chat, snapshot, &new).await? else {
            return Ok(Decision::Retry);
        };
        facts.repeated = repeated;
    }
    let head = |name| {
        snapshot.tip(name).map_or(BranchHead::Missing, |tip| BranchHead::At(tip.head.clone()))
    };
    match &commit.target {
        Target::Stay => {}
        Target::Extend { branch, .. } | Target::Graft { branch, .. } => {
            facts.head = head(branch);
            if let Some((branch, seen)) = seen_on(commit)
                && let (Some(tip), Some(seen)) = (snapshot.tip(branch), facts.stored.get(seen))
                && snapshot.tree.holds(tip, *seen)?
            {
                facts.seen = Some(snapshot.tree.piece(seen.piece)?.base + seen.pos - 1);
            }
        }
        Target::Fork { name, .. } => {
            facts.head = head(name.base());
            facts.names = snapshot.tree.named().map(|(name, _)| name.clone()).collect();
        }
    }
    facts.chat = needs_chat(commit).then(|| snapshot.chat.clone());
    match decide_commit(commit, facts)? {
        CommitDecision::Answer(outcome) => Ok(Decision::Answer(outcome)),
        CommitDecision::Write(plan) => write(shared, commit, snapshot, &found, plan).await,
    }
}

/// Turns a plan into a change of the chat's hash.
async fn write(
    shared: &Shared,
    commit: &Commit,
    snapshot: &ChatSnapshot,
    found: &StoredFacts,
    plan: CommitPlan<Position>,
) -> Result<Decision> {
    let mut change = ChatChange::at(commit.at);
    if let Some(patched) = &plan.patched {
        change.set("m", ChatHeader::of(patched).write()?);
    }
    let amended = amend(shared, &mut change, commit, snapshot, &found.revisions, &plan.changed);
    let Some(mut boundaries) = amended.await? else { return Ok(Decision::Retry) };
    if let (Target::Graft { branch, seen }, true) = (&commit.target, is_settled_by_script(commit)) {
        commit.nodes.iter().for_each(|node| change.if_absent(fields::id(&node.id)));
        let packed = commit.nodes.iter().map(|node| (node.id.clone(), packed(node)));
        change.graft(branch.clone(), seen.clone(), packed);
    } else if let Some(name) = &plan.committed.branch {
        let tip = match &commit.target {
            Target::Fork { at, activate, .. } => {
                let mut tree = snapshot.tree.clone();
                let piece = tree.begin(name.clone(), plan.fork_point, commit.at)?;
                let tip = Tip { piece: piece.no, own: 0, head: at.clone() };
                change.set(fields::piece(piece.no), piece.write());
                if *activate {
                    tree.active = name.clone();
                }
                change.set_tree(&tree)?;
                tip
            }
            _ => {
                let tip = snapshot.tip_of(OPERATION, name)?;
                change.if_at(name.as_str(), tip);
                tip.clone()
            }
        };
        let end = add_nodes(&mut change, &tip, commit, &mut boundaries)?;
        change.set(fields::branch(name.as_str()), end.write());
    }
    if !boundaries.is_empty()
        && !write_boundaries(shared, &mut change, commit, snapshot, boundaries).await?
    {
        return Ok(Decision::Retry);
    }
    let message = commit.nodes.first().map(|node| &node.id);
    let by = WrittenBy { at: commit.at, message };
    let versions = found.versions.as_ref();
    fragments::put(&mut change, (snapshot, versions), &commit.fragments, &by)?;
    ref_log::add(&mut change, found.refs.as_ref(), commit.at, plan.refs)?;
    if let (Some(key), Some(digest)) = (&commit.key, plan.digest) {
        let Committed { branch, head, .. } = plan.committed.clone();
        let digest = blake3::Hash::from_bytes(digest).to_hex().to_string();
        let known = serde_json::to_vec(&StoredOutcome { digest, branch, head })
            .map_err(|_| unreadable())?;
        let field = fields::key(key);
        change.set(field.clone(), checksums::seal(&field, known));
    }
    Ok(Decision::Write(Box::new(change), plan.committed))
}

/// Boundaries that are added and removed, by piece.
#[derive(Default)]
struct Boundaries(BTreeMap<u64, Vec<(u64, bool)>>);

impl Boundaries {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn note(&mut self, position: Position, is_one: bool) {
        self.0.entry(position.piece).or_default().push((position.pos, is_one));
    }
}

/// Replaces the bodies of stored messages. The old revisions are kept, unless the messages are
/// redacted: then earlier revisions are deleted as well. Returns `None` if the chat was changed
/// meanwhile.
async fn amend(
    shared: &Shared,
    change: &mut ChatChange,
    commit: &Commit,
    snapshot: &ChatSnapshot,
    revisions: &HashMap<MessageId, u64>,
    positions: &[Position],
) -> Result<Option<Boundaries>> {
    let mut boundaries = Boundaries::default();
    if positions.is_empty() {
        return Ok(Some(boundaries));
    }
    let runs =
        runs::read_at(shared, &commit.chat, &snapshot.version, positions.iter().copied()).await?;
    let Some(mut runs) = runs else { return Ok(None) };
    let mut touched = BTreeMap::new();
    for ((by, replaced), &position) in changes(commit).zip(positions) {
        let (first, old) = runs::find(&runs, position)?;
        if old.id != by.id {
            return Err(Fault::Corrupt(
                "the stored position of a message leads to another message",
                None,
            ));
        }
        let (old, new) = (Arc::clone(old), Arc::new(old.amended(by)));
        let (was, is) = (size(&old), size(&new));
        change.add_bytes(is - was);
        if let Some(at) = replaced {
            let count = revisions.get(&by.id).copied().unwrap_or(0);
            let mut record = at.as_micros().to_le_bytes().to_vec();
            pack::pack(&old, &mut record);
            change.set(fields::revision(count, &by.id), checksums::seal("r", record));
            change.set(fields::revisions(&by.id), (count + 1).to_string());
            change.add_bytes(was);
        } else {
            change.forget_revisions(&by.id);
        }
        if old.kind != new.kind {
            boundaries.note(position, new.kind == NodeKind::Boundary);
        }
        let nth = usize::try_from(position.pos - first.pos).map_err(|_| runs::MISSING)?;
        let nodes = runs.get_mut(&first).ok_or(runs::MISSING)?;
        *nodes.get_mut(nth).ok_or(runs::MISSING)? = new;
        touched.insert(first, position);
    }
    for (first, position) in touched {
        change.set(fields::run(first), runs::write(runs.get(&first).ok_or(runs::MISSING)?)?);
        // Appends may merge the runs of a block that is not full.
        let piece = snapshot.tree.piece(position.piece)?;
        if let Some((name, tip)) =
            piece.name.as_ref().and_then(|name| Some((name, snapshot.tip(name)?)))
            && tip.own < position.block() + BLOCK - 1
        {
            change.if_at(name.as_str(), tip);
        }
    }
    change.set("o", snapshot.generation.changed().write());
    Ok(Some(boundaries))
}

/// Whether the script that applies a graft appends its messages where the branch then ends. The
/// list of boundaries has places, so it is written for the end of the branch that was read.
fn is_settled_by_script(graft: &Commit) -> bool {
    !graft.nodes.is_empty() && graft.nodes.iter().all(|node| node.kind != NodeKind::Boundary)
}

fn packed(node: &Node) -> Vec<u8> {
    let mut record = Vec::new();
    pack::pack(node, &mut record);
    record
}

/// Returns the size of a message in bytes.
fn size(node: &Node) -> i64 {
    i64::try_from(packed(node).len()).unwrap_or(i64::MAX)
}

/// Appends the new messages to a branch and returns its new end.
fn add_nodes(
    change: &mut ChatChange,
    tip: &Tip,
    commit: &Commit,
    boundaries: &mut Boundaries,
) -> Result<Tip> {
    let Some(last) = commit.nodes.last() else { return Ok(tip.clone()) };
    for (node, pos) in commit.nodes.iter().zip(tip.own + 1..) {
        let position = Position { piece: tip.piece, pos };
        change.if_absent(fields::id(&node.id));
        change.set(fields::id(&node.id), position.write());
        if node.kind == NodeKind::Boundary {
            boundaries.note(position, true);
        }
    }
    for (first, run) in runs::split(tip.piece, tip.own, &commit.nodes)? {
        change.add_bytes(i64::try_from(run.len() - 1).unwrap_or(i64::MAX));
        change.set(fields::run(first), run);
    }
    let added = commit.nodes.len() as u64;
    change.add_messages(added);
    change.merge_after(tip.piece, tip.own, tip.own + added);
    Ok(Tip { own: tip.own + added, head: Some(last.id.clone()), ..tip.clone() })
}

/// Updates the lists of boundaries. Returns false if the chat was changed meanwhile.
async fn write_boundaries(
    shared: &Shared,
    change: &mut ChatChange,
    commit: &Commit,
    snapshot: &ChatSnapshot,
    boundaries: Boundaries,
) -> Result<bool> {
    let fields: Vec<String> = boundaries.0.keys().map(|piece| fields::boundaries(*piece)).collect();
    let again = shared.snapshot(OPERATION, &commit.chat, &fields).await?;
    if again.version != snapshot.version {
        return Ok(false);
    }
    for ((field, value), noted) in
        fields.into_iter().zip(again.requested).zip(boundaries.0.into_values())
    {
        let mut positions = fields::read_boundaries(value.as_deref())?;
        for (pos, is_one) in noted {
            positions.retain(|present| *present != pos);
            if is_one {
                positions.push(pos);
            }
        }
        positions.sort_unstable();
        if positions.is_empty() {
            change.remove(field);
        } else {
            change.set(field, fields::write_boundaries(&positions));
        }
    }
    Ok(true)
}
