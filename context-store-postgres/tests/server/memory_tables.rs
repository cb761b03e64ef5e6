//! Memories in the tables: findings of the check, the rows left by erasing, access, and pgvector.

use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{MemoryFind, MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{CancelSignal, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use crate::fixture::{StoreFixture, T, nothing_is_wrong};

pub(crate) fn remembered(scope: &MemoryScope, id: &str, words: &str) -> MemoryWrite {
    let mut record = MemoryRecord::new(scope.clone(), id, "fact", T, format!("{words}."));
    record.source = Some(MemorySource::message("session", id));
    MemoryWrite::new(record, words)
}

pub(crate) async fn write(store: &dyn Store, writes: &[MemoryWrite]) -> Vec<MemoryWritten> {
    match store.memories().unwrap().write_memories(writes).await.unwrap() {
        MemoryOutcome::Applied(written) => written,
        other => panic!("{other:?}"),
    }
}

/// Returns the ids of the records that are found, the best first.
pub(crate) async fn found(store: &dyn Store, find: &MemoryFind) -> Vec<String> {
    let found = store.memories().unwrap().find_memories(find).await.unwrap();
    found.hits.iter().map(|hit| hit.stored.record.id.to_string()).collect()
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn vector(numbers: [f32; 2]) -> MemoryVector {
    MemoryVector::new("e", numbers.as_slice())
}

pub(crate) async fn the_check_finds_what_is_wrong_with_memories() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let mut connection = fixture.connection().await;
    let scope = MemoryScope::new("ada").session("s");
    for (statement, expected) in [
        (
            "UPDATE @store.memory SET body = 'x' WHERE id = 'a'",
            "SHELF, place 1: the checksum of a memory does not match",
        ),
        (
            "UPDATE @store.memory SET id = 'other' WHERE id = 'a'",
            "SHELF, place 1: the columns of its row differ from the record",
        ),
        (
            "UPDATE @store.memory SET message = NULL",
            "SHELF, place 2: the columns of its row differ from the record",
        ),
        (
            "UPDATE @store.memory SET version = 0",
            "SHELF, place 2: the checksum of a memory does not match",
        ),
        (
            "UPDATE @store.memory SET words = words[2:]",
            "SHELF: the stored counts of 2 words differ from the actual counts",
        ),
        (
            "UPDATE @store.memory SET words = words || words",
            "SHELF: counts [2, 3, 1, 19] records, words, vectors and bytes, but has [2, 6, 1, 19]",
        ),
        (
            "UPDATE @store.memory_word SET records = records + 1",
            "SHELF: the stored counts of 2 words differ from the actual counts",
        ),
        (
            "DELETE FROM @store.memory_word",
            "SHELF: the stored counts of 2 words differ from the actual counts",
        ),
        (
            "UPDATE @store.memory_shelf SET bytes = 7",
            "SHELF: counts [2, 3, 1, 7] records, words, vectors and bytes, but has [2, 3, 1, 19]",
        ),
        (
            "UPDATE @store.memory_shelf SET last = first",
            "SHELF: has no records, or has records outside of its range of places",
        ),
        (
            "DELETE FROM @store.memory_vector",
            "SHELF: counts [2, 3, 1, 19] records, words, vectors and bytes, but has [2, 3, 0, 19]",
        ),
        (
            "UPDATE @store.memory_vector SET data = 'abcdefgh'",
            "SHELF, place 1: the checksum of a vector of a memory does not match",
        ),
        (
            "UPDATE @store.memory_vector SET length = 3",
            "SHELF, place 1: the length of its vector differs from the length in its row",
        ),
        (
            "INSERT INTO @store.memory_vector VALUES (-7, 1, 'e', 1, 'x')",
            "table memory_vector, -7: belongs to no memory",
        ),
        (
            "INSERT INTO @store.memory_word VALUES (-7, 1, 1)",
            "table memory_word, -7: belongs to no shelf",
        ),
        (
            "UPDATE @store.memory SET shelf = -7",
            "SHELF: counts [2, 3, 1, 19] records, words, vectors and bytes, but has [0, 0, 1, 0]",
        ),
        (
            "UPDATE @store.memory_scope SET key = 'x'",
            "memories of user ada, session s: are stored under the key of another scope",
        ),
        (
            "UPDATE @store.memory_scope SET user_id = 'eve'",
            "memories of user eve, session s: are stored under the key of another scope",
        ),
        ("UPDATE @store.memory_user SET written = 1", ": belongs to no shelf"),
    ] {
        let writes = [
            remembered(&scope, "a", "lisbon hotel").vector(vector([1.0, 0.0])),
            remembered(&scope, "b", "hotel"),
        ];
        write(&store, &writes).await;
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!((report.findings, report.memories), (vec![], 2));
        fixture.run(&mut connection, statement).await;
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        let found: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
        let expected = expected.replace("SHELF", "memories of user ada, session s, kind fact");
        assert!(found.iter().any(|problem| problem.ends_with(&expected)), "{statement}: {found:?}");
        let clear = "SET client_min_messages TO warning; TRUNCATE @store.memory, @store.memory_word, @store.memory_vector,
            @store.memory_mark, @store.memory_shelf, @store.memory_scope, @store.memory_user CASCADE";
        fixture.run(&mut connection, clear).await;
    }
    fixture.drop().await;
}

pub(crate) async fn erasing_a_user_leaves_no_memory_and_no_mark() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let (ada, bob) = (MemoryScope::new("ada"), MemoryScope::new("bob"));
    let within = ada.clone().project("p");
    write(
        &store,
        &[remembered(&ada, "a", "x y"), remembered(&within, "b", "x").vector(vector([1.0, 2.0]))],
    )
    .await;
    write(&store, &[remembered(&ada, "c", "x"), remembered(&within, "d", "z")]).await;
    write(&store, &[remembered(&bob, "a", "x y").vector(vector([1.0, 2.0]))]).await;
    let forget = MemoryForget::ids(within.clone(), ["d"]);
    assert_eq!(store.memories().unwrap().forget_memories(&forget).await.unwrap().removed, 1);
    let maintenance = store.maintenance().unwrap();
    assert_eq!(maintenance.users(9, None).await.unwrap().items, ["ada", "bob"]);
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.memories, erased.remaining), (3, 0));
    assert_eq!(maintenance.users(9, None).await.unwrap().items, ["bob"]);
    assert_eq!(found(&store, &MemoryFind::new(vec![bob.clone()], words(&["x"]), 9)).await, ["a"]);
    let left = "DO $$ BEGIN
        ASSERT (SELECT count(*) FROM @store.memory_user) = 1 AND (SELECT count(*) FROM @store.memory_scope) = 1;
        ASSERT (SELECT count(*) FROM @store.memory_shelf) = 1 AND (SELECT count(*) FROM @store.memory_word) = 2;
        ASSERT (SELECT count(*) FROM @store.memory) = 1 AND (SELECT count(*) FROM @store.memory_vector) = 1;
        ASSERT (SELECT count(*) FROM @store.memory_mark) = 0; END $$";
    fixture.run(&mut fixture.connection().await, left).await;
    // A forgotten record may be written again.
    assert_eq!(write(&store, &[remembered(&within, "d", "z")]).await, [MemoryWritten::Written(1)]);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

/// Opens the store as the owner, and as a role that is subject to the policies.
async fn as_two_roles(
    fixture: &StoreFixture,
    connection: &mut PgConnection,
) -> (PostgresStore, PostgresStore, PgConnectOptions) {
    let owner = PostgresStore::open(fixture.config().row_security(true)).await.unwrap();
    let role = format!("{}_app", fixture.schema);
    let grant = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'hunter2'; GRANT USAGE ON SCHEMA @store TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA @store TO {role}"
    );
    fixture.run(connection, &grant).await;
    let options =
        fixture.url.parse::<PgConnectOptions>().unwrap().username(&role).password("hunter2");
    let url = options.to_url_lossy().to_string();
    let config = PostgresConfig::from_url(url.split('?').next().unwrap()).unwrap();
    let config =
        config.schema(fixture.schema.as_str()).connections(2).create(false).row_security(true);
    (owner, PostgresStore::open(config).await.unwrap(), options)
}

/// Also with more words than are read exactly.
async fn another_role_remembers_for_the_user_it_names(fixture: StoreFixture) {
    let mut connection = fixture.connection().await;
    let (owner, store, options) = as_two_roles(&fixture, &mut connection).await;
    for user in ["ada", "bob"] {
        let scope = MemoryScope::new(user);
        let many = |n: usize| {
            remembered(&scope, &format!("{user} {n}"), if n == 7 { "x y z" } else { "x y" })
        };
        let writes: Vec<_> = (0..1000).map(many).collect();
        write(&store, &writes).await;
        let near = remembered(&scope, "near", "hotel").vector(vector([1.0, 1.0]));
        let far = remembered(&scope, "far", "hotel").vector(vector([1.0, -1.0]));
        write(&store, &[far, near, remembered(&scope, "last", "x")]).await;
        let mut find = MemoryFind::new(vec![scope.clone()], words(&["x", "z", "y"]), 3);
        assert_eq!(
            found(&store, &find).await,
            [format!("{user} 7"), format!("{user} 999"), format!("{user} 998")]
        );
        find.words = words(&["nowhere"]);
        find.vector = Some(vector([2.0, 2.5]));
        assert_eq!(found(&store, &find).await, ["near", "far"]);
        let changed = remembered(&scope, "near", "other")
            .expected(context_core::store::MemoryExpected::Version(1));
        assert_eq!(write(&store, &[changed]).await, [MemoryWritten::Written(2)]);
        assert_eq!(found(&store, &find).await, ["far"]);
    }
    let mut bare = options.connect().await.unwrap();
    let tables =
        "SELECT tablename::text FROM pg_tables WHERE schemaname = $1 AND tablename LIKE 'memory%'";
    let tables: Vec<String> =
        sqlx::query_scalar(tables).bind(&fixture.schema).fetch_all(&mut connection).await.unwrap();
    assert!(tables.len() >= 7, "{tables:?}");
    for table in tables {
        let count =
            sqlx::AssertSqlSafe(format!("SELECT count(*) FROM \"{}\".{table}", fixture.schema));
        let seen: i64 = sqlx::query_scalar(count).fetch_one(&mut bare).await.unwrap();
        assert_eq!(seen, 0, "{table}");
    }
    let forget = MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("session"));
    assert_eq!(store.memories().unwrap().forget_memories(&forget).await.unwrap().removed, 1003);
    nothing_is_wrong(&owner).await;
    store.close().await.unwrap();
    let role = format!("{}_app", fixture.schema);
    fixture.run(&mut connection, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    fixture.drop().await;
}

pub(crate) async fn another_role_sees_memories_of_the_user_it_names() {
    let fixture = StoreFixture::new();
    another_role_remembers_for_the_user_it_names(fixture).await;
}

pub(crate) async fn another_role_sees_memories_of_the_user_it_names_with_pgvector() {
    let fixture = StoreFixture::with_pgvector();
    another_role_remembers_for_the_user_it_names(fixture).await;
}

/// Programs without the extension compare vectors themselves, others in the server. The results are
/// the same.
pub(crate) async fn pgvector_may_be_used_by_some_and_not_by_others() {
    let fixture = StoreFixture::with_pgvector();
    let without = PostgresStore::open(fixture.config().pgvector(false)).await.unwrap();
    let scope = MemoryScope::new("ada");
    let point = |n: i16| {
        let angle = f32::from(n) * 0.1;
        remembered(&scope, &format!("{n}"), "x")
            .vector(vector([angle.cos() * 3.0, angle.sin() * 3.0]))
    };
    let zero = remembered(&scope, "zero", "x").vector(vector([0.0, 0.0]));
    write(&without, &(0..10).map(point).chain([zero]).collect::<Vec<_>>()).await;
    let with = fixture.open().await;
    assert!(with.pgvector() && !without.pgvector());
    write(&with, &(10..60).map(point).collect::<Vec<_>>()).await;
    let huge = remembered(&scope, "huge", "x").vector(vector([f32::MAX, f32::MAX]));
    let tiny = remembered(&scope, "tiny", "x").vector(vector([f32::MIN_POSITIVE, 0.0]));
    write(&with, &[huge, tiny, remembered(&scope, "none", "x")]).await;
    for numbers in [
        [1.0, 1.0],
        [1.0, 0.1],
        [-1.0, 0.5],
        [-3.0, -1.0],
        [0.0, 0.0],
        [f32::MAX, f32::MAX],
        [1e-30, 0.0],
    ] {
        let mut find = MemoryFind::new(vec![scope.clone()], Vec::new(), 20);
        find.vector = Some(vector(numbers));
        let ours = with.memories().unwrap().find_memories(&find).await.unwrap();
        assert_eq!(
            ours,
            without.memories().unwrap().find_memories(&find).await.unwrap(),
            "{numbers:?}"
        );
        assert_eq!(ours.hits.len(), 20);
    }
    let forget = MemoryForget::ids(scope, (0..60).map(|n| n.to_string()));
    assert_eq!(without.memories().unwrap().forget_memories(&forget).await.unwrap().removed, 60);
    let left = "DO $$ BEGIN ASSERT (SELECT count(*) FROM @store.memory_pgvector) = 2; END $$";
    fixture.run(&mut fixture.connection().await, left).await;
    nothing_is_wrong(&with).await;
    fixture.drop().await;
}
