//! The commit, for every kind of commit and every outcome.
//!
//! [`decide_commit`] decides, after one read of the chat. The writes are applied only if the chat
//! has not changed since. Otherwise everything starts again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{Commit, CommitOutcome, Committed, Target};
use context_core::{BranchName, MessageId, Node};
use context_store_kit::{CommitDecision, CommitFacts, CommitPlan, changes, decide_commit, pack};
use serde::{Deserialize, Serialize};

use crate::error::{Fault, Result};
use crate::history::append::append;
use crate::history::asked::{Asked, Found};
use crate::history::change::{Applied, Change};
use crate::history::fields::{self, BLOCK, Place, Tip, broken};
use crate::history::look::{About, Look};
use crate::history::messages::placed;
use crate::history::runs;
use crate::shared::{ATTEMPTS, Shared, check_bytes};
use crate::{fragments, seals};

const OPERATION: &str = "commit";

/// The stored result of a commit with a key.
#[derive(Serialize, Deserialize)]
struct Known {
    digest: String,
    branch: Option<BranchName>,
    head: Option<MessageId>,
}

pub(crate) async fn commit(shared: &Shared, commit: &Commit) -> Result<CommitOutcome> {
    let nodes = commit.nodes.iter().chain(changes(commit).map(|(node, _)| node));
    let nodes = nodes.map(|node| node.body().bytes().len());
    let bytes = nodes
        .chain(commit.fragments.iter().map(|fragment| fragment.body.bytes().len()))
        .sum::<usize>();
    check_bytes(OPERATION, bytes)?;
    if let Some(committed) = append(shared, commit).await? {
        return Ok(CommitOutcome::Applied(committed));
    }
    let asked = Asked::of(commit);
    for _ in 0..ATTEMPTS {
        let look = shared.look_at(OPERATION, &commit.chat, &asked.fields).await?;
        let found = asked.answered(&look)?;
        match decide(shared, commit, &look, found).await? {
            Decision::Answer(outcome) => return Ok(outcome),
            Decision::Again => {}
            Decision::Write(change, committed) => {
                if change.apply(shared, OPERATION, &commit.chat, &look).await? == Applied::Yes {
                    return Ok(CommitOutcome::Applied(committed));
                }
            }
        }
    }
    Err(Fault::Beaten)
}

enum Decision {
    /// The answer is known and nothing is written.
    Answer(CommitOutcome),
    Write(Change, Committed),
    /// The chat was changed while it was read.
    Again,
}

async fn decide(shared: &Shared, commit: &Commit, look: &Look, found: Found) -> Result<Decision> {
    let Found { places, revisions, known } = found;
    let mut facts = CommitFacts::new();
    if let (Some(key), Some(known)) = (&commit.key, known) {
        let known = seals::opened(&fields::key(key), &known)?;
        let known: Known = serde_json::from_slice(known).map_err(|_| broken())?;
        let digest = blake3::Hash::from_hex(&known.digest).map_err(|_| broken())?;
        facts.known = Some((digest.into(), Committed::new(known.branch, known.head)));
    }
    facts.stored = places;
    if let Some((branch, last)) = facts.repeated_on(commit)
        && let (Some(tip), Some(last)) = (look.tip(branch), facts.stored.get(last))
        && look.shape.holds(tip, *last)?
    {
        let new = commit.nodes.iter().map(|node| &node.id);
        let new: Vec<_> = new.filter_map(|id| Some((id, *facts.stored.get(id)?))).collect();
        let Some(repeated) = placed(shared, &commit.chat, look, &new).await? else {
            return Ok(Decision::Again);
        };
        facts.repeated = repeated;
    }
    let head = |name| look.tip(name).map(|tip| tip.head.clone());
    match &commit.target {
        Target::Stay => {}
        Target::Extend { branch, .. } => facts.head = head(branch),
        Target::Fork { name, .. } => {
            facts.head = head(name.base());
            facts.names = look.shape.named().map(|(name, _)| name.clone()).collect();
        }
    }
    facts.chat = commit.patch.as_ref().map(|_| look.chat.clone());
    match decide_commit(commit, facts)? {
        CommitDecision::Answer(outcome) => Ok(Decision::Answer(outcome)),
        CommitDecision::Write(plan) => write(shared, commit, look, &revisions, plan).await,
    }
}

/// Turns a plan into a change of the chat's hash.
async fn write(
    shared: &Shared,
    commit: &Commit,
    look: &Look,
    revisions: &HashMap<MessageId, u64>,
    plan: CommitPlan<Place>,
) -> Result<Decision> {
    let mut change = Change::at(commit.at);
    if let Some(patched) = &plan.patched {
        change.set("m", About::of(patched).write()?);
    }
    let amended = amend(shared, &mut change, commit, look, revisions, &plan.changed);
    let Some(mut boundaries) = amended.await? else { return Ok(Decision::Again) };
    if let Some(name) = &plan.committed.branch {
        let tip = match &commit.target {
            Target::Fork { at, activate, .. } => {
                let mut shape = look.shape.clone();
                let piece = shape.begin(name.clone(), plan.fork_point, commit.at)?;
                let tip = Tip { piece: piece.no, own: 0, head: at.clone() };
                change.set(fields::piece(piece.no), piece.write());
                if *activate {
                    shape.active = name.clone();
                }
                change.shape(&shape)?;
                tip
            }
            _ => {
                let tip = look.tip_of(OPERATION, name)?;
                change.if_at(name.as_str(), tip);
                tip.clone()
            }
        };
        let end = add_nodes(&mut change, &tip, commit, &mut boundaries)?;
        change.set(fields::branch(name.as_str()), end.write());
    }
    if !boundaries.is_empty()
        && !write_boundaries(shared, &mut change, commit, look, boundaries).await?
    {
        return Ok(Decision::Again);
    }
    fragments::put(&mut change, look, &commit.fragments)?;
    if let (Some(key), Some(digest)) = (&commit.key, plan.digest) {
        let Committed { branch, head, .. } = plan.committed.clone();
        let digest = blake3::Hash::from_bytes(digest).to_hex().to_string();
        let known = serde_json::to_vec(&Known { digest, branch, head }).map_err(|_| broken())?;
        let field = fields::key(key);
        change.set(field.clone(), seals::seal(&field, known));
    }
    Ok(Decision::Write(change, plan.committed))
}

/// Boundaries that are added and removed, by piece.
#[derive(Default)]
struct Boundaries(BTreeMap<u64, Vec<(u64, bool)>>);

impl Boundaries {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn note(&mut self, place: Place, is_one: bool) {
        self.0.entry(place.piece).or_default().push((place.pos, is_one));
    }
}

/// Replaces the bodies of stored messages. The old revisions are kept, unless the messages are
/// redacted: then earlier revisions are deleted as well. Returns `None` if the chat was changed
/// meanwhile.
async fn amend(
    shared: &Shared,
    change: &mut Change,
    commit: &Commit,
    look: &Look,
    revisions: &HashMap<MessageId, u64>,
    places: &[Place],
) -> Result<Option<Boundaries>> {
    let mut boundaries = Boundaries::default();
    if places.is_empty() {
        return Ok(Some(boundaries));
    }
    let runs = runs::read_at(shared, &commit.chat, &look.version, places.iter().copied()).await?;
    let Some(mut runs) = runs else { return Ok(None) };
    let mut touched = BTreeMap::new();
    for ((by, replaced), &place) in changes(commit).zip(places) {
        let (first, old) = runs::find(&runs, place)?;
        if old.id != by.id {
            return Err(Fault::Corrupt("a message is not where it is filed", None));
        }
        let (old, new) = (Arc::clone(old), Arc::new(old.amended(by)));
        let (was, is) = (size(&old), size(&new));
        change.add_bytes(is - was);
        if let Some(at) = replaced {
            let count = revisions.get(&by.id).copied().unwrap_or(0);
            let mut record = at.as_micros().to_le_bytes().to_vec();
            pack::pack(&old, &mut record);
            change.set(fields::revision(count, &by.id), seals::seal("r", record));
            change.set(fields::revisions(&by.id), (count + 1).to_string());
            change.add_bytes(was);
        } else {
            change.forget_revisions(&by.id);
        }
        if old.kind != new.kind {
            boundaries.note(place, new.kind == NodeKind::Boundary);
        }
        let nth = usize::try_from(place.pos - first.pos).map_err(|_| runs::MISSING)?;
        let nodes = runs.get_mut(&first).ok_or(runs::MISSING)?;
        *nodes.get_mut(nth).ok_or(runs::MISSING)? = new;
        touched.insert(first, place);
    }
    for (first, place) in touched {
        change.set(fields::run(first), runs::write(runs.get(&first).ok_or(runs::MISSING)?)?);
        // Appends may merge the runs of a block that is not full.
        let piece = look.shape.piece(place.piece)?;
        if let Some((name, tip)) =
            piece.name.as_ref().and_then(|name| Some((name, look.tip(name)?)))
            && tip.own < place.block() + BLOCK - 1
        {
            change.if_at(name.as_str(), tip);
        }
    }
    change.set("o", look.generation.changed().write());
    Ok(Some(boundaries))
}

/// Returns the size of a message in bytes.
fn size(node: &Node) -> i64 {
    let mut record = Vec::new();
    pack::pack(node, &mut record);
    i64::try_from(record.len()).unwrap_or(i64::MAX)
}

/// Appends the new messages to a branch and returns its new end.
fn add_nodes(
    change: &mut Change,
    tip: &Tip,
    commit: &Commit,
    boundaries: &mut Boundaries,
) -> Result<Tip> {
    let Some(last) = commit.nodes.last() else { return Ok(tip.clone()) };
    for (node, pos) in commit.nodes.iter().zip(tip.own + 1..) {
        let place = Place { piece: tip.piece, pos };
        change.if_absent(fields::id(&node.id));
        change.set(fields::id(&node.id), place.write());
        if node.kind == NodeKind::Boundary {
            boundaries.note(place, true);
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
    change: &mut Change,
    commit: &Commit,
    look: &Look,
    boundaries: Boundaries,
) -> Result<bool> {
    let fields: Vec<String> = boundaries.0.keys().map(|piece| fields::boundaries(*piece)).collect();
    let again = shared.look_at(OPERATION, &commit.chat, &fields).await?;
    if again.version != look.version {
        return Ok(false);
    }
    for ((field, value), noted) in
        fields.into_iter().zip(again.asked).zip(boundaries.0.into_values())
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
