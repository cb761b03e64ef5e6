//! Damage of any single value and loss of any single row: the findings of the check.

use std::sync::Arc;

use context_core::base::{CheckpointName, StreamId};
use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector};
use context_core::message::NodeKind;
use context_core::store::{
    Commit, ForkName, MemoryWrite, NewBlob, NewChat, RoundCommit, StreamAppend, StreamClaim,
    StreamEnd, Target,
};
use context_core::trajectory::{AgentRef, Changes, NewNode, NodeBody, NodeId};
use context_core::{CancelSignal, ChatRef, Encoded, Node, Store};
use context_store_postgres::PostgresStore;
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use crate::damage::fill;
use crate::fixture::{StoreFixture, T, append, nothing_is_wrong, says};

fn chat() -> ChatRef {
    ChatRef::new("ada", "chat")
}

/// Fills a store so that every table has a row, and most have several.
async fn fill_more(store: &PostgresStore) {
    fill(store).await;
    let (history, chat, other) = (store.history(), chat(), ChatRef::new("ada", "other"));
    let _created = history.create_chat(NewChat::new(other.clone(), T)).await.unwrap();
    let body = Encoded::new("boundary", 1, &b"{}"[..]);
    let boundary = Arc::new(Node::from_encoded("e".into(), NodeKind::Boundary, T, body));
    let name = ForkName::Exact("side".into());
    let fork = Target::Fork { name, at: Some("b".into()), activate: false };
    let nodes = vec![says("d", "more words"), boundary];
    let keyed = Commit { nodes, key: Some("once".into()), ..Commit::new(chat.clone(), fork, T) };
    let _done = history.commit(keyed).await.unwrap();
    // Messages of a branch without a name that only a checkpoint still needs.
    let name = ForkName::Exact("gone".into());
    let fork = Target::Fork { name, at: Some("c".into()), activate: false };
    let nodes = vec![says("f", "few words")];
    let _done =
        history.commit(Commit { nodes, ..Commit::new(chat.clone(), fork, T) }).await.unwrap();
    history.set_checkpoint(&chat, &CheckpointName::from("kept"), &"f".into(), T).await.unwrap();
    let _gone = history.delete_branch(&chat, &"gone".into(), Some(&"f".into()), T).await.unwrap();
    append(store, &other, "", &["o"]).await;
    let (blobs, streams) = (store.blobs().unwrap(), store.streams().unwrap());
    let typed = NewBlob::new(&b"pay 100"[..], T).media_type("text/plain");
    let _done = blobs.put_blob(&other, typed).await.unwrap();
    let _done = blobs.put_blob(&other, NewBlob::new(&b"pay 200"[..], T)).await.unwrap();
    for id in ["failed", "begun", "new"].map(StreamId::from) {
        let _done = streams.create_stream(&chat, &id, T).await.unwrap();
        if id.as_str() != "new" {
            let _done = streams.claim_stream(&chat, &id, &StreamClaim::new("w", T)).await.unwrap();
        }
    }
    let end = StreamAppend::new("w", 0, vec!["pay", "100"], T).end(StreamEnd::Failed("no".into()));
    let _done = streams.append_stream(&chat, &"failed".into(), end).await.unwrap();
    streams.cancel_stream(&chat, &"begun".into(), T).await.unwrap();
    fill_memories(store).await;
    fill_rounds(store).await;
}

/// Records with all columns, in two scopes, with marks of forgotten ones.
async fn fill_memories(store: &PostgresStore) {
    let memories = store.memories().unwrap();
    for scope in [MemoryScope::new("ada"), MemoryScope::new("ada").project("p")] {
        for id in ["n", "o", "p"] {
            let mut record = MemoryRecord::new(scope.clone(), id, "fact", T, "pay 100");
            record.key = Some("k".into());
            record.source = Some(MemorySource::message("s", "m"));
            let mut write = MemoryWrite::new(record, "pay 100 pay");
            write.vector = Some(MemoryVector::new("v", vec![1.0, 0.5]));
            let _done = memories.write_memories(&[write]).await.unwrap();
        }
        let _done = memories.forget_memories(&MemoryForget::ids(scope, ["o", "p"])).await.unwrap();
    }
}

/// A round with nodes of every kind.
async fn fill_rounds(store: &PostgresStore) {
    let rounds = store.trajectories().unwrap();
    let (mut round, first) = crate::round_tables::filled(&AgentRef::new("ada", "chat", 1));
    let _done = rounds.record_round(&first).await.unwrap();
    let mut changes = Vec::new();
    let bodies = [
        NodeBody::response("it is this"),
        NodeBody::knowledge("rule", "pay 100"),
        NodeBody::tool(json!({}), json!([])),
        NodeBody::table("t"),
        NodeBody::column("t"),
        NodeBody::script("1 + 1", "python"),
        NodeBody::skill("s"),
    ];
    for body in bodies {
        let new = NewNode::new(body, [NodeId::new(0, 1)]).author("eve").edge("triggers").append();
        changes.extend(round.add(new, T).unwrap().1);
    }
    let described = Changes::new().describe("looked at");
    changes.extend(round.change(NodeId::new(0, 2), &described, Some("eve".into()), T).unwrap());
    round.committed();
    let _done =
        rounds.record_round(&RoundCommit::new("second", changes, round.head())).await.unwrap();
}

/// Returns changes of a column, by its type: numbers grow and shrink, and optional values are
/// removed.
fn changes_of(column: &str, form: &str) -> Vec<String> {
    match form {
        "text" => vec![format!("coalesce({column}, '') || '9'"), "NULL".to_owned()],
        // The last value is not valid text.
        "bytea" => ["9", "\\xff"]
            .map(|end| format!("coalesce({column}, '') || '{end}'::bytea"))
            .into_iter()
            .chain(["NULL".to_owned()])
            .collect(),
        "json" => vec!["'{\"pay\":900}'".to_owned(), "NULL".to_owned()],
        "boolean" => vec![format!("NOT {column}")],
        "bigint" | "integer" | "smallint" => {
            vec![format!("coalesce({column}, 0) + 1"), format!("{column} - 1"), "NULL".to_owned()]
        }
        "ARRAY" => vec![format!("array_replace({column}, {column}[1], {column}[1] + 1)")],
        "tsvector" => vec![format!("{column} || 'planted'::tsvector")],
        other => panic!("the test does not know how to change {column}, which is {other}"),
    }
}

struct DamagedRows<'a> {
    fixture: &'a StoreFixture,
    connection: PgConnection,
}

impl DamagedRows<'_> {
    /// Runs statements without foreign keys and triggers, as a damaged page changes rows. Returns
    /// false if the database rejects them.
    async fn run(&mut self, sql: &str) -> bool {
        let sql = sql.replace("@store", &self.fixture.schema);
        let all = format!("BEGIN; SET LOCAL session_replication_role = replica; {sql}; COMMIT");
        let done = sqlx::raw_sql(AssertSqlSafe(all)).execute(&mut self.connection).await;
        if done.is_err() {
            sqlx::raw_sql("ROLLBACK").execute(&mut self.connection).await.unwrap();
        }
        done.is_ok()
    }

    async fn texts(&mut self, sql: &str) -> Vec<(String, String, String)> {
        let sql = sql.replace("@store", &self.fixture.schema);
        sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut self.connection).await.unwrap()
    }

    /// Returns the columns of all tables, with their types.
    async fn columns(&mut self) -> Vec<(String, String, String)> {
        let columns = "SELECT table_name::text, '\"' || column_name || '\"', data_type::text
            FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
            WHERE table_schema = '@store' AND table_type = 'BASE TABLE' AND table_name <> 'context_migrations'
            ORDER BY 1, ordinal_position";
        let identities = "SELECT table_name::text, '\"' || column_name || '\"', ''
            FROM information_schema.columns WHERE table_schema = '@store' AND is_identity = 'YES'";
        for (table, column, _) in self.texts(identities).await {
            let change =
                format!("ALTER TABLE @store.{table} ALTER {column} SET GENERATED BY DEFAULT");
            assert!(self.run(&change).await, "{change}");
        }
        self.texts(columns).await
    }

    /// Changes one row of a table at a time, the first or the last. Returns the number of changes,
    /// and the changes of which the check finds nothing.
    async fn change(
        &mut self,
        store: &PostgresStore,
        table: &str,
        changes: &[String],
    ) -> (usize, Vec<String>) {
        assert!(self.run(&format!("CREATE TEMP TABLE saved AS TABLE @store.{table}")).await);
        let rows = self.texts("SELECT saved::text, '', '' FROM saved").await.len();
        assert_ne!(rows, 0, "{table} is empty");
        let back = format!("DELETE FROM @store.{table}; INSERT INTO @store.{table} TABLE saved");
        let differs = format!(
            "SELECT a::text, '', '' FROM saved a EXCEPT ALL SELECT b::text, '', '' FROM @store.{table} b"
        );
        let (mut changed, mut missed) = (0, Vec::new());
        for change in changes {
            for row in std::collections::BTreeSet::from([0, rows - 1]) {
                let at =
                    format!("(SELECT ctid FROM @store.{table} ORDER BY ctid OFFSET {row} LIMIT 1)");
                if !self.run(&format!("{change} WHERE ctid = {at}")).await {
                    continue;
                }
                if self.texts(&differs).await.is_empty() {
                    continue;
                }
                changed += 1;
                // A failed check reports damage too, but not its extent.
                let report = store.maintenance().unwrap().check(&CancelSignal::never()).await;
                match report {
                    Ok(report) if report.findings.is_empty() => {
                        missed.push(format!("{change}, row {row}"))
                    }
                    Ok(_) => {}
                    Err(error) => missed.push(format!("{change}, row {row}: {error}")),
                }
                assert!(self.run(&back).await, "{back}");
            }
        }
        assert!(self.run("DROP TABLE saved").await);
        (changed, missed)
    }
}

/// Columns of which the check does not find every change, because no other value repeats them and
/// no user sees them: the range of numbers in which records are looked up, and the number of
/// records ever written. A range may be wider than needed. A range that is too narrow is found.
const FREE: [&str; 3] = [
    "memory_shelf SET \"first\" = \"first\" - 1",
    "memory_shelf SET \"last\" = ",
    "memory_user SET \"written\" = ",
];

pub(crate) async fn the_check_finds_a_change_in_every_column_and_the_loss_of_a_row_of_every_table()
{
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    fill_more(&store).await;
    nothing_is_wrong(&store).await;
    let mut damage = DamagedRows { fixture: &fixture, connection: fixture.connection().await };
    let columns = damage.columns().await;
    let mut tables: Vec<&str> = columns.iter().map(|(table, ..)| table.as_str()).collect();
    tables.dedup();
    let (mut changed, mut missed) = (0, Vec::new());
    for table in tables {
        let mut changes = vec![format!("DELETE FROM @store.{table}")];
        for (_, column, form) in columns.iter().filter(|(of, ..)| of == table) {
            let all = changes_of(column, form).into_iter();
            changes
                .extend(all.map(|value| format!("UPDATE @store.{table} SET {column} = {value}")));
        }
        let found = damage.change(&store, table, &changes).await;
        changed += found.0;
        let free = |change: &String| FREE.iter().any(|free| change.contains(free));
        missed.extend(found.1.into_iter().filter(|change| !free(change)));
    }
    nothing_is_wrong(&store).await;
    assert!(changed > 800, "{changed}");
    assert_eq!(missed, [""; 0], "of {changed}");
    fixture.drop().await;
}
