//! Commits that ask for a durability, observed at the moment at which the server ends them.

use context_core::store::{Commit, CommitOutcome, Durability, ForkName, Target};
use context_core::{ChatRef, Message, Node, Role, Store, Timestamp};
use context_store_postgres::PostgresStore;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::fixture::{StoreFixture, chat};

const T: Timestamp = Timestamp::from_micros(1_000_000);

fn append(chat: &ChatRef, after: &str, id: &str, durability: Option<Durability>) -> Commit {
    let expected = Some(after).filter(|after| !after.is_empty()).map(Into::into);
    let target = Target::Extend { branch: "main".into(), expected };
    let nodes = vec![Node::new(id, Message::text(Role::User, id), T).into()];
    Commit { nodes, durability, ..Commit::new(chat.clone(), target, T) }
}

/// The settings of a store: those of the server, and with `synchronous_commit=off`.
fn stores(fixture: &StoreFixture) -> [StoreFixture; 2] {
    let late = if fixture.url.contains('?') { '&' } else { '?' };
    ["on", "off"].map(|setting| StoreFixture {
        url: format!("{}{late}options[synchronous_commit]={setting}", fixture.url),
        schema: fixture.schema.clone(),
    })
}

/// Records `synchronous_commit` whenever a transaction that wrote to a chat ends: a deferred
/// trigger runs as the last step before the commit itself.
async fn record_settings(fixture: &StoreFixture, connection: &mut PgConnection) {
    let schema = &fixture.schema;
    let statements = format!(
        "CREATE TABLE {schema}.ended (no bigserial, setting text);
         CREATE FUNCTION {schema}.record_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           INSERT INTO {schema}.ended (setting) VALUES (current_setting('synchronous_commit'));
           RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER record_end AFTER UPDATE ON {schema}.chat
           DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.record_end()"
    );
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(connection).await.unwrap();
}

/// Returns the settings that were recorded since the last call, each once.
async fn recorded(fixture: &StoreFixture, connection: &mut PgConnection) -> Vec<String> {
    let statement = format!(
        "WITH gone AS (DELETE FROM {}.ended RETURNING setting) SELECT DISTINCT setting FROM gone",
        fixture.schema
    );
    let rows = sqlx::query(AssertSqlSafe(statement)).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn applied(store: &PostgresStore, commit: Commit) {
    let outcome = store.history().commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

pub(crate) async fn each_transaction_ends_as_its_commit_asks() {
    let fixture = StoreFixture::new();
    let mut connection = fixture.connection().await;
    for (own, fixture) in ["on", "off"].into_iter().zip(stores(&fixture)) {
        let store = fixture.open().await;
        let name = ChatRef::new("ada", own);
        let new = context_core::store::NewChat::new(name.clone(), T);
        let _created = store.history().create_chat(new).await.unwrap();
        if own == "on" {
            record_settings(&fixture, &mut connection).await;
        }
        let strongest = store.info().strongest;
        let mut head = String::new();
        // 40 appends: some fill a block and use another statement.
        for i in 0..40 {
            let (asked, expected) = match i % 5 {
                0 => (None, own),
                1 => (Some(Durability::ProcessCrash), "on"),
                2 => (Some(Durability::Process), "off"),
                3 => (Some(strongest), "on"),
                _ => (Some(Durability::Server), "off"),
            };
            let id = format!("m{i}");
            applied(&store, append(&name, &head, &id, asked)).await;
            assert_eq!(recorded(&fixture, &mut connection).await, [expected], "{own} {asked:?}");
            // Not an append, so a transaction of several statements.
            let fork = ForkName::NextVersionOf("main".into());
            let target = Target::Fork { name: fork, at: Some(id.as_str().into()), activate: true };
            let key = Some(format!("k{i}").into());
            applied(&store, Commit { target, key, ..append(&name, "", &format!("x{i}"), asked) })
                .await;
            assert_eq!(recorded(&fixture, &mut connection).await, [expected], "{own} {asked:?}");
            head = id;
        }
    }
    fixture.drop().await;
}

/// A stronger setting than `on` stays as it is.
pub(crate) async fn a_server_that_waits_for_more_goes_on_doing_so() {
    let fixture = StoreFixture::new();
    let mut connection = fixture.connection().await;
    let late = if fixture.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{late}options[synchronous_commit]=remote_apply", fixture.url);
    let strict = StoreFixture { url, schema: fixture.schema.clone() };
    let store = strict.open().await;
    let name = chat(&store, "ada").await;
    record_settings(&fixture, &mut connection).await;
    applied(&store, append(&name, "", "a", Some(Durability::ProcessCrash))).await;
    assert_eq!(recorded(&fixture, &mut connection).await, ["remote_apply"]);
    fixture.drop().await;
}

pub(crate) async fn a_replay_flushes_what_was_written_without_waiting() {
    let fixture = StoreFixture::new();
    let [_, lax] = stores(&fixture);
    let store = lax.open().await;
    let strongest = store.info().strongest;
    assert_eq!(store.info().durability, Durability::Server);
    let name = chat(&store, "ada").await;
    let mut connection = fixture.connection().await;
    let mut head = String::new();
    // The server flushes by itself now and then, so once proves nothing.
    for i in 0..25 {
        let id = format!("m{i}");
        let commit = append(&name, &head, &id, None);
        applied(&store, commit.clone()).await;
        let query = "SELECT pg_current_wal_insert_lsn()::text";
        let written: String = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        let again = Commit { durability: Some(strongest), ..commit };
        let outcome = store.history().commit(again).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Replayed(_)), "{outcome:?}");
        let query = "SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn";
        let flushed: bool =
            sqlx::query_scalar(query).bind(written).fetch_one(&mut connection).await.unwrap();
        assert!(flushed, "the log behind {id}");
        head = id;
    }
    fixture.drop().await;
}
