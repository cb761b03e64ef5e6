//! The fast path of a commit to a round: one node with the edge that leads to it and its links to
//! messages, or the head alone, as one statement.
//!
//! Nearly every commit that records a run has one of these forms. The fast path makes no decisions:
//! if the round's revision is not the expected one, or anything else is in the way, nothing is
//! written, and the transaction in [`record`](crate::rounds::record) finds the answer.
//!
//! The statement of a node inserts into a view, and a trigger does the rest. Both are temporary
//! objects of the connection, so they are not in the file. They are created when a node of the kind
//! is first written.

use std::fmt::Write as _;

use context_core::store::RoundCommit;
use context_core::trajectory::{Change, Edge, MessageLink, RoundRef, TrajectoryNode};
use sqlx::SqlSafeStr;

use crate::checksums::Value;
use crate::checksums::rounds::{MESSAGE, sum_of};
use crate::connections::Writer;
use crate::error::Result;
use crate::rounds::node_tables::TABLES;
use crate::rounds::record::{bind_edge, bind_head, bind_node, measures_text, not_json};
use crate::sql::rounds as sql;
use crate::sql::{Statement, run};
use crate::values::numbers::signed;

/// The statements for one kind of nodes.
pub(crate) struct SingleNodeInsert {
    pub(crate) view: String,
    pub(crate) trigger: String,
    pub(crate) add: String,
}

impl SingleNodeInsert {
    /// Builds the statements for a table with these columns. The first column is the number of the
    /// round.
    pub(crate) fn new(table: &str, columns: &[String]) -> Self {
        const HEAD: [&str; 9] = [
            "revision",
            "key",
            "state",
            "title",
            "nodes",
            "created_at",
            "updated_at",
            "head",
            "sum",
        ];
        let columns: Vec<String> =
            columns[1..].iter().map(|column| column.trim_matches('"').to_owned()).collect();
        let name = format!("one_{table}");
        let places = HEAD.iter().map(|column| format!("round_{column}"));
        let fields = columns.iter().map(|column| format!("node_{column}"));
        let edge = ["source", "target_round", "target", "edge", "edge_sum"].map(str::to_owned);
        let all: Vec<String> = ["no", "expected"]
            .map(str::to_owned)
            .into_iter()
            .chain(places)
            .chain(fields)
            .chain(edge)
            .chain(["links".to_owned()])
            .collect();
        let values: Vec<String> = (1..=all.len()).map(|at| format!("?{at}")).collect();
        let mut set = String::new();
        for (at, column) in HEAD.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(set, "{}{column} = NEW.round_{column}", if at == 0 { "" } else { ", " });
        }
        let quoted: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let new: Vec<String> = columns.iter().map(|column| format!("NEW.node_{column}")).collect();
        let nulls: Vec<&str> = vec!["NULL"; all.len()];
        let (quoted, new) = (quoted.join(", "), new.join(", "));
        Self {
            view: format!(
                "CREATE TEMP VIEW IF NOT EXISTS {name} ({}) AS SELECT {}",
                all.join(", "),
                nulls.join(", ")
            ),
            trigger: format!(
                "CREATE TEMP TRIGGER IF NOT EXISTS {name}_run INSTEAD OF INSERT ON {name} BEGIN
                   UPDATE trajectory_round SET {set}, beside = beside + 1000037 * (NEW.source IS NOT NULL)
                     WHERE no = NEW.no AND revision = NEW.expected AND head ->> 'next' <= NEW.node_ordinal;
                   SELECT raise(ABORT, 'the round is elsewhere') WHERE changes() <> 1;
                   INSERT INTO {table} (round, {quoted}) VALUES (NEW.no, {new});
                   INSERT INTO trajectory_edge (round, position, source, target_round, target, name, sum)
                     SELECT NEW.no, p.position, NEW.source, NEW.target_round, NEW.target, NEW.edge,
                       NEW.edge_sum | (p.position << 32)
                     FROM (SELECT coalesce((SELECT position FROM trajectory_edge WHERE round = NEW.no
                       ORDER BY position DESC LIMIT 1), -1) + 1 AS position) p
                     WHERE NEW.source IS NOT NULL;
                   INSERT INTO trajectory_message (round, ordinal, position, user, chat, message, sum)
                     SELECT NEW.no, NEW.node_ordinal, l.value ->> 0,
                       (SELECT user FROM trajectory_round WHERE no = NEW.no),
                       l.value ->> 1, l.value ->> 2, l.value ->> 3
                     FROM json_each(NEW.links) l;
                 END"
            ),
            // The round's number is looked up by this statement. The parameters of the lookup come
            // after all others.
            add: format!(
                "INSERT INTO {name} VALUES ((SELECT no FROM trajectory_round
                   WHERE user = ?{} AND session = ?{} AND agent = ?{} AND round = ?{}), {})",
                all.len(),
                all.len() + 1,
                all.len() + 2,
                all.len() + 3,
                values[..all.len() - 1].join(", "),
            ),
        }
    }
}

/// Returns the node of a commit that adds one node, and its edge if there is one. Returns `None`
/// for any other commit.
fn only(commit: &RoundCommit) -> Option<(&TrajectoryNode, Option<&Edge>)> {
    let (node, edge) = match &commit.changes[..] {
        [Change::NodeAdded { node }] => (node, None),
        [Change::NodeAdded { node }, Change::EdgeAdded { edge }] => (node, Some(edge)),
        _ => return None,
    };
    node.versions.is_empty().then_some((node, edge))
}

/// Returns the links of a node to messages as JSON, each with its checksum. `None` if there are
/// none.
fn links(node: &TrajectoryNode, round: &RoundRef) -> Result<Option<String>> {
    if node.messages.is_empty() {
        return Ok(None);
    }
    let mut links = Vec::with_capacity(node.messages.len());
    for (position, MessageLink { chat, message, .. }) in node.messages.iter().enumerate() {
        let values: [Value<'_>; 4] = [
            i64::from(node.id.ordinal).into(),
            signed(position).into(),
            chat.as_str().into(),
            message.as_str().into(),
        ];
        links.push((position, chat.as_str(), message.as_str(), sum_of(MESSAGE, round, values)));
    }
    serde_json::to_string(&links).map(Some).map_err(not_json)
}

/// Writes a commit to an existing round that adds one node or changes the head alone. Returns false
/// for any other commit, or if the file disagrees.
pub(crate) async fn record(writer: &mut Writer, commit: &RoundCommit) -> Result<bool> {
    if commit.expected == 0 {
        return Ok(false);
    }
    let expected = i64::try_from(commit.expected).unwrap_or(i64::MAX);
    if commit.changes.is_empty() {
        let query = bind_head(sqlx::query(sql::WRITE_HEAD).bind(expected), commit)?;
        let query = bind_round(query, &commit.head.round);
        return Ok(query.execute(&mut writer.connection).await?.rows_affected() == 1);
    }
    let Some((node, edge)) = only(commit) else { return Ok(false) };
    let one = &TABLES.of(node.kind()).single;
    let ready = &mut writer.node_views[node.kind() as usize];
    if !*ready {
        for statement in [&one.view, &one.trigger] {
            run(&mut writer.connection, sqlx::query(statement.as_str().into_sql_str())).await?;
        }
        *ready = true;
    }
    let links = links(node, &commit.head.round)?;
    let measures = measures_text(node.measures.as_deref())?;
    let query = bind_head(sqlx::query(one.add.as_str().into_sql_str()).bind(expected), commit)?;
    let query = bind_node(query, &commit.head.round, node, measures.as_deref());
    let query = match edge {
        Some(edge) => bind_edge(query, &commit.head.round, 0, edge),
        None => (0..5).fold(query, |query, _| query.bind(None::<i64>)),
    };
    let query = bind_round(query.bind(links), &commit.head.round);
    match run(&mut writer.connection, query).await {
        Ok(_) => Ok(true),
        Err(fault) if fault.is_refusal() => Ok(false),
        Err(fault) => Err(fault),
    }
}

fn bind_round<'q>(query: Statement<'q>, round: &'q RoundRef) -> Statement<'q> {
    let RoundRef { agent, round } = round;
    let query = query.bind(agent.user.as_str()).bind(agent.session.as_str());
    query.bind(i64::from(agent.agent)).bind(i64::from(*round))
}
