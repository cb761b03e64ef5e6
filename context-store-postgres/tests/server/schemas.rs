//! Creating, upgrading and rejecting schemas, and names and texts with any characters.

use std::process::Command;

use context_core::base::{CheckpointName, FragmentId};
use context_core::store::{
    ChainEnd, ChatPatch, Commit, Durability, NewChat, StoredFragment, Target, TitleChange, Window,
};
use context_core::{BranchName, ChatRef, Encoded, ErrorKind, Metadata, Store};
use context_store_postgres::PostgresStore;
use tokio::task::JoinSet;

use crate::fixture::{StoreFixture, T, append, chat, extend, ids, nothing_is_wrong, says};

pub(crate) async fn many_may_make_it_at_once() {
    let fixture = StoreFixture::new();
    let mut opening = JoinSet::new();
    for _ in 0..8 {
        opening.spawn(PostgresStore::open(fixture.config()));
    }
    for store in opening.join_all().await {
        let store = store.unwrap();
        let chat = chat(&store, "ada").await;
        assert!(store.history().chat(&chat).await.unwrap().is_some());
        store.close().await.unwrap();
    }
    fixture.drop().await;
}

const CHILD: &str = "CONTEXT_TEST_POSTGRES_SCHEMA";

/// The test below runs this in processes of their own.
pub(crate) async fn one_of_several_processes() {
    let Ok(schema) = std::env::var(CHILD) else { return };
    let store = StoreFixture::named(&schema).open().await;
    chat(&store, &std::process::id().to_string()).await;
}

pub(crate) async fn several_processes_may_make_it_at_once() {
    let fixture = StoreFixture::new();
    let child = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "schemas::one_of_several_processes"])
            .env(CHILD, &fixture.schema)
            .spawn()
            .unwrap()
    };
    let children = [child(), child(), child()];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = fixture.open().await;
    let mut connection = fixture.connection().await;
    fixture
        .run(&mut connection, "DO $$ BEGIN ASSERT (SELECT count(*) FROM @store.chat) = 3; END $$")
        .await;
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

pub(crate) async fn a_newer_schema_is_refused_and_not_touched() {
    let fixture = StoreFixture::new();
    fixture.open().await.close().await.unwrap();
    let mut connection = fixture.connection().await;
    let newer =
        "INSERT INTO @store.context_migrations (version, description, success, checksum, execution_time)
        VALUES (999, 'of a later release', true, '', 0)";
    fixture.run(&mut connection, newer).await;
    let error = PostgresStore::open(fixture.config()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.message().starts_with(
            "the store has schema version 999, but this program supports versions up to "
        ),
        "{error}"
    );
    assert_eq!(error.get("newer_schema"), Some("999"));
    fixture.drop().await;
}

pub(crate) async fn what_may_not_be_made_is_refused() {
    let fixture = StoreFixture::new();
    let error = PostgresStore::open(fixture.config().create(false)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    fixture.open().await.close().await.unwrap();
    let store = PostgresStore::open(fixture.config().create(false)).await.unwrap();
    assert!(store.search().is_some());
    let error = PostgresStore::open(fixture.config().full_text(false)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    fixture.drop().await;
}

pub(crate) async fn a_store_without_full_text_has_no_search() {
    let fixture = StoreFixture::new();
    let store = PostgresStore::open(fixture.config().full_text(false)).await.unwrap();
    assert!(store.search().is_none());
    let chat = chat(&store, "ada").await;
    append(&store, &chat, "", &["a", "b"]).await;
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

pub(crate) async fn schemas_may_have_odd_names() {
    let pid = std::process::id();
    let long = format!("{pid:x<63}");
    let names = [
        format!("\"; DROP SCHEMA public; -- {pid}"),
        format!("Größe # ' $1 {pid}"),
        format!("select {pid}"),
        long,
    ];
    for name in &names {
        let fixture = StoreFixture::named(name);
        let store = fixture.open().await;
        let chat = chat(&store, "ada").await;
        append(&store, &chat, "", &["a", "b"]).await;
        let again = fixture.open().await;
        assert_eq!(ids(&again, &chat).await, ["a", "b"]);
        nothing_is_wrong(&again).await;
        let vacuumed = again.maintenance().unwrap().vacuum().await.unwrap();
        assert!(vacuumed.before > 0, "{vacuumed:?}");
        fixture.drop().await;
    }
}

/// PostgreSQL's text type cannot hold a NUL, so texts that may have one are stored in other types.
pub(crate) async fn every_text_may_hold_a_nul() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let history = store.history();
    let chat = ChatRef::new("us\0er", "ch\0at");
    let metadata = Metadata::default().with("k\0ey", "va\0lue");
    let new = NewChat { title: Some("ti\0tle".into()), metadata, ..NewChat::new(chat.clone(), T) };
    let created = history.create_chat(new).await.unwrap().into_chat();
    let fragment = StoredFragment {
        id: Some(FragmentId::from("frag\0ment")),
        metadata: Metadata::default().with("\0", 1),
        body: Encoded::new("ki\0nd", 1, "bo\0dy"),
    };
    let mut commit = extend(&chat, "", vec![says("mes\0sage", "a \0 b")]);
    (commit.key, commit.fragments) = (Some("ke\0y".into()), vec![fragment.clone()]);
    let _applied = history.commit(commit).await.unwrap();
    let _applied =
        history.commit(extend(&chat, "mes\0sage", vec![says("ne\0xt", "c")])).await.unwrap();
    let branch = BranchName::from("bra\0nch");
    let name = context_core::store::ForkName::Exact(branch.clone());
    let target = Target::Fork { name, at: Some("mes\0sage".into()), activate: true };
    let _applied = history.commit(Commit::new(chat.clone(), target, T)).await.unwrap();
    let checkpoint = CheckpointName::from("che\0ck");
    history.set_checkpoint(&chat, &checkpoint, &"ne\0xt".into(), T).await.unwrap();
    let patch = ChatPatch { title: TitleChange::Set("an\0other".into()), ..ChatPatch::default() };
    history.update_chat(&chat, &patch, T).await.unwrap();

    let stored = history.chat(&chat).await.unwrap().unwrap();
    assert_eq!((stored.title.as_deref(), &stored.metadata), (Some("an\0other"), &created.metadata));
    assert_eq!(stored.active, branch);
    assert_eq!(store.fragments().fragments(&chat).await.unwrap(), [fragment]);
    assert_eq!(ids(&store, &chat).await, ["mes\0sage", "ne\0xt"]);
    let chain = history.chain(&chat, &ChainEnd::Branch(branch), &Window::Whole).await.unwrap();
    assert_eq!(chain.head(), Some(&"mes\0sage".into()));
    assert_eq!(history.checkpoints(&chat).await.unwrap()[0].name, checkpoint);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

pub(crate) async fn it_says_what_the_server_promises() {
    let fixture = StoreFixture::new();
    let late = if fixture.url.contains('?') { '&' } else { '?' };
    let lax = StoreFixture {
        url: format!("{}{late}options[synchronous_commit]=off", fixture.url),
        schema: fixture.schema.clone(),
    };
    let info = lax.open().await.info();
    assert_eq!((info.durability, info.shared), (Durability::Server, true));
    assert!(info.warning.is_some_and(|warning| warning.contains("synchronous_commit")), "{info:?}");
    let info = fixture.open().await.info();
    let setting: String = sqlx::query_scalar("SHOW synchronous_commit")
        .fetch_one(&mut fixture.connection().await)
        .await
        .unwrap();
    assert_eq!(info.durability > Durability::Server, setting != "off", "{info:?} {setting}");
    assert_eq!(info.warning.is_none(), info.durability == Durability::PowerLoss);
    fixture.drop().await;
}

/// A commit with waiting words to move took seconds. The option is one of each index, whether the
/// schema is new or upgraded, and divided or not.
pub(crate) async fn no_words_wait_in_an_index() {
    for partitions in [1, 4] {
        let fixture = StoreFixture::new();
        let config = || fixture.config().partitions(partitions);
        let mut connection = fixture.connection().await;
        let limits = format!(
            "DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
               JOIN pg_am a ON a.oid = c.relam AND a.amname = 'gin'
               WHERE i.indrelid::regclass::text LIKE '%words%' AND c.relkind = 'i'
                 AND c.relnamespace = '@store'::regnamespace
                 AND c.reloptions = ARRAY['gin_pending_list_limit=256', 'fastupdate=off'])
                   = {partitions}; END $$"
        );
        PostgresStore::open(config()).await.unwrap().close().await.unwrap();
        fixture.run(&mut connection, &limits).await;
        let older = "DO $$ DECLARE part regclass; BEGIN
              FOR part IN SELECT oid FROM pg_class WHERE 'fastupdate=off' = ANY(reloptions)
                  AND relkind = 'i' AND relnamespace = '@store'::regnamespace LOOP
                EXECUTE format('ALTER INDEX %s RESET (gin_pending_list_limit, fastupdate)', part);
              END LOOP;
            END $$;
            DELETE FROM @store.context_migrations WHERE version >= 18";
        fixture.run(&mut connection, older).await;
        let store = PostgresStore::open(config()).await.unwrap();
        fixture.run(&mut connection, &limits).await;
        if partitions == 1 {
            // As the documentation says for few writers.
            let some_wait = "ALTER INDEX @store.words_lexemes SET (fastupdate = on)";
            fixture.run(&mut connection, some_wait).await;
            let ada = chat(&store, "ada").await;
            append(&store, &ada, "", &["a"]).await;
            nothing_is_wrong(&store).await;
            let who_moves = "SELECT pid, now() - query_start AS since, relation::regclass
                FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE locktype = 'page' AND granted";
            fixture.run(&mut connection, who_moves).await;
        }
        fixture.drop().await;
    }
}
