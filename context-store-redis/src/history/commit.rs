//! The commit, for every kind of commit and every outcome.
//!
//! The decisions are made in the order that
//! [`HistoryStore::commit`](context_core::store::HistoryStore::commit) states, after one read of
//! the chat. The writes are applied only if the chat has not changed since. Otherwise everything
//! starts again.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_core::base::limits;
use context_core::message::NodeKind;
use context_core::store::{Commit, CommitOutcome, Committed, ForkName, Target};
use context_core::{BranchName, Error, MessageId, Node};
use context_store_kit::pack;
use serde::{Deserialize, Serialize};

use crate::error::{Fault, Result};
use crate::fragments;
use crate::history::append::append;
use crate::history::asked::{Asked, Found, changes};
use crate::history::change::{Applied, Change};
use crate::history::fields::{self, BLOCK, Place, Tip, broken};
use crate::history::look::{About, Look};
use crate::history::runs;
use crate::history::shape::Shape;
use crate::seals;
use crate::shared::{ATTEMPTS, Shared, check_bytes};

const OPERATION: &str = "commit";

/// The stored result of a commit with a key.
#[derive(Serialize, Deserialize)]
struct Known {
    digest: String,
    branch: Option<BranchName>,
    head: Option<MessageId>,
}

pub(crate) async fn commit(shared: &Shared, commit: &Commit) -> Result<CommitOutcome> {
    let nodes = commit.nodes.iter().chain(changes(commit)).map(|node| node.body().bytes().len());
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
        match decide(shared, commit, &look, &found).await? {
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

async fn decide(shared: &Shared, commit: &Commit, look: &Look, found: &Found) -> Result<Decision> {
    let digest = commit
        .key
        .is_some()
        .then(|| blake3::Hash::from_bytes(commit.digest()).to_hex().to_string());
    if let (Some(key), Some(digest), Some(known)) = (&commit.key, &digest, &found.known) {
        let known = seals::opened(&fields::key(key), known)?;
        let known: Known = serde_json::from_slice(known).map_err(|_| broken())?;
        if known.digest != *digest {
            let error =
                Error::invalid(OPERATION, "the key was used for another commit").with("key", key);
            return Err(error.into());
        }
        let committed = Committed::new(known.branch, known.head);
        return Ok(Decision::Answer(CommitOutcome::Replayed(committed)));
    }
    if let Some(decision) = written_before(shared, commit, look, found).await? {
        return Ok(decision);
    }
    let mut shape = look.shape.clone();
    let mut change = Change::at(commit.at);
    let aim = match aim(&mut change, &mut shape, commit, look, found)? {
        Ok(aim) => aim,
        Err(actual) => return Ok(Decision::Answer(CommitOutcome::Conflict { actual })),
    };
    for node in changes(commit) {
        if !found.places.contains_key(&node.id) {
            return Err(Error::not_found(OPERATION, "message", &node.id).into());
        }
    }
    if let Some(patch) = &commit.patch {
        let mut patched = look.chat.clone();
        patch.apply(&mut patched)?;
        change.set("m", About::of(&patched).write()?);
    }

    // No check can fail from here on.
    let Some(mut boundaries) = amend(shared, &mut change, commit, look, found).await? else {
        return Ok(Decision::Again);
    };
    let committed = match aim {
        None => Committed::new(None, None),
        Some((name, tip)) => {
            let end = add_nodes(&mut change, &tip, commit, &mut boundaries)?;
            change.set(fields::branch(name.as_str()), end.write());
            Committed::new(Some(name), end.head)
        }
    };
    if !boundaries.is_empty()
        && !write_boundaries(shared, &mut change, commit, look, boundaries).await?
    {
        return Ok(Decision::Again);
    }
    fragments::put(&mut change, look, &commit.fragments)?;
    if shape != look.shape {
        change.shape(&shape)?;
    }
    if let (Some(key), Some(digest)) = (&commit.key, digest) {
        let known =
            Known { digest, branch: committed.branch.clone(), head: committed.head.clone() };
        let field = fields::key(key);
        let known = seals::seal(&field, serde_json::to_vec(&known).map_err(|_| broken())?);
        change.set(field, known);
    }
    Ok(Decision::Write(change, committed))
}

/// Determines the outcome if some of the new messages are stored already.
async fn written_before(
    shared: &Shared,
    commit: &Commit,
    look: &Look,
    found: &Found,
) -> Result<Option<Decision>> {
    let taken: Vec<MessageId> = commit
        .nodes
        .iter()
        .map(|node| &node.id)
        .filter(|id| found.places.contains_key(*id))
        .cloned()
        .collect();
    if taken.is_empty() {
        return Ok(None);
    }
    let exists = || Ok(Some(Decision::Answer(CommitOutcome::Exists { ids: taken.clone() })));
    let (Target::Extend { branch, .. } | Target::Fork { name: ForkName::Exact(branch), .. }) =
        &commit.target
    else {
        return exists();
    };
    let (Some(tip), Some(last)) = (look.tip(branch), commit.nodes.last().map(|node| &node.id))
    else {
        return exists();
    };
    let Some(end) = found.places.get(last) else { return exists() };
    if taken.len() < commit.nodes.len() || !look.shape.holds(tip, *end)? {
        return exists();
    }
    let mut before = match commit.base() {
        None => None,
        // A base that does not exist has no children.
        Some(base) => match found.places.get(base) {
            None => return exists(),
            place => place.copied(),
        },
    };
    let places: Vec<Place> =
        commit.nodes.iter().filter_map(|node| found.places.get(&node.id)).copied().collect();
    for place in &places {
        if look.shape.before(*place)? != before {
            return exists();
        }
        before = Some(*place);
    }
    let Some(stored) = runs::nodes_at(shared, &commit.chat, &look.version, &places).await? else {
        return Ok(Some(Decision::Again));
    };
    let same = |(node, place): (&Arc<Node>, &Place)| {
        stored.get(place).is_some_and(|stored| stored.same_content(node))
    };
    if !commit.nodes.iter().zip(&places).all(same) {
        return exists();
    }
    let committed = Committed::new(Some(branch.clone()), Some(last.clone()));
    Ok(Some(Decision::Answer(CommitOutcome::Replayed(committed))))
}

/// The branch to move, and its end.
type Aim = Option<(BranchName, Tip)>;

/// Finds the branch to move, or creates one. Returns the actual head as the error if it is not the
/// expected one.
fn aim(
    change: &mut Change,
    shape: &mut Shape,
    commit: &Commit,
    look: &Look,
    found: &Found,
) -> Result<Result<Aim, Option<MessageId>>> {
    match &commit.target {
        Target::Stay => Ok(Ok(None)),
        Target::Extend { branch, expected } => {
            let tip = look.tip_of(OPERATION, branch)?;
            if tip.head != *expected {
                return Ok(Err(tip.head.clone()));
            }
            change.if_at(branch.as_str(), tip);
            Ok(Ok(Some((branch.clone(), tip.clone()))))
        }
        Target::Fork { name, at, activate } => {
            let place = at.as_ref().map(|at| {
                found
                    .places
                    .get(at)
                    .copied()
                    .ok_or_else(|| Error::not_found(OPERATION, "message", at))
            });
            let place = place.transpose()?;
            let Some(chosen) = name.choose(|name| look.tip(name).is_some()) else {
                return Ok(Err(look.tip_of(OPERATION, name.base())?.head.clone()));
            };
            limits::check_id(OPERATION, "branch", chosen.as_str())?;
            let piece = shape.begin(chosen.clone(), place, commit.at)?;
            let tip = Tip { piece: piece.no, own: 0, head: at.clone() };
            change.set(fields::piece(piece.no), piece.write());
            if *activate {
                shape.active = chosen.clone();
            }
            Ok(Ok(Some((chosen, tip))))
        }
    }
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
    found: &Found,
) -> Result<Option<Boundaries>> {
    let mut boundaries = Boundaries::default();
    if changes(commit).next().is_none() {
        return Ok(Some(boundaries));
    }
    let places = changes(commit).filter_map(|node| found.places.get(&node.id)).copied();
    let Some(mut runs) = runs::read_at(shared, &commit.chat, &look.version, places).await? else {
        return Ok(None);
    };
    let replaced = commit.amendments.iter().map(|node| (node, true));
    let mut touched = BTreeMap::new();
    for (by, keep) in replaced.chain(commit.redactions.iter().map(|node| (node, false))) {
        let place = found.places.get(&by.id).copied().ok_or(runs::MISSING)?;
        let (first, old) = runs::find(&runs, place)?;
        if old.id != by.id {
            return Err(Fault::Corrupt("a message is not where it is filed", None));
        }
        let (old, new) = (Arc::clone(old), Arc::new(old.amended(by)));
        let (was, is) = (size(&old), size(&new));
        change.add_bytes(is - was);
        if keep {
            let count = found.revisions.get(&by.id).copied().unwrap_or(0);
            let mut record = commit.at.as_micros().to_le_bytes().to_vec();
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
    change.set("o", look.edition.changed().write());
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
