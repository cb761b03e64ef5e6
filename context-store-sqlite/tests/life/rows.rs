//! Damage of one row: what the check finds, which calls fail, and which files cannot be opened.

use context_core::memory::MemoryScope;
use context_core::store::{ChainEnd, MemoryFind, Window};
use context_core::{CancelSignal, ChatRef, ErrorKind, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use crate::damage::{Verdict, a_file, a_file_and_its_readings, judge, readings};

#[tokio::test]
async fn what_is_listed_is_compared_with_what_was_counted() {
    // Each case changes a counter as if one counted row were missing: the table of counters, the
    // column, its weight in the checksum, and the call that reports it.
    let counted = [
        ("chat_tally", "branches", 1_000_003, "branches"),
        ("chat_tally", "checkpoints", 1_000_033, "checkpoints"),
        ("chat_tally", "fragments", 1_000_037, "fragments"),
        ("chat_tally", "blobs", 1_000_039, "blobs"),
        ("chat_tally", "streams", 1_000_081, "streams"),
        ("chat_tally", "revisions", 1_000_099, "revisions"),
        ("user_tally", "chats", 1_000_003, "list_chats ada"),
        ("user_tally", "rounds", 1_000_033, "rounds"),
        ("user_tally", "links", 1_000_037, "nodes_of_message"),
        ("user_tally", "scopes", 1_000_039, "stats ada"),
        ("store_tally", "users", 1_000_003, "users"),
        ("chat_tally", "branches", 0, "list_chats ada"),
        ("user_tally", "chats", 0, "users"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    a_file(&path).await;
    let store = SqliteStore::open(SqliteConfig::new(&path)).await.unwrap();
    let mut file = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    for (table, column, weight, reading) in counted {
        for sign in ["+", "-"] {
            let change = format!(
                "UPDATE {table} SET {column} = {column} {sign} 1, sum = sum {sign} {weight}"
            );
            sqlx::query(AssertSqlSafe(change)).execute(&mut file).await.unwrap();
            let answers = readings(&store).await;
            let told = answers.iter().any(|(name, answer)| {
                name.starts_with(reading)
                    && answer.as_ref().is_err_and(|e| e.kind() == ErrorKind::Corrupt)
            });
            let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
            if sign == "+" {
                assert!(told, "{reading} says nothing of {table}.{column}");
                assert_ne!(report.findings.len(), 0, "{table}.{column}");
            } else {
                assert_eq!(report.findings.len(), 0, "{:?}", report.findings);
            }
        }
    }
}

#[tokio::test]
async fn a_file_that_lost_a_part_of_its_schema_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    for (change, opens) in [
        ("CREATE INDEX mine ON chat (title)", true),
        ("DROP INDEX fragment_chat", false),
        ("DROP TRIGGER append_to_tail", false),
        ("DROP TRIGGER append_row_lease", false),
        ("DROP VIEW trajectory_nodes", false),
    ] {
        let _ = std::fs::remove_file(&path);
        a_file(&path).await;
        let mut file = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        sqlx::query(change).execute(&mut file).await.unwrap();
        file.close().await.unwrap();
        for read_only in [false, true] {
            let opened = SqliteStore::open(SqliteConfig::new(&path).read_only(read_only)).await;
            match opened {
                Ok(store) => {
                    assert!(opens, "{change}");
                    store.close().await.unwrap();
                }
                Err(error) => {
                    assert!(!opens, "{change}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{change}");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_check_finds_a_change_in_every_column_of_every_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let sound = a_file(&path).await;
    let columns =
        "SELECT t.name, c.name, c.type, c.pk FROM pragma_table_list t JOIN pragma_table_info(t.name) c
        WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
          AND t.name <> 'context_migrations'";
    let options = SqliteConnectOptions::new().filename(&path).foreign_keys(false);
    let mut file = options.connect().await.unwrap();
    let columns = sqlx::query(columns).fetch_all(&mut file).await.unwrap();
    let triggers = sqlx::query("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'");
    let triggers: Vec<(String, String)> = triggers
        .fetch_all(&mut file)
        .await
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    file.close().await.unwrap();
    let (mut changed, mut missed) = (0, Vec::new());
    for row in &columns {
        let (table, column, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        let key = columns
            .iter()
            .filter(|other| other.get::<&str, _>(0) == table && other.get::<i64, _>(3) > 0);
        let key: Vec<String> =
            key.map(|other| format!("\"{}\"", other.get::<&str, _>(1))).collect();
        let (key, last) = (key.join(", "), key.join(" DESC, "));
        let value = match &*kind {
            "INTEGER" => format!("coalesce(\"{column}\" + 1, 1)"),
            "TEXT" => format!("coalesce(\"{column}\", '') || 'x'"),
            _ => format!("CAST(coalesce(\"{column}\", x'') || 'x' AS BLOB)"),
        };
        std::fs::write(&path, &sound).unwrap();
        let mut file = options.connect().await.unwrap();
        let mut change = file.begin().await.unwrap();
        // Triggers are disabled, as they do not see the damage of a page either.
        for (name, _) in &triggers {
            sqlx::query(AssertSqlSafe(format!("DROP TRIGGER {name}")))
                .execute(&mut *change)
                .await
                .unwrap();
        }
        let update = format!(
            "UPDATE {table} SET \"{column}\" = {value} WHERE ({key}) = (SELECT {key} FROM {table} ORDER BY {last} DESC LIMIT 1)"
        );
        let done = sqlx::query(AssertSqlSafe(update)).execute(&mut *change).await;
        for (_, text) in &triggers {
            sqlx::query(AssertSqlSafe(text.clone())).execute(&mut *change).await.unwrap();
        }
        change.commit().await.unwrap();
        file.close().await.unwrap();
        // The table may be empty, or a constraint may reject the change.
        if !done.is_ok_and(|done| done.rows_affected() > 0) {
            continue;
        }
        changed += 1;
        let store = match SqliteStore::open(SqliteConfig::new(&path)).await {
            Ok(store) => store,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{table}.{column}");
                continue;
            }
        };
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        store.close().await.unwrap();
        if report.findings.is_empty() {
            missed.push(format!("{table}.{column}"));
        }
    }
    assert!(changed > 100, "{changed}");
    assert_eq!(missed, [""; 0]);
}

#[tokio::test]
async fn what_leads_to_an_answer_is_checked_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let sound = a_file(&path).await;
    let (chat, scope) = (ChatRef::new("ada", "trip"), MemoryScope::new("ada"));
    let changes = [
        "UPDATE memory SET session = NULL WHERE id = 'f1'",
        "UPDATE memory_word SET word = 'seves' WHERE word = 'seven'",
        "UPDATE run SET pos = pos + 2 WHERE pos = (SELECT max(pos) FROM run WHERE pos <= (1 << 32) + 80)",
        "UPDATE run SET pos = pos + 4 WHERE pos = (SELECT max(pos) FROM run WHERE pos <= (1 << 32) + 80)",
    ];
    for (at, change) in changes.into_iter().enumerate() {
        std::fs::write(&path, &sound).unwrap();
        let mut file = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        assert_eq!(
            sqlx::query(change).execute(&mut file).await.unwrap().rows_affected(),
            1,
            "{change}"
        );
        file.close().await.unwrap();
        let store = SqliteStore::open(SqliteConfig::new(&path)).await.unwrap();
        let (history, memories) = (store.history(), store.memories().unwrap());
        let find = MemoryFind::new(vec![scope.clone()], vec!["seven".to_owned()], 10);
        let main = ChainEnd::Branch("main".into());
        let refused = match at {
            0 => memories.memory_neighbours(&scope, &["f1".into()], 2).await.unwrap_err(),
            1 => memories.find_memories(&find).await.unwrap_err(),
            // The parent of the message is in the run that was moved.
            2 => history.messages(&chat, &["m80".into()]).await.unwrap_err(),
            _ => history.chain(&chat, &main, &Window::Last(20)).await.unwrap_err(),
        };
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{change}: {refused}");
        store.close().await.unwrap();
    }
}

/// SQLite's own check does not verify the positions of words within messages. Regression: a search
/// reported damage that the check did not find.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_check_finds_what_a_search_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let (sound, before) = a_file_and_its_readings(&path).await;
    let largest = "SELECT id, block FROM words_data ORDER BY length(block) DESC LIMIT 1";
    let options = SqliteConnectOptions::new().filename(&path);
    let mut file = options.connect().await.unwrap();
    let (id, block): (i64, Vec<u8>) = sqlx::query_as(largest).fetch_one(&mut file).await.unwrap();
    file.close().await.unwrap();
    let sixes: Vec<usize> = (0..block.len()).filter(|at| block[*at] == 6).collect();
    let (mut refused, mut tried) = (0, 0);
    for at in sixes.iter().step_by(sixes.len() / 30) {
        let mut damaged = block.clone();
        damaged[*at] = 22;
        std::fs::write(&path, &sound).unwrap();
        let mut file = options.connect().await.unwrap();
        let update =
            sqlx::query("UPDATE words_data SET block = ?2 WHERE id = ?1").bind(id).bind(damaged);
        update.execute(&mut file).await.unwrap();
        file.close().await.unwrap();
        tried += 1;
        match judge(&path, &before).await {
            Verdict::Wrong(problem) => panic!("byte {at}: {problem}"),
            Verdict::Refused => refused += 1,
            Verdict::Unchanged => {}
        }
    }
    assert!(tried >= 30 && refused > 0, "{refused} of {tried}");
}
