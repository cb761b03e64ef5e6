//! Streams whose secrets are cut into chunks.

use std::sync::Arc;

use context_core::Store;
use context_core::store::{
    NewChat, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamStore,
};
use context_secrets::SecretFinder;
use context_store_inmem::InMemoryStore;
use context_store_layers::MaskingStore;
use proptest::prelude::*;

use crate::corpus::corpus;
use crate::fixture::{at, chat};

async fn opened(store: &dyn Store) -> &dyn StreamStore {
    let _new = store.history().create_chat(NewChat::new(chat("c"), at(1))).await.unwrap();
    let streams = store.streams().unwrap();
    let _created = streams.create_stream(&chat("c"), &"s".into(), at(1)).await.unwrap();
    let claim = StreamClaim::new("w", at(1));
    let _claimed = streams.claim_stream(&chat("c"), &"s".into(), &claim).await.unwrap();
    streams
}

async fn read(streams: &dyn StreamStore) -> Vec<String> {
    let part = streams.read_stream(&chat("c"), &"s".into(), 0, 1000).await.unwrap().unwrap();
    part.chunks.iter().map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect()
}

async fn send(streams: &dyn StreamStore, offset: u64, chunks: &[&str]) -> StreamOutcome {
    let chunks: Vec<_> = chunks.iter().map(|chunk| chunk.as_bytes().to_vec()).collect();
    let append = StreamAppend::new("w", offset, chunks, at(2));
    streams.append_stream(&chat("c"), &"s".into(), append).await.unwrap()
}

async fn end(streams: &dyn StreamStore, offset: u64) -> StreamOutcome {
    let append = StreamAppend::new("w", offset, Vec::<Vec<u8>>::new(), at(3));
    let append = append.end(StreamEnd::Completed);
    streams.append_stream(&chat("c"), &"s".into(), append).await.unwrap()
}

fn token() -> String {
    corpus().into_iter().find(|sample| sample.kind == "github-token").unwrap().secret
}

#[tokio::test]
async fn the_beginning_of_a_secret_waits_for_its_end() {
    let store = MaskingStore::new(Arc::new(InMemoryStore::default()));
    let streams = opened(&store).await;
    let token = token();
    let (first, rest) = token.split_at(6);
    assert!(matches!(send(streams, 0, &["Use ", first]).await, StreamOutcome::Applied(_)));
    assert_eq!(read(streams).await.concat(), "Use ");
    // A heartbeat and a repeated append change nothing.
    assert!(send(streams, 2, &[]).await.is_done());
    assert!(matches!(send(streams, 0, &["Use ", first]).await, StreamOutcome::Replayed(_)));
    assert!(matches!(send(streams, 2, &[rest, " now"]).await, StreamOutcome::Applied(_)));
    assert!(matches!(send(streams, 2, &[rest, " now"]).await, StreamOutcome::Replayed(_)));
    assert_eq!(read(streams).await.concat(), "Use [secret:github-token] now");
    assert!(matches!(send(streams, 4, &["."]).await, StreamOutcome::Applied(_)));
    assert!(end(streams, 5).await.is_done());
    assert_eq!(read(streams).await.len(), 5);
}

#[tokio::test]
async fn an_end_writes_what_waited() {
    let store = MaskingStore::new(Arc::new(InMemoryStore::default()));
    let streams = opened(&store).await;
    assert!(send(streams, 0, &["a sk-"]).await.is_done());
    assert_eq!(read(streams).await, ["a "]);
    assert!(matches!(end(streams, 1).await, StreamOutcome::Applied(_)));
    assert!(matches!(end(streams, 1).await, StreamOutcome::Replayed(_)));
    assert_eq!(read(streams).await, ["a ", "sk-"]);
    // Another run begins with nothing.
    let run = streams.stream(&chat("c"), &"s".into()).await.unwrap().unwrap().run;
    let opened = streams.reopen_stream(&chat("c"), &"s".into(), run, at(4)).await.unwrap();
    assert!(opened.is_done());
}

#[tokio::test]
async fn text_without_secrets_and_bytes_are_stored_as_they_are() {
    let store = MaskingStore::new(Arc::new(InMemoryStore::default()));
    let streams = opened(&store).await;
    let chunks = ["data: {\"a\":1}\n\n", "", "é", "a word"];
    assert!(send(streams, 0, &chunks).await.is_done());
    assert_eq!(read(streams).await, chunks);
    let append = StreamAppend::new("w", 4, [vec![0xff, 0xfe], vec![0xc3]], at(3));
    assert!(streams.append_stream(&chat("c"), &"s".into(), append).await.unwrap().is_done());
    let part = streams.read_stream(&chat("c"), &"s".into(), 4, 9).await.unwrap().unwrap();
    assert_eq!(part.chunks, [vec![0xff, 0xfe], vec![0xc3]]);
    assert!(store.report().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 60,
        ..ProptestConfig::default() })]

    /// However a text is cut, its stream has the same text as if it came at once.
    #[test]
    fn the_cuts_of_a_stream_do_not_matter(
        which in 0..60usize,
        cuts in prop::collection::vec(1..60usize, 0..12),
        appends in 1..4usize,
    ) {
        let corpus = corpus();
        let sample = &corpus[which % corpus.len()];
        // Nothing in their first characters tells them from a word or a number.
        prop_assume!(!["azure-client-secret", "telegram-token"].contains(&sample.kind));
        // A cut in the name before a secret hides it.
        prop_assume!(sample.text.starts_with("use "));
        let text = format!("So {}\nand more of it.", sample.text);
        let mut chunks = Vec::new();
        let mut rest = text.as_str();
        for cut in cuts {
            let (chunk, behind) = rest.split_at(rest.floor_char_boundary(cut));
            chunks.push(chunk);
            rest = behind;
        }
        chunks.push(rest);
        // One letter may begin any word.
        let first = text.find(&sample.secret).unwrap() + 1;
        let mut ends = chunks.iter().scan(0, |end, chunk| {
            *end += chunk.len();
            Some(*end)
        });
        prop_assume!(ends.all(|end| end != first));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let streamed = runtime.block_on(async {
            let store = MaskingStore::new(Arc::new(InMemoryStore::default()));
            let streams = opened(&store).await;
            let mut offset = 0;
            for chunks in chunks.chunks(appends) {
                assert!(send(streams, offset, chunks).await.is_done());
                offset += chunks.len() as u64;
            }
            assert!(end(streams, offset).await.is_done());
            read(streams).await.concat()
        });
        prop_assert!(!streamed.contains(&sample.secret), "{}", sample.kind);
        prop_assert_eq!(streamed, SecretFinder::default().mask(&text).0, "{}", sample.kind);
    }
}
