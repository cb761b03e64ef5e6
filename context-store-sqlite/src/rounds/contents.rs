//! Reading the nodes and edges of rounds.

use std::sync::Arc;

use context_core::trajectory::{
    Changes, Edge, FieldForm, FieldValue, MessageLink, NodeBody, NodeId, RoundRecord, RoundRef,
    TrajectoryNode, TrajectoryNodeKind, Version,
};
use context_core::{Json, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Row, SqlSafeStr};

use crate::error::{Fault, Result};
use crate::rounds::RoundRow;
use crate::rounds::json_rows::{Cells, CheckedRow, RowsQuery};
use crate::rounds::node_tables::TABLES;
use crate::sql::{run, run_each};
use crate::values::numbers::signed;
use crate::values::rows::json_numbers;

/// SQLite's error code for a value that exceeds the size limit.
const TOO_BIG: &str = "18";

/// The error for a row of a round that was not requested.
const STRAY: Fault = Fault::Corrupt("a row belongs to a round that was not requested", None);

const UNREADABLE: Fault = Fault::Corrupt("a node cannot be read", None);

const HOMELESS: Fault =
    Fault::Corrupt("versions or messages belong to a node that is missing", None);

/// Reads the content of rounds. All tables are read by one statement, which returns a row for each
/// round. A round is put together while its texts are in the processor's caches, and the texts of
/// all rounds are never in memory at once.
pub(crate) async fn fill(
    connection: &mut SqliteConnection,
    rounds: Vec<RoundRow>,
) -> Result<Vec<RoundRecord>> {
    let mut records = Vec::with_capacity(rounds.len());
    let mut names = EdgeNames::default();
    while records.len() < rounds.len() {
        let first = records.len();
        let list = json_numbers(rounds[first..].iter().map(|stored| stored.no));
        let query = sqlx::query((&*TABLES.contents).into_sql_str()).bind(list);
        let read = run_each(connection, query, |row| {
            let stored = rounds.get(records.len()).ok_or(STRAY)?;
            if row.try_get::<i64, _>(0)? != signed(records.len() - first) {
                return Err(STRAY);
            }
            records.push(record_of(stored, &RoundTexts::Lists(row), &mut names)?);
            Ok(())
        });
        match read.await {
            Ok(()) if records.len() == rounds.len() => {}
            Ok(()) => return Err(STRAY),
            Err(Fault::Driver(error)) if is_too_big(&error) => {
                let stored = rounds.get(records.len()).ok_or(STRAY)?;
                let texts = RoundTexts::rows(connection, stored.no).await?;
                records.push(record_of(stored, &texts, &mut names)?);
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(records)
}

fn is_too_big(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == TOO_BIG)
}

/// The rows of a round, by table in the order of [`Tables::loads`](super::node_tables::Tables).
enum RoundTexts {
    /// A list of rows for each table, after the first column.
    Lists(SqliteRow),
    /// Lists of one row, for a round that is too large for one value for each table.
    Rows(Vec<Vec<SqliteRow>>),
}

impl RoundTexts {
    async fn rows(connection: &mut SqliteConnection, round: i64) -> Result<Self> {
        let mut tables = Vec::new();
        for load in TABLES.loads() {
            let query = sqlx::query((&*load.each).into_sql_str()).bind(round);
            tables.push(run(connection, query).await?);
        }
        Ok(Self::Rows(tables))
    }

    /// Calls `read` for each row of a table.
    fn read<'a>(
        &'a self,
        table: usize,
        load: &RowsQuery,
        round: &RoundRef,
        mut read: impl FnMut(&mut CheckedRow<'_, 'a>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Lists(row) => load.read(round, row.try_get(table + 1)?, read),
            Self::Rows(tables) => {
                let rows = tables.get(table).ok_or(UNREADABLE)?;
                rows.iter().try_for_each(|row| load.read(round, row.try_get(0)?, &mut read))
            }
        }
    }
}

/// Names of edges that many edges share.
#[derive(Default)]
struct EdgeNames(Vec<Arc<str>>);

impl EdgeNames {
    /// The most names that are remembered. More are only in rounds with names of their own.
    const MAX: usize = 16;

    fn share(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.iter().find(|known| ***known == *name) {
            return known.clone();
        }
        let new: Arc<str> = name.into();
        if self.0.len() < Self::MAX {
            self.0.push(new.clone());
        }
        new
    }
}

/// Puts a round together.
fn record_of(stored: &RoundRow, texts: &RoundTexts, names: &mut EdgeNames) -> Result<RoundRecord> {
    let round = &stored.head.round;
    let mut nodes = Vec::with_capacity(stored.head.nodes.min(MANY) as usize);
    let mut values = Vec::new();
    for kind in TrajectoryNodeKind::ALL {
        texts.read(kind as usize, &TABLES.of(kind).load, round, |row| {
            nodes.push(Arc::new(node_of(row.check()?, round.round, kind, &mut values)?));
            Ok(())
        })?;
    }
    nodes.sort_by_key(|node| node.id);

    let beside = TrajectoryNodeKind::ALL.len();
    let mut versions: Vec<(u32, Version)> = Vec::new();
    texts.read(beside, &TABLES.versions_of, round, |row| {
        let row = row.check()?;
        let at = Timestamp::from_micros(row.number(2)?);
        let author = row.maybe_text(3)?.map(Arc::from);
        let ordinal = row.number(0)?;
        let kind = node_mut(&mut nodes, ordinal)?.kind();
        let previous = Changes::from_json(kind, row.text(4)?).map_err(|_| UNREADABLE)?;
        versions.push((ordinal, Version { number: row.number(1)?, at, author, previous }));
        Ok(())
    })?;
    let mut links: Vec<(u32, i64, MessageLink)> = Vec::new();
    texts.read(beside + 1, &TABLES.messages_of, round, |row| {
        let row = row.check()?;
        let link = MessageLink::new(row.text(2)?, row.text(3)?);
        links.push((row.number(0)?, row.number(1)?, link));
        Ok(())
    })?;
    let mut edges: Vec<(i64, Edge)> = Vec::with_capacity(nodes.len());
    texts.read(beside + 2, &TABLES.edges_of, round, |row| {
        let row = row.check_edge()?;
        let from = NodeId::new(round.round, row.number(1)?);
        let to = NodeId::new(row.number(2)?, row.number(3)?);
        edges.push((row.number(0)?, Edge::new(from, to, names.share(row.text(4)?))));
        Ok(())
    })?;
    if weight(versions.len(), links.len(), edges.len()) != stored.weight {
        return Err(Fault::Corrupt("edges, versions or messages of a round are missing", None));
    }

    // The keys of the tables return these in order, but the statements do not guarantee it.
    versions.sort_by_key(|(ordinal, version)| (*ordinal, version.number));
    links.sort_by_key(|(ordinal, position, _)| (*ordinal, *position));
    edges.sort_by_key(|(position, _)| *position);
    for (ordinal, version) in versions {
        node_mut(&mut nodes, ordinal)?.versions.push(version);
    }
    for (ordinal, _, link) in links {
        node_mut(&mut nodes, ordinal)?.messages.push(link);
    }
    let edges = edges.into_iter().map(|(_, edge)| edge).collect();
    Ok(RoundRecord::new(stored.head.clone(), nodes, edges))
}

/// The number of nodes for which space is made before they are read.
const MANY: u32 = 4096;

/// Returns the weighted number of a round's rows other than nodes, with the weights of the
/// migration. Comparing it detects rows of a lost page, which leave no other trace.
fn weight(versions: usize, links: usize, edges: usize) -> i64 {
    signed(1_000_003 * versions + 1_000_033 * links + 1_000_037 * edges)
}

/// Finds a node among nodes in the order of their numbers.
fn node_mut(nodes: &mut [Arc<TrajectoryNode>], ordinal: u32) -> Result<&mut TrajectoryNode> {
    let at = nodes.binary_search_by_key(&ordinal, |node| node.id.ordinal).map_err(|_| HOMELESS)?;
    Ok(Arc::make_mut(&mut nodes[at]))
}

/// Reads a node from a row of its kind's table. `values` is empty, before and after.
fn node_of(
    mut row: Cells<'_, '_>,
    round: u32,
    kind: TrajectoryNodeKind,
    values: &mut Vec<Option<FieldValue>>,
) -> Result<TrajectoryNode> {
    values.clear();
    for (field, column) in kind.fields().iter().zip(6..) {
        values.push(match field.form {
            FieldForm::Text => Some(FieldValue::from(row.text(column)?)),
            FieldForm::Flag => Some(FieldValue::from(row.number::<i64>(column)? != 0)),
            // All nodes share the defaults.
            _ if field.default == Some(row.text(column)?) => None,
            _ => Some(FieldValue::from(json_of(row.take_text(column)?.into_owned())?)),
        });
    }
    let body = NodeBody::from_values(kind, values.drain(..)).map_err(|_| UNREADABLE)?;
    let id = NodeId::new(round, row.number(0)?);
    let created_at = Timestamp::from_micros(row.number(3)?);
    let mut node = TrajectoryNode::new(id, row.text(1)?, body, created_at);
    let description = row.text(2)?;
    if !description.is_empty() {
        node.description = description.into();
    }
    node.author = row.maybe_text(4)?.map(Arc::from);
    let measures = row.maybe_text(5)?;
    node.measures = measures.map(serde_json::from_str).transpose().map_err(|_| UNREADABLE)?;
    Ok(node)
}

fn json_of(text: String) -> Result<Json> {
    Json::from_text(text).map_err(|_| Fault::Corrupt("a field of a node is not JSON", None))
}

#[cfg(test)]
mod tests {
    use context_core::store::RoundCommit;
    use context_core::trajectory::{AgentRef, NewNode, NewQuery, Round};

    use super::*;
    use crate::rounds::record;
    use crate::sql::rounds::ROUNDS_OF_NUMBERS;
    use crate::{SqliteConfig, SqliteStore};

    /// A round that is too large for one value would fill a gigabyte, so both ways of reading are
    /// compared on a small one.
    #[tokio::test]
    async fn rows_that_are_read_one_by_one_are_those_of_the_lists() {
        let folder = tempfile::tempdir().unwrap();
        let config = SqliteConfig::new(folder.path().join("s.db"));
        let connections = SqliteStore::open(config).await.unwrap().into_connections();
        let mut writer = connections.writer().await.unwrap();

        let at = Timestamp::from_micros(7);
        let mut round = Round::new(AgentRef::main("ada", "trip").round(3), at);
        let query = NewQuery::new("Where to?").message(MessageLink::new("trip", "m1"));
        let (query, mut changes) = round.ask(query, at).unwrap();
        for page in 0..3 {
            let body =
                NodeBody::action("search", serde_json::json!({"text": "a \"b\"", "page": page}));
            let (action, added) = round.add(NewNode::new(body, [query]).append(), at).unwrap();
            changes.extend(added);
            let output = Changes::new().set("output", "ä").set("success", true).describe("Looked.");
            changes.extend(round.change(action, &output, Some("ada".into()), at).unwrap());
            let file = NewNode::new(NodeBody::file("/f"), [action]);
            changes.extend(round.add(file, at).unwrap().1);
        }
        round.committed();
        let commit = RoundCommit::new("k", changes, round.head());
        let _ = record::record(&mut writer, &commit).await.unwrap();

        let rows = sqlx::query(ROUNDS_OF_NUMBERS).bind("ada").bind("trip").bind(0).bind(0).bind(9);
        let rows = run(&mut writer.connection, rows).await.unwrap();
        let stored = RoundRow::of(&rows[0]).unwrap();
        let listed = fill(&mut writer.connection, vec![stored.clone()]).await.unwrap();
        assert_eq!(listed, [round.to_record()]);
        let texts = RoundTexts::rows(&mut writer.connection, stored.no).await.unwrap();
        assert!(matches!(&texts, RoundTexts::Rows(tables) if tables[2].len() == 3));
        let single = record_of(&stored, &texts, &mut EdgeNames::default()).unwrap();
        assert_eq!(single, round.to_record());
    }
}
