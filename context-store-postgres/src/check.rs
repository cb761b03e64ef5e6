//! The check of a whole store: rows that belong to nothing, and the layout, index and graph of
//! every chat.
//!
//! The check does not cover PostgreSQL's own files, for which PostgreSQL has `pg_amcheck` and data
//! checksums.

pub(crate) mod blobs;
pub(crate) mod memories;
pub(crate) mod rounds;
pub(crate) mod streams;
pub(crate) mod words;

use std::collections::HashMap;
use std::sync::Arc;

use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::{CancelSignal, ChatRef, MessageId, Node, Timestamp};
use context_store_kit::{check_chat_graph, pack};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::branches::{Segment, branches_of, segments};
use crate::chat::rows as chat_rows;
use crate::check::blobs::BlobCheck;
use crate::check::rounds::RoundCheck;
use crate::check::streams::StreamCheck;
use crate::check::words::words_of;
use crate::connections::{Pool, Session, Work};
use crate::error::{Fault, Result};
use crate::history::checkpoints;
use crate::history::messages::{revision, runs_from};
use crate::history::ref_log;
use crate::values::numbers::{count, signed};
use crate::values::place::{branch_of, own_of, place};
use crate::values::rows::{lossy_text, message_id, weight};
use crate::{fragments, leases, sql};

/// Tables whose rows must belong to a chat.
const STRAYS: [(&str, &str); 4] = [
    ("run", sql::STRAY_RUNS),
    ("boundary", sql::STRAY_BOUNDARIES),
    ("node", sql::STRAY_NODES),
    ("words", sql::STRAY_WORDS),
];

/// A table whose rows are checked one by one, each with the rows that belong to it.
pub(crate) trait RowCheck: Sync {
    /// The kind of the rows, as errors name it.
    const NAME: &'static str;

    /// Reports the rows of other tables that belong to no row of this one.
    fn strays(
        &self,
        session: &mut Session<'_>,
        report: &mut CheckReport,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Checks the row after a number and returns its number, or `None` if there is no further row.
    fn next(
        &self,
        session: &mut Session<'_>,
        after: i64,
        report: &mut CheckReport,
    ) -> impl Future<Output = Result<Option<i64>>> + Send;
}

pub(crate) async fn check(
    pool: &Pool,
    full_text: bool,
    cancel: &CancelSignal,
) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    check_rows(&ChatCheck { full_text }, pool, cancel, &mut report).await?;
    check_rows(&BlobCheck, pool, cancel, &mut report).await?;
    check_rows(&StreamCheck, pool, cancel, &mut report).await?;
    check_rows(&RoundCheck, pool, cancel, &mut report).await?;
    memories::check(pool, cancel, &mut report).await?;
    Ok(report)
}

/// Checks a table. Each row is read in a transaction of its own, because others may write during
/// the check.
async fn check_rows<C: RowCheck>(
    rows: &C,
    pool: &Pool,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    cancel.check("check")?;
    let mut session = pool.begin(Work::Snapshot, None).await?;
    let checked = rows.strays(&mut session, report).await;
    session.end(checked).await?;
    let mut after = 0;
    let mut order = KeyOrder::new("check", C::NAME);
    let mut rows_checked = 0;
    loop {
        cancel.check("check")?;
        let mut session = pool.begin(Work::Snapshot, None).await?;
        let checked = rows.next(&mut session, after, report).await;
        let Some(number) = session.end(checked).await? else { return Ok(()) };
        order.next(number)?;
        after = number;
        rows_checked += 1;
        cancel.report(C::NAME, rows_checked);
    }
}

/// The check of the chats.
struct ChatCheck {
    full_text: bool,
}

impl RowCheck for ChatCheck {
    const NAME: &'static str = "chat";

    async fn strays(&self, session: &mut Session<'_>, report: &mut CheckReport) -> Result<()> {
        strays(session, self.full_text, report).await
    }

    async fn next(
        &self,
        session: &mut Session<'_>,
        after: i64,
        report: &mut CheckReport,
    ) -> Result<Option<i64>> {
        next_chat(session, after, self.full_text, report).await
    }
}

/// Reports rows that no chat reaches.
async fn strays(
    session: &mut Session<'_>,
    full_text: bool,
    report: &mut CheckReport,
) -> Result<()> {
    let query = session.query(sql::FULL_TEXT_SETTING);
    if session.only(query).await?.try_get::<Option<bool>, _>(0)? != Some(full_text) {
        let problem = "the setting of full-text search has changed since the store was opened";
        report.findings.push(Finding::new(None, "table store", problem));
    }
    let query = session.query(sql::STRAYS_OF_CHATS);
    for row in session.all(query).await? {
        let about =
            format!("table {}, chat {}", row.try_get::<&str, _>(0)?, row.try_get::<i64, _>(1)?);
        report.findings.push(Finding::new(None, about, "belongs to no chat"));
    }
    for (table, statement) in STRAYS {
        let query = session.query(statement);
        for row in session.all(query).await? {
            let place: i64 = row.try_get(0)?;
            let about = format!("table {table}, place {}/{}", branch_of(place), own_of(place));
            report.findings.push(Finding::new(None, about, "belongs to no chat"));
        }
    }
    Ok(())
}

/// Checks the chat after a number and returns its number, or `None` if there is no further chat.
async fn next_chat(
    session: &mut Session<'_>,
    after: i64,
    full_text: bool,
    report: &mut CheckReport,
) -> Result<Option<i64>> {
    let query = session.query(sql::CHAT_AFTER).bind(after);
    let Some(row) = session.first(query).await? else { return Ok(None) };
    let (no, chat) =
        (row.try_get(0)?, ChatRef::new(&*lossy_text(&row, 1)?, &*lossy_text(&row, 2)?));
    match check_chat(session, no, &chat, full_text, report).await {
        Ok(()) => {}
        Err(Fault::Corrupt(problem, _)) => {
            report.findings.push(Finding::new(Some(&chat), "layout", problem))
        }
        Err(fault) => return Err(fault),
    }
    report.chats += 1;
    Ok(Some(no))
}

/// The messages of a chat and their places.
#[derive(Default)]
struct ChatMessages {
    nodes: Vec<PlacedNode>,
    places: HashMap<MessageId, i64>,
    at: HashMap<i64, MessageId>,
}

async fn check_chat(
    session: &mut Session<'_>,
    no: i64,
    chat: &ChatRef,
    full_text: bool,
    report: &mut CheckReport,
) -> Result<()> {
    let mut problems: Vec<(String, String)> = Vec::new();
    let segments = segments(session, no).await?;
    let mut found = ChatMessages::default();
    for segment in &segments {
        let about = format!("branch {}", segment.no);
        let parent = segment.parent.map(|parent| found.at.get(&parent).cloned());
        if parent == Some(None) {
            problems.push((about.clone(), "forks from a message that does not exist".to_owned()));
        }
        let own = nodes_of(session, segment).await?;
        if signed(own.len()) != segment.own {
            problems.push((
                about.clone(),
                format!("has {} messages, but its row counts {}", own.len(), segment.own),
            ));
        }
        if full_text && let Some(problem) = words_of(session, segment, &own, &chat.user).await? {
            problems.push((about.clone(), problem));
        }
        if boundaries_of(session, segment).await? != boundaries_in(segment, &own) {
            problems
                .push((about, "the index of boundaries disagrees with the messages".to_owned()));
        }
        let mut parent = parent.flatten();
        for (node, own) in own.into_iter().zip(1..) {
            let place = place(segment.no, own);
            found.places.insert(node.id.clone(), place);
            found.at.insert(place, node.id.clone());
            found.nodes.push(PlacedNode::new(
                Arc::clone(&node),
                parent,
                count(segment.base + own - 1)?,
            ));
            parent = Some(node.id.clone());
        }
    }
    check_index(session, no, &found, &mut problems).await?;
    check_counts(session, no, &mut problems).await?;
    check_segments(session, no, &segments, &found, &mut problems).await?;
    let stored = chat_rows::read(session, chat).await?;
    let (_, stored) = stored.ok_or(Fault::Corrupt("the row of the chat is missing", None))?;
    let branches = branches_of(session, no, &stored.active).await?;
    let checkpoints = checkpoints::list(session, "check", chat).await?;
    fragments::list(session, no).await?;
    fragments::log::recorded(session, no).await?;
    ref_log::of_chat(session, no).await?;
    leases::last(session, (no, chat)).await?;
    report.messages += found.nodes.len() as u64;
    let problems =
        problems.into_iter().map(|(about, problem)| Finding::new(Some(chat), about, problem));
    report.findings.extend(problems);
    report.findings.extend(check_chat_graph(&stored, &found.nodes, &branches, &checkpoints));
    Ok(())
}

/// Checks the index of messages and their revisions.
async fn check_index(
    session: &mut Session<'_>,
    no: i64,
    found: &ChatMessages,
    problems: &mut Vec<(String, String)>,
) -> Result<()> {
    let mut indexed = 0;
    let query = session.query(sql::NODES).bind(no);
    for row in session.all(query).await? {
        let id = message_id(&row, 0)?.ok_or(Fault::Corrupt("a message has no id", None))?;
        indexed += 1;
        if found.places.get(&id) != Some(&row.try_get(1)?) {
            problems.push((format!("message {id}"), "is not at its indexed place".to_owned()));
        }
    }
    if indexed != found.places.len() {
        problems.push((
            "messages".to_owned(),
            format!("{} are stored, but the index has {indexed}", found.places.len()),
        ));
    }
    let query = session.query(sql::ALL_REVISIONS).bind(no);
    for row in session.all(query).await? {
        let id =
            message_id(&row, 1)?.ok_or(Fault::Corrupt("a revision has no message id", None))?;
        let has_message = row.try_get::<Option<i64>, _>(2)?.is_some();
        let replaced_at = Timestamp::from_micros(row.try_get(3)?);
        let revision = revision(row, &id, replaced_at).ok();
        if !has_message || revision.is_none_or(|revision| revision.node.id != id) {
            problems.push((
                format!("message {id}"),
                "has a revision that cannot be read or is of another message".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Checks that the counted rows of a chat exist, and that the keys of commits match their
/// checksums.
async fn check_counts(
    session: &mut Session<'_>,
    no: i64,
    problems: &mut Vec<(String, String)>,
) -> Result<()> {
    let query = session.query(sql::CHAT_COUNTS).bind(no);
    let row = session.only(query).await?;
    let mut found = |about: &str, problem: String| problems.push((about.to_owned(), problem));
    if row.try_get::<i64, _>(0)? != row.try_get::<i64, _>(1)? {
        let problem = "the stored sum of branches, fragments, their versions, references, revisions, checkpoints and commit keys differs from the actual sum";
        found("layout", problem.to_owned());
    }
    if !row.try_get::<bool, _>(2)? {
        found(
            "layout",
            "the time by which it is listed differs from the time of its last write".to_owned(),
        );
    }
    let wrong: i64 = row.try_get(3)?;
    if wrong > 0 {
        found("keys of commits", format!("the checksums of {wrong} do not match"));
    }
    Ok(())
}

/// Checks the start and end of branches, and that every deleted branch is still needed.
async fn check_segments(
    session: &mut Session<'_>,
    no: i64,
    segments: &[Segment],
    found: &ChatMessages,
    problems: &mut Vec<(String, String)>,
) -> Result<()> {
    let bases: HashMap<i64, i64> =
        segments.iter().map(|segment| (segment.no, segment.base)).collect();
    for segment in segments {
        let about = match &segment.name {
            Some(name) => format!("branch {name}"),
            None => format!("branch {}", segment.no),
        };
        let end = if segment.own > 0 { Some(segment.end()) } else { segment.parent };
        let own_head = end.and_then(|end| found.at.get(&end)).filter(|_| segment.name.is_some());
        if own_head != segment.head.as_ref() {
            problems.push((about.clone(), "its head is not its newest message".to_owned()));
        }
        let depth =
            |parent: i64| bases.get(&branch_of(parent)).map_or(0, |base| base + own_of(parent));
        let base = segment.parent.map_or(0, depth);
        if base != segment.base {
            problems.push((
                about.clone(),
                format!("begins after {base} messages, but its row states {}", segment.base),
            ));
        }
        if segment.name.is_none() {
            let query = session.query(sql::NEEDED).bind(segment.no).bind(no);
            let needed: i64 = session.only(query).await?.try_get(0)?;
            if needed == 0 || needed != segment.end() {
                let (own, needed) = (segment.own, own_of(needed));
                problems.push((
                    about,
                    format!("was deleted, but has {own} messages of which {needed} are needed"),
                ));
            }
        }
    }
    Ok(())
}

/// Returns the places of boundaries in the table of boundaries.
async fn boundaries_of(session: &mut Session<'_>, segment: &Segment) -> Result<Vec<i64>> {
    let query = session.query(sql::BOUNDARIES).bind(place(segment.no, 1)).bind(segment.end());
    let rows = session.all(query).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Returns the places of boundaries among the messages.
fn boundaries_in(segment: &Segment, own: &[Arc<Node>]) -> Vec<i64> {
    let all = own.iter().zip(place(segment.no, 1)..);
    all.filter(|(node, _)| node.kind == NodeKind::Boundary).map(|(_, place)| place).collect()
}

/// Returns the messages of a branch, as long as its runs follow each other without a gap.
async fn nodes_of(session: &mut Session<'_>, segment: &Segment) -> Result<Vec<Arc<Node>>> {
    let query = session.query(sql::WEIGHTS).bind(place(segment.no, 1)).bind(segment.end());
    let mut weights = HashMap::new();
    for row in session.all(query).await? {
        weights.insert(row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?);
    }
    let mut nodes = Vec::new();
    while signed(nodes.len()) < segment.own {
        let next = place(segment.no, signed(nodes.len()) + 1);
        let before = nodes.len();
        for (first, data) in runs_from(session, next, segment.end()).await? {
            if first < next {
                // The same run was returned again, so there is no run for the next message.
                break;
            }
            if first != place(segment.no, signed(nodes.len()) + 1) {
                return Err(Fault::Corrupt("runs of messages overlap or have a gap", None));
            }
            let run = pack::unpack(&data)?;
            if weights.get(&first) != Some(&weight(&run)) {
                return Err(Fault::Corrupt(
                    "the stored weight of a run of messages differs from its actual weight",
                    None,
                ));
            }
            nodes.extend(run);
        }
        if nodes.len() == before {
            break;
        }
    }
    Ok(nodes)
}

/// Returns the chat that two columns name, unless they are NULL.
fn chat_of(row: &PgRow, column: usize) -> Result<Option<ChatRef>> {
    if row.try_get::<Option<&[u8]>, _>(column)?.is_none() {
        return Ok(None);
    }
    Ok(Some(ChatRef::new(&*lossy_text(row, column)?, &*lossy_text(row, column + 1)?)))
}
