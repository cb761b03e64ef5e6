//! The fast path of a commit to a round: one node and the edge that leads to it, as one statement.
//!
//! Nearly every commit that records a run has this form. The fast path makes no decisions: if the
//! round's revision is not the expected one, or anything else is in the way, nothing is written,
//! and the transaction in [`record`](crate::rounds::record) finds the answer.
//!
//! The statement inserts into a view, and a trigger does the rest. Both are temporary objects of
//! the connection, so they are not in the file. They are created when a node of the kind is first
//! written.

use std::fmt::Write as _;

use context_core::store::RoundCommit;
use context_core::trajectory::{Change, Edge, RoundRef, TrajectoryNode};
use sqlx::SqlSafeStr;

use crate::connections::Writer;
use crate::error::Result;
use crate::rounds::node_tables::TABLES;
use crate::rounds::record::{bind_edge, bind_head, bind_node, measures_text};
use crate::sql::run;

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
    (commit.expected > 0 && node.versions.is_empty() && node.messages.is_empty())
        .then_some((node, edge))
}

/// Writes a commit that adds one node to an existing round. Returns false for any other commit, or
/// if the file disagrees.
pub(crate) async fn record(writer: &mut Writer, commit: &RoundCommit) -> Result<bool> {
    let Some((node, edge)) = only(commit) else { return Ok(false) };
    let one = &TABLES.of(node.kind()).single;
    let ready = &mut writer.node_views[node.kind() as usize];
    if !*ready {
        for statement in [&one.view, &one.trigger] {
            run(&mut writer.connection, sqlx::query(statement.as_str().into_sql_str())).await?;
        }
        *ready = true;
    }
    let expected = i64::try_from(commit.expected).unwrap_or(i64::MAX);
    let measures = measures_text(node.measures.as_deref())?;
    let query = bind_head(sqlx::query(one.add.as_str().into_sql_str()).bind(expected), commit)?;
    let query = bind_node(query, &commit.head.round, node, measures.as_deref());
    let query = match edge {
        Some(edge) => bind_edge(query, &commit.head.round, 0, edge),
        None => (0..5).fold(query, |query, _| query.bind(None::<i64>)),
    };
    let RoundRef { agent, round } = &commit.head.round;
    let query = query.bind(agent.user.as_str()).bind(agent.session.as_str());
    let query = query.bind(i64::from(agent.agent)).bind(i64::from(*round));
    match run(&mut writer.connection, query).await {
        Ok(_) => Ok(true),
        Err(fault) if fault.is_refusal() => Ok(false),
        Err(fault) => Err(fault),
    }
}
