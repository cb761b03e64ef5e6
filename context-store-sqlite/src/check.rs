//! The check of a whole file: SQLite's own checks, the layout, and the graph of every chat.

pub(crate) mod blobs;
pub(crate) mod checksums;
pub(crate) mod memories;
pub(crate) mod rounds;
pub(crate) mod streams;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::{CancelSignal, ChatId, ChatRef, ErrorKind, MessageId, Node, UserId};
use context_store_kit::{check_chat_graph, pack};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::chat::branches::{Segment, branches_of, segments};
use crate::chat::runs::runs_from;
use crate::chat::tails;
use crate::error::{Fault, Result};
use crate::history::words::Tag;
use crate::history::{checkpoints, words};
use crate::values::numbers::{count, signed};
use crate::values::place::{branch_of, own_of, place};
use crate::values::rows::{blob, message_id, nth};
use crate::{chat, check, sql};

pub(crate) async fn check(
    connection: &mut SqliteConnection,
    full_text: bool,
    cancel: &CancelSignal,
) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let whole = file(connection, full_text, &mut report).await;
    report_damage(&mut report, "file", whole)?;
    check::checksums::check(connection, full_text, cancel, &mut report).await?;
    let blobs = check::blobs::check(connection, cancel, &mut report).await;
    report_damage(&mut report, "blobs", blobs)?;
    let streams = check::streams::check(connection, cancel, &mut report).await;
    report_damage(&mut report, "streams", streams)?;
    let rounds = check::rounds::check(connection, cancel, &mut report).await;
    report_damage(&mut report, "rounds", rounds)?;
    let memories = check::memories::check(connection, cancel, &mut report).await;
    report_damage(&mut report, "memories", memories)?;
    let chats = check_chats(connection, full_text, cancel, &mut report).await;
    report_damage(&mut report, "chats", chats)?;
    Ok(report)
}

/// Reports the failure of one part of the check as a finding if it was caused by damage, so that
/// the other parts still run.
pub(crate) fn report_damage(
    report: &mut CheckReport,
    about: &str,
    checked: Result<()>,
) -> Result<()> {
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
            Err(fault) => report_damage(report, "chat", Err(fault))?,
        }
        transaction.commit().await?;
        report.chats += 1;
        cancel.report("message", report.messages);
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
    for look in [sql::memories::LOOK_AT_INDEX]
        .into_iter()
        .chain(full_text.then_some(sql::words::LOOK_AT_WORDS))
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
        report_damage(report, "full-text index", search_all(connection).await)?;
    }
    for row in sqlx::query(sql::FOREIGN_KEYS).fetch_all(&mut *connection).await? {
        let table: String = row.try_get(0)?;
        report.findings.push(Finding::new(
            None,
            format!("table {table}"),
            "a row refers to a row that is missing",
        ));
    }
    let strays =
        [("run", sql::STRAY_RUNS), ("boundary", sql::STRAY_BOUNDARIES), ("node", sql::STRAY_NODES)];
    let words = [("words", sql::words::STRAY_WORDS), ("unindexed", sql::words::STRAY_UNINDEXED)];
    for (table, statement) in strays.into_iter().chain(words.into_iter().filter(|_| full_text)) {
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
                let problem =
                    format!("{rows} rows differ from their checksum or have wrong counts");
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
    let segments = segments(connection, no).await?;
    tails::check(connection, no).await?;
    let mut nodes = Vec::new();
    let mut places: HashMap<MessageId, i64> = HashMap::new();
    let mut at: HashMap<i64, MessageId> = HashMap::new();
    let tag = full_text.then(|| Tag::of(&chat.user));
    for segment in &segments {
        let about = format!("branch {}", segment.no);
        let parent = segment.parent.map(|parent| at.get(&parent).cloned());
        if parent == Some(None) {
            add(about.clone(), "is forked after a message that is missing".to_owned());
        }
        let own = nodes_of(connection, segment).await?;
        if signed(own.len()) != segment.own {
            add(
                about.clone(),
                format!("has {} messages, but its row states {}", own.len(), segment.own),
            );
        }
        if let Some(tag) = &tag
            && let Some(problem) = words_of(connection, segment, &own, tag).await?
        {
            add(about.clone(), problem);
        }
        let mut boundaries = Vec::new();
        let mut parent = parent.flatten();
        for (node, own) in own.into_iter().zip(1..) {
            let place = place(segment.no, own);
            if node.kind == NodeKind::Boundary {
                boundaries.push(place);
            }
            places.insert(node.id.clone(), place);
            at.insert(place, node.id.clone());
            nodes.push(PlacedNode::new(Arc::clone(&node), parent, count(segment.base + own - 1)?));
            parent = Some(node.id.clone());
        }
        let query = sqlx::query(sql::BOUNDARIES).bind(place(segment.no, 1)).bind(segment.end());
        let rows = query.fetch_all(&mut *connection).await?;
        let filed = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
        if filed != boundaries {
            add(about, "the index of boundaries disagrees with the messages".to_owned());
        }
    }
    let mut filed = 0;
    for row in sqlx::query(sql::NODES).bind(no).fetch_all(&mut *connection).await? {
        let id = message_id(&row, 0)?.ok_or(Fault::Corrupt("a message has no id", None))?;
        filed += 1;
        if places.get(&id) != Some(&row.try_get(1)?) {
            add(
                format!("message {id}"),
                "is not at the place that the index of ids names".to_owned(),
            );
        }
    }
    if filed != places.len() {
        add(
            "messages".to_owned(),
            format!("{} are stored, but {filed} are in the index of ids", places.len()),
        );
    }
    let found = chat::rows::read(connection, chat).await?;
    let (_, found) = found.ok_or(Fault::Corrupt("the chat cannot be read", None))?;
    let bases: HashMap<i64, i64> =
        segments.iter().map(|segment| (segment.no, segment.base)).collect();
    for segment in &segments {
        let about = match &segment.name {
            Some(name) => format!("branch {name}"),
            None => format!("branch {}", segment.no),
        };
        let end = if segment.own > 0 { Some(segment.end()) } else { segment.parent };
        let own_head = end.and_then(|end| at.get(&end)).filter(|_| segment.name.is_some());
        if own_head != segment.head.as_ref() {
            add(about.clone(), "its head is not its newest message".to_owned());
        }
        let depth =
            |parent: i64| bases.get(&branch_of(parent)).map_or(0, |base| base + own_of(parent));
        let base = segment.parent.map_or(0, depth);
        if base != segment.base {
            add(
                about.clone(),
                format!("begins after {base} messages, but its row states {}", segment.base),
            );
        }
        if segment.name.is_none() {
            let row = sqlx::query(sql::NEEDED)
                .bind(segment.no)
                .bind(no)
                .fetch_one(&mut *connection)
                .await?;
            let needed: i64 = row.try_get(0)?;
            if needed == 0 || needed != segment.end() {
                add(
                    about,
                    format!(
                        "was deleted, but has {} messages of which {} are needed",
                        segment.own,
                        own_of(needed)
                    ),
                );
            }
        }
    }
    for row in sqlx::query(sql::ALL_REVISIONS).bind(no).fetch_all(&mut *connection).await? {
        let id = message_id(&row, 0)?.ok_or(Fault::Corrupt("a revision has no id", None))?;
        let filed = row.try_get::<Option<i64>, _>(2)?.is_some();
        if !filed || nth(&blob(row, 1)?, 0).map(|node| node.id.clone()).ok() != Some(id.clone()) {
            add(
                format!("message {id}"),
                "has a revision that cannot be read or belongs to another message".to_owned(),
            );
        }
    }
    if !sqlx::query(sql::UNSETTLED).bind(no).fetch_all(&mut *connection).await?.is_empty() {
        add("chat".to_owned(), "its row has an earlier time than its last write".to_owned());
    }
    let branches = branches_of(connection, no, &found.active).await?;
    let checkpoints = checkpoints::list(connection, "check", chat).await?;
    report.messages += nodes.len() as u64;
    report.findings.extend(check_chat_graph(&found, &nodes, &branches, &checkpoints));
    Ok(())
}

/// One of this many messages is looked up by a word. For the others only the number of words is
/// compared. Looking up every message would take ten times longer than the rest of the check.
const SAMPLE: i64 = 32;

/// Reports the problems with the words of a branch. Every message with words must be in the index
/// with the same number of words, in the column of its role, or be among those that are not indexed
/// yet. The index must hold nothing else.
async fn words_of(
    connection: &mut SqliteConnection,
    segment: &Segment,
    own: &[Arc<Node>],
    tag: &Tag,
) -> Result<Option<String>> {
    let query = sqlx::query(sql::words::WITH_WORDS).bind(place(segment.no, 1)).bind(segment.end());
    let mut filed = HashMap::new();
    for row in query.fetch_all(&mut *connection).await? {
        filed.insert(row.try_get::<i64, _>(0)?, words::counts(row.try_get(1)?));
    }
    let (mut missing, mut other) = (0, 0);
    let mut unindexed = HashSet::new();
    let query =
        sqlx::query(sql::words::UNINDEXED_OF).bind(place(segment.no, 1)).bind(segment.end());
    for row in query.fetch_all(&mut *connection).await? {
        let (first, messages): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        for place in first..first.saturating_add(messages).min(segment.end() + 1) {
            other += usize::from(!unindexed.insert(place));
        }
    }
    for (node, own) in own.iter().zip(1..) {
        let place = place(segment.no, own);
        if unindexed.contains(&place) {
            continue;
        }
        let Some(words) = tag.words(node) else { continue };
        let agrees = match filed.remove(&place) {
            None => {
                missing += 1;
                continue;
            }
            Some(counts) if counts != Some(words.counts()) => false,
            Some(_) if own % SAMPLE == 1 => {
                let query = sqlx::query(sql::words::HAS_WORD).bind(words.longest()).bind(place);
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
    let phrases = facts.iter().filter(|(n, ..)| *n > 0).map(|(n, verb, rest)| {
        let plural = if *n == 1 { "" } else { "s" };
        format!("{verb} {n} message{plural}{rest}")
    });
    let phrases = phrases.collect::<Vec<_>>().join(", ");
    (!phrases.is_empty()).then(|| format!("the full-text index {phrases}"))
}

/// Searches for each word of the full-text index, because SQLite's own check does not verify the
/// positions of words within messages. The words are listed in a temporary table of this
/// connection, which may write only while that table is created.
async fn search_all(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::query(sql::words::MAY_WRITE).execute(&mut *connection).await?;
    let listed = sqlx::query(sql::words::LIST_WORDS).execute(&mut *connection).await;
    sqlx::query(sql::words::MAY_NOT_WRITE).execute(&mut *connection).await?;
    listed?;
    sqlx::query(sql::words::RANK_WORDS).fetch_all(&mut *connection).await?;
    Ok(())
}

/// Returns the messages of a branch, as long as its runs follow each other without a gap.
async fn nodes_of(connection: &mut SqliteConnection, segment: &Segment) -> Result<Vec<Arc<Node>>> {
    let mut nodes = Vec::new();
    while signed(nodes.len()) < segment.own {
        let next = place(segment.no, signed(nodes.len()) + 1);
        let before = nodes.len();
        for (first, data) in runs_from(connection, next, segment.end()).await? {
            if first < next {
                // The same run was returned again, so there is no run for the next message.
                break;
            }
            if first != place(segment.no, signed(nodes.len()) + 1) {
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
