//! Answers in flight: written in batches by the holder of the claim, read from any offset, never
//! with a gap.

mod error_parts;
mod watching;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use context_runtime::streams::{AnswerReader, Demand, StreamError, Streams, WriteOptions};
use context_runtime::{
    ChatRef, Clock, ErrorKind, Store, Timestamp, limits,
    store::{NewChat, StreamEnd, StreamState},
};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use futures_util::{FutureExt, StreamExt, stream};
use proptest::prelude::*;
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout};

use crate::kit::{CountingIds, engine, store};

/// A clock that only advances on request.
#[derive(Clone, Debug, Default)]
struct HandClock(Arc<AtomicI64>);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

impl HandClock {
    fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_micros()).unwrap(), Ordering::Relaxed);
    }
}

async fn streams() -> (Streams, HandClock, Arc<dyn Store>) {
    faulty(FaultPlan::default()).await
}

/// Returns the same over a store that fails as planned.
async fn faulty(plan: FaultPlan) -> (Streams, HandClock, Arc<dyn Store>) {
    let (store, clock, chat) = (store().await, HandClock::default(), ChatRef::new("ada", "c"));
    let _created =
        store.history().create_chat(NewChat::new(chat.clone(), clock.now())).await.unwrap();
    let ids = Arc::new(CountingIds::default());
    let faulty: Arc<dyn Store> = Arc::new(FaultStore::new(Arc::clone(&store), plan));
    (Streams::new(faulty, chat, Arc::new(clock.clone()), ids), clock, store)
}

/// Returns all remaining chunks, and how the stream ends.
async fn rest(mut reader: AnswerReader) -> (Vec<Bytes>, Result<(), StreamError>) {
    let mut chunks = Vec::new();
    loop {
        match reader.next().await {
            Ok(Some(chunk)) => chunks.push(chunk.bytes),
            Ok(None) => return (chunks, Ok(())),
            Err(error) => return (chunks, Err(error)),
        }
    }
}

/// Returns how many chunks are stored.
async fn stored(streams: &Streams) -> u64 {
    streams.get("s").await.unwrap().unwrap().chunks
}

#[tokio::test]
async fn an_answer_is_read_from_any_offset() {
    let (streams, ..) = streams().await;
    let mut writer = streams.write("s", WriteOptions::default()).await.unwrap();
    let all: Vec<_> = (0..50u8).map(|i| Bytes::from(vec![i; 3])).collect();
    for chunk in &all {
        assert_eq!(writer.push(chunk.clone()).await.unwrap(), Demand::More);
    }
    assert_eq!(writer.end(StreamEnd::Completed).await.unwrap().chunks, 50);
    for offset in [0, 1, 20, 49, 50, 99] {
        let (read, end) = rest(streams.follow("s", offset)).await;
        assert_eq!(read, all[usize::try_from(offset).unwrap().min(50)..]);
        assert!(end.is_ok());
    }
    let offsets: Vec<_> =
        streams.follow("s", 47).into_stream().map(|chunk| chunk.unwrap().offset).collect().await;
    assert_eq!(offsets, [47, 48, 49]);
}

#[tokio::test]
async fn chunks_are_stored_together_when_they_are_many_or_much_or_old() {
    let (streams, clock, _) = streams().await;
    let mut options = WriteOptions::default();
    (options.chunks, options.bytes) = (3, 100);
    let mut writer = streams.write("s", options).await.unwrap();
    let mut seen = Vec::new();
    for chunk in ["a", "b", "c", "d"] {
        let _more = writer.push(chunk).await.unwrap();
        seen.push(stored(&streams).await);
    }
    let _more = writer.push("x".repeat(100)).await.unwrap();
    seen.push(stored(&streams).await);
    let _more = writer.push("e").await.unwrap();
    clock.pass(Duration::from_millis(99));
    let _more = writer.push("f").await.unwrap();
    seen.push(stored(&streams).await);
    clock.pass(Duration::from_millis(1));
    let _more = writer.push("g").await.unwrap();
    seen.push(stored(&streams).await);
    assert_eq!((seen, writer.offset()), (vec![0, 0, 3, 3, 5, 5, 8], 8));
}

#[tokio::test]
async fn who_takes_a_stream_over_goes_on_where_it_is_stored() {
    let (streams, clock, _) = streams().await;
    let mut first = streams.write("s", WriteOptions::default()).await.unwrap();
    let _more = first.push("a").await.unwrap();
    let _more = first.flush().await.unwrap();
    let _more = first.push("lost with its process").await.unwrap();
    let patient = WriteOptions::default().take_over(Duration::from_secs(5));
    clock.pass(Duration::from_secs(4));
    let refused = streams.write("s", patient.clone()).await;
    assert!(matches!(refused, Err(StreamError::Taken { .. })), "{refused:?}");
    clock.pass(Duration::from_secs(1));
    let mut second = streams.write("s", patient).await.unwrap();
    assert_eq!(second.offset(), 1);
    let _more = second.push("b").await.unwrap();
    let late = first.flush().await;
    assert!(matches!(late, Err(StreamError::Taken { .. })), "{late:?}");
    let ended = second.end(StreamEnd::Completed).await.unwrap();
    assert_eq!(ended.state, StreamState::Completed);
    let late = second.push("c").await;
    assert!(matches!(late, Err(StreamError::Ended { .. })), "{late:?}");
    assert_eq!(rest(streams.follow("s", 0)).await.0, ["a", "b"]);
}

#[tokio::test]
async fn a_writer_of_the_same_name_is_the_same_writer() {
    let (streams, ..) = streams().await;
    let options = WriteOptions::default().immediate().writer("worker-1");
    let mut writer = streams.write("s", options.clone()).await.unwrap();
    let _more = writer.push("a").await.unwrap();
    drop(writer);
    let again = streams.write("s", options).await.unwrap();
    assert_eq!(again.offset(), 1);
    let other = streams.write("s", WriteOptions::default()).await;
    assert!(matches!(other, Err(StreamError::Taken { .. })), "{other:?}");
}

#[tokio::test]
async fn a_wish_to_cancel_is_heard_with_the_next_append() {
    let (streams, ..) = streams().await;
    let mut writer = streams.write("s", WriteOptions::default()).await.unwrap();
    assert_eq!(writer.push("a").await.unwrap(), Demand::More);
    assert_eq!(streams.cancel("s").await.unwrap().state, StreamState::Running);
    assert_eq!(writer.beat().await.unwrap(), Demand::Stop);
    assert_eq!(writer.push("b").await.unwrap(), Demand::Stop);
    let _ended = writer.end(StreamEnd::Cancelled).await.unwrap();
    // The first of several ends takes effect.
    assert_eq!(writer.end(StreamEnd::Completed).await.unwrap().state, StreamState::Cancelled);
    let mut reader = streams.follow("s", 1);
    assert_eq!(reader.next().await.unwrap().unwrap().bytes, "b");
    assert_eq!(reader.next().await.unwrap(), None);
    assert_eq!(reader.stream().unwrap().state, StreamState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_says_nothing_is_cancelled_all_the_same() {
    let (streams, ..) = streams().await;
    let writer = streams.write("s", WriteOptions::default()).await.unwrap();
    let first = stream::iter([Ok::<_, String>("a")]);
    let writing = tokio::spawn(writer.write_all(first.chain(stream::pending())));
    let mut reader = streams.follow("s", 0);
    assert_eq!(reader.next().await.unwrap().unwrap().bytes, "a");
    streams.cancel("s").await.unwrap();
    let asked = Instant::now();
    assert_eq!(reader.next().await.unwrap(), None);
    assert!(asked.elapsed() <= Duration::from_millis(1500), "a heartbeat and a look later");
    assert_eq!(writing.await.unwrap().unwrap().state, StreamState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_fails_its_readers_behind_the_last_chunk() {
    let (streams, ..) = streams().await;
    let writer = streams.write("s", WriteOptions::default()).await.unwrap();
    let source =
        stream::iter([Ok("a"), Ok("b"), Err("é".repeat(limits::MAX_TITLE_BYTES)), Ok("never")]);
    let ended = writer.write_all(source).await.unwrap();
    assert_eq!((ended.state, ended.chunks), (StreamState::Failed, 2));
    let (read, end) = rest(streams.follow("s", 0)).await;
    assert_eq!(read, ["a", "b"]);
    let Err(StreamError::Failed { error, .. }) = end else { panic!("{end:?}") };
    assert!(error.len() <= limits::MAX_TITLE_BYTES && error.starts_with('é'));
}

#[tokio::test]
async fn a_stream_that_is_not_there_any_more_is_a_typed_error() {
    let (streams, _, store) = streams().await;
    let absent = streams.follow("s", 0).next().await;
    assert!(matches!(absent, Err(StreamError::Missing { .. })), "{absent:?}");
    assert!(streams.register("s").await.unwrap() && !streams.register("s").await.unwrap());
    let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
    let _more = writer.push("a").await.unwrap();
    let mut reader = streams.follow("s", 0);
    assert_eq!(reader.next().await.unwrap().unwrap().bytes, "a");
    let running = streams.reopen("s", 0).await;
    assert!(matches!(running, Err(StreamError::Taken { .. })), "{running:?}");
    let _ended = writer.end(StreamEnd::Completed).await.unwrap();
    assert_eq!(streams.reopen("s", 0).await.unwrap().run, 1);
    for read in [reader.next().await, streams.follow("s", 1).of_run(0).next().await] {
        assert!(matches!(read, Err(StreamError::BegunAnew { run: 1, .. })), "{read:?}");
    }
    let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
    let _more = writer.push("b").await.unwrap();
    assert_eq!(reader.run(), Some(0));
    let mut reader = streams.follow("s", 0);
    assert_eq!(
        (reader.next().await.unwrap().unwrap().bytes, reader.run()),
        (Bytes::from("b"), Some(1))
    );
    let gone = store
        .streams()
        .unwrap()
        .remove_stream(&ChatRef::new("ada", "c"), &"s".into())
        .await
        .unwrap();
    assert!(gone);
    let read = reader.next().await;
    assert!(matches!(read, Err(StreamError::Vanished { .. })), "{read:?}");
    let written = writer.push("c").await;
    assert!(
        matches!(&written, Err(StreamError::Store(error)) if error.is_not_found()),
        "{written:?}"
    );
}

#[tokio::test]
async fn what_is_too_long_is_refused_and_the_stream_still_ends() {
    let (streams, ..) = streams().await;
    let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
    let chunk = Bytes::from(vec![0; limits::MAX_CHUNK_BYTES]);
    let refused = writer.push(vec![0; limits::MAX_CHUNK_BYTES + 1]).await;
    assert!(
        matches!(&refused, Err(StreamError::Store(error)) if error.kind() == ErrorKind::Invalid)
    );
    let fit = limits::MAX_STREAM_BYTES / limits::MAX_CHUNK_BYTES as u64;
    for _ in 0..fit {
        let _more = writer.push(chunk.clone()).await.unwrap();
    }
    let refused = writer.push("x").await;
    assert!(
        matches!(&refused, Err(StreamError::Store(error)) if error.kind() == ErrorKind::Invalid)
    );
    let ended = writer.end(StreamEnd::Failed("too long".into())).await.unwrap();
    assert_eq!((ended.chunks, ended.error.as_deref()), (fit, Some("too long")));
}

#[tokio::test]
async fn an_engine_has_the_streams_of_its_chat_and_shows_no_content() {
    let store = store().await;
    let engine = engine(&store).await;
    let streams = engine.streams();
    let mut writer = streams.write("s", WriteOptions::default()).await.unwrap();
    let _more = writer.push("a secret").await.unwrap();
    let _more = writer.flush().await.unwrap();
    let mut reader = engine.streams().follow("s", 0);
    let chunk = reader.next().await.unwrap().unwrap();
    let shown = format!("{streams:?} {writer:?} {reader:?} {chunk:?}");
    assert!(!shown.contains("secret") && shown.contains("bytes: 8"), "{shown}");
}

/// A cancelled call loses nothing: the next call stores its chunks, once.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_given_up_is_made_good_by_the_next() {
    for fault in [Fault::Hang, Fault::HangAfterApply] {
        let (streams, ..) =
            faulty(FaultPlan::default().with(Operation::AppendStream, 1, fault)).await;
        let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
        let _more = writer.push("a").await.unwrap();
        assert!(
            timeout(Duration::from_secs(1), writer.push("b")).await.is_err(),
            "nothing is heard"
        );
        assert_eq!(writer.offset(), 1);
        let _more = writer.push("c").await.unwrap();
        assert_eq!((writer.offset(), stored(&streams).await), (3, 3));
        let _ended = writer.end(StreamEnd::Completed).await.unwrap();
        assert_eq!(rest(streams.follow("s", 0)).await.0, ["a", "b", "c"]);
    }
}

/// An event in the life of a writer.
#[derive(Clone, Copy, Debug)]
enum Event {
    Push,
    Flush,
    Pass(u8),
    Crash,
    Abort,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        12 => Just(Event::Push),
        2 => Just(Event::Flush),
        2 => any::<u8>().prop_map(Event::Pass),
        1 => Just(Event::Crash),
        1 => Just(Event::Abort),
    ];
    prop::collection::vec(event, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// However often writers die, and whichever calls and replies are lost: the chunks are those of
    /// the source, in order, once each, and acknowledged chunks are among them at any time.
    #[test]
    fn no_chunk_is_lost_doubled_or_moved(events in events(), batch in 1usize..6, seed: u64,
        faults in 0usize..8) {
        const CALLS: [Operation; 4] =
            [Operation::CreateStream, Operation::ClaimStream, Operation::AppendStream,
                Operation::ReadStream];
        Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
            .block_on(async {
            let (streams, clock, _) = faulty(FaultPlan::random(seed, &CALLS, 20, faults)).await;
            let mut options = WriteOptions::default().take_over(Duration::ZERO);
            options.chunks = batch;
            let mut writer = streams.write("s", options.clone()).await.unwrap();
            let (mut next, mut total) = (0u32, 0);
            for event in events {
                match event {
                    Event::Push => {
                        let _more = writer.push(next.to_be_bytes().to_vec()).await.unwrap();
                        next += 1;
                    }
                    Event::Flush => {
                        let _more = writer.flush().await.unwrap();
                        assert_eq!(writer.offset(), u64::from(next));
                    }
                    Event::Pass(millis) => clock.pass(Duration::from_millis(millis.into())),
                    Event::Crash => {
                        let acknowledged = writer.offset();
                        clock.pass(Duration::from_millis(1));
                        writer = streams.write("s", options.clone()).await.unwrap();
                        // More, if a cancelled call had taken effect.
                        assert!(writer.offset() >= acknowledged);
                        // The source supplies again what was lost with the process.
                        next = u32::try_from(writer.offset()).unwrap();
                    }
                    Event::Abort => drop(writer.flush().now_or_never()),
                }
                total = total.max(writer.offset());
                assert!(writer.offset() == total && stored(&streams).await >= total);
            }
            let ended = writer.end(StreamEnd::Completed).await.unwrap();
            let (read, end) = rest(streams.follow("s", 0)).await;
            assert!(end.is_ok() && ended.chunks == u64::from(next));
            let expected: Vec<_> =
                (0..next).map(|i| Bytes::from(i.to_be_bytes().to_vec())).collect();
            assert_eq!(read, expected);
        });
    }
}
