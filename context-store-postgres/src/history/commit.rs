//! The commit as a transaction, for every kind of commit and every outcome.
//!
//! [`decide_commit`] decides, after the transaction has looked up the facts and before its first
//! write. The chat's row is locked before the first look-up, so that no fact changes until the last
//! write.

use context_core::BranchName;
use context_core::base::CommitKey;
use context_core::store::{Commit, CommitOutcome, Committed, Target};
use context_store_kit::{
    BranchHead, CommitDecision, CommitFacts, CommitPlan, changes, decide_commit, is_known_by_key,
    named_messages, needs_chat, seen_on,
};
use sqlx::Row;

use crate::chat::access::lock_chat;
use crate::chat::{branches, rows as chat_rows};
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::fragments::log::WrittenBy;
use crate::history::append::{BranchEnd, add_nodes};
use crate::history::branches::create_branch;
use crate::history::messages::{MessageLocation, amend, find, placed};
use crate::history::{ref_log, words};
use crate::values::numbers::count;
use crate::values::place::branch_of;
use crate::values::rows::{message_id, optional_text};
use crate::{fragments, leases, sql};

const OPERATION: &str = "commit";

/// Looks up the facts, lets [`decide_commit`] decide, then writes.
pub(crate) async fn commit(
    session: &mut Session<'_>,
    full_text: bool,
    commit: &Commit,
) -> Result<CommitOutcome> {
    let chat = lock_chat(session, OPERATION, &commit.chat).await?;
    let (facts, end) = look_up(session, chat, commit).await?;
    match decide_commit(commit, facts)? {
        // The lock on the chat's row is in the log, behind the commit that is replayed. So the end
        // of this transaction flushes that commit too, if this one asks for it.
        CommitDecision::Answer(outcome) => Ok(outcome),
        CommitDecision::Write(plan) => {
            write(session, commit, &plan, (chat, end), full_text).await?;
            Ok(CommitOutcome::Applied(plan.committed))
        }
    }
}

/// Returns the facts that decide a commit, and the end of the branch that it extends.
async fn look_up(
    session: &mut Session<'_>,
    chat: i64,
    commit: &Commit,
) -> Result<(CommitFacts<MessageLocation>, Option<BranchEnd>)> {
    let (mut facts, mut end) = (CommitFacts::new(), None);
    if let Some(key) = &commit.key {
        facts.known = known(session, chat, key).await?;
        if facts.known.is_some() && is_known_by_key(commit) {
            return Ok((facts, end));
        }
    }
    facts.stored = find(session, chat, named_messages(commit)).await?;
    if let Some((branch, last)) = facts.repeated_on(commit)
        && let Some(last) = facts.stored.get(last)
        && contains(session, chat, branch, last.place).await?
    {
        let ids: Vec<_> = commit.nodes.iter().map(|node| node.id.clone()).collect();
        facts.repeated = placed(session, chat, &ids).await?.into_iter().flatten().collect();
    }
    match &commit.target {
        Target::Stay => {}
        Target::Extend { branch, .. } | Target::Graft { branch, .. } => {
            if let Some((no, own, head)) = branches::find_branch(session, chat, branch).await? {
                facts.head = BranchHead::At(head);
                end = Some(BranchEnd { chat, branch: no, own });
            }
            if let Some((branch, seen)) = seen_on(commit)
                && let Some(seen) = facts.stored.get(seen)
                && contains(session, chat, branch, seen.place).await?
            {
                facts.seen = Some(count(seen.depth)?);
            }
        }
        Target::Fork { name, .. } => {
            for branch in branches::branches_of(session, chat, name.base()).await? {
                if branch.name == *name.base() {
                    facts.head = BranchHead::At(branch.head);
                }
                facts.names.push(branch.name);
            }
        }
    }
    facts.lease = leases::last(session, (chat, &commit.chat)).await?;
    if needs_chat(commit) {
        facts.chat = chat_rows::read(session, &commit.chat).await?.map(|(_, chat)| chat);
    }
    Ok((facts, end))
}

/// Returns the digest and the result that are stored with a key.
async fn known(
    session: &mut Session<'_>,
    chat: i64,
    key: &CommitKey,
) -> Result<Option<([u8; 32], Committed)>> {
    const DAMAGED: &str = "the checksum of the key of a commit does not match";
    let query = session.query(sql::APPLIED).bind(chat).bind(key.as_str().as_bytes());
    let Some(row) = session.first(query).await? else { return Ok(None) };
    if !row.try_get::<bool, _>(3)? {
        return Err(Fault::Corrupt(DAMAGED, None));
    }
    let digest = row.try_get::<&[u8], _>(0)?.try_into();
    let digest = digest.map_err(|_| Fault::Corrupt(DAMAGED, None))?;
    let branch = optional_text(&row, 1)?.map(BranchName::from);
    Ok(Some((digest, Committed::new(branch, message_id(&row, 2)?))))
}

/// Whether the chain of a branch contains a place.
async fn contains(
    session: &mut Session<'_>,
    chat: i64,
    branch: &BranchName,
    place: i64,
) -> Result<bool> {
    let query = session.query(sql::LINEAGE).bind(chat).bind(branch.as_str().as_bytes());
    for segment in &session.all(query).await? {
        let (lo, cut): (i64, i64) = (segment.try_get(0)?, segment.try_get(1)?);
        if branch_of(place) == branch_of(lo) {
            return Ok(place <= cut);
        }
    }
    Ok(false)
}

/// Writes a plan.
async fn write(
    session: &mut Session<'_>,
    commit: &Commit,
    plan: &CommitPlan<MessageLocation>,
    (chat, end): (i64, Option<BranchEnd>),
    full_text: bool,
) -> Result<()> {
    for ((node, replaced), MessageLocation { place, .. }) in changes(commit).zip(&plan.changed) {
        amend(session, chat, *place, node, replaced).await?;
        if full_text {
            words::reindex(session, &commit.chat.user, *place, node).await?;
        }
    }
    if !plan.changed.is_empty() {
        let change = session.query(sql::CHANGE_GENERATION).bind(chat);
        session.execute(change).await?;
    }
    let end = match (&plan.committed.branch, end) {
        (Some(name), None) => Some(fork(session, chat, name, commit, plan).await?),
        (_, end) => end,
    };
    if let Some(end) = end {
        add_nodes(session, end, commit, full_text).await?;
    }
    let message = commit.nodes.first().map(|node| &node.id);
    fragments::put(session, chat, &commit.fragments, &WrittenBy { at: commit.at, message }).await?;
    ref_log::add(session, chat, commit.at, &plan.refs).await?;
    if let Some(patched) = &plan.patched {
        chat_rows::write(session, chat, patched).await?;
    }
    chat_rows::touch(session, chat, commit.at).await?;
    if let (Some(key), Some(digest)) = (&commit.key, plan.digest) {
        let committed = &plan.committed;
        let remember = session
            .query(sql::REMEMBER)
            .bind(chat)
            .bind(key.as_str().as_bytes())
            .bind(&digest[..])
            .bind(committed.branch.as_ref().map(|branch| branch.as_str().as_bytes()))
            .bind(committed.head.as_ref().map(|head| head.as_str().as_bytes()));
        session.execute(remember).await?;
    }
    Ok(())
}

/// Creates the branch of a fork and returns its end.
async fn fork(
    session: &mut Session<'_>,
    chat: i64,
    name: &BranchName,
    commit: &Commit,
    plan: &CommitPlan<MessageLocation>,
) -> Result<BranchEnd> {
    let (head, parent) = (commit.base(), plan.fork_point.as_ref());
    let base = parent.map_or(0, |parent| parent.depth + 1);
    let parent = parent.map(|parent| parent.place);
    let branch = create_branch(session, chat, name, parent, base, head, commit.at).await?;
    if matches!(commit.target, Target::Fork { activate: true, .. }) {
        chat_rows::activate(session, (chat, &commit.chat), name).await?;
    }
    Ok(BranchEnd { chat, branch, own: 0 })
}
