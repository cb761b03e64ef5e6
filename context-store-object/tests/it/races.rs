//! Calls that interleave request by request, in an order that a seed determines.

use std::sync::Arc;

use bytes::Bytes;
use context_store_object::object_store::memory::InMemory;
use proptest::prelude::*;

use crate::fixture::{BlobFixture, FaultyService, keys};

/// A step of a task, which has a chat of its own and shares bytes with the others.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(usize),
    Read(usize),
    Remove(usize),
    /// Deletes the chat and creates it again.
    Renew,
    Vacuum,
}

/// One blob, so that all tasks are at it.
const COUNT: usize = 1;
static BLOBS: [Bytes; COUNT] = [Bytes::from_static(b"shared")];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..COUNT).prop_map(Step::Put),
        3 => (0..COUNT).prop_map(Step::Read),
        3 => (0..COUNT).prop_map(Step::Remove),
        1 => Just(Step::Renew),
        1 => Just(Step::Vacuum),
    ]
}

/// Takes the steps of one task, and checks that its chat has exactly what it was told. Returns
/// what it has in the end.
async fn take(store: Arc<BlobFixture>, chat: String, steps: Vec<Step>) -> [bool; COUNT] {
    let mut has = [false; COUNT];
    store.create(&chat).await.unwrap();
    for (i, step) in (10..).zip(steps) {
        match step {
            Step::Put(blob) => {
                let put = store.put(&chat, &BLOBS[blob], i).await.unwrap();
                assert_eq!(put.used_at.as_micros(), i);
                has[blob] = true;
            }
            Step::Read(blob) => {
                let read = store.read_range(&chat, &BLOBS[blob], 0..u64::MAX, Some(i)).await;
                let expected = has[blob].then_some(&BLOBS[blob]);
                assert_eq!(read.unwrap().as_ref(), expected, "{chat} {i} {step:?}");
            }
            Step::Remove(blob) => {
                let removed = store.remove(&chat, &BLOBS[blob]).await.unwrap();
                assert_eq!(removed.references, u64::from(has[blob]), "{chat} {i}");
                has[blob] = false;
            }
            Step::Renew => {
                assert!(store.delete(&chat).await.unwrap());
                store.create(&chat).await.unwrap();
                has = [false; COUNT];
            }
            Step::Vacuum => store.vacuum().await.unwrap(),
        }
    }
    has
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 200,
        ..ProptestConfig::default()
    })]

    /// Whatever tasks do at the same moment with the same bytes: each has what it was told, what
    /// nobody has is gone, and a vacuum in between takes nothing away.
    #[test]
    fn each_chat_has_what_it_was_told(
        tasks in prop::collection::vec(prop::collection::vec(step(), 1..10), 2..5),
        seed: u64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let objects = Arc::new(InMemory::new());
            let store = Arc::new(BlobFixture::over(FaultyService::pausing(&objects, seed)).await);
            let running: Vec<_> = (0..)
                .zip(tasks)
                .map(|(i, steps)| tokio::spawn(take(Arc::clone(&store), format!("c{i}"), steps)))
                .collect();
            let mut all = Vec::new();
            for task in running {
                all.push(task.await.unwrap());
            }
            assert_eq!(store.findings().await, Vec::<String>::new());
            for (i, has) in all.iter().enumerate() {
                for (blob, bytes) in BLOBS.iter().enumerate() {
                    let known = store.blob(&format!("c{i}"), bytes).await.unwrap();
                    let references = all.iter().filter(|has| has[blob]).count() as u64;
                    let expected = has[blob].then_some(references);
                    assert_eq!(known.map(|known| known.references), expected);
                }
            }
            for i in 0..all.len() {
                assert!(store.delete(&format!("c{i}")).await.unwrap());
            }
            store.vacuum().await.unwrap();
            assert_eq!(keys(&objects).await, ["test/blobs/context-blobs"]);
        });
    }
}
