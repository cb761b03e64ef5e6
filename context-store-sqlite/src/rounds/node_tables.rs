//! The statements for the node tables, each generated once from core's list of kinds and fields.
//!
//! The tables themselves are created by `migrations/0006_trajectories.sql`, which never changes. A
//! test compares the two.

use std::fmt::Write as _;
use std::sync::LazyLock;

use context_core::trajectory::{
    Field, FieldForm, FieldValue, NodeBody, NodeId, TrajectoryNode, TrajectoryNodeKind,
};
use context_core::{Json, Timestamp};

use crate::checksums::rounds::{EDGE, MESSAGE, SealedRows, VERSION};
use crate::connections::batch_insert::BatchInsert;
use crate::rounds::json_rows::RowsQuery;

/// The columns that every node table has before those of the fields.
const COLUMNS: [&str; 7] =
    ["round", "ordinal", "label", "description", "created_at", "author", "measures"];

/// The statements for the table of one kind.
pub(crate) struct NodeTable {
    pub(crate) add: BatchInsert,
    pub(crate) load: RowsQuery,
    pub(crate) sealed: SealedRows,
    /// Changes node ?2 of round ?1: the description to ?3, the measures to ?5 if ?4 is true, and
    /// the fields from ?6 on. NULL leaves a value unchanged.
    pub(crate) change: String,
    /// Deletes the nodes of round ?1 that are in the JSON list ?2.
    pub(crate) remove: String,
    /// An empty node of this kind, which interprets changes to nodes of the kind.
    pub(crate) blank: TrajectoryNode,
}

impl NodeTable {
    fn new(kind: TrajectoryNodeKind) -> Self {
        let table = name(kind);
        let (fields, columns) = (fields(kind), columns(kind));
        let sealed: Vec<String> = columns.iter().cloned().chain(["sum".to_owned()]).collect();
        let loaded: Vec<&str> = sealed[1..].iter().map(String::as_str).collect();
        let mut change = format!(
            "UPDATE {table} SET description = coalesce(?3, description),
               measures = CASE WHEN ?4 THEN ?5 ELSE measures END, sum = NULL"
        );
        for (field, parameter) in fields.iter().zip(6..) {
            // Writing to a string cannot fail.
            let _ = write!(change, ", {field} = coalesce(?{parameter}, {field})");
        }
        change.push_str(" WHERE round = ?1 AND ordinal = ?2");
        Self {
            add: BatchInsert::new(&table, &sealed),
            load: RowsQuery::new(&table, &loaded),
            sealed: SealedRows::new(&table, &columns[1..].join(", "), &["ordinal"]),
            change,
            remove: format!(
                "DELETE FROM {table} WHERE round = ?1 AND ordinal IN (SELECT value FROM json_each(?2))"
            ),
            blank: blank(kind),
        }
    }
}

/// Returns the columns of the fields of a kind.
fn fields(kind: TrajectoryNodeKind) -> Vec<String> {
    kind.fields().iter().map(|field| format!("\"{}\"", field.name)).collect()
}

/// Returns the columns of a node table, without the checksum.
pub(crate) fn columns(kind: TrajectoryNodeKind) -> Vec<String> {
    COLUMNS.into_iter().map(str::to_owned).chain(fields(kind)).collect()
}

pub(crate) fn name(kind: TrajectoryNodeKind) -> String {
    format!("trajectory_{}", kind.lower())
}

fn blank(kind: TrajectoryNodeKind) -> TrajectoryNode {
    let null = Json::from_text("null").expect("a literal is JSON");
    let value = |field: &Field| match field.form {
        FieldForm::Text => FieldValue::from(""),
        FieldForm::Flag => FieldValue::from(false),
        _ => FieldValue::from(null.clone()),
    };
    let values = kind.fields().iter().map(|field| Some(value(field)));
    let body = NodeBody::from_values(kind, values).expect("each value is of the form of its field");
    TrajectoryNode::new(NodeId::new(0, 0), "", body, Timestamp::default())
}

/// The statements for all node tables, and for versions, links and edges.
pub(crate) struct Tables {
    kinds: [NodeTable; TrajectoryNodeKind::ALL.len()],
    pub(crate) edges: BatchInsert,
    pub(crate) sealed_edges: SealedRows,
    pub(crate) sealed_versions: SealedRows,
    pub(crate) sealed_messages: SealedRows,
    pub(crate) versions: BatchInsert,
    pub(crate) messages: BatchInsert,
    pub(crate) edges_of: RowsQuery,
    pub(crate) versions_of: RowsQuery,
    pub(crate) messages_of: RowsQuery,
    /// Returns the index of each round in the JSON list ?1, and its rows in all tables, in the
    /// order of [`Tables::loads`].
    pub(crate) contents: String,
    /// Returns the number of the kind and the own number of those nodes of round ?1 that are in the
    /// JSON list ?2.
    pub(crate) kinds_of: String,
    /// Counts the rows of user ?1 and the rows that belong to no round.
    pub(crate) remaining: String,
}

impl Tables {
    pub(crate) fn of(&self, kind: TrajectoryNodeKind) -> &NodeTable {
        &self.kinds[kind as usize]
    }

    /// Returns how each table is read: those of the kinds, then versions, links and edges.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &RowsQuery> {
        let beside = [&self.versions_of, &self.messages_of, &self.edges_of];
        self.kinds.iter().map(|table| &table.load).chain(beside)
    }
}

pub(crate) static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let kinds_of = TrajectoryNodeKind::ALL.map(|kind| {
        let (table, number) = (name(kind), kind as usize);
        format!("SELECT {number}, ordinal FROM {table} WHERE round = ?1 AND ordinal IN (SELECT value FROM json_each(?2))")
    });
    let beside = ["edge", "version", "message"].map(|table| format!("trajectory_{table}"));
    let strays = TrajectoryNodeKind::ALL.map(name).into_iter().chain(beside).map(|table| {
        format!(
            " + (SELECT count(*) FROM {table} WHERE round NOT IN (SELECT no FROM trajectory_round))"
        )
    });
    let remaining = "SELECT (SELECT count(*) FROM trajectory_round WHERE user = ?1)
        + (SELECT count(*) FROM trajectory_message WHERE user = ?1)";
    let edges = ["round", "position", "source", "target_round", "target", "name", "sum"];
    let versions = ["round", "ordinal", "number", "at", "author", "was", "sum"];
    let mut tables = Tables {
        kinds: TrajectoryNodeKind::ALL.map(NodeTable::new),
        edges: BatchInsert::with_columns(EDGE, &edges),
        sealed_edges: SealedRows::new(
            EDGE,
            "position, source, target_round, target, name",
            &["position"],
        ),
        sealed_versions: SealedRows::new(
            VERSION,
            "ordinal, number, at, author, was",
            &["ordinal", "number"],
        ),
        sealed_messages: SealedRows::new(
            MESSAGE,
            "ordinal, position, chat, message",
            &["ordinal", "position"],
        ),
        versions: BatchInsert::with_columns(VERSION, &versions),
        messages: BatchInsert::with_columns(
            "trajectory_message",
            &["round", "ordinal", "position", "user", "chat", "message", "sum"],
        ),
        edges_of: RowsQuery::new(EDGE, &edges[1..]),
        versions_of: RowsQuery::new(VERSION, &versions[1..]),
        messages_of: RowsQuery::new(MESSAGE, &["ordinal", "position", "chat", "message", "sum"]),
        contents: String::new(),
        kinds_of: kinds_of.join(" UNION ALL "),
        remaining: strays.fold(remaining.to_owned(), |all, one| all + &one),
    };
    let lists: Vec<&str> = tables.loads().map(|load| load.list.as_str()).collect();
    tables.contents = format!("SELECT j.key, {} FROM json_each(?1) j", lists.join(", "));
    tables
});

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Executor, Row, SqlSafeStr};

    use super::*;
    use crate::connections::Connections;
    use crate::{SqliteConfig, SqliteStore};

    async fn open(folder: &tempfile::TempDir) -> std::sync::Arc<Connections> {
        SqliteStore::open(SqliteConfig::new(folder.path().join("s.db")))
            .await
            .unwrap()
            .into_connections()
    }

    /// This test fails if core gains or loses a field. A new migration then has to change the
    /// tables and views.
    #[tokio::test]
    async fn tables_have_a_column_for_each_field_and_views_show_it() {
        let folder = tempfile::tempdir().unwrap();
        let connections = open(&folder).await;
        let mut writer = connections.writer().await.unwrap();
        for kind in TrajectoryNodeKind::ALL {
            let mut expected: Vec<(String, &str, bool)> = Vec::new();
            for column in COLUMNS {
                let number = ["round", "ordinal", "created_at"].contains(&column);
                let type_name = if number { "INTEGER" } else { "TEXT" };
                expected.push((
                    column.to_owned(),
                    type_name,
                    !["author", "measures"].contains(&column),
                ));
            }
            for field in kind.fields() {
                let type_name = if field.form == FieldForm::Flag { "INTEGER" } else { "TEXT" };
                expected.push((field.name.to_owned(), type_name, true));
            }
            let views_show = expected.len();
            expected.push(("sum".to_owned(), "INTEGER", false));
            let columns =
                format!("SELECT name, type, \"notnull\" FROM pragma_table_info('{}')", name(kind));
            let rows = sqlx::query(AssertSqlSafe(columns))
                .fetch_all(&mut writer.connection)
                .await
                .unwrap();
            let found: Vec<(String, String, bool)> =
                rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
            let found: Vec<_> =
                found.iter().map(|(n, t, not_null)| (n.clone(), t.as_str(), *not_null)).collect();
            assert_eq!(found, expected, "{kind}");
            let view = "SELECT name FROM sqlite_schema WHERE type = 'view' AND sql LIKE '% ' || ?1 || ' n ON %'";
            let row =
                sqlx::query(view).bind(name(kind)).fetch_one(&mut writer.connection).await.unwrap();
            let shown = format!("SELECT name FROM pragma_table_info('{}')", row.get::<&str, _>(0));
            let rows =
                sqlx::query(AssertSqlSafe(shown)).fetch_all(&mut writer.connection).await.unwrap();
            let shown: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
            let asked = ["user", "session", "agent", "round", "node"].into_iter();
            let columns = expected[1..views_show].iter().map(|(name, ..)| name.as_str());
            assert_eq!(shown, asked.chain(columns).collect::<Vec<_>>(), "{kind}");
        }
    }

    #[tokio::test]
    async fn every_statement_made_here_fits_the_schema() {
        let folder = tempfile::tempdir().unwrap();
        let connections = open(&folder).await;
        let mut writer = connections.writer().await.unwrap();
        let tables = &*TABLES;
        let mut all = vec![tables.kinds_of.as_str(), &tables.remaining];
        let kinds = tables.kinds.iter().map(|table| &table.add);
        for insert in kinds.chain([&tables.edges, &tables.versions, &tables.messages]) {
            all.extend(insert.all());
        }
        for table in &tables.kinds {
            all.extend([table.change.as_str(), &table.remove]);
        }
        all.push(&tables.contents);
        all.extend(tables.loads().map(|load| load.each.as_str()));
        for text in all {
            let prepared = (&mut writer.connection).prepare(text.into_sql_str()).await;
            assert!(prepared.is_ok(), "{text}: {:?}", prepared.err());
        }
    }
}
