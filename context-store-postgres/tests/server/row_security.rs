//! Row-level security: a role that is not the owner sees only the rows of the user that the
//! transaction names, even if a statement does not filter by user.

use context_core::store::{Commit, SearchQuery, Target};
use context_core::{ErrorKind, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

use crate::fixture::{StoreFixture, T, append, chat, extend, ids, nothing_is_wrong, says};

/// Returns the numbers of chats and of runs that a connection sees.
async fn seen(fixture: &StoreFixture, connection: &mut PgConnection) -> (i64, i64) {
    let count = |table: &str| {
        sqlx::AssertSqlSafe(format!("SELECT count(*) FROM \"{}\".{table}", fixture.schema))
    };
    let chats = sqlx::query_scalar(count("chat")).fetch_one(&mut *connection).await.unwrap();
    (chats, sqlx::query_scalar(count("run")).fetch_one(connection).await.unwrap())
}

pub(crate) async fn another_role_sees_what_its_transaction_names() {
    let fixture = StoreFixture::new();
    let owner = PostgresStore::open(fixture.config().row_security(true)).await.unwrap();
    let role = format!("{}_app", fixture.schema);
    let mut connection = fixture.connection().await;
    let grant = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'hunter2'; GRANT USAGE ON SCHEMA @store TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA @store TO {role}"
    );
    fixture.run(&mut connection, &grant).await;

    let options =
        fixture.url.parse::<PgConnectOptions>().unwrap().username(&role).password("hunter2");
    let url = options.to_url_lossy().to_string();
    let config = PostgresConfig::from_url(url.split('?').next().unwrap()).unwrap();
    let config = config.schema(fixture.schema.as_str()).connections(2).create(false);
    let error = PostgresStore::open(config.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    let store = PostgresStore::open(config.row_security(true)).await.unwrap();

    let mut chats = Vec::new();
    for user in ["ada", "bob"] {
        let chat = chat(&store, user).await;
        append(&store, &chat, "", &["a", "b"]).await;
        let name = context_core::store::ForkName::Exact("side".into());
        let target = Target::Fork { name, at: Some("a".into()), activate: true };
        let fork =
            Commit { nodes: vec![says("c", "aside")], ..Commit::new(chat.clone(), target, T) };
        let _applied = store.history().commit(fork).await.unwrap();
        store.history().set_checkpoint(&chat, &"here".into(), &"b".into(), T).await.unwrap();
        let amend = Commit {
            amendments: vec![says("a", "amended")],
            ..Commit::new(chat.clone(), Target::Stay, T)
        };
        let _applied = store.history().commit(amend).await.unwrap();
        let _refused =
            store.history().commit(extend(&chat, "a", vec![says("z", "late")])).await.unwrap();
        chats.push(chat);
    }
    for chat in &chats {
        assert_eq!(ids(&store, chat).await, ["a", "b"]);
        let query = SearchQuery::new(chat.user.clone(), "amended");
        assert_eq!(store.search().unwrap().search(&query).await.unwrap().items.len(), 1);
    }

    let mut bare = options.connect().await.unwrap();
    assert_eq!(seen(&fixture, &mut bare).await, (0, 0));
    let set = "SELECT set_config('context.user_id', encode('ada'::bytea, 'hex'), false)";
    sqlx::query(set).fetch_one(&mut bare).await.unwrap();
    let (own_chats, own_runs) = seen(&fixture, &mut bare).await;
    assert!(own_chats == 1 && own_runs > 0, "{own_chats} {own_runs}");
    let steal = format!(
        "INSERT INTO \"{}\".node (chat, id, pos) SELECT no + 1, 'x', 0 FROM \"{0}\".chat",
        fixture.schema
    );
    assert!(sqlx::raw_sql(sqlx::AssertSqlSafe(steal)).execute(&mut bare).await.is_err());
    bare.close().await.unwrap();

    assert!(store.history().delete_chat(&chats[0], None).await.unwrap());
    assert_eq!(ids(&owner, &chats[1]).await, ["a", "b"]);
    nothing_is_wrong(&owner).await;
    store.close().await.unwrap();
    fixture.run(&mut connection, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    fixture.drop().await;
}

/// A schema from before blobs, streams, trajectories and memories, with policies on its tables: the
/// tables that the upgrade adds get policies too, whichever configuration opens it.
pub(crate) async fn tables_that_an_upgrade_adds_have_policies_too() {
    let fixture = StoreFixture::new();
    let config = fixture.config().row_security(true);
    PostgresStore::open(config.clone()).await.unwrap().close().await.unwrap();
    let mut connection = fixture.connection().await;
    let rounds = format!(
        "DO $$ DECLARE name text; BEGIN
           FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '{0}' AND tablename SIMILAR TO '(trajectory|memory)%' LOOP
             EXECUTE format('DROP TABLE {0}.%I CASCADE', name);
           END LOOP;
         END $$;
         DROP FUNCTION @store.trajectory_text(bytea), @store.trajectory_time(bigint)",
        fixture.schema
    );
    fixture.run(&mut connection, &format!("SET client_min_messages TO warning; {rounds}")).await;
    let back =
        "DROP TABLE @store.blob_ref, @store.blob_piece, @store.blob, @store.stream_chunk, @store.stream, @store.fragment_version, @store.ref_change;
        ALTER TABLE @store.checkpoint DROP COLUMN sum;
        ALTER TABLE @store.chat DROP COLUMN active_sum, DROP COLUMN time_sum, DROP COLUMN beside,
          DROP COLUMN lease_until, DROP COLUMN lease;
        ALTER TABLE @store.branch DROP COLUMN sum;
        ALTER TABLE @store.applied DROP COLUMN sum;
        DELETE FROM @store.context_migrations WHERE version >= 10";
    fixture.run(&mut connection, back).await;
    let bare = "SELECT coalesce(string_agg(relname, ' ' ORDER BY relname), '') FROM pg_class c
        WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'
          AND NOT (relrowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))";
    let store = fixture.open().await;
    let without: String =
        sqlx::query_scalar(bare).bind(&fixture.schema).fetch_one(&mut connection).await.unwrap();
    assert_eq!(without, "context_migrations store", "tables without policies");
    let chat = chat(&store, "ada").await;
    append(&store, &chat, "", &["a"]).await;
    nothing_is_wrong(&store).await;
    store.close().await.unwrap();
    fixture.drop().await;
}
