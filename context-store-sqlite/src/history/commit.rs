//! The commit as a transaction, for every kind of commit and every outcome.
//!
//! The decisions are made in the order that
//! [`HistoryStore::commit`](context_core::store::HistoryStore::commit) states, all of them before
//! the first write.

use std::sync::Arc;

use context_core::base::limits;
use context_core::message::NodeKind;
use context_core::store::{Commit, CommitOutcome, Committed, ForkName, Target};
use context_core::{BranchName, Error, MessageId, Node};
use context_store_kit::pack;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::connections::Writer;
use crate::error::{Fault, Result};
use crate::history::append::{Append, Merge, RUN, RUN_BYTES};
use crate::history::chat_rows;
use crate::history::messages::{Spot, amend, find, nodes_at};
use crate::history::routes::Route;
use crate::place::{branch_of, place, signed};
use crate::rows::{json_ids, length, message_id};
use crate::scope::chat_no;
use crate::sums::APPLIED;
use crate::{fragments, history::branches, search::words, sql};

const OPERATION: &str = "commit";

pub(crate) async fn commit(
    writer: &mut Writer,
    commit: Commit,
    append: Option<Append>,
) -> Result<CommitOutcome> {
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

/// The general path: makes every decision, then writes.
async fn decided(writer: &mut Writer, commit: Commit) -> Result<CommitOutcome> {
    let full_text = writer.full_text;
    let mut transaction = writer.begin().await?;
    let (outcome, route) = match decide(&mut transaction, &commit).await? {
        Decision::Answer(outcome) => {
            transaction.rollback().await?;
            return Ok(outcome);
        }
        Decision::Write(plan) => write(&mut transaction, &commit, plan, full_text).await?,
    };
    transaction.commit().await?;
    if let (Some(branch), Some(route)) = (&outcome.branch, route) {
        writer.routes.learn(&commit.chat, branch, route);
    }
    Ok(CommitOutcome::Applied(outcome))
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

async fn decide(connection: &mut SqliteConnection, commit: &Commit) -> Result<Decision> {
    let chat = chat_no(connection, OPERATION, &commit.chat).await?;
    let digest = commit.key.is_some().then(|| commit.digest());
    if let (Some(key), Some(digest)) = (&commit.key, digest) {
        let known = sqlx::query(sql::APPLIED).bind(chat).bind(key.as_str());
        if let Some(row) = known.fetch_all(&mut *connection).await?.pop() {
            APPLIED.check(&row, 0)?;
            if row.try_get::<&[u8], _>(2)? != digest {
                let error = Error::invalid(OPERATION, "the key was used for another commit")
                    .with("key", key);
                return Err(error.into());
            }
            let branch = row.try_get::<Option<&str>, _>(3)?.map(BranchName::from);
            let committed = Committed::new(branch, message_id(&row, 4)?);
            return Ok(Decision::Answer(CommitOutcome::Replayed(committed)));
        }
    }
    if let Some(outcome) = written_before(connection, chat, commit).await? {
        return Ok(Decision::Answer(outcome));
    }
    let aim = match aim(connection, chat, &commit.target).await? {
        Ok(aim) => aim,
        Err(actual) => return Ok(Decision::Answer(CommitOutcome::Conflict { actual })),
    };
    let changed = if commit.amendments.is_empty() && commit.redactions.is_empty() {
        Vec::new()
    } else {
        let nodes = || commit.amendments.iter().chain(&commit.redactions);
        let spots = find(connection, chat, nodes().map(|node| &node.id)).await?;
        let place = |node: &Arc<Node>| match spots.get(&node.id) {
            Some(spot) => Ok(spot.place),
            None => Err(Error::not_found(OPERATION, "message", &node.id)),
        };
        nodes().map(place).collect::<Result<_, _>>()?
    };
    let patched = match &commit.patch {
        None => None,
        Some(patch) => {
            let found = chat_rows::read(connection, &commit.chat).await?;
            let (_, mut found) = found.ok_or(Fault::Corrupt("a chat without a branch", None))?;
            patch.apply(&mut found)?;
            Some(found)
        }
    };
    Ok(Decision::Write(Plan { chat, digest, aim, patched, changed }))
}

/// Determines the outcome if some of the new messages are stored already.
async fn written_before(
    connection: &mut SqliteConnection,
    chat: i64,
    commit: &Commit,
) -> Result<Option<CommitOutcome>> {
    if commit.nodes.is_empty() {
        return Ok(None);
    }
    let ids = || commit.nodes.iter().map(|node| &node.id);
    let spots = find(connection, chat, ids()).await?;
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
    if taken.len() < commit.nodes.len() || !holds(connection, chat, branch, last.place).await? {
        return exists();
    }
    let base = match commit.base() {
        None => None,
        // A base that does not exist has no children.
        Some(base) => match find(connection, chat, std::iter::once(base)).await?.remove(base) {
            None => return exists(),
            found => found,
        },
    };
    let places: Vec<i64> = spots.values().map(|spot| spot.place).collect();
    let stored = nodes_at(connection, &places).await?;
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
    connection: &mut SqliteConnection,
    chat: i64,
    branch: &BranchName,
    place: i64,
) -> Result<bool> {
    let pieces =
        sqlx::query(sql::LINEAGE).bind(chat).bind(branch.as_str()).fetch_all(connection).await?;
    for piece in &pieces {
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
    connection: &mut SqliteConnection,
    chat: i64,
    target: &Target,
) -> Result<Result<Aim, Option<MessageId>>> {
    match target {
        Target::Stay => Ok(Ok(Aim::None)),
        Target::Extend { branch, expected } => {
            let found = branches::branch(connection, chat, branch).await?;
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
                    let spot = find(connection, chat, std::iter::once(at)).await?.remove(at);
                    Some(spot.ok_or_else(|| Error::not_found(OPERATION, "message", at))?)
                }
            };
            let all = branches::branches_of(connection, chat, name.base()).await?;
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
    connection: &mut SqliteConnection,
    commit: &Commit,
    plan: Plan,
    full_text: bool,
) -> Result<(Committed, Option<Route>)> {
    let chat = plan.chat;
    let changes = commit.amendments.iter().map(|node| (node, Some(commit.at)));
    let changes = changes.chain(commit.redactions.iter().map(|node| (node, None)));
    for ((node, replaced), &place) in changes.zip(&plan.changed) {
        amend(connection, chat, place, node, replaced).await?;
        if full_text {
            words::reindex(connection, &commit.chat.user, place, node).await?;
        }
    }
    if !plan.changed.is_empty() {
        sqlx::query(sql::CHANGE_EDITION).bind(chat).execute(&mut *connection).await?;
    }
    let (committed, route) = match plan.aim {
        Aim::None => (Committed::new(None, None), None),
        Aim::At { name, branch, own } => {
            let route = Route { chat, branch, own, head: commit.base().cloned() };
            let route = add_nodes(connection, route, commit, full_text).await?;
            (Committed::new(Some(name), route.head.clone()), Some(route))
        }
        Aim::New { name, parent } => {
            let at = commit.base();
            let base = parent.as_ref().map_or(0, |parent| parent.depth + 1);
            let parent = parent.map(|parent| parent.place);
            let branch =
                branches::create_branch(connection, chat, &name, parent, base, at, commit.at)
                    .await?;
            let route = Route { chat, branch, own: 0, head: at.cloned() };
            let route = add_nodes(connection, route, commit, full_text).await?;
            if matches!(commit.target, Target::Fork { activate: true, .. }) {
                sqlx::query(sql::ACTIVATE)
                    .bind(chat)
                    .bind(name.as_str())
                    .execute(&mut *connection)
                    .await?;
                chat_rows::seal(connection, chat).await?;
            }
            (Committed::new(Some(name), route.head.clone()), Some(route))
        }
    };
    fragments::put(connection, chat, &commit.fragments).await?;
    if let Some(patched) = &plan.patched {
        chat_rows::write(connection, chat, patched).await?;
    }
    chat_rows::touch(connection, chat, commit.at).await?;
    if let (Some(key), Some(digest)) = (&commit.key, plan.digest) {
        let values = [
            chat.into(),
            key.as_str().into(),
            digest[..].into(),
            committed.branch.as_ref().map(BranchName::as_str).into(),
            committed.head.as_ref().map(MessageId::as_str).into(),
        ];
        let sum = APPLIED.sum(values.clone());
        let remember =
            values.into_iter().fold(sqlx::query(sql::REMEMBER), |query, value| value.bind(query));
        remember.bind(sum).execute(connection).await?;
    }
    Ok((committed, route))
}

/// Appends the new messages to a branch and returns its new end.
async fn add_nodes(
    connection: &mut SqliteConnection,
    end: Route,
    commit: &Commit,
    full_text: bool,
) -> Result<Route> {
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
            if full_text {
                let nodes = &commit.nodes[i + 1 - length(packed)?..=i];
                words::index(connection, &commit.chat.user, place(branch, own + 1), nodes).await?;
            }
            Merge::after(own, own + packed).run(connection, branch, own + 1).await?;
            own += packed;
            packed = 0;
        }
    }
    let route =
        Route { own: end.own + signed(commit.nodes.len()), head: Some(head.id.clone()), ..end };
    let update = sqlx::query(sql::MOVE_BRANCH)
        .bind(branch)
        .bind(route.own)
        .bind(head.id.as_str())
        .bind(commit.at.as_micros());
    update.execute(connection).await?;
    Ok(route)
}
