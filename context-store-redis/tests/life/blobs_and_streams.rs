//! Blobs and streams: expired chats, findings of the check, and the number of round trips.

use bytes::Bytes;
use context_core::base::StreamId;
use context_core::store::{
    BlobPrune, BlobStore, ChatQuery, NewBlob, StreamAppend, StreamClaim, StreamEnd, StreamOutcome,
    StreamStore,
};
use context_core::{ChatRef, Store, Timestamp};
use redis::cmd;

use crate::fixture::{RedisFixture, T};
use crate::round_trips::Monitor;

fn blobs(fixture: &RedisFixture) -> &dyn BlobStore {
    fixture.store.blobs().unwrap()
}

fn streams(fixture: &RedisFixture) -> &dyn StreamStore {
    fixture.store.streams().unwrap()
}

async fn put(fixture: &RedisFixture, chat: &ChatRef, bytes: Vec<u8>) -> context_core::store::Blob {
    blobs(fixture).put_blob(chat, NewBlob::new(bytes, T)).await.unwrap()
}

/// Removes the chat as its expiry does, without any call of the store.
fn expire(fixture: &RedisFixture, key: &str) {
    let gone: u8 = cmd("UNLINK").arg(key).query(&mut fixture.server()).unwrap();
    assert_eq!(gone, 1);
}

pub(crate) async fn what_an_expired_chat_referred_to_goes_with_its_entry() {
    for sweep in ["a listing", "a pruning", "a new chat of the same name"] {
        let fixture = RedisFixture::new().await;
        let chat = fixture.create("ada", "trip").await;
        let key = fixture.chat_key();
        let other = fixture.create("ada", "other").await;
        let (own, shared) = (vec![7; 600_000], vec![8; 100]);
        let own = put(&fixture, &chat, own).await.id;
        put(&fixture, &chat, shared.clone()).await;
        let kept = put(&fixture, &other, shared.clone()).await;
        assert_eq!(kept.references, 2);
        expire(&fixture, &key);
        assert!(blobs(&fixture).blob(&chat, &own).await.unwrap_err().is_not_found(), "{sweep}");
        match sweep {
            "a listing" => {
                drop(fixture.history().list_chats(&ChatQuery::new("ada")).await.unwrap())
            }
            "a pruning" => {
                let pruned =
                    blobs(&fixture).prune_blobs(&BlobPrune::new("ada", Timestamp::default())).await;
                assert_eq!(pruned.unwrap().references, 0);
            }
            _ => {
                let again = fixture.create("ada", "trip").await;
                assert_eq!(blobs(&fixture).blob(&again, &own).await.unwrap(), None);
                assert!(blobs(&fixture).blobs(&again, 10, None).await.unwrap().items.is_empty());
            }
        }
        let kept = blobs(&fixture).blob(&other, &kept.id).await.unwrap().unwrap();
        assert_eq!(kept.references, 1, "{sweep}");
        let read = blobs(&fixture).read_blob(&other, &kept.id, 0..u64::MAX, None).await.unwrap();
        assert_eq!(read, Some(Bytes::from(shared)), "{sweep}");
        let report =
            fixture.maintenance().check(&context_core::CancelSignal::never()).await.unwrap();
        assert_eq!((report.blobs, report.findings), (1, vec![]), "{sweep}");
    }
}

pub(crate) async fn chats_that_expire_leave_neither_their_entries_nor_their_blobs() {
    let fixture =
        RedisFixture::with(|config| config.chat_ttl(std::time::Duration::from_secs(86_400))).await;
    for i in 0..20 {
        let chat = fixture.create("ada", &format!("c{i}")).await;
        let key = fixture.chat_key();
        let persisted: bool = cmd("PERSIST").arg(&key).query(&mut fixture.server()).unwrap();
        assert!(persisted);
        put(&fixture, &chat, vec![i; 1000]).await;
        let left: i64 = cmd("PTTL").arg(&key).query(&mut fixture.server()).unwrap();
        assert!(left > 0, "putting a blob is a write");
        expire(&fixture, &key);
    }
    let entries: Vec<String> = cmd("ZRANGE")
        .arg(&fixture.keys(":chats")[0])
        .arg(0)
        .arg(-1)
        .query(&mut fixture.server())
        .unwrap();
    assert_eq!(entries, ["c19"]);
    let kept: Vec<String> =
        cmd("HKEYS").arg(&fixture.keys(":blobs2")[0]).query(&mut fixture.server()).unwrap();
    assert_eq!(kept.iter().filter(|field| field.starts_with('s')).count(), 1);
    assert!(fixture.problems().await.is_empty());
}

pub(crate) async fn damage_to_blobs_and_streams_is_found() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let blob = put(&fixture, &chat, vec![1; 300_000]).await;
    let id = StreamId::from("s");
    assert!(streams(&fixture).create_stream(&chat, &id, T).await.unwrap().is_done());
    assert!(
        streams(&fixture)
            .claim_stream(&chat, &id, &StreamClaim::new("w", T))
            .await
            .unwrap()
            .is_done()
    );
    let append = StreamAppend::new("w", 0, ["one", "two"], T);
    assert!(streams(&fixture).append_stream(&chat, &id, append).await.unwrap().is_done());
    assert!(fixture.problems().await.is_empty());

    let mut server = fixture.server();
    let (kept, references) =
        (fixture.keys(":blobs2").remove(0), fixture.keys(":references2").remove(0));
    let piece = format!("1:{}", blob.id);
    let bytes: Vec<u8> = cmd("HGET").arg(&kept).arg(&piece).query(&mut server).unwrap();
    let _: () = cmd("HDEL").arg(&kept).arg(&piece).query(&mut server).unwrap();
    assert_eq!(
        fixture.problems().await,
        [format!("blob {}: the bytes of the blob do not match its id", blob.id)]
    );
    let read = blobs(&fixture).read_blob(&chat, &blob.id, 0..u64::MAX, None).await;
    assert_eq!(read.unwrap_err().kind(), context_core::ErrorKind::Corrupt);
    let _: () = cmd("HSET").arg(&kept).arg(&piece).arg(bytes).query(&mut server).unwrap();
    let _: () = cmd("HINCRBY")
        .arg(&references)
        .arg(format!("c{}", blob.id))
        .arg(1)
        .query(&mut server)
        .unwrap();
    assert_eq!(
        fixture.problems().await,
        [format!("blob {}: the reference count differs from the number of references", blob.id)]
    );
    let _: () = cmd("HINCRBY")
        .arg(&references)
        .arg(format!("c{}", blob.id))
        .arg(-1)
        .query(&mut server)
        .unwrap();

    let _: () = cmd("HDEL").arg(fixture.chat_key()).arg("c1:s").query(&mut server).unwrap();
    let problems = fixture.problems().await;
    assert!(
        problems.len() == 1 && problems[0].contains("stream s: states 2 chunks"),
        "{problems:?}"
    );
    let read = streams(&fixture).read_stream(&chat, &id, 0, 10).await;
    assert_eq!(read.unwrap_err().kind(), context_core::ErrorKind::Corrupt);
}

pub(crate) async fn a_chunk_is_one_question_and_so_is_reading_on() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let id = StreamId::from("s");
    assert!(streams(&fixture).create_stream(&chat, &id, T).await.unwrap().is_done());
    assert!(
        streams(&fixture)
            .claim_stream(&chat, &id, &StreamClaim::new("w", T))
            .await
            .unwrap()
            .is_done()
    );
    let append = |offset: u64| StreamAppend::new("w", offset, ["chunk"], T);
    // The scripts are loaded by now.
    assert!(streams(&fixture).append_stream(&chat, &id, append(0)).await.unwrap().is_done());
    streams(&fixture).read_stream(&chat, &id, 0, 10).await.unwrap();
    let mut monitor = Monitor::of(&fixture);
    assert!(streams(&fixture).append_stream(&chat, &id, append(1)).await.unwrap().is_done());
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    let part = streams(&fixture).read_stream(&chat, &id, 1, 10).await.unwrap().unwrap();
    assert_eq!((part.chunks.len(), part.next()), (1, 2));
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    // A read and a write.
    let last = append(2).end(StreamEnd::Completed);
    let ended = streams(&fixture).append_stream(&chat, &id, last.clone()).await.unwrap();
    assert!(matches!(ended, StreamOutcome::Applied(_)), "{ended:?}");
    assert_eq!(monitor.seen(&fixture), ["EVALSHA", "EVALSHA"]);
    let again = streams(&fixture).append_stream(&chat, &id, last).await.unwrap();
    assert!(matches!(again, StreamOutcome::Replayed(_)), "{again:?}");
}
