//! Rounds of trajectories: recording, reading, listing and removing them. A read takes one
//! statement per table, however many rounds there are.

pub(crate) mod addition;
pub(crate) mod json_rows;
pub(crate) mod listing;
pub(crate) mod node_tables;
mod plan;
pub(crate) mod record;
mod refusal;
mod row_values;

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use context_core::store::KeyOrder;
use context_core::trajectory::{
    AgentRef, Changes, Edge, FieldForm, FieldValue, MessageLink, NodeBody, NodeId, RoundHead,
    RoundRecord, TrajectoryNode, TrajectoryNodeKind, Version,
};
use context_core::{Json, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::checksums::rounds::{DIFFERS, EDGE, MESSAGE, VERSION, head_sum};
use crate::counts::{ListPart, UserCount};
use crate::error::{Fault, Result};
use crate::rounds::json_rows::{Cells, JsonRows, RowChecksums, STRAY};
use crate::rounds::node_tables::{NodeTable, TABLES, name};
use crate::sql::rounds as sql;
use crate::sql::run;
use crate::values::numbers::signed;
use crate::values::rows::json_numbers;

/// Returns the rounds of an agent with these numbers. All reads see one state of the file.
pub(crate) async fn load(
    connection: &mut SqliteConnection,
    agent: &AgentRef,
    rounds: RangeInclusive<u32>,
) -> Result<Vec<RoundRecord>> {
    if rounds.is_empty() {
        return Ok(Vec::new());
    }
    let mut transaction = connection.begin().await?;
    let query =
        sqlx::query(sql::ROUNDS_OF_NUMBERS).bind(agent.user.as_str()).bind(agent.session.as_str());
    let query = query.bind(i64::from(agent.agent)).bind(i64::from(*rounds.start()));
    let rows = run(&mut transaction, query.bind(i64::from(*rounds.end()))).await?;
    let stored = rows.iter().map(RoundRow::of).collect::<Result<Vec<_>>>()?;
    let mut order = KeyOrder::new("load_rounds", "round");
    for RoundRow { head, .. } in &stored {
        check_agent(head, agent)?;
        order.next(head.round.round)?;
    }
    if stored.len() as u64 <= u64::from(*rounds.end() - rounds.start()) {
        UserCount::Rounds.compare(&mut transaction, &agent.user, ListPart::Middle).await?;
    }
    let records = fill(&mut transaction, stored).await?;
    if records.iter().any(|record| record.head.nodes as usize != record.nodes.len()) {
        return Err(Fault::Corrupt("nodes of a round are missing", None));
    }
    transaction.commit().await?;
    Ok(records)
}

/// The row of a round. Its columns are the number, the columns that [`head_of`] reads, and
/// `beside`.
#[derive(Clone)]
pub(crate) struct RoundRow {
    no: i64,
    weight: i64,
    pub(crate) head: RoundHead,
}

impl RoundRow {
    pub(crate) fn of(row: &SqliteRow) -> Result<Self> {
        Ok(Self { no: row.try_get(0)?, weight: row.try_get(4)?, head: head_of(row, 1)? })
    }
}

/// Reads the head from a column, followed by the key of the last commit and the checksum.
pub(crate) fn head_of(row: &SqliteRow, column: usize) -> Result<RoundHead> {
    let sum = head_sum(row.try_get(column)?, row.try_get(column + 1)?);
    if row.try_get::<Option<i64>, _>(column + 2)? != Some(sum) {
        return Err(DIFFERS);
    }
    serde_json::from_str(row.try_get(column)?)
        .map_err(|_| Fault::Corrupt("the head of a round cannot be read", None))
}

/// Reads the content of the rounds of these numbers.
pub(crate) async fn fill(
    connection: &mut SqliteConnection,
    rounds: Vec<RoundRow>,
) -> Result<Vec<RoundRecord>> {
    if rounds.is_empty() {
        return Ok(Vec::new());
    }
    let list = json_numbers(rounds.iter().map(|stored| stored.no));
    let counted: Vec<i64> = rounds.iter().map(|stored| stored.weight).collect();
    let mut records: Vec<RoundRecord> = rounds
        .into_iter()
        .map(|stored| RoundRecord::new(stored.head, Vec::new(), Vec::new()))
        .collect();
    let mut attachments = Attachments::read(connection, &list, &records).await?;
    for kind in TrajectoryNodeKind::ALL {
        let (table, table_name) = (TABLES.of(kind), name(kind));
        let rows_of_rounds = JsonRows::read(connection, &table.load, &list).await?;
        for round in rows_of_rounds.rounds() {
            let (at, rows) = round?;
            let record = records.get_mut(at).ok_or(STRAY)?;
            record.nodes.reserve(rows.len());
            let mut sums = RowChecksums::of(&table_name, &record.head.round);
            for row in rows.iter() {
                sums.check(&row)?;
                let attached = attachments.take(at, row.number(0)?);
                record.nodes.push(Arc::new(node_of(
                    &row,
                    record.head.round.round,
                    kind,
                    table,
                    attached,
                )?));
            }
        }
    }
    if !attachments.0.is_empty() {
        return Err(Fault::Corrupt("versions or messages belong to a node that is missing", None));
    }
    let mut positions: Vec<Vec<i64>> = vec![Vec::new(); records.len()];
    // There are few names and many edges, so names are shared.
    let mut names: HashMap<String, Arc<str>> = HashMap::new();
    let rows_of_rounds = JsonRows::read(connection, &TABLES.edges_of, &list).await?;
    for round in rows_of_rounds.rounds() {
        let (at, rows) = round?;
        let record = records.get_mut(at).ok_or(STRAY)?;
        let mut sums = RowChecksums::of(EDGE, &record.head.round);
        for row in rows.iter() {
            sums.check_edge(&row)?;
            positions[at].push(row.number(0)?);
            let from = NodeId::new(record.head.round.round, row.number(1)?);
            let to = NodeId::new(row.number(2)?, row.number(3)?);
            let name = row.text(4)?;
            let name = match names.get(name) {
                Some(known) => Arc::clone(known),
                None => Arc::clone(names.entry(name.to_owned()).or_insert_with(|| name.into())),
            };
            record.edges.push(Edge::new(from, to, name));
        }
    }
    if !records.iter().zip(counted).all(|(record, counted)| weight(record) == counted) {
        return Err(Fault::Corrupt("edges, versions or messages of a round are missing", None));
    }
    for (record, positions) in records.iter_mut().zip(positions) {
        record.nodes.sort_by_key(|node| node.id);
        // The key of the table returns edges in order, but the statement does not guarantee it.
        if !positions.is_sorted() {
            let mut edges: Vec<_> =
                positions.into_iter().zip(std::mem::take(&mut record.edges)).collect();
            edges.sort_by_key(|(position, _)| *position);
            record.edges = edges.into_iter().map(|(_, edge)| edge).collect();
        }
    }
    Ok(records)
}

/// Returns the weighted number of a round's rows other than nodes, with the weights of the
/// migration. Comparing it detects rows of a lost page, which leave no other trace.
fn weight(record: &RoundRecord) -> i64 {
    let of_node = |node: &Arc<TrajectoryNode>| {
        1_000_003 * node.versions.len() + 1_000_033 * node.messages.len()
    };
    signed(record.nodes.iter().map(of_node).sum::<usize>() + 1_000_037 * record.edges.len())
}

const UNREADABLE: Fault = Fault::Corrupt("a node cannot be read", None);

/// Versions and links of nodes, by the index of the round and the number of the node.
#[derive(Default)]
struct Attachments(HashMap<(usize, u32), NodeAttachments>);

/// The versions and links of one node.
#[derive(Default)]
struct NodeAttachments {
    versions: Vec<Version>,
    /// Links, each with its position.
    messages: Vec<(i64, MessageLink)>,
}

impl Attachments {
    async fn read(
        connection: &mut SqliteConnection,
        list: &str,
        records: &[RoundRecord],
    ) -> Result<Self> {
        let mut attachments = Self::default();
        let rows_of_rounds = JsonRows::read(connection, &TABLES.versions_of, list).await?;
        for round in rows_of_rounds.rounds() {
            let (at, rows) = round?;
            let mut sums = RowChecksums::of(VERSION, &records.get(at).ok_or(STRAY)?.head.round);
            for row in rows.iter() {
                sums.check(&row)?;
                let ended = Timestamp::from_micros(row.number(2)?);
                let author = row.maybe_text(3)?.map(Arc::from);
                let previous: Changes =
                    serde_json::from_str(row.text(4)?).map_err(|_| UNREADABLE)?;
                let version = Version { number: row.number(1)?, at: ended, author, previous };
                attachments.of(at, &row)?.versions.push(version);
            }
        }
        let rows_of_rounds = JsonRows::read(connection, &TABLES.messages_of, list).await?;
        for round in rows_of_rounds.rounds() {
            let (at, rows) = round?;
            let mut sums = RowChecksums::of(MESSAGE, &records.get(at).ok_or(STRAY)?.head.round);
            for row in rows.iter() {
                sums.check(&row)?;
                let link = MessageLink::new(row.text(2)?, row.text(3)?);
                attachments.of(at, &row)?.messages.push((row.number(1)?, link));
            }
        }
        Ok(attachments)
    }

    fn of(&mut self, at: usize, row: &Cells<'_, '_>) -> Result<&mut NodeAttachments> {
        Ok(self.0.entry((at, row.number(0)?)).or_default())
    }

    fn take(&mut self, at: usize, ordinal: u32) -> NodeAttachments {
        self.0.remove(&(at, ordinal)).unwrap_or_default()
    }
}

fn json_of(text: &str) -> Result<Json> {
    Json::from_text(text).map_err(|_| Fault::Corrupt("a field of a node is not JSON", None))
}

/// Reads a node from a row of its kind's table.
fn node_of(
    row: &Cells<'_, '_>,
    round: u32,
    kind: TrajectoryNodeKind,
    table: &NodeTable,
    attached: NodeAttachments,
) -> Result<TrajectoryNode> {
    let mut values = Vec::with_capacity(kind.fields().len());
    for (field, column) in kind.fields().iter().zip(6..) {
        values.push(Some(match field.form {
            FieldForm::Text => FieldValue::from(row.text(column)?),
            FieldForm::Flag => FieldValue::from(row.number::<i64>(column)? != 0),
            _ => FieldValue::from(json_of(row.text(column)?)?),
        }));
    }
    let body = NodeBody::from_values(kind, values).map_err(|_| UNREADABLE)?;
    let created_at = Timestamp::from_micros(row.number(3)?);
    let mut node =
        TrajectoryNode::new(NodeId::new(round, row.number(0)?), row.text(1)?, body, created_at);
    let description = row.text(2)?;
    if !description.is_empty() {
        node.description = description.into();
    }
    node.author = row.maybe_text(4)?.map(Arc::from);
    let measures = row.maybe_text(5)?;
    node.measures = measures.map(serde_json::from_str).transpose().map_err(|_| UNREADABLE)?;
    let NodeAttachments { mut versions, mut messages } = attached;
    versions.sort_by_key(|version| version.number);
    for mut version in versions {
        version.previous = table.blank.settle(&version.previous).map_err(|_| UNREADABLE)?;
        node.versions.push(version);
    }
    messages.sort_by_key(|(position, _)| *position);
    node.messages = messages.into_iter().map(|(_, link)| link).collect();
    Ok(node)
}

/// Compares the round named in a head with the requested agent.
fn check_agent(head: &RoundHead, agent: &AgentRef) -> Result<()> {
    if head.round.agent == *agent { Ok(()) } else { Err(DIFFERS) }
}
