//! Computing the commits that a channel lacks compared with another channel.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::IdGenerator;
use context_core::base::limits;
use context_core::store::RoundCommit;
use context_core::trajectory::{
    Change, Changes, FieldValue, NodeId, RoundHead, RoundRecord, TrajectoryNode, Version,
};

/// Returns the commits that bring a channel's copy of a round up to date, or `None` if the copy is
/// not an earlier state of the round.
///
/// Revisions count commits, and both channels must count alike from now on. The result therefore
/// has as many commits as the channel is behind; most of them are empty.
pub(crate) fn commits(
    there: Option<RoundRecord>,
    round: &RoundRecord,
    keys: &dyn IdGenerator,
) -> Option<Vec<RoundCommit>> {
    let there = there.unwrap_or_else(|| nothing_of(round));
    let behind =
        round.head.revision.checked_sub(there.head.revision).filter(|behind| *behind > 0)?;
    let changes = difference(&there, round)?;
    let last = behind.max(parts(&changes));
    // More commits than the round ever had would exceed its revision.
    (last == behind).then(|| split(changes, &there.head, &round.head, last, keys))
}

/// Returns the empty record that stands for a round a channel does not have.
pub(crate) fn nothing_of(round: &RoundRecord) -> RoundRecord {
    let head = RoundHead::new(round.head.round.clone(), round.head.created_at);
    RoundRecord::new(head, Vec::new(), Vec::new())
}

/// Returns the changes that lead from one record to the other, or `None` if the other is not a
/// later state of it.
pub(crate) fn difference(there: &RoundRecord, round: &RoundRecord) -> Option<Vec<Change>> {
    let changes = changes(there, round)?;
    // The changes are verified by applying them to a copy.
    let mut trial = there.clone();
    trial.apply(&changes, &round.head).ok()?;
    (trial == *round).then_some(changes)
}

/// Returns the smallest number of commits that hold these changes.
pub(crate) fn parts(changes: &[Change]) -> u64 {
    changes.len().div_ceil(limits::MAX_COMMIT_ITEMS) as u64
}

/// Splits changes into the given number of commits that lead from one head to the other. Only the
/// revision differs, as it counts the commits.
pub(crate) fn split(
    changes: Vec<Change>,
    from: &RoundHead,
    to: &RoundHead,
    commits: u64,
    keys: &dyn IdGenerator,
) -> Vec<RoundCommit> {
    let mut rest = changes.into_iter();
    let commits = (1..=commits).map(|number| {
        let part: Vec<Change> = rest.by_ref().take(limits::MAX_COMMIT_ITEMS).collect();
        let mut head = to.clone();
        head.revision = from.revision + number;
        if rest.len() > 0 {
            // The endpoints may be nodes of a later part.
            head.endpoints = Vec::new();
        }
        RoundCommit::new(keys.next_id(), part, head)
    });
    commits.collect()
}

fn changes(there: &RoundRecord, round: &RoundRecord) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    let remaining: HashSet<NodeId> = round.nodes.iter().map(|node| node.id).collect();
    let gone = there.nodes.iter().map(|node| node.id).filter(|id| !remaining.contains(id));
    changes.extend(gone.map(|id| Change::NodeRemoved { id }));
    let known: HashMap<NodeId, &Arc<TrajectoryNode>> =
        there.nodes.iter().map(|node| (node.id, node)).collect();
    for node in &round.nodes {
        let (first, versions) = unwound(node);
        let have = match known.get(&node.id) {
            Some(old) if node.versions.starts_with(&old.versions) => old.versions.len(),
            Some(_) => return None,
            None => {
                changes.push(Change::NodeAdded { node: Arc::new(first) });
                0
            }
        };
        let missing = versions.into_iter().skip(have);
        changes.extend(missing.map(|(version, now)| Change::NodeChanged {
            id: node.id,
            version,
            now,
        }));
    }
    let retained = there.edges.iter();
    let retained = retained.filter(|edge| remaining.contains(&edge.from));
    let inside = |id: NodeId| id.round != round.head.round.round || remaining.contains(&id);
    let retained = retained.filter(|edge| inside(edge.to)).count();
    changes.extend(
        round.edges.iter().skip(retained).map(|edge| Change::EdgeAdded { edge: edge.clone() }),
    );
    Some(changes)
}

/// Returns a node as it was when it was added, and its later changes.
fn unwound(node: &TrajectoryNode) -> (TrajectoryNode, Vec<(Version, Changes)>) {
    let mut first = node.clone();
    first.versions.clear();
    let mut done = Vec::with_capacity(node.versions.len());
    for version in node.versions.iter().rev() {
        let fields = version.previous.iter();
        let now: Changes =
            fields.filter_map(|(name, _)| Some((name.to_owned(), first.value(name)?))).collect();
        for (name, was) in version.previous.iter() {
            put_back(&mut first, name, was);
        }
        done.push((version.clone(), now));
    }
    done.reverse();
    (first, done)
}

fn put_back(node: &mut TrajectoryNode, name: &str, was: &FieldValue) {
    match (name, was) {
        ("description", FieldValue::Text(text)) => node.description = text.clone(),
        (context_core::trajectory::Measures::FIELD, FieldValue::Json(json)) => {
            node.measures = json.parse().unwrap_or_default();
        }
        _ => {
            if let Ok(body) = node.body.clone().with(name, was.clone()) {
                node.body = body;
            }
        }
    }
}
