//! The check of a whole file: SQLite's own checks, the layout, and the graph of every chat.

pub(crate) mod blobs;
pub(crate) mod memories;
pub(crate) mod rounds;
pub(crate) mod streams;
pub(crate) mod sums;

use std::collections::HashMap;
use std::sync::Arc;

use context_core::message::{NodeKind, Placed};
use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::{CancelSignal, ChatId, ChatRef, ErrorKind, MessageId, Node, UserId};
use context_store_kit::{check_chat_graph, pack};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::error::{Fault, Result};
use crate::history::messages::{Piece, pieces, runs_from};
use crate::place::{branch_of, count, own_of, place, signed};
use crate::rows::{blob, message_id, nth};
use crate::search::words::Tag;
use crate::{
    check,
    history::{branches, chat_rows, checkpoints},
    search::words,
    sql,
};

pub(crate) async fn check(
    connection: &mut SqliteConnection,
    full_text: bool,
    cancel: &CancelSignal,
) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let whole = file(connection, full_text, &mut report).await;
    found(&mut report, "file", whole)?;
    check::sums::check(connection, full_text, cancel, &mut report).await?;
    let blobs = check::blobs::check(connection, cancel, &mut report).await;
    found(&mut report, "blobs", blobs)?;
    let streams = check::streams::check(connection, cancel, &mut report).await;
    found(&mut report, "streams", streams)?;
    let rounds = check::rounds::check(connection, cancel, &mut report).await;
    found(&mut report, "rounds", rounds)?;
    let memories = check::memories::check(connection, cancel, &mut report).await;
    found(&mut report, "memories", memories)?;
    let chats = check_chats(connection, full_text, cancel, &mut report).await;
    found(&mut report, "chats", chats)?;
    Ok(report)
}

/// Reports the failure of one part of the check as a finding if it was caused by damage, so that
/// the other parts still run.
pub(crate) fn found(report: &mut CheckReport, about: &str, checked: Result<()>) -> Result<()> {
    let Err(fault) = checked else { return Ok(()) };
    let error = fault.during("check");
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::Bug | ErrorKind::NotFound => {
            report.findings.push(Finding::new(None, about, error.message().to_owned()));
            Ok(())
        }
        _ => Err(error.into()),
    }
}

async fn check_chats(
    connection: &mut SqliteConnection,
    full_text: bool,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    let mut after = 0;
    let mut order = KeyOrder::new("check", "chat");
    loop {
        cancel.check("check")?;
        // Each chat is read in a transaction of its own, because others may write during the check.
        let mut transaction = connection.begin().await?;
        let next =
            sqlx::query(sql::CHAT_AFTER).bind(after).fetch_all(&mut *transaction).await?.pop();
        let Some(row) = next else { return Ok(()) };
        after = row.try_get(0)?;
        order.next(after)?;
        let user = UserId::from(row.try_get::<&str, _>(1)?);
        let chat = ChatRef::new(user, ChatId::from(row.try_get::<&str, _>(2)?));
        match check_chat(&mut transaction, after, &chat, full_text, report).await {
            Ok(()) => {}
            Err(Fault::Corrupt(problem, _)) => {
                report.findings.push(Finding::new(Some(&chat), "layout", problem));
            }
            Err(fault) => found(report, "chat", Err(fault))?,
        }
        transaction.commit().await?;
        report.chats += 1;
    }
}

/// Runs SQLite's own checks and reports rows that no chat reaches.
async fn file(
    connection: &mut SqliteConnection,
    full_text: bool,
    report: &mut CheckReport,
) -> Result<()> {
    let mut transaction = connection.begin().await?;
    // SQLite's index check trusts the state that this connection has cached, which other processes
    // may have changed since. A query refreshes it.
    for look in
        [sql::memories::LOOK_AT_INDEX].into_iter().chain(full_text.then_some(sql::LOOK_AT_WORDS))
    {
        sqlx::query(look).fetch_all(&mut *transaction).await?;
    }
    for row in sqlx::query(sql::INTEGRITY).fetch_all(&mut *transaction).await? {
        let problem: String = row.try_get(0)?;
        if problem != "ok" {
            report.findings.push(Finding::new(None, "file", problem));
        }
    }
    transaction.commit().await?;
    if full_text {
        found(report, "full-text index", search_all(connection).await)?;
    }
    for row in sqlx::query(sql::FOREIGN_KEYS).fetch_all(&mut *connection).await? {
        let table: String = row.try_get(0)?;
        report.findings.push(Finding::new(
            None,
            format!("table {table}"),
            "a row refers to nothing",
        ));
    }
    let strays =
        [("run", sql::STRAY_RUNS), ("boundary", sql::STRAY_BOUNDARIES), ("node", sql::STRAY_NODES)];
    let words = full_text.then_some(("words", sql::STRAY_WORDS));
    for (table, statement) in strays.into_iter().chain(words) {
        for row in sqlx::query(statement).fetch_all(&mut *connection).await? {
            let place: i64 = row.try_get(0)?;
            let about = format!("table {table}, place {}/{}", branch_of(place), own_of(place));
            report.findings.push(Finding::new(None, about, "belongs to no chat"));
        }
    }
    for statement in [sql::MISCOUNTED, sql::memories::MISCOUNTED] {
        for row in sqlx::query(statement).fetch_all(&mut *connection).await? {
            let (table, rows): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
            if rows > 0 {
                let problem = format!(
                    "{rows} rows differ from their checksum, or count otherwise than there is"
                );
                report.findings.push(Finding::new(None, format!("table {table}"), problem));
            }
        }
    }
    Ok(())
}

async fn check_chat(
    connection: &mut SqliteConnection,
    no: i64,
    chat: &ChatRef,
    full_text: bool,
    report: &mut CheckReport,
) -> Result<()> {
    let mut add = |about: String, problem: String| {
        report.findings.push(Finding::new(Some(chat), about, problem));
    };
    let pieces = pieces(connection, no).await?;
    let mut nodes = Vec::new();
    let mut places: HashMap<MessageId, i64> = HashMap::new();
    let mut at: HashMap<i64, MessageId> = HashMap::new();
    let tag = full_text.then(|| Tag::of(&chat.user));
    for piece in &pieces {
        let about = format!("branch {}", piece.no);
        let parent = piece.parent.map(|parent| at.get(&parent).cloned());
        if parent == Some(None) {
            add(about.clone(), "forks behind no message".to_owned());
        }
        let own = nodes_of(connection, piece).await?;
        if signed(own.len()) != piece.own {
            add(about.clone(), format!("has {} messages, says {}", own.len(), piece.own));
        }
        if let Some(tag) = &tag
            && let Some(problem) = words_of(connection, piece, &own, tag).await?
        {
            add(about.clone(), problem);
        }
        let mut boundaries = Vec::new();
        let mut parent = parent.flatten();
        for (node, own) in own.into_iter().zip(1..) {
            let place = place(piece.no, own);
            if node.kind == NodeKind::Boundary {
                boundaries.push(place);
            }
            places.insert(node.id.clone(), place);
            at.insert(place, node.id.clone());
            nodes.push(Placed::new(Arc::clone(&node), parent, count(piece.base + own - 1)?));
            parent = Some(node.id.clone());
        }
        let query = sqlx::query(sql::BOUNDARIES).bind(place(piece.no, 1)).bind(piece.end());
        let rows = query.fetch_all(&mut *connection).await?;
        let filed = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
        if filed != boundaries {
            add(about, "the index of boundaries disagrees with the messages".to_owned());
        }
    }
    let mut filed = 0;
    for row in sqlx::query(sql::NODES).bind(no).fetch_all(&mut *connection).await? {
        let id = message_id(&row, 0)?.ok_or(Fault::Corrupt("a message without an id", None))?;
        filed += 1;
        if places.get(&id) != Some(&row.try_get(1)?) {
            add(format!("message {id}"), "is not where it is filed".to_owned());
        }
    }
    if filed != places.len() {
        add("messages".to_owned(), format!("{} are stored, {filed} are filed", places.len()));
    }
    let found = chat_rows::read(connection, chat).await?;
    let (_, found) = found.ok_or(Fault::Corrupt("the chat cannot be read", None))?;
    let bases: HashMap<i64, i64> = pieces.iter().map(|piece| (piece.no, piece.base)).collect();
    for piece in &pieces {
        let about = match &piece.name {
            Some(name) => format!("branch {name}"),
            None => format!("branch {}", piece.no),
        };
        let end = if piece.own > 0 { Some(piece.end()) } else { piece.parent };
        let own_head = end.and_then(|end| at.get(&end)).filter(|_| piece.name.is_some());
        if own_head != piece.head.as_ref() {
            add(about.clone(), "its head is not its newest message".to_owned());
        }
        let depth =
            |parent: i64| bases.get(&branch_of(parent)).map_or(0, |base| base + own_of(parent));
        let base = piece.parent.map_or(0, depth);
        if base != piece.base {
            add(about.clone(), format!("begins behind {base} messages, says {}", piece.base));
        }
        if piece.name.is_none() {
            let row = sqlx::query(sql::NEEDED)
                .bind(piece.no)
                .bind(no)
                .fetch_one(&mut *connection)
                .await?;
            let needed: i64 = row.try_get(0)?;
            if needed == 0 || needed != piece.end() {
                add(
                    about,
                    format!(
                        "was deleted, but has {} messages of which {} are needed",
                        piece.own,
                        own_of(needed)
                    ),
                );
            }
        }
    }
    for row in sqlx::query(sql::ALL_REVISIONS).bind(no).fetch_all(&mut *connection).await? {
        let id = message_id(&row, 0)?.ok_or(Fault::Corrupt("a revision without an id", None))?;
        let filed = row.try_get::<Option<i64>, _>(2)?.is_some();
        if !filed || nth(&blob(row, 1)?, 0).map(|node| node.id.clone()).ok() != Some(id.clone()) {
            add(format!("message {id}"), "has a revision that is not one".to_owned());
        }
    }
    if !sqlx::query(sql::UNSETTLED).bind(no).fetch_all(&mut *connection).await?.is_empty() {
        add("chat".to_owned(), "does not say when it was last written to".to_owned());
    }
    let branches = branches::branches_of(connection, no, &found.active).await?;
    let checkpoints = checkpoints::list(connection, "check", chat).await?;
    report.messages += nodes.len() as u64;
    report.findings.extend(check_chat_graph(&found, &nodes, &branches, &checkpoints));
    Ok(())
}

/// One of this many messages is looked up by a word. For the others only the number of words is
/// compared. Looking up every message would take ten times longer than the rest of the check.
const SAMPLE: i64 = 32;

/// Reports the problems with the words of a branch. Every message with words must be in the index
/// with the same number of words, in the column of its role. The index must hold nothing else.
async fn words_of(
    connection: &mut SqliteConnection,
    piece: &Piece,
    own: &[Arc<Node>],
    tag: &Tag,
) -> Result<Option<String>> {
    let query = sqlx::query(sql::WITH_WORDS).bind(place(piece.no, 1)).bind(piece.end());
    let mut filed = HashMap::new();
    for row in query.fetch_all(&mut *connection).await? {
        filed.insert(row.try_get::<i64, _>(0)?, words::counts(row.try_get(1)?));
    }
    let (mut missing, mut other) = (0, 0);
    for (node, own) in own.iter().zip(1..) {
        let place = place(piece.no, own);
        let Some(words) = tag.words(node) else { continue };
        let agrees = match filed.remove(&place) {
            None => {
                missing += 1;
                continue;
            }
            Some(counts) if counts != Some(words.counts()) => false,
            Some(_) if own % SAMPLE == 1 => {
                let query = sqlx::query(sql::HAS_WORD).bind(words.longest()).bind(place);
                !query.fetch_all(&mut *connection).await?.is_empty()
            }
            Some(_) => true,
        };
        other += usize::from(!agrees);
    }
    Ok(disagreement(missing, other, filed.len()))
}

/// Describes the differences between messages and full-text index. Kinds of difference that do not
/// occur are left out.
fn disagreement(missing: usize, other: usize, wordless: usize) -> Option<String> {
    let facts = [
        (missing, "lacks", ""),
        (other, "has other words for", ""),
        (wordless, "has", " without words"),
    ];
    let said = facts.iter().filter(|(n, ..)| *n > 0).map(|(n, verb, rest)| {
        let plural = if *n == 1 { "" } else { "s" };
        format!("{verb} {n} message{plural}{rest}")
    });
    let said = said.collect::<Vec<_>>().join(", ");
    (!said.is_empty()).then(|| format!("the full-text index {said}"))
}

/// Searches for each word of the full-text index, because SQLite's own check does not verify the
/// positions of words within messages. The words are listed in a temporary table of this
/// connection, which may write only while that table is created.
async fn search_all(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::query(sql::MAY_WRITE).execute(&mut *connection).await?;
    let listed = sqlx::query(sql::LIST_WORDS).execute(&mut *connection).await;
    sqlx::query(sql::MAY_NOT_WRITE).execute(&mut *connection).await?;
    listed?;
    sqlx::query(sql::RANK_WORDS).fetch_all(&mut *connection).await?;
    Ok(())
}

/// Returns the messages of a branch, as long as its runs follow each other without a gap.
async fn nodes_of(connection: &mut SqliteConnection, piece: &Piece) -> Result<Vec<Arc<Node>>> {
    let mut nodes = Vec::new();
    while signed(nodes.len()) < piece.own {
        let next = place(piece.no, signed(nodes.len()) + 1);
        let before = nodes.len();
        for (first, data) in runs_from(connection, next, piece.end()).await? {
            if first < next {
                // The same run was returned again, so there is no run for the next message.
                break;
            }
            if first != place(piece.no, signed(nodes.len()) + 1) {
                return Err(Fault::Corrupt("runs of messages overlap or have a gap", None));
            }
            nodes.extend(pack::unpack(&data)?);
        }
        if nodes.len() == before {
            break;
        }
    }
    Ok(nodes)
}
