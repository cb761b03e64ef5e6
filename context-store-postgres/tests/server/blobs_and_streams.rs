//! Blobs, streams and other data of a chat: what the check finds after other programs wrote to the
//! tables, round trips, row-level security, and chats that share bytes while others remove them.

use std::sync::Arc;

use context_core::base::BlobId;
use context_core::store::{
    BlobPrune, NewBlob, NewChat, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamPrune,
};
use context_core::{CancelSignal, ChatRef, Result, Store, Timestamp};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::fixture::{StoreFixture, T, chat, nothing_is_wrong};
use crate::proxy::Proxy;

const LARGE: usize = 700_000;

fn large() -> Vec<u8> {
    (0..LARGE).map(|i| (i / 997) as u8).collect()
}

fn applied(outcome: StreamOutcome) {
    assert!(matches!(outcome, StreamOutcome::Applied(_)), "{outcome:?}");
}

/// A blob of three pieces, and a running stream of four chunks.
async fn fill(store: &dyn Store, chat: &ChatRef) {
    store.blobs().unwrap().put_blob(chat, NewBlob::new(large(), T)).await.unwrap();
    let (streams, id) = (store.streams().unwrap(), "answer".into());
    applied(streams.create_stream(chat, &id, T).await.unwrap());
    applied(streams.claim_stream(chat, &id, &StreamClaim::new("w", T)).await.unwrap());
    let append = StreamAppend::new("w", 0, ["one", "", "three", "four"], T);
    applied(streams.append_stream(chat, &id, append).await.unwrap());
}

async fn problems(store: &dyn Store) -> Vec<String> {
    let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    report.findings.iter().map(ToString::to_string).collect()
}

pub(crate) async fn the_check_finds_what_is_wrong_beside_messages() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let mut connection = fixture.connection().await;
    let hash = BlobId::of(&large()).to_string();
    for (statement, (place, problem)) in [
        (
            "UPDATE @store.blob_piece SET data = 'other' WHERE n = 2",
            ("ada/chat blob HASH", "the bytes of a blob do not match its id"),
        ),
        (
            "UPDATE @store.blob_piece SET data = overlay(data PLACING 'xx'::bytea FROM 9) WHERE n = 1",
            ("ada/chat blob HASH", "the bytes of a blob do not match its id"),
        ),
        (
            "DELETE FROM @store.blob_piece WHERE n = 1",
            ("ada/chat blob HASH", "the bytes of a blob do not match its id"),
        ),
        (
            "INSERT INTO @store.blob_piece SELECT no, 3, 'x' FROM @store.blob",
            ("ada/chat blob HASH", "has more pieces than its size needs"),
        ),
        (
            "INSERT INTO @store.blob_piece VALUES (-7, 0, 'x')",
            ("table blob_piece, blob -7", "belongs to no blob"),
        ),
        ("DELETE FROM @store.blob_ref", ("blob HASH", "belongs to no chat")),
        (
            "UPDATE @store.blob SET user_id = 'eve'",
            ("ada/chat blob HASH", "the chat's reference is to a blob with another id or user"),
        ),
        (
            "DELETE FROM @store.stream_chunk WHERE n = 3",
            ("ada/chat stream answer", "states 4 chunks of 12 bytes, but has 3 of 8"),
        ),
        (
            "DELETE FROM @store.stream_chunk WHERE n = 1",
            ("ada/chat stream answer", "its chunks have a gap"),
        ),
        (
            "INSERT INTO @store.stream_chunk VALUES (-7, 0, 'x')",
            ("table stream_chunk, stream -7", "belongs to no stream"),
        ),
        (
            "UPDATE @store.stream SET state = 'failed'",
            ("ada/chat stream answer", "the checksum of a stream does not match"),
        ),
        (
            "UPDATE @store.stream SET state = 'lost'",
            ("ada/chat stream answer", "the state of a stream is unknown"),
        ),
        (
            "UPDATE @store.stream SET run = -1",
            ("ada/chat stream answer", "the run of a stream is out of range"),
        ),
    ] {
        let chat = chat(&store, "ada").await;
        fill(&store, &chat).await;
        assert_eq!(problems(&store).await, [""; 0]);
        fixture.run(&mut connection, statement).await;
        let found = problems(&store).await;
        let expected = format!("{place}: {problem}").replace("HASH", &hash);
        assert_eq!(found, [expected], "{statement}");
        let clear = "TRUNCATE @store.blob_ref, @store.blob_piece, @store.stream_chunk, @store.stream, @store.blob";
        fixture.run(&mut connection, clear).await;
    }
    fixture.drop().await;
}

pub(crate) async fn appending_to_a_stream_and_reading_on_are_one_round_trip_each() {
    let fixture = StoreFixture::new();
    let server: PgConnectOptions = fixture.url.parse().unwrap();
    let proxy = Proxy::of(format!("{}:{}", server.get_host(), server.get_port())).await;
    let (user, database) = (server.get_username(), server.get_database().unwrap_or("postgres"));
    let url = format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", proxy.port);
    let config =
        PostgresConfig::from_url(&url).unwrap().schema(fixture.schema.as_str()).connections(1);
    let filled = PostgresStore::open(fixture.config()).await.unwrap();
    let chat = chat(&filled, "ada").await;
    fill(&filled, &chat).await;
    filled.close().await.unwrap();
    let store = PostgresStore::open(config).await.unwrap();
    let (streams, id) = (store.streams().unwrap(), "answer".into());
    // The first calls also prepare their statements, and so does the message to other handles.
    let _prepared = streams.read_stream(&chat, &id, 0, 10).await.unwrap();
    let (before, heartbeat) = (proxy.round_trips(), StreamAppend::new("w", 4, [""; 0], T));
    applied(streams.append_stream(&chat, &id, heartbeat).await.unwrap());
    while proxy.round_trips() - before < 4 {
        tokio::task::yield_now().await;
    }
    for offset in 4..40 {
        let before = proxy.round_trips();
        let mut append = StreamAppend::new("w", offset, [offset.to_string()], T);
        append.end = (offset == 39).then_some(StreamEnd::Completed);
        applied(streams.append_stream(&chat, &id, append).await.unwrap());
        assert_eq!(proxy.round_trips() - before, 1, "appending {offset}");
        // Other handles are told afterwards, and no call waits for it.
        while proxy.round_trips() - before < 2 {
            tokio::task::yield_now().await;
        }
        let before = proxy.round_trips();
        let part = streams.read_stream(&chat, &id, offset, 10).await.unwrap().unwrap();
        assert_eq!(
            (part.chunks, part.stream.chunks),
            (vec![offset.to_string().into()], offset + 1)
        );
        assert_eq!(proxy.round_trips() - before, 1, "reading {offset}");
    }
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

pub(crate) async fn another_role_sees_blobs_and_streams_of_the_user_it_names() {
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
    let config =
        config.schema(fixture.schema.as_str()).connections(2).create(false).row_security(true);
    let store = PostgresStore::open(config).await.unwrap();
    let (ada, bob) = (chat(&store, "ada").await, chat(&store, "bob").await);
    for chat in [&ada, &bob] {
        fill(&store, chat).await;
        let (streams, id) = (store.streams().unwrap(), "answer".into());
        let end = StreamAppend::new("w", 4, ["five"], T).end(StreamEnd::Completed);
        applied(streams.append_stream(chat, &id, end).await.unwrap());
        assert_eq!(
            streams.read_stream(chat, &id, 3, 9).await.unwrap().unwrap().chunks,
            ["four", "five"]
        );
        assert_eq!(
            store.blobs().unwrap().blobs(chat, 9, None).await.unwrap().items[0].bytes,
            LARGE as u64
        );
    }
    let mut bare = options.connect().await.unwrap();
    for table in ["blob", "blob_piece", "blob_ref", "stream", "stream_chunk"] {
        let count =
            sqlx::AssertSqlSafe(format!("SELECT count(*) FROM \"{}\".{table}", fixture.schema));
        let seen: i64 = sqlx::query_scalar(count).fetch_one(&mut bare).await.unwrap();
        assert_eq!(seen, 0, "{table}");
    }
    applied(store.streams().unwrap().reopen_stream(&ada, &"answer".into(), 0, T).await.unwrap());
    assert!(store.history().delete_chat(&ada, None).await.unwrap());
    let pruned = store.blobs().unwrap().prune_blobs(&BlobPrune::new("bob", T)).await.unwrap();
    assert_eq!((pruned.blobs, pruned.bytes), (1, LARGE as u64));
    let pruned = store.streams().unwrap().prune_streams(&StreamPrune::new("bob", T)).await.unwrap();
    assert_eq!((pruned.streams, pruned.chunks), (1, 5));
    nothing_is_wrong(&owner).await;
    store.close().await.unwrap();
    fixture.run(&mut connection, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    fixture.drop().await;
}

/// Chats of one user store the same bytes while others remove them, delete chats and prune: there
/// is no deadlock, and no bytes are lost or left over.
pub(crate) async fn bytes_shared_by_chats_that_come_and_go_stay_whole() {
    let fixture = StoreFixture::new();
    let store = Arc::new(PostgresStore::open(fixture.config().connections(6)).await.unwrap());
    let kept = chat(&*store, "ada").await;
    let texts = ["one", "two", "three"];
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..6 {
        let (store, kept) = (Arc::clone(&store), kept.clone());
        tasks.spawn(async move {
            let (blobs, streams) = (store.blobs().unwrap(), store.streams().unwrap());
            let own = ChatRef::new("ada", format!("chat {}", task % 2));
            for round in 0..20 {
                let text = texts[(round + task) % texts.len()];
                let result: Result<()> = match task {
                    0 | 1 => {
                        let _ = store.history().create_chat(NewChat::new(own.clone(), T)).await?;
                        let _there = streams.create_stream(&own, &text.into(), T).await;
                        blobs.put_blob(&own, NewBlob::new(text, T)).await.map(drop)
                    }
                    2 | 3 => store.history().delete_chat(&own, None).await.map(drop),
                    4 => {
                        let _pruned =
                            streams.prune_streams(&StreamPrune::new("ada", T).abandoned(T)).await?;
                        blobs.prune_blobs(&BlobPrune::new("ada", T)).await.map(drop)
                    }
                    _ => blobs
                        .put_blob(&kept, NewBlob::new(text, Timestamp::from_micros(i64::MAX)))
                        .await
                        .map(drop),
                };
                match result {
                    Err(error) if !error.is_not_found() => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.unwrap().unwrap();
    }
    nothing_is_wrong(&*store).await;
    let blobs = store.blobs().unwrap();
    for blob in blobs.blobs(&kept, 10, None).await.unwrap().items {
        let read = blobs.read_blob(&kept, &blob.id, 0..9, None).await.unwrap().unwrap();
        assert!(texts.iter().any(|text| text.as_bytes() == read), "{read:?}");
    }
    let erased = store
        .maintenance()
        .unwrap()
        .erase_user(&"ada".into(), &CancelSignal::never())
        .await
        .unwrap();
    assert_eq!(erased.remaining, 0);
    fixture.drop().await;
}
