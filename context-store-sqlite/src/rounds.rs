//! Reading rounds: one statement for each table, however many rounds there are.

pub(crate) mod calls;
pub(crate) mod gathered;
pub(crate) mod listing;
pub(crate) mod node_tables;
pub(crate) mod record;
pub(crate) mod record_one;
pub(crate) mod sums;

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use context_core::trajectory::{
    Changes, Edge, FieldForm, FieldValue, MessageLink, Node, NodeBody, NodeId, NodeKind, RoundHead,
    RoundRecord, Version,
};
use context_core::{AgentRef, Json, KeyOrder, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::connections::run;
use crate::error::{Fault, Result};
use crate::place::signed;
use crate::rounds::gathered::{Cells, Gathered};
use crate::rounds::node_tables::{NodeTable, TABLES, name};
use crate::rounds::sums::{DIFFERS, EDGE, MESSAGE, VERSION, check_agent, head_sum};
use crate::rows::json_numbers;
use crate::sql::rounds as sql;
use crate::tally::{OfUser, Seen};

/// The rounds of an agent with these numbers, all in one state.
pub(crate) async fn load(
    connection: &mut SqliteConnection,
    agent: &AgentRef,
    rounds: RangeInclusive<u32>,
) -> Result<Vec<RoundRecord>> {
    if rounds.is_empty() {
        return Ok(Vec::new());
    }
    let mut transaction = connection.begin().await?;
    let query = sqlx::query(sql::ROUNDS_OF_NUMBERS).bind(agent.user.as_str()).bind(agent.session.as_str());
    let query = query.bind(i64::from(agent.agent)).bind(i64::from(*rounds.start()));
    let rows = run(&mut transaction, query.bind(i64::from(*rounds.end()))).await?;
    let heads =
        rows.iter().map(|row| Ok((row.try_get(0)?, head_of(row, 1, 2)?))).collect::<Result<Vec<_>>>()?;
    let mut order = KeyOrder::new("load_rounds", "round");
    for (_, head) in &heads {
        check_agent(head, agent)?;
        order.next(head.round.round)?;
    }
    if heads.len() as u64 <= u64::from(*rounds.end() - rounds.start()) {
        OfUser::Rounds.compare(&mut transaction, &agent.user, Seen::Part).await?;
    }
    let records = fill(&mut transaction, heads).await?;
    if records.iter().any(|record| record.head.nodes as usize != record.nodes.len()) {
        return Err(Fault::Corrupt("nodes of a round are missing", None));
    }
    transaction.commit().await?;
    Ok(records)
}

/// The head in a column, with its checksum in another.
pub(crate) fn head_of(row: &SqliteRow, column: usize, sum: usize) -> Result<RoundHead> {
    if row.try_get::<Option<i64>, _>(sum)? != Some(head_sum(row.try_get(column)?)) {
        return Err(DIFFERS);
    }
    serde_json::from_str(row.try_get(column)?)
        .map_err(|_| Fault::Corrupt("the head of a round cannot be read", None))
}

/// Reads what the rounds of these numbers have.
pub(crate) async fn fill(
    connection: &mut SqliteConnection,
    heads: Vec<(i64, RoundHead)>,
) -> Result<Vec<RoundRecord>> {
    if heads.is_empty() {
        return Ok(Vec::new());
    }
    let list = json_numbers(heads.iter().map(|(no, _)| no));
    let numbers: Vec<i64> = heads.iter().map(|(no, _)| *no).collect();
    let mut records: Vec<RoundRecord> =
        heads.into_iter().map(|(_, head)| RoundRecord::new(head, Vec::new(), Vec::new())).collect();
    let mut beside = Beside::read(connection, &list, &records).await?;
    for kind in NodeKind::ALL {
        let (table, table_name) = (TABLES.of(kind), name(kind));
        let gathered = Gathered::read(connection, &table.load, &list).await?;
        for round in gathered.rounds() {
            let (at, rows) = round?;
            let record = records.get_mut(at).ok_or(STRAY)?;
            record.nodes.reserve(rows.len());
            for row in rows.iter() {
                row.check(&table_name, &record.head.round)?;
                let more = beside.take(at, row.number(0)?);
                record.nodes.push(Arc::new(node_of(&row, record.head.round.round, kind, table, more)?));
            }
        }
    }
    if !beside.0.is_empty() {
        return Err(Fault::Corrupt("versions or messages of a node that is not there", None));
    }
    let mut positions: Vec<Vec<i64>> = vec![Vec::new(); records.len()];
    // Few names, many edges.
    let mut names: HashMap<String, Arc<str>> = HashMap::new();
    let gathered = Gathered::read(connection, &TABLES.edges_of, &list).await?;
    for round in gathered.rounds() {
        let (at, rows) = round?;
        let record = records.get_mut(at).ok_or(STRAY)?;
        for row in rows.iter() {
            row.check(EDGE, &record.head.round)?;
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
    complete(connection, &list, &numbers, &records).await?;
    for (record, positions) in records.iter_mut().zip(positions) {
        record.nodes.sort_by_key(|node| node.id);
        // By the key of the table they come in order; nobody has promised it.
        if !positions.is_sorted() {
            let mut edges: Vec<_> = positions.into_iter().zip(std::mem::take(&mut record.edges)).collect();
            edges.sort_by_key(|(position, _)| *position);
            record.edges = edges.into_iter().map(|(_, edge)| edge).collect();
        }
    }
    Ok(records)
}

/// Whether rounds have all that was counted: a page that was lost takes rows along without a trace.
async fn complete(
    connection: &mut SqliteConnection,
    list: &str,
    numbers: &[i64],
    records: &[RoundRecord],
) -> Result<()> {
    // The weights of the migration.
    const VERSION: usize = 1_000_003;
    const MESSAGE: usize = 1_000_033;
    let mut counted = HashMap::with_capacity(numbers.len());
    for row in run(connection, sqlx::query(sql::BESIDE).bind(list)).await? {
        counted.insert(row.try_get::<i64, _>(0)?, (row.try_get(1)?, row.try_get(2)?));
    }
    for (no, record) in numbers.iter().zip(records) {
        let weight = |node: &Arc<Node>| VERSION * node.versions.len() + MESSAGE * node.messages.len();
        let beside: usize = record.nodes.iter().map(weight).sum();
        if counted.get(no) != Some(&(signed(beside), signed(record.edges.len()))) {
            return Err(Fault::Corrupt("edges, versions or messages of a round are missing", None));
        }
    }
    Ok(())
}

const UNREADABLE: Fault = Fault::Corrupt("a node cannot be read", None);
const STRAY: Fault = Fault::Corrupt("a row of another round", None);

/// What is kept beside nodes, by the place of the round and the number of the node.
#[derive(Default)]
struct Beside(HashMap<(usize, u32), More>);

/// What is kept beside a node.
#[derive(Default)]
struct More {
    versions: Vec<Version>,
    /// Links, each behind its position.
    messages: Vec<(i64, MessageLink)>,
}

impl Beside {
    async fn read(connection: &mut SqliteConnection, list: &str, records: &[RoundRecord]) -> Result<Self> {
        let mut beside = Self::default();
        let gathered = Gathered::read(connection, &TABLES.versions_of, list).await?;
        for round in gathered.rounds() {
            let (at, rows) = round?;
            let round = &records.get(at).ok_or(STRAY)?.head.round;
            for row in rows.iter() {
                row.check(VERSION, round)?;
                let ended = Timestamp::from_micros(row.number(2)?);
                let author = row.maybe_text(3)?.map(Arc::from);
                let was: Changes = serde_json::from_str(row.text(4)?).map_err(|_| UNREADABLE)?;
                let version = Version { number: row.number(1)?, at: ended, author, was };
                beside.of(at, &row)?.versions.push(version);
            }
        }
        let gathered = Gathered::read(connection, &TABLES.messages_of, list).await?;
        for round in gathered.rounds() {
            let (at, rows) = round?;
            let round = &records.get(at).ok_or(STRAY)?.head.round;
            for row in rows.iter() {
                row.check(MESSAGE, round)?;
                let link = MessageLink::new(row.text(2)?, row.text(3)?);
                beside.of(at, &row)?.messages.push((row.number(1)?, link));
            }
        }
        Ok(beside)
    }

    fn of(&mut self, at: usize, row: &Cells<'_, '_>) -> Result<&mut More> {
        Ok(self.0.entry((at, row.number(0)?)).or_default())
    }

    fn take(&mut self, at: usize, ordinal: u32) -> More {
        self.0.remove(&(at, ordinal)).unwrap_or_default()
    }
}

fn json_of(text: &str) -> Result<Json> {
    Json::from_text(text).map_err(|_| Fault::Corrupt("a field of a node is not JSON", None))
}

/// A node as it is in a row of its kind's table.
fn node_of(row: &Cells<'_, '_>, round: u32, kind: NodeKind, table: &NodeTable, more: More) -> Result<Node> {
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
    let mut node = Node::new(NodeId::new(round, row.number(0)?), row.text(1)?, body, created_at);
    let description = row.text(2)?;
    if !description.is_empty() {
        node.description = description.into();
    }
    node.author = row.maybe_text(4)?.map(Arc::from);
    let measures = row.maybe_text(5)?;
    node.measures = measures.map(serde_json::from_str).transpose().map_err(|_| UNREADABLE)?;
    let More { mut versions, mut messages } = more;
    versions.sort_by_key(|version| version.number);
    for mut version in versions {
        version.was = table.blank.settle(&version.was).map_err(|_| UNREADABLE)?;
        node.versions.push(version);
    }
    messages.sort_by_key(|(position, _)| *position);
    node.messages = messages.into_iter().map(|(_, link)| link).collect();
    Ok(node)
}
