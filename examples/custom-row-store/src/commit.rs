//! A commit: look up the facts, decide, write the plan.

use context_core::store::{Commit, CommitOutcome, Committed, Target};
use context_core::{BranchName, Node};
use context_store_kit::{
    BranchHead, CommitDecision, CommitFacts, CommitPlan, changes, decide_commit, named_messages,
    pack, seen_on,
};
use rusqlite::{OptionalExtension, params};

use crate::chat::{ChatRow, StoredMessage, id, node};
use crate::fault::Fault;
use crate::fragments;

pub(crate) fn commit(row: &mut ChatRow<'_>, commit: &Commit) -> Result<CommitOutcome, Fault> {
    match decide_commit(commit, look_up(row, commit)?)? {
        CommitDecision::Answer(outcome) => Ok(outcome),
        CommitDecision::Write(plan) => {
            write(row, commit, &plan)?;
            Ok(CommitOutcome::Applied(plan.committed))
        }
    }
}

fn look_up(row: &ChatRow<'_>, commit: &Commit) -> Result<CommitFacts<StoredMessage>, Fault> {
    let mut facts = CommitFacts::new();
    if let Some(key) = &commit.key {
        let mut query = row.sql.prepare_cached(
            "SELECT digest, branch, head FROM applied WHERE chat = ? AND key = ?",
        )?;
        let known = query.query_row(params![row.no, key.as_str()], |row| {
            let branch = row.get::<_, Option<String>>(1)?.map(BranchName::from);
            Ok((row.get(0)?, Committed::new(branch, id(row, 2)?)))
        });
        facts.known = known.optional()?;
    }
    for id in named_messages(commit) {
        if let Some(place) = row.place(id)? {
            facts.stored.insert(id.clone(), place);
        }
    }
    let branches = row.branches()?;
    let head = |name: &BranchName| {
        branches.iter().find(|branch| branch.name == *name).map(|branch| &branch.head)
    };
    if let Some((branch, last)) = facts.repeated_on(commit)
        && let Some(Some(head)) = head(branch)
        && row.chain_to(row.known(head)?.no)?.iter().any(|node| node.id == *last)
    {
        for node in &commit.nodes {
            facts.repeated.extend(row.message(&node.id)?);
        }
    }
    if let Some((branch, seen)) = seen_on(commit)
        && let Some(Some(head)) = head(branch)
    {
        let chain = row.chain_to(row.known(head)?.no)?;
        facts.seen = (0..).zip(&chain).find(|(_, node)| node.id == *seen).map(|(depth, _)| depth);
    }
    let named = match &commit.target {
        Target::Stay => None,
        Target::Extend { branch, .. } | Target::Graft { branch, .. } => head(branch),
        Target::Fork { name, .. } => head(name.base()),
    };
    facts.head = named.map_or(BranchHead::Missing, |head| BranchHead::At(head.clone()));
    facts.names = branches.into_iter().map(|branch| branch.name).collect();
    facts.chat = Some(row.chat.clone());
    Ok(facts)
}

fn write(
    row: &mut ChatRow<'_>,
    commit: &Commit,
    plan: &CommitPlan<StoredMessage>,
) -> Result<(), Fault> {
    let (sql, no) = (row.sql, row.no);
    if let Some(chat) = &plan.patched {
        row.chat = chat.clone();
    }
    row.touch(commit.at);
    for ((by, replaced), place) in changes(commit).zip(&plan.changed) {
        let mut query = sql.prepare_cached("SELECT node FROM message WHERE no = ?")?;
        let old = query.query_row([place.no], |row| Ok(node(row)))??;
        sql.prepare_cached("UPDATE message SET node = ? WHERE no = ?")?
            .execute(params![packed(&old.amended(by)), place.no])?;
        match replaced {
            Some(at) => sql
                .prepare_cached("INSERT INTO revision (message, replaced, node) VALUES (?, ?, ?)")?
                .execute(params![place.no, at.as_micros(), packed(&old)])?,
            None => {
                sql.prepare_cached("DELETE FROM revision WHERE message = ?")?.execute([place.no])?
            }
        };
    }
    row.changes += i64::from(!plan.changed.is_empty());
    if let Some(branch) = &plan.committed.branch {
        let mut last = plan.base.as_ref().map(|base| row.known(base)).transpose()?;
        for node in &commit.nodes {
            let depth = last.map_or(0, |last| last.depth + 1);
            sql.prepare_cached(
                "INSERT INTO message (chat, id, parent, depth, node) VALUES (?, ?, ?, ?, ?)",
            )?
            .execute(params![
                no,
                node.id.as_str(),
                last.map(|last| last.no),
                depth,
                packed(node)
            ])?;
            last = Some(StoredMessage { no: sql.last_insert_rowid(), depth });
        }
        sql.prepare_cached(
            "INSERT INTO branch (chat, name, head, created) VALUES (?, ?, ?, ?)
                ON CONFLICT (chat, name) DO UPDATE SET head = excluded.head",
        )?
        .execute(params![
            no,
            branch.as_str(),
            last.map(|last| last.no),
            commit.at.as_micros()
        ])?;
        if matches!(commit.target, Target::Fork { activate: true, .. }) {
            row.chat.active = branch.clone();
        }
    }
    fragments::put(row, &commit.fragments)?;
    if let (Some(key), Some(digest)) = (&commit.key, plan.digest) {
        let Committed { branch, head, .. } = &plan.committed;
        sql.prepare_cached("INSERT INTO applied VALUES (?, ?, ?, ?, ?)")?.execute(params![
            no,
            key.as_str(),
            digest,
            branch.as_ref().map(|branch| branch.as_str()),
            head.as_ref().map(|head| head.as_str()),
        ])?;
    }
    Ok(())
}

fn packed(node: &Node) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack::pack(node, &mut bytes);
    bytes
}
