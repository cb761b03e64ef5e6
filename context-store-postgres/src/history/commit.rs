//! The commit as a transaction, for every kind of commit and every outcome.
//!
//! The decisions are made in the order that
//! [`HistoryStore::commit`](context_core::store::HistoryStore::commit) states, all of them before
//! the first write. The chat's row is locked before the first decision, so that their input does
//! not change until the last write.

use std::sync::Arc;

use context_core::base::limits;
use context_core::store::{Commit, CommitOutcome, Committed, ForkName, Target};
use context_core::{BranchName, Error, MessageId, Node};
use sqlx::Row;

use crate::error::{Fault, Result};
use crate::history::append::{End, add_nodes};
use crate::history::messages::{Spot, amend, find, nodes_at};
use crate::place::branch_of;
use crate::pool::Session;
use crate::rows::{message_id, optional_text};
use crate::scope::lock_chat;
use crate::{
    fragments,
    history::{branches, chat_rows},
    search::words,
    sql,
};

const OPERATION: &str = "commit";

/// Makes every decision, then writes.
pub(crate) async fn commit(
    session: &mut Session<'_>,
    full_text: bool,
    commit: &Commit,
) -> Result<CommitOutcome> {
    match decide(session, commit).await? {
        Decision::Answer(outcome) => Ok(outcome),
        Decision::Write(plan) => {
            Ok(CommitOutcome::Applied(write(session, commit, plan, full_text).await?))
        }
    }
}

enum Decision {
    /// The answer is known and nothing is written.
    Answer(CommitOutcome),
    Write(Plan),
}

/// The results of the decisions that the writes need.
struct Plan {
    chat: i64,
    digest: Option<[u8; 32]>,
    aim: Aim,
    /// The chat with the patch.
    patched: Option<context_core::store::Chat>,
    /// The places of the amended and then the redacted messages, in the order of the commit.
    changed: Vec<i64>,
}

/// The branch that the commit moves.
enum Aim {
    None,
    At { name: BranchName, branch: i64, own: i64 },
    New { name: BranchName, parent: Option<Spot> },
}

async fn decide(session: &mut Session<'_>, commit: &Commit) -> Result<Decision> {
    let chat = lock_chat(session, OPERATION, &commit.chat).await?;
    let digest = commit.key.is_some().then(|| commit.digest());
    if let (Some(key), Some(digest)) = (&commit.key, digest) {
        let known = session.query(sql::APPLIED).bind(chat).bind(key.as_str().as_bytes());
        if let Some(row) = session.first(known).await? {
            if !row.try_get::<bool, _>(3)? {
                return Err(Fault::Corrupt("the key of a commit is not what was written", None));
            }
            if row.try_get::<&[u8], _>(0)? != digest {
                let error = Error::invalid(OPERATION, "the key was used for another commit")
                    .with("key", key);
                return Err(error.into());
            }
            let branch = optional_text(&row, 1)?.map(BranchName::from);
            let committed = Committed::new(branch, message_id(&row, 2)?);
            return Ok(Decision::Answer(CommitOutcome::Replayed(committed)));
        }
    }
    if let Some(outcome) = written_before(session, chat, commit).await? {
        return Ok(Decision::Answer(outcome));
    }
    let aim = match aim(session, chat, &commit.target).await? {
        Ok(aim) => aim,
        Err(actual) => return Ok(Decision::Answer(CommitOutcome::Conflict { actual })),
    };
    let changed = if commit.amendments.is_empty() && commit.redactions.is_empty() {
        Vec::new()
    } else {
        let nodes = || commit.amendments.iter().chain(&commit.redactions);
        let spots = find(session, chat, nodes().map(|node| &node.id)).await?;
        let place = |node: &Arc<Node>| match spots.get(&node.id) {
            Some(spot) => Ok(spot.place),
            None => Err(Error::not_found(OPERATION, "message", &node.id)),
        };
        nodes().map(place).collect::<Result<_, _>>()?
    };
    let patched = match &commit.patch {
        None => None,
        Some(patch) => {
            let found = chat_rows::read(session, &commit.chat).await?;
            let (_, mut found) =
                found.ok_or(Fault::Corrupt("a chat that is locked is gone", None))?;
            patch.apply(&mut found)?;
            Some(found)
        }
    };
    Ok(Decision::Write(Plan { chat, digest, aim, patched, changed }))
}

/// Determines the outcome if some of the new messages are stored already.
async fn written_before(
    session: &mut Session<'_>,
    chat: i64,
    commit: &Commit,
) -> Result<Option<CommitOutcome>> {
    if commit.nodes.is_empty() {
        return Ok(None);
    }
    let ids = || commit.nodes.iter().map(|node| &node.id);
    let spots = find(session, chat, ids()).await?;
    if spots.is_empty() {
        return Ok(None);
    }
    let taken: Vec<MessageId> = ids().filter(|id| spots.contains_key(*id)).cloned().collect();
    let exists = || Ok(Some(CommitOutcome::Exists { ids: taken.clone() }));
    let (Target::Extend { branch, .. } | Target::Fork { name: ForkName::Exact(branch), .. }) =
        &commit.target
    else {
        return exists();
    };
    let Some(last) = commit.nodes.last().and_then(|node| spots.get(&node.id)) else {
        return exists();
    };
    if taken.len() < commit.nodes.len() || !holds(session, chat, branch, last.place).await? {
        return exists();
    }
    let base = match commit.base() {
        None => None,
        // A base that does not exist has no children.
        Some(base) => match find(session, chat, std::iter::once(base)).await?.remove(base) {
            None => return exists(),
            found => found,
        },
    };
    let places: Vec<i64> = spots.values().map(|spot| spot.place).collect();
    let stored = nodes_at(session, &places).await?;
    let mut before = base.map(|base| base.place);
    for node in &commit.nodes {
        let spot = &spots[&node.id];
        if spot.parent != before
            || !stored.get(&spot.place).is_some_and(|stored| stored.same_content(node))
        {
            return exists();
        }
        before = Some(spot.place);
    }
    let head = commit.nodes.last().map(|node| node.id.clone());
    Ok(Some(CommitOutcome::Replayed(Committed::new(Some(branch.clone()), head))))
}

/// Whether the chain of a branch contains a place.
async fn holds(
    session: &mut Session<'_>,
    chat: i64,
    branch: &BranchName,
    place: i64,
) -> Result<bool> {
    let query = session.query(sql::LINEAGE).bind(chat).bind(branch.as_str().as_bytes());
    for piece in &session.all(query).await? {
        let (lo, cut): (i64, i64) = (piece.try_get(0)?, piece.try_get(1)?);
        if branch_of(place) == branch_of(lo) {
            return Ok(place <= cut);
        }
    }
    Ok(false)
}

/// Finds the branch to move, or names the branch to create. Returns the actual head as the error if
/// it is not the expected one.
async fn aim(
    session: &mut Session<'_>,
    chat: i64,
    target: &Target,
) -> Result<Result<Aim, Option<MessageId>>> {
    match target {
        Target::Stay => Ok(Ok(Aim::None)),
        Target::Extend { branch, expected } => {
            let found = branches::branch(session, chat, branch).await?;
            let (no, own, head) =
                found.ok_or_else(|| Error::not_found(OPERATION, "branch", branch))?;
            if head != *expected {
                return Ok(Err(head));
            }
            Ok(Ok(Aim::At { name: branch.clone(), branch: no, own }))
        }
        Target::Fork { name, at, .. } => {
            let parent = match at {
                None => None,
                Some(at) => {
                    let spot = find(session, chat, std::iter::once(at)).await?.remove(at);
                    Some(spot.ok_or_else(|| Error::not_found(OPERATION, "message", at))?)
                }
            };
            let all = branches::branches_of(session, chat, name.base()).await?;
            let taken = |name: &BranchName| all.iter().any(|branch| branch.name == *name);
            let Some(chosen) = name.choose(taken) else {
                let found = all.into_iter().find(|branch| branch.name == *name.base());
                return Ok(Err(found.and_then(|branch| branch.head)));
            };
            limits::check_id(OPERATION, "branch", chosen.as_str())?;
            Ok(Ok(Aim::New { name: chosen, parent }))
        }
    }
}

async fn write(
    session: &mut Session<'_>,
    commit: &Commit,
    plan: Plan,
    full_text: bool,
) -> Result<Committed> {
    let chat = plan.chat;
    let changes = commit.amendments.iter().map(|node| (node, Some(commit.at)));
    let changes = changes.chain(commit.redactions.iter().map(|node| (node, None)));
    for ((node, replaced), &place) in changes.zip(&plan.changed) {
        amend(session, chat, place, node, replaced).await?;
        if full_text {
            words::reindex(session, &commit.chat.user, place, node).await?;
        }
    }
    if !plan.changed.is_empty() {
        let change = session.query(sql::CHANGE_EDITION).bind(chat);
        session.execute(change).await?;
    }
    let committed = match plan.aim {
        Aim::None => Committed::new(None, None),
        Aim::At { name, branch, own } => {
            let end = End { chat, branch, own, head: commit.base().cloned() };
            Committed::new(Some(name), add_nodes(session, end, commit, full_text).await?)
        }
        Aim::New { name, parent } => {
            let at = commit.base();
            let base = parent.as_ref().map_or(0, |parent| parent.depth + 1);
            let parent = parent.map(|parent| parent.place);
            let branch =
                branches::create_branch(session, chat, &name, parent, base, at, commit.at).await?;
            let end = End { chat, branch, own: 0, head: at.cloned() };
            let head = add_nodes(session, end, commit, full_text).await?;
            if matches!(commit.target, Target::Fork { activate: true, .. }) {
                chat_rows::activate(session, (chat, &commit.chat), &name).await?;
            }
            Committed::new(Some(name), head)
        }
    };
    fragments::put(session, chat, &commit.fragments).await?;
    if let Some(patched) = &plan.patched {
        chat_rows::write(session, chat, patched).await?;
    }
    chat_rows::touch(session, chat, commit.at).await?;
    if let (Some(key), Some(digest)) = (&commit.key, plan.digest) {
        let remember = session
            .query(sql::REMEMBER)
            .bind(chat)
            .bind(key.as_str().as_bytes())
            .bind(&digest[..])
            .bind(committed.branch.as_ref().map(|branch| branch.as_str().as_bytes()))
            .bind(committed.head.as_ref().map(|head| head.as_str().as_bytes()));
        session.execute(remember).await?;
    }
    Ok(committed)
}
