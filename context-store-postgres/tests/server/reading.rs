//! Stores that are opened read-only: nothing is created or changed, whatever the schema holds.
//! Schemas of other programs are never changed.

use context_core::base::BlobId;
use context_core::store::{ChainEnd, ChatPatch, ChatQuery, NewBlob, SearchQuery, Window};
use context_core::{CancelSignal, ErrorKind, MessageId, Retry, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::fixture::{StoreFixture, T, append, chat, extend, ids, says};

/// Returns every schema, relation, column, comment and setting of the database, and every row of
/// the store's schema.
async fn everything(fixture: &StoreFixture) -> Vec<String> {
    let mut connection = fixture.connection().await;
    let catalog =
        "SELECT format('%s %s %s %s %s', n.nspname, c.relname, c.relkind, a.attname, obj_description(c.oid))
          FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid
            LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
          WHERE n.nspname = $1
        UNION ALL SELECT 'database ' || datname FROM pg_database WHERE datname LIKE 'reading%'
        UNION ALL SELECT 'extension ' || extname FROM pg_extension
        ORDER BY 1";
    let mut all: Vec<String> =
        sqlx::query_scalar(catalog).bind(&fixture.schema).fetch_all(&mut connection).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY 1",
    )
    .bind(&fixture.schema)
    .fetch_all(&mut connection)
    .await
    .unwrap();
    for table in tables {
        // The id of the transaction that wrote a row is compared as well.
        let rows =
            format!("SELECT '{table} ' || r.xmin || ' ' || r::text FROM {table} r ORDER BY 1");
        let rows: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(rows)).fetch_all(&mut connection).await.unwrap();
        all.extend(rows);
    }
    all
}

/// Makes every reading call of the store.
async fn read_all(store: &dyn Store) {
    let chat = context_core::ChatRef::new("ada", "chat");
    let history = store.history();
    assert_eq!(ids(store, &chat).await.len(), 3);
    history.list_chats(&ChatQuery::new("ada")).await.unwrap();
    history.chat_size(&chat).await.unwrap();
    history.branches(&chat).await.unwrap();
    history.checkpoints(&chat).await.unwrap();
    history.messages(&chat, &["a".into()]).await.unwrap();
    history.all_messages(&chat, 10, None).await.unwrap();
    history.revisions(&chat, &"a".into()).await.unwrap();
    let end = ChainEnd::Message(MessageId::from("b"));
    history.chain(&chat, &end, &Window::Last(1)).await.unwrap();
    store.fragments().fragments(&chat).await.unwrap();
    store.search().unwrap().search(&SearchQuery::new("ada", "words")).await.unwrap();
    let blob = BlobId::of(b"bytes");
    let blobs = store.blobs().unwrap();
    // The time of use of a blob is not updated either.
    let read = blobs.read_blob(&chat, &blob, 0..5, Some(T)).await.unwrap();
    assert_eq!(read.as_deref(), Some(&b"bytes"[..]));
    blobs.blob(&chat, &blob).await.unwrap();
    blobs.blobs(&chat, 5, None).await.unwrap();
    store.streams().unwrap().streams(&chat, 5, None).await.unwrap();
    store.memories().unwrap().memory_stats(&"ada".into(), 5, None).await.unwrap();
    let maintenance = store.maintenance().unwrap();
    assert_eq!(maintenance.users(5, None).await.unwrap().items.len(), 1);
    assert_eq!(maintenance.check(&CancelSignal::never()).await.unwrap().findings, []);
}

pub(crate) async fn reading_changes_no_row_and_writing_is_refused() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let chat = chat(&store, "ada").await;
    append(&store, &chat, "", &["a", "b", "c"]).await;
    store.blobs().unwrap().put_blob(&chat, NewBlob::new(&b"bytes"[..], T)).await.unwrap();
    store.close().await.unwrap();
    let before = everything(&fixture).await;
    let store = PostgresStore::open(fixture.config().read_only(true)).await.unwrap();
    read_all(&store).await;
    let refused = |error: context_core::Error| {
        assert_eq!(
            (error.kind(), error.retry()),
            (ErrorKind::Unsupported, Retry::Never),
            "{error}"
        );
        assert_eq!(error.message(), "the store was opened read-only");
    };
    let history = store.history();
    refused(history.commit(extend(&chat, "c", vec![says("d", "text")])).await.unwrap_err());
    refused(history.update_chat(&chat, &ChatPatch::default(), T).await.unwrap_err());
    refused(history.delete_chat(&chat, None).await.unwrap_err());
    refused(
        store.blobs().unwrap().put_blob(&chat, NewBlob::new(&b"more"[..], T)).await.unwrap_err(),
    );
    let maintenance = store.maintenance().unwrap();
    refused(maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap_err());
    refused(maintenance.vacuum().await.unwrap_err());
    assert_eq!(everything(&fixture).await, before);
    fixture.drop().await;
}

pub(crate) async fn a_schema_without_a_store_is_not_made_and_not_called_sound() {
    let fixture = StoreFixture::new();
    let before = everything(&fixture).await;
    let error = PostgresStore::open(fixture.config().read_only(true)).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.get("schema")),
        (ErrorKind::NotFound, Some(&*fixture.schema)),
        "{error}"
    );
    assert_eq!(error.message(), "there is no context store in the schema");
    assert_eq!(everything(&fixture).await, before);
    fixture.drop().await;
}

pub(crate) async fn a_database_that_is_not_there_is_named_and_not_made() {
    let fixture = StoreFixture::new();
    let before = everything(&fixture).await;
    let options = fixture.url.parse::<PgConnectOptions>().unwrap().database("reading_mistyped");
    let url = options.to_url_lossy().to_string();
    let config = PostgresConfig::from_url(url.split('?').next().unwrap()).unwrap();
    let error = PostgresStore::open(config.read_only(true)).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::NotFound, Retry::Never));
    assert_eq!(error.message(), "the database does not exist");
    assert_eq!(error.get("database"), Some("reading_mistyped"));
    assert_eq!(everything(&fixture).await, before);
}

pub(crate) async fn a_store_of_an_older_version_is_not_brought_up_to_date_by_looking() {
    let fixture = StoreFixture::new();
    fixture.open().await.close().await.unwrap();
    let mut connection = fixture.connection().await;
    fixture.run(&mut connection, "DELETE FROM @store.context_migrations WHERE version > 13").await;
    let before = everything(&fixture).await;
    let error = PostgresStore::open(fixture.config().read_only(true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("context upgrade"), "{error}");
    assert_eq!(everything(&fixture).await, before);
    fixture.drop().await;
}

pub(crate) async fn a_schema_of_another_program_is_left_alone_however_it_is_opened() {
    let others = [
        "CREATE TABLE @store.chat (no int); INSERT INTO @store.chat VALUES (7)",
        "CREATE TABLE @store.invoice (total numeric); INSERT INTO @store.invoice VALUES (1.5)",
        "CREATE VIEW @store.answers AS SELECT 42 AS answer",
        "CREATE TABLE @store.context_migrations (name text); INSERT INTO @store.context_migrations VALUES ('x')",
        "CREATE TABLE @store.context_migrations (version bigint, checksum bytea);
         INSERT INTO @store.context_migrations VALUES (13, '')",
        "CREATE TABLE @store.context_migrations (version text, checksum text);
         INSERT INTO @store.context_migrations VALUES ('1', 'x')",
    ];
    for other in others {
        let fixture = StoreFixture::new();
        let mut connection = fixture.connection().await;
        fixture.run(&mut connection, &format!("CREATE SCHEMA @store; {other}")).await;
        let before = everything(&fixture).await;
        for config in
            [fixture.config(), fixture.config().read_only(true), fixture.config().create(false)]
        {
            let error = PostgresStore::open(config).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{other}: {error}");
            assert!(error.message().contains("another program"), "{other}: {error}");
        }
        assert_eq!(everything(&fixture).await, before, "{other}");
        fixture.drop().await;
    }
}

pub(crate) async fn an_empty_schema_may_become_a_store() {
    let fixture = StoreFixture::new();
    let mut connection = fixture.connection().await;
    fixture.run(&mut connection, "CREATE SCHEMA @store").await;
    chat(&fixture.open().await, "ada").await;
    fixture.drop().await;
}
