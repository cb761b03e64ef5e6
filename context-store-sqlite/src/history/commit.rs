//! The commit as a transaction, for every kind of commit and every outcome.
//!
//! [`decide_commit`] decides, after the transaction has looked up the facts and before its first
//! write.

use context_core::base::CommitKey;
use context_core::message::NodeKind;
use context_core::store::{Commit, CommitOutcome, Committed, Durability, Target};
use context_core::{BranchName, MessageId};
use context_store_kit::{
    BranchHead, CommitDecision, CommitFacts, CommitPlan, changes, decide_commit, is_known_by_key,
    named_messages, needs_chat, pack, seen_on,
};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::chat::access::chat_no;
use crate::chat::branches::{branches_of, find_branch, lineage};
use crate::chat::tails;
use crate::checksums::APPLIED;
use crate::connections::Writer;
use crate::connections::branch_ends::BranchEnd;
use crate::connections::tail::Tail;
use crate::error::{Fault, Result};
use crate::fragments::log::WrittenBy;
use crate::history::append::{Append, Merge, RUN, RUN_BYTES};
use crate::history::messages::{MessageLocation, amend, find, placed};
use crate::history::{branches, ref_log, unindexed, words};
use crate::values::numbers::{count, signed};
use crate::values::place::{branch_of, place};
use crate::values::rows::{json_ids, length, message_id};
use crate::{chat, fragments, leases, sql};

const OPERATION: &str = "commit";

pub(crate) async fn commit(
    writer: &mut Writer,
    commit: Commit,
    append: Option<Append>,
) -> Result<CommitOutcome> {
    writer.set_durability(commit.durability).await?;
    if let Some(append) = append
        && let Some(committed) = append.run(writer).await?
    {
        return Ok(CommitOutcome::Applied(committed));
    }
    if commit.redactions.is_empty() {
        return decided(writer, commit).await;
    }
    // Space that the redaction frees is overwritten. If the caller drops the future in between,
    // later writes overwrite freed space as well, which costs a little time.
    sqlx::query(sql::SHRED).execute(&mut writer.connection).await?;
    let outcome = decided(writer, commit).await;
    sqlx::query(sql::SHRED_NO_MORE).execute(&mut writer.connection).await?;
    outcome
}

/// The general path: looks up the facts, lets [`decide_commit`] decide, then writes.
async fn decided(writer: &mut Writer, commit: Commit) -> Result<CommitOutcome> {
    let full_text = writer.full_text;
    let flushed = writer.durability_of(commit.durability) == Durability::PowerLoss;
    let mut transaction = writer.begin().await?;
    let chat = chat_no(&mut transaction, OPERATION, &commit.chat).await?;
    tails::fold(&mut transaction, chat).await?;
    let (facts, end) = look_up(&mut transaction, chat, &commit).await?;
    let plan = match decide_commit(&commit, facts)? {
        CommitDecision::Write(plan) => plan,
        CommitDecision::Answer(outcome @ CommitOutcome::Replayed(_)) if flushed => {
            // Nobody knows how durable the first commit was. Only a transaction that writes flushes
            // the log, with everything that was written to it before.
            sqlx::query(sql::SET_APPLICATION).execute(&mut *transaction).await?;
            transaction.commit().await?;
            return Ok(outcome);
        }
        CommitDecision::Answer(outcome) => {
            transaction.rollback().await?;
            return Ok(outcome);
        }
    };
    let route = write(&mut transaction, &commit, &plan, (chat, end), full_text).await?;
    transaction.commit().await?;
    if signed(commit.nodes.len()) <= RUN {
        writer.unindexed += signed(commit.nodes.len());
    }
    if let (Some(branch), Some(route)) = (&plan.committed.branch, route) {
        writer.branch_ends.learn((commit.chat.clone(), branch.clone()), route);
    }
    Ok(CommitOutcome::Applied(plan.committed))
}

/// Returns the facts that decide a commit, and the end of the branch that it extends.
async fn look_up(
    connection: &mut SqliteConnection,
    chat: i64,
    commit: &Commit,
) -> Result<(CommitFacts<MessageLocation>, Option<BranchEnd>)> {
    let (mut facts, mut end) = (CommitFacts::new(), None);
    if let Some(key) = &commit.key {
        facts.known = known(connection, chat, key).await?;
        if facts.known.is_some() && is_known_by_key(commit) {
            return Ok((facts, end));
        }
    }
    facts.stored = find(connection, chat, named_messages(commit)).await?;
    if let Some((branch, last)) = facts.repeated_on(commit)
        && let Some(last) = facts.stored.get(last)
        && let Some(end) = find_branch(connection, chat, branch).await?
        && holds(connection, &end, branch, last.place).await?
    {
        let ids: Vec<_> = commit.nodes.iter().map(|node| node.id.clone()).collect();
        facts.repeated = placed(connection, chat, &ids).await?.into_iter().flatten().collect();
    }
    match &commit.target {
        Target::Stay => {}
        Target::Extend { branch, .. } | Target::Graft { branch, .. } => {
            end = find_branch(connection, chat, branch).await?;
            if let Some(end) = &end {
                facts.head = BranchHead::At(end.head.clone());
                if let Some((branch, seen)) = seen_on(commit)
                    && let Some(seen) = facts.stored.get(seen)
                    && holds(connection, end, branch, seen.place).await?
                {
                    facts.seen = Some(count(seen.depth)?);
                }
            }
        }
        Target::Fork { name, .. } => {
            for branch in branches_of(connection, chat, name.base()).await? {
                if branch.name == *name.base() {
                    facts.head = BranchHead::At(branch.head);
                }
                facts.names.push(branch.name);
            }
        }
    }
    facts.lease = leases::last(connection, chat).await?;
    if needs_chat(commit) {
        facts.chat = chat::rows::read(connection, &commit.chat).await?.map(|(_, chat)| chat);
    }
    Ok((facts, end))
}

/// Returns the digest and the result that are stored with a key.
async fn known(
    connection: &mut SqliteConnection,
    chat: i64,
    key: &CommitKey,
) -> Result<Option<([u8; 32], Committed)>> {
    let query = sqlx::query(sql::APPLIED).bind(chat).bind(key.as_str());
    let Some(row) = query.fetch_all(connection).await?.pop() else { return Ok(None) };
    APPLIED.check(&row, 0)?;
    let digest = row.try_get::<&[u8], _>(2)?.try_into();
    let digest =
        digest.map_err(|_| Fault::Corrupt("the digest of a commit has a wrong length", None))?;
    let branch = row.try_get::<Option<&str>, _>(3)?.map(BranchName::from);
    Ok(Some((digest, Committed::new(branch, message_id(&row, 4)?))))
}

/// Whether the chain of a branch with this end contains a place.
pub(crate) async fn holds(
    connection: &mut SqliteConnection,
    end: &BranchEnd,
    branch: &BranchName,
    place: i64,
) -> Result<bool> {
    if branch_of(place) == end.branch {
        return Ok(place <= self::place(end.branch, end.own));
    }
    let lineage = lineage(connection, end.chat, branch).await?;
    let own = lineage.iter().find(|(first, _)| branch_of(*first) == branch_of(place));
    Ok(own.is_some_and(|(_, last)| place <= *last))
}

/// Writes a plan and returns the new end of the branch.
async fn write(
    connection: &mut SqliteConnection,
    commit: &Commit,
    plan: &CommitPlan<MessageLocation>,
    (chat, end): (i64, Option<BranchEnd>),
    full_text: bool,
) -> Result<Option<BranchEnd>> {
    if full_text && !plan.changed.is_empty() {
        unindexed::index_all(connection).await?;
    }
    for ((node, replaced), MessageLocation { place, .. }) in changes(commit).zip(&plan.changed) {
        amend(connection, chat, *place, node, replaced).await?;
        if full_text {
            words::reindex(connection, &commit.chat.user, *place, node).await?;
        }
    }
    if !plan.changed.is_empty() {
        sqlx::query(sql::CHANGE_EDITION).bind(chat).execute(&mut *connection).await?;
    }
    let end = match (&plan.committed.branch, end) {
        (Some(name), None) => Some(fork(connection, chat, name, commit, plan).await?),
        (_, end) => end,
    };
    let route = match end {
        Some(end) => Some(add_nodes(connection, end, commit, full_text).await?),
        None => None,
    };
    let message = commit.nodes.first().map(|node| &node.id);
    let by = WrittenBy { at: commit.at, message };
    fragments::add(connection, chat, &commit.fragments, &by).await?;
    ref_log::add(connection, chat, commit.at, &plan.refs).await?;
    if let Some(patched) = &plan.patched {
        chat::rows::write(connection, chat, patched).await?;
    }
    chat::rows::touch(connection, chat, commit.at).await?;
    if let (Some(key), Some(digest)) = (&commit.key, plan.digest) {
        let values = [
            chat.into(),
            key.as_str().into(),
            digest[..].into(),
            plan.committed.branch.as_ref().map(BranchName::as_str).into(),
            plan.committed.head.as_ref().map(MessageId::as_str).into(),
        ];
        let sum = APPLIED.sum(values.clone());
        let remember =
            values.into_iter().fold(sqlx::query(sql::REMEMBER), |query, value| value.bind(query));
        remember.bind(sum).execute(connection).await?;
    }
    Ok(route)
}

/// Creates the branch of a fork and returns its end.
async fn fork(
    connection: &mut SqliteConnection,
    chat: i64,
    name: &BranchName,
    commit: &Commit,
    plan: &CommitPlan<MessageLocation>,
) -> Result<BranchEnd> {
    let (head, parent) = (commit.base(), plan.fork_point.as_ref());
    let base = parent.map_or(0, |parent| parent.depth + 1);
    let parent = parent.map(|parent| parent.place);
    let branch =
        branches::create_branch(connection, chat, name, parent, base, head, commit.at).await?;
    if matches!(commit.target, Target::Fork { activate: true, .. }) {
        let activate = sqlx::query(sql::ACTIVATE).bind(chat).bind(name.as_str());
        activate.execute(&mut *connection).await?;
        chat::rows::seal(connection, chat).await?;
    }
    Ok(BranchEnd { chat, branch, own: 0, head: head.cloned(), tail: Tail::default() })
}

/// Appends the new messages to a branch and returns its new end.
async fn add_nodes(
    connection: &mut SqliteConnection,
    end: BranchEnd,
    commit: &Commit,
    full_text: bool,
) -> Result<BranchEnd> {
    let Some(head) = commit.nodes.last() else { return Ok(end) };
    let (chat, branch) = (end.chat, end.branch);
    let ids = commit.nodes.iter().map(|node| &node.id);
    match json_ids(ids.clone()) {
        Some(json) => {
            let add =
                sqlx::query(sql::ADD_NODES).bind(chat).bind(json).bind(place(branch, end.own + 1));
            add.execute(&mut *connection).await?;
        }
        None => {
            for (id, own) in ids.zip(end.own + 1..) {
                let add = sqlx::query(sql::ADD_NODE)
                    .bind(chat)
                    .bind(id.as_str())
                    .bind(place(branch, own));
                add.execute(&mut *connection).await?;
            }
        }
    }
    let mut own = end.own;
    let mut data = Vec::new();
    let mut packed = 0;
    for (i, node) in commit.nodes.iter().enumerate() {
        if node.kind == NodeKind::Boundary {
            let place = place(branch, own + packed + 1);
            sqlx::query(sql::ADD_BOUNDARY).bind(place).execute(&mut *connection).await?;
        }
        pack::pack(node, &mut data);
        packed += 1;
        let next = commit.nodes.get(i + 1).map_or(0, |next| next.body().bytes().len());
        let full = (own + packed) % RUN == 0 || data.len() + next > RUN_BYTES;
        if full || i + 1 == commit.nodes.len() {
            let add = sqlx::query(sql::ADD_RUN)
                .bind(place(branch, own + 1))
                .bind(std::mem::take(&mut data));
            add.execute(&mut *connection).await?;
            if full_text && signed(commit.nodes.len()) <= RUN {
                unindexed::add(connection, place(branch, own + 1), packed).await?;
            } else if full_text {
                let nodes = &commit.nodes[i + 1 - length(packed)?..=i];
                words::index(connection, &commit.chat.user, place(branch, own + 1), nodes).await?;
            }
            Merge::after(own, own + packed).run(connection, branch, own + 1).await?;
            own += packed;
            packed = 0;
        }
    }
    let route =
        BranchEnd { own: end.own + signed(commit.nodes.len()), head: Some(head.id.clone()), ..end };
    let update = sqlx::query(sql::MOVE_BRANCH)
        .bind(branch)
        .bind(route.own)
        .bind(head.id.as_str())
        .bind(commit.at.as_micros());
    update.execute(connection).await?;
    Ok(route)
}
