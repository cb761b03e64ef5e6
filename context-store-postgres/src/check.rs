//! The check of a whole store: rows that belong to nothing, and the layout, index and graph of
//! every chat.
//!
//! The check does not cover PostgreSQL's own files, for which PostgreSQL has `pg_amcheck` and data
//! checksums.

pub(crate) mod beside;
pub(crate) mod memories;
pub(crate) mod rounds;
pub(crate) mod words;

use std::collections::HashMap;
use std::sync::Arc;

use context_core::message::{NodeKind, Placed};
use context_core::store::{CheckReport, Finding, KeyOrder};
use context_core::{CancelSignal, ChatRef, MessageId, Node, Timestamp};
use context_store_kit::{check_chat_graph, pack};
use sqlx::Row;

use crate::check::words::words_of;
use crate::error::{Fault, Result};
use crate::history::messages::{Piece, pieces, revision, runs_from};
use crate::place::{branch_of, count, own_of, place, signed};
use crate::pool::{Pool, Session, Work};
use crate::rows::{message_id, shown, weight};
use crate::{
    check, fragments,
    history::{branches, chat_rows, checkpoints},
    sql,
};

/// Tables whose rows must belong to a chat.
const STRAYS: [(&str, &str); 4] = [
    ("run", sql::STRAY_RUNS),
    ("boundary", sql::STRAY_BOUNDARIES),
    ("node", sql::STRAY_NODES),
    ("words", sql::STRAY_WORDS),
];

pub(crate) async fn check(
    pool: &Pool,
    full_text: bool,
    cancel: &CancelSignal,
) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    cancel.check("check")?;
    let mut session = pool.begin(Work::Snapshot, None).await?;
    let checked = strays(&mut session, full_text, &mut report).await;
    session.end(checked).await?;
    check::beside::check(pool, cancel, &mut report).await?;
    check::rounds::check(pool, cancel, &mut report).await?;
    check::memories::check(pool, cancel, &mut report).await?;
    let mut after = 0;
    let mut order = KeyOrder::new("check", "chat");
    loop {
        cancel.check("check")?;
        // Each chat is read in a transaction of its own, because others may write during the check.
        let mut session = pool.begin(Work::Snapshot, None).await?;
        let checked = next_chat(&mut session, after, full_text, &mut report).await;
        match session.end(checked).await? {
            None => return Ok(report),
            Some(no) => {
                order.next(no)?;
                after = no;
            }
        }
    }
}

/// Reports rows that no chat reaches.
async fn strays(
    session: &mut Session<'_>,
    full_text: bool,
    report: &mut CheckReport,
) -> Result<()> {
    let query = session.query(sql::DECIDED);
    if session.only(query).await?.try_get::<Option<bool>, _>(0)? != Some(full_text) {
        let problem = "does not say whether there is full text as it did when the store was opened";
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
    let (no, chat) = (row.try_get(0)?, ChatRef::new(&*shown(&row, 1)?, &*shown(&row, 2)?));
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
struct Found {
    nodes: Vec<Placed>,
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
    let pieces = pieces(session, no).await?;
    let mut found = Found::default();
    for piece in &pieces {
        let about = format!("branch {}", piece.no);
        let parent = piece.parent.map(|parent| found.at.get(&parent).cloned());
        if parent == Some(None) {
            problems.push((about.clone(), "forks behind no message".to_owned()));
        }
        let own = nodes_of(session, piece).await?;
        if signed(own.len()) != piece.own {
            problems
                .push((about.clone(), format!("has {} messages, says {}", own.len(), piece.own)));
        }
        if full_text && let Some(problem) = words_of(session, piece, &own, &chat.user).await? {
            problems.push((about.clone(), problem));
        }
        if boundaries_of(session, piece).await? != boundaries_in(piece, &own) {
            problems
                .push((about, "the index of boundaries disagrees with the messages".to_owned()));
        }
        let mut parent = parent.flatten();
        for (node, own) in own.into_iter().zip(1..) {
            let place = place(piece.no, own);
            found.places.insert(node.id.clone(), place);
            found.at.insert(place, node.id.clone());
            found.nodes.push(Placed::new(Arc::clone(&node), parent, count(piece.base + own - 1)?));
            parent = Some(node.id.clone());
        }
    }
    filed(session, no, &found, &mut problems).await?;
    beside_messages(session, no, &mut problems).await?;
    ends(session, no, &pieces, &found, &mut problems).await?;
    let stored = chat_rows::read(session, chat).await?;
    let (_, stored) = stored.ok_or(Fault::Corrupt("the chat cannot be read", None))?;
    let branches = branches::branches_of(session, no, &stored.active).await?;
    let checkpoints = checkpoints::list(session, "check", chat).await?;
    fragments::list(session, no).await?;
    report.messages += found.nodes.len() as u64;
    let problems =
        problems.into_iter().map(|(about, problem)| Finding::new(Some(chat), about, problem));
    report.findings.extend(problems);
    report.findings.extend(check_chat_graph(&stored, &found.nodes, &branches, &checkpoints));
    Ok(())
}

/// Checks that ids and revisions are filed under their messages.
async fn filed(
    session: &mut Session<'_>,
    no: i64,
    found: &Found,
    problems: &mut Vec<(String, String)>,
) -> Result<()> {
    let mut filed = 0;
    let query = session.query(sql::NODES).bind(no);
    for row in session.all(query).await? {
        let id = message_id(&row, 0)?.ok_or(Fault::Corrupt("a message without an id", None))?;
        filed += 1;
        if found.places.get(&id) != Some(&row.try_get(1)?) {
            problems.push((format!("message {id}"), "is not where it is filed".to_owned()));
        }
    }
    if filed != found.places.len() {
        problems.push((
            "messages".to_owned(),
            format!("{} are stored, {filed} are filed", found.places.len()),
        ));
    }
    let query = session.query(sql::ALL_REVISIONS).bind(no);
    for row in session.all(query).await? {
        let id = message_id(&row, 1)?.ok_or(Fault::Corrupt("a revision without an id", None))?;
        let filed = row.try_get::<Option<i64>, _>(2)?.is_some();
        let replaced_at = Timestamp::from_micros(row.try_get(3)?);
        let revision = revision(row, &id, replaced_at).ok();
        if !filed || revision.is_none_or(|revision| revision.node.id != id) {
            problems.push((format!("message {id}"), "has a revision that is not one".to_owned()));
        }
    }
    Ok(())
}

/// Checks that the counted rows of a chat exist, and that the keys of commits match their
/// checksums.
async fn beside_messages(
    session: &mut Session<'_>,
    no: i64,
    problems: &mut Vec<(String, String)>,
) -> Result<()> {
    let query = session.query(sql::CHAT_BESIDE).bind(no);
    let row = session.only(query).await?;
    let mut found = |about: &str, problem: String| problems.push((about.to_owned(), problem));
    if row.try_get::<i64, _>(0)? != row.try_get::<i64, _>(1)? {
        let problem = "branches, fragments, revisions, checkpoints or keys of commits are not those it counts";
        found("layout", problem.to_owned());
    }
    if !row.try_get::<bool, _>(2)? {
        found("layout", "is listed at another time than it was written to".to_owned());
    }
    let wrong: i64 = row.try_get(3)?;
    if wrong > 0 {
        found("keys of commits", format!("{wrong} are not what was written"));
    }
    Ok(())
}

/// Checks the start and end of branches, and that every deleted branch is still needed.
async fn ends(
    session: &mut Session<'_>,
    no: i64,
    pieces: &[Piece],
    found: &Found,
    problems: &mut Vec<(String, String)>,
) -> Result<()> {
    let bases: HashMap<i64, i64> = pieces.iter().map(|piece| (piece.no, piece.base)).collect();
    for piece in pieces {
        let about = match &piece.name {
            Some(name) => format!("branch {name}"),
            None => format!("branch {}", piece.no),
        };
        let end = if piece.own > 0 { Some(piece.end()) } else { piece.parent };
        let own_head = end.and_then(|end| found.at.get(&end)).filter(|_| piece.name.is_some());
        if own_head != piece.head.as_ref() {
            problems.push((about.clone(), "its head is not its newest message".to_owned()));
        }
        let depth =
            |parent: i64| bases.get(&branch_of(parent)).map_or(0, |base| base + own_of(parent));
        let base = piece.parent.map_or(0, depth);
        if base != piece.base {
            problems.push((
                about.clone(),
                format!("begins behind {base} messages, says {}", piece.base),
            ));
        }
        if piece.name.is_none() {
            let query = session.query(sql::NEEDED).bind(piece.no).bind(no);
            let needed: i64 = session.only(query).await?.try_get(0)?;
            if needed == 0 || needed != piece.end() {
                let (own, needed) = (piece.own, own_of(needed));
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
async fn boundaries_of(session: &mut Session<'_>, piece: &Piece) -> Result<Vec<i64>> {
    let query = session.query(sql::BOUNDARIES).bind(place(piece.no, 1)).bind(piece.end());
    let rows = session.all(query).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Returns the places of boundaries among the messages.
fn boundaries_in(piece: &Piece, own: &[Arc<Node>]) -> Vec<i64> {
    let all = own.iter().zip(place(piece.no, 1)..);
    all.filter(|(node, _)| node.kind == NodeKind::Boundary).map(|(_, place)| place).collect()
}

/// Returns the messages of a branch, as long as its runs follow each other without a gap.
async fn nodes_of(session: &mut Session<'_>, piece: &Piece) -> Result<Vec<Arc<Node>>> {
    let query = session.query(sql::WEIGHTS).bind(place(piece.no, 1)).bind(piece.end());
    let mut weights = HashMap::new();
    for row in session.all(query).await? {
        weights.insert(row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?);
    }
    let mut nodes = Vec::new();
    while signed(nodes.len()) < piece.own {
        let next = place(piece.no, signed(nodes.len()) + 1);
        let before = nodes.len();
        for (first, data) in runs_from(session, next, piece.end()).await? {
            if first < next {
                // The same run was returned again, so there is no run for the next message.
                break;
            }
            if first != place(piece.no, signed(nodes.len()) + 1) {
                return Err(Fault::Corrupt("runs of messages overlap or have a gap", None));
            }
            let run = pack::unpack(&data)?;
            if weights.get(&first) != Some(&weight(&run)) {
                return Err(Fault::Corrupt("a run does not weigh what it says", None));
            }
            nodes.extend(run);
        }
        if nodes.len() == before {
            break;
        }
    }
    Ok(nodes)
}
