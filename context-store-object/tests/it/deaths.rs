//! Processes that die between two requests, answers that are lost, requests that are refused: at
//! each request of each call.

use std::sync::Arc;

use bytes::Bytes;
use context_core::store::BlobPrune;
use context_core::{Result, Store};
use context_store_object::object_store::memory::InMemory;

use crate::fixture::{BlobFixture, Fault, FaultyService, at, keys};

/// A call that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Create,
    PutNew,
    PutShared,
    PutAgain,
    Use,
    Remove,
    RemoveLast,
    Prune,
    Delete,
    Vacuum,
}

const CALLS: [Call; 10] = [
    Call::Create,
    Call::PutNew,
    Call::PutShared,
    Call::PutAgain,
    Call::Use,
    Call::Remove,
    Call::RemoveLast,
    Call::Prune,
    Call::Delete,
    Call::Vacuum,
];

const SHARED: Bytes = Bytes::from_static(b"shared by two chats");
const OWN: Bytes = Bytes::from_static(b"of one chat");
const NEW: Bytes = Bytes::from_static(b"of nobody yet");

async fn make(store: &BlobFixture, call: Call) -> Result<()> {
    match call {
        Call::Create => store.create("new").await,
        Call::PutNew => store.put("one", &NEW, 20).await.map(drop),
        Call::PutShared => store.put("two", &OWN, 20).await.map(drop),
        Call::PutAgain => store.put("one", &OWN, 20).await.map(drop),
        Call::Use => store.read_range("one", &OWN, 1..4, Some(20)).await.map(drop),
        Call::Remove => store.remove("one", &SHARED).await.map(drop),
        Call::RemoveLast => store.remove("one", &OWN).await.map(drop),
        Call::Prune => {
            let prune = BlobPrune::new("ada", at(10)).of_chat("one");
            store.0.blobs().unwrap().prune_blobs(&prune).await.map(drop)
        }
        Call::Delete => store.delete("one").await.map(drop),
        Call::Vacuum => store.vacuum().await,
    }
}

/// What a chat has of the three blobs.
async fn has(store: &BlobFixture, name: &str) -> [bool; 3] {
    let mut has = [false; 3];
    for (has, bytes) in has.iter_mut().zip([SHARED, OWN, NEW]) {
        *has = match store.read(name, &bytes).await {
            Ok(read) => {
                assert!(read.as_ref().is_none_or(|read| *read == bytes), "other bytes");
                read.is_some()
            }
            Err(error) => {
                assert!(error.is_not_found(), "{error:?}");
                false
            }
        };
    }
    has
}

/// Makes a call with a fault, then looks at the store with a process that has none. Returns the
/// number of requests that the call made.
async fn check(call: Call, fault: Fault) -> usize {
    let told = format!("{call:?} with {fault:?}");
    let objects = Arc::new(InMemory::new());
    let well = BlobFixture::over(FaultyService::over(&objects)).await;
    for name in ["one", "two"] {
        well.create(name).await.unwrap();
        well.put(name, &SHARED, 10).await.unwrap();
    }
    well.put("one", &OWN, 10).await.unwrap();

    let service = FaultyService::over(&objects);
    let ill = BlobFixture::over(Arc::clone(&service) as _).await;
    service.plan(fault);
    let done = make(&ill, call).await;
    let requests = service.requests();

    // Nothing that was acknowledged before is lost, except for what the call removes.
    let (one, two) = (has(&well, "one").await, has(&well, "two").await);
    assert!(two[0], "{told}: the other chat lost a blob");
    let removes = matches!(call, Call::Delete | Call::Prune);
    if !removes {
        assert!(one[0] || call == Call::Remove, "{told}: {one:?}");
        assert!(one[1] || call == Call::RemoveLast, "{told}: {one:?}");
    }
    if done.is_ok() {
        match call {
            Call::Create => assert!(well.put("new", &NEW, 30).await.is_ok(), "{told}"),
            Call::PutNew => assert!(one[2], "{told}"),
            Call::PutShared => assert!(two[1], "{told}"),
            Call::PutAgain | Call::Use => {
                let used = well.blob("one", &OWN).await.unwrap().unwrap().used_at;
                assert_eq!(used, at(20), "{told}");
            }
            Call::Remove => assert!(!one[0], "{told}"),
            Call::RemoveLast => assert!(!one[1], "{told}"),
            Call::Prune | Call::Delete => assert!(!one[0] && !one[1], "{told}"),
            Call::Vacuum => {}
        }
    }
    assert_eq!(well.findings().await, Vec::<String>::new(), "{told}");

    // The call can be repeated, a vacuum collects what is left over, and then nothing is left of
    // what is removed.
    make(&well, call)
        .await
        .or_else(|error| error.is_not_found().then_some(()).ok_or(error))
        .unwrap();
    well.vacuum().await.unwrap();
    assert_eq!(well.findings().await, Vec::<String>::new(), "{told}, repeated");
    assert!(has(&well, "two").await[0], "{told}, repeated");
    for name in ["one", "two", "new"] {
        well.delete(name).await.unwrap();
    }
    well.vacuum().await.unwrap();
    // The index entry of a chat is collected when it is a day old.
    let mut left = keys(&objects).await;
    left.retain(|key| !key.contains("/tags/"));
    assert_eq!(left, ["test/blobs/context-blobs"], "{told}: left over");
    requests
}

async fn check_each(fault: impl Fn(usize) -> Fault) {
    for call in CALLS {
        let requests = check(call, Fault::None).await;
        assert!(requests > 0, "{call:?} makes no request");
        for request in 0..requests {
            check(call, fault(request)).await;
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_process_may_die_before_any_request() {
    check_each(Fault::DeadFrom).await;
}

#[tokio::test(flavor = "current_thread")]
async fn any_answer_may_be_lost() {
    check_each(Fault::AnswerLost).await;
}

#[tokio::test(flavor = "current_thread")]
async fn any_request_may_be_refused() {
    check_each(Fault::Refused).await;
}

/// The bytes of a large blob go up in parts; a process that dies in between leaves no blob.
#[tokio::test(flavor = "current_thread")]
async fn a_large_blob_is_whole_or_absent() {
    let objects = Arc::new(InMemory::new());
    let service = FaultyService::over(&objects);
    let store = BlobFixture::over(Arc::clone(&service) as _).await;
    store.create("one").await.unwrap();
    let large = Bytes::from(vec![5; 17 << 20]);
    service.plan(Fault::DeadFrom(5));
    assert!(store.put("one", &large, 10).await.is_err());
    service.plan(Fault::None);
    assert_eq!(store.read("one", &large).await.unwrap(), None);
    store.put("one", &large, 10).await.unwrap();
    assert_eq!(store.read("one", &large).await.unwrap().as_ref(), Some(&large));
    let end = store.read_range("one", &large, (17 << 20) - 3..u64::MAX, None).await.unwrap();
    assert_eq!(end, Some(large.slice((17 << 20) - 3..)));
}
