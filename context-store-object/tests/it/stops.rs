//! One call that stops before any of its requests, while another one runs from beginning to end.

use std::sync::Arc;

use bytes::Bytes;
use context_core::store::BlobPrune;
use context_core::{Result, Store};
use context_store_object::object_store::memory::InMemory;
use tokio::task::JoinHandle;

use crate::fixture::{BlobFixture, Fault, FaultyService, at};

/// A call of chat `one`, or about all chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Put,
    Use,
    Remove,
    Prune,
    Delete,
    Vacuum,
}

const CALLS: [Call; 6] =
    [Call::Put, Call::Use, Call::Remove, Call::Prune, Call::Delete, Call::Vacuum];

const SHARED: Bytes = Bytes::from_static(b"what both chats put");

async fn make(store: &BlobFixture, call: Call) -> Result<()> {
    match call {
        Call::Put => store.put("one", &SHARED, 30).await.map(drop),
        Call::Use => store.read_range("one", &SHARED, 0..u64::MAX, Some(30)).await.map(drop),
        Call::Remove => store.remove("one", &SHARED).await.map(drop),
        Call::Prune => {
            let prune = BlobPrune::new("ada", at(10));
            store.0.blobs().unwrap().prune_blobs(&prune).await.map(drop)
        }
        Call::Delete => store.delete("one").await.map(drop),
        Call::Vacuum => store.vacuum().await,
    }
}

/// Chat `one` has the blob, unless nobody has it but a process that died has left its bytes.
async fn prepared(left_over: bool) -> (Arc<InMemory>, BlobFixture) {
    let objects = Arc::new(InMemory::new());
    let service = FaultyService::over(&objects);
    let store = BlobFixture::over(Arc::clone(&service) as _).await;
    store.create("one").await.unwrap();
    store.create("two").await.unwrap();
    if left_over {
        // Three listings, the hold and the bytes; not the reference.
        service.plan(Fault::DeadFrom(5));
        assert!(store.put("one", &SHARED, 10).await.is_err());
        service.plan(Fault::None);
    } else {
        store.put("one", &SHARED, 10).await.unwrap();
    }
    (objects, store)
}

/// Starts a call that stops before a request, and waits until it stops or ends.
async fn begin(
    objects: &Arc<InMemory>,
    stop: usize,
    call: impl AsyncFnOnce(BlobFixture) -> Result<()> + 'static,
) -> (Arc<FaultyService>, JoinHandle<Result<()>>) {
    let service = FaultyService::over(objects);
    let store = BlobFixture::over(Arc::clone(&service) as _).await;
    service.plan(Fault::StopsAt(stop));
    let running = tokio::task::spawn_local(call(store));
    while !running.is_finished() {
        tokio::select! {
            biased;
            () = service.stopped() => break,
            () = tokio::task::yield_now() => {}
        }
    }
    (service, running)
}

/// Stops one call at each of its requests, makes the other one, and lets the first one go on. What
/// each was told is checked by `told`.
async fn check(
    first: Call,
    left_over: bool,
    then: impl AsyncFn(&BlobFixture) -> Result<()>,
    told: impl AsyncFn(&BlobFixture, Result<()>, Result<()>, &str),
) {
    for stop in 0.. {
        let (objects, store) = prepared(left_over).await;
        let (service, running) =
            begin(&objects, stop, async move |store| make(&store, first).await).await;
        let ended = running.is_finished();
        let second = then(&store).await;
        service.release();
        let first_told = running.await.unwrap();
        told(&store, first_told, second, &format!("{first:?} stopped at {stop}")).await;
        assert_eq!(store.findings().await, Vec::<String>::new(), "{first:?} stopped at {stop}");
        store.vacuum().await.unwrap();
        assert_eq!(store.findings().await, Vec::<String>::new(), "{first:?} stopped at {stop}");
        if ended {
            assert!(stop > 1, "{first:?} has requests");
            return;
        }
    }
}

/// A put that stops at each of its requests, a call that begins then and stops at each of its own,
/// the rest of the put, the rest of the call.
#[tokio::test(flavor = "local")]
async fn a_put_and_a_call_that_stop_in_turns_lose_nothing() {
    for (name, call) in [
        ("one", Call::Prune),
        ("one", Call::Vacuum),
        ("two", Call::Remove),
        ("two", Call::Prune),
        ("two", Call::Delete),
        ("two", Call::Vacuum),
    ] {
        let mut stops = (0, 0);
        loop {
            let (objects, store) = prepared(call == Call::Vacuum && name == "two").await;
            let put = async move |store: BlobFixture| store.put(name, &SHARED, 30).await.map(drop);
            let (of_put, put) = begin(&objects, stops.0, put).await;
            let put_ended = put.is_finished();
            let other = async move |store: BlobFixture| make(&store, call).await;
            let (of_other, other) = begin(&objects, stops.1, other).await;
            let other_ended = other.is_finished();
            of_put.release();
            put.await.unwrap().unwrap();
            of_other.release();
            other.await.unwrap().unwrap();
            let read = store.read(name, &SHARED).await.unwrap();
            assert_eq!(read, Some(SHARED), "{name}, {call:?}, {stops:?}");
            assert_eq!(store.findings().await, Vec::<String>::new(), "{call:?}, {stops:?}");
            match (put_ended, other_ended) {
                (true, true) => break,
                (_, true) => stops = (stops.0 + 1, 0),
                (_, false) => stops.1 += 1,
            }
        }
    }
}

/// Whatever a call is about to do with the bytes: a put of another chat that is acknowledged in
/// between is not lost.
#[tokio::test(flavor = "local")]
async fn a_put_in_the_middle_of_another_call_is_not_lost() {
    for call in CALLS {
        for left_over in [false, true] {
            let put = async |store: &BlobFixture| store.put("two", &SHARED, 20).await.map(drop);
            check(call, left_over, put, async |store, first, put, told| {
                first.unwrap();
                put.unwrap();
                let read = store.read("two", &SHARED).await.unwrap();
                assert_eq!(read, Some(SHARED), "{told}, left over: {left_over}");
            })
            .await;
        }
    }
}

/// Whatever happens in the middle of a put: if it is acknowledged, the blob is there, and it is
/// acknowledged unless its chat is deleted.
#[tokio::test(flavor = "local")]
async fn a_call_in_the_middle_of_a_put_takes_nothing_from_it() {
    for call in [Call::Remove, Call::Prune, Call::Delete, Call::Vacuum] {
        for left_over in [false, true] {
            let then = async |store: &BlobFixture| make(store, call).await;
            check(Call::Put, left_over, then, async |store, put, second, told| {
                second.unwrap();
                let read = store.read("one", &SHARED).await;
                match (call, put) {
                    (Call::Delete, Err(error)) => assert!(error.is_not_found(), "{error:?}"),
                    (Call::Delete, Ok(())) => assert!(read.unwrap_err().is_not_found()),
                    // A removal may come after the put, although it ended first: it began later.
                    (Call::Remove, put) => {
                        put.unwrap();
                        assert!(read.unwrap().is_none_or(|read| read == SHARED));
                    }
                    (_, put) => {
                        put.unwrap();
                        assert_eq!(read.unwrap(), Some(SHARED), "{call:?}: {told}");
                    }
                }
            })
            .await;
        }
    }
}
