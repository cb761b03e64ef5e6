//! Schemas whose tables are divided by users. The conformance suite runs over them too, as
//! `conformance_partitions`.

use std::collections::{BTreeMap, BTreeSet};

use context_core::store::{
    ChainEnd, ChatQuery, Commit, CommitOutcome, Durability, NewBlob, NewChat, SearchQuery, Window,
};
use context_core::{ChatRef, ErrorKind, MessageId, Retry, Store};
use context_store_postgres::PostgresStore;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::fixture::{StoreFixture, T, append, chat, extend, ids, nothing_is_wrong, says};

const PARTITIONS: u32 = 8;

/// The number of reads and writes of each partition since the schema exists, by table and number.
type Counts = BTreeMap<(String, i32), i64>;

/// Returns the counts of the server, which has those of a connection before it is gone.
async fn counts(fixture: &StoreFixture, connection: &mut PgConnection) -> Counts {
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
    let open = || sqlx::query_scalar::<_, i64>(open).bind(&fixture.schema);
    while open().fetch_one(&mut *connection).await.unwrap() > 0 {}
    let counts = "SELECT p.relname::text, substring(s.relname FROM '[0-9]+$')::int,
          s.seq_scan + coalesce(s.idx_scan, 0) + s.n_tup_ins
        FROM pg_stat_all_tables s JOIN pg_inherits i ON i.inhrelid = s.relid JOIN pg_class p ON p.oid = i.inhparent
        WHERE s.schemaname = $1";
    let query = sqlx::query_as(counts).bind(&fixture.schema);
    let rows: Vec<(String, i32, i64)> = query.fetch_all(connection).await.unwrap();
    rows.into_iter().map(|(table, number, count)| ((table, number), count)).collect()
}

/// Returns the partitions that were read or written in between.
fn touched(before: &Counts, after: &Counts) -> Vec<(String, i32)> {
    let more = after.iter().filter(|(partition, count)| before.get(*partition) != Some(*count));
    more.map(|(partition, _)| partition.clone()).collect()
}

/// Opens the schema with connections that are known by its name.
async fn open(fixture: &StoreFixture) -> PostgresStore {
    let sign = if fixture.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{sign}application_name={}", fixture.url, fixture.schema);
    let named = StoreFixture { url, schema: fixture.schema.clone() };
    PostgresStore::open(named.config().partitions(PARTITIONS)).await.unwrap()
}

/// Does to a chat what turns do, often enough for runs to be merged and for plans to be kept.
async fn turns(store: &dyn Store, chat: &ChatRef) {
    let history = store.history();
    let mut head = String::new();
    for i in 0..70 {
        let next = format!("m{i}");
        let commit = extend(chat, &head, vec![says(&next, "some words")]);
        let durability = (i % 3 == 0).then_some(Durability::Process);
        let key = (i % 7 == 0).then(|| next.as_str().into());
        let commit = Commit { durability, key, ..commit };
        let outcome = history.commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
        head = next;
    }
    let generation = history
        .chain(chat, &ChainEnd::Branch("main".into()), &Window::Whole)
        .await
        .unwrap()
        .generation();
    let windows = [
        Window::Whole,
        Window::Last(3),
        Window::Boundary,
        Window::Tokens(100),
        Window::After { message: "m30".into(), generation },
    ];
    for end in [ChainEnd::Branch("main".into()), ChainEnd::Message(MessageId::from("m42"))] {
        for window in &windows {
            // More often than the server plans for the values of the parameters.
            for _ in 0..8 {
                assert!(!history.chain(chat, &end, window).await.unwrap().is_empty());
            }
        }
    }
    assert!(history.chat(chat).await.unwrap().is_some());
    let chats = history.list_chats(&ChatQuery::new(chat.user.clone())).await.unwrap();
    assert_eq!(chats.items.len(), 1);
}

pub(crate) async fn turns_of_a_user_touch_one_partition() {
    let fixture = StoreFixture::new();
    let mut connection = fixture.connection().await;
    open(&fixture).await.close().await.unwrap();
    let before = counts(&fixture, &mut connection).await;

    let store = open(&fixture).await;
    turns(&store, &chat(&store, "ada").await).await;
    store.close().await.unwrap();
    let after = counts(&fixture, &mut connection).await;
    let of_one = touched(&before, &after);
    let tables: Vec<&str> = of_one.iter().map(|(table, _)| table.as_str()).collect();
    assert_eq!(tables, ["applied", "node", "run", "words"], "{of_one:?}");
    let numbers: BTreeSet<i32> = of_one.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers.len(), 1, "{of_one:?}");

    let store = open(&fixture).await;
    for user in 0..60 {
        let chat = chat(&store, &format!("user-{user}")).await;
        append(&store, &chat, "", &["a", "b"]).await;
        let blob = NewBlob::new(vec![user; 100], T);
        let _stored = store.blobs().unwrap().put_blob(&chat, blob).await.unwrap();
    }
    store.close().await.unwrap();
    let of_many = touched(&after, &counts(&fixture, &mut connection).await);
    for table in ["blob_piece", "run"] {
        let partitions = of_many.iter().filter(|(of, _)| of == table).count();
        assert_eq!(partitions, PARTITIONS as usize, "{table}: {of_many:?}");
    }
    fixture.drop().await;
}

pub(crate) async fn the_number_is_that_of_the_schema() {
    let fixture = StoreFixture::new();
    open(&fixture).await.close().await.unwrap();
    let any = PostgresStore::open(fixture.config()).await.unwrap();
    let ada = chat(&any, "ada").await;
    append(&any, &ada, "", &["a", "b"]).await;
    assert_eq!(ids(&open(&fixture).await, &ada).await, ["a", "b"]);
    let found = any.search().unwrap().search(&SearchQuery::new("ada", "words")).await.unwrap();
    assert_eq!(found.items.len(), 2);
    for other in [1, 4] {
        let error = PostgresStore::open(fixture.config().partitions(other)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert_eq!(error.get("partitions"), Some("8"));
        assert_eq!(error.get("wanted"), Some(other.to_string().as_str()));
    }
    nothing_is_wrong(&any).await;
    fixture.drop().await;

    let whole = StoreFixture::new();
    PostgresStore::open(whole.config()).await.unwrap().close().await.unwrap();
    let error = PostgresStore::open(whole.config().partitions(8)).await.unwrap_err();
    assert_eq!((error.kind(), error.get("partitions")), (ErrorKind::Invalid, Some("1")));
    PostgresStore::open(whole.config().partitions(1)).await.unwrap().close().await.unwrap();
    whole.drop().await;
}

/// A schema from before the log of references, which is added without touching the partitions.
pub(crate) async fn an_upgrade_leaves_the_partitions() {
    let fixture = StoreFixture::new();
    let store = open(&fixture).await;
    let ada = chat(&store, "ada").await;
    append(&store, &ada, "", &["a", "b"]).await;
    store.close().await.unwrap();
    let mut connection = fixture.connection().await;
    let older = "DROP TABLE @store.ref_change;
        DELETE FROM @store.context_migrations WHERE version >= 17;
        UPDATE @store.chat SET beside = (SELECT no FROM @store.branch)";
    fixture.run(&mut connection, older).await;
    let store = open(&fixture).await;
    append(&store, &ada, "b", &["c"]).await;
    assert_eq!(ids(&store, &ada).await, ["a", "b", "c"]);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

/// The numbers of chats share their bits with those of partitions, so they end sooner.
pub(crate) async fn the_last_number_is_followed_by_an_error() {
    let fixture = StoreFixture::new();
    let store = open(&fixture).await;
    let mut connection = fixture.connection().await;
    let last = (1_u64 << (31 - PARTITIONS.ilog2())) - 1;
    let skip = format!("ALTER TABLE @store.chat ALTER COLUMN no RESTART WITH {last}");
    fixture.run(&mut connection, &skip).await;
    let ada = chat(&store, "ada").await;
    append(&store, &ada, "", &["a", "b"]).await;
    let bob = NewChat::new(ChatRef::new("bob", "chat"), T);
    let error = store.history().create_chat(bob).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Never), "{error:?}");
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

/// A program that was given all tables reads no partition past the policies of its table.
pub(crate) async fn policies_hold_for_partitions() {
    let fixture = StoreFixture::new();
    let config = fixture.config().partitions(2).row_security(true);
    let store = PostgresStore::open(config).await.unwrap();
    let ada = chat(&store, "ada").await;
    append(&store, &ada, "", &["a", "b"]).await;
    let mut connection = fixture.connection().await;
    let role = format!("{}_app", fixture.schema);
    let count = "SELECT set_config('context.user_id', encode('ada'::bytea, 'hex'), false);
        DO $$ BEGIN
          ASSERT (SELECT count(*) FROM @store.node) = 2;
          ASSERT (SELECT count(*) FROM @store.node_0) + (SELECT count(*) FROM @store.node_1) = 0;
        END $$";
    let as_role = format!(
        "CREATE ROLE {role}; GRANT USAGE ON SCHEMA @store TO {role};
         GRANT SELECT ON ALL TABLES IN SCHEMA @store TO {role}; SET ROLE {role}; {count}; RESET ROLE;
         DROP OWNED BY {role}; DROP ROLE {role}"
    );
    fixture.run(&mut connection, &as_role).await;
    connection.close().await.unwrap();
    fixture.drop().await;
}
