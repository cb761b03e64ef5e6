//! Readers that are woken: by every change, at once, and in spite of a watch that fails.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use context_runtime::ChatRef;
use context_runtime::store::StreamEnd;
use context_runtime::streams::{Streams, WriteOptions};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use proptest::prelude::*;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, timeout};

use super::{faulty, rest, streams};
use crate::kit::CountingIds;

/// Returns a plan in which these calls of an operation meet a fault.
fn always(operation: Operation, fault: Fault) -> FaultPlan {
    (0..1000).fold(FaultPlan::default(), |plan, nth| plan.with(operation, nth, fault))
}

#[tokio::test(start_paused = true)]
async fn a_reader_is_woken_by_every_chunk_and_by_the_end() {
    let (streams, ..) = streams().await;
    let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
    let mut reader = streams.follow("s", 0);
    for pause in [0, 1, 300, 100_000] {
        let (written, read) = tokio::join!(
            async {
                sleep(Duration::from_millis(pause)).await;
                let _more = writer.push("x").await.unwrap();
                Instant::now()
            },
            async {
                assert!(reader.next().await.unwrap().is_some());
                Instant::now()
            }
        );
        assert_eq!(read, written, "after {pause} ms");
    }
    let (ended, read) = tokio::join!(
        async {
            sleep(Duration::from_secs(7)).await;
            let _ended = writer.end(StreamEnd::Completed).await.unwrap();
            Instant::now()
        },
        async {
            assert!(reader.next().await.unwrap().is_none());
            Instant::now()
        }
    );
    assert_eq!(read, ended);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_reader_does_not_ask_the_store() {
    let (_, clock, store) = streams().await;
    let counted = Arc::new(FaultStore::new(store, FaultPlan::default()));
    let chat = ChatRef::new("ada", "c");
    let ids = Arc::new(CountingIds::default());
    let streams = Streams::new(counted.clone(), chat, Arc::new(clock), ids);
    assert!(streams.register("s").await.unwrap());
    let mut reader = streams.follow("s", 0);
    assert!(timeout(Duration::from_secs(600), reader.next()).await.is_err(), "nothing came");
    let reads = counted.calls(Operation::ReadStream);
    assert!(reads <= 22, "{reads} reads: two at first, then one each half minute");
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_never_comes_delays_a_chunk_by_half_a_minute_at_most() {
    let (streams, ..) = faulty(always(Operation::StreamChanged, Fault::Hang)).await;
    let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
    let mut reader = streams.follow("s", 0);
    let before = Instant::now();
    let (_, read) = tokio::join!(
        async {
            sleep(Duration::from_millis(100)).await;
            let _more = writer.push("x").await.unwrap();
        },
        timeout(Duration::from_secs(31), reader.next()),
    );
    assert!(read.unwrap().unwrap().is_some(), "after {:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_reader_polls_while_the_watch_fails_and_watches_again() {
    let mut plan = FaultPlan::default();
    for nth in 0..4 {
        plan = plan.with(Operation::WatchStream, nth, Fault::BeforeApply);
        plan = plan.with(Operation::StreamChanged, nth, Fault::BeforeApply);
    }
    let (streams, ..) = faulty(plan).await;
    let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
    let mut reader = streams.follow("s", 0);
    let mut waits = Vec::new();
    for _ in 0..30 {
        let (written, read) = tokio::join!(
            async {
                sleep(Duration::from_secs(2)).await;
                let _more = writer.push("x").await.unwrap();
                Instant::now()
            },
            async {
                assert!(reader.next().await.unwrap().is_some());
                Instant::now()
            }
        );
        waits.push(read.duration_since(written));
    }
    assert!(waits.iter().all(|wait| *wait <= Duration::from_millis(500)), "{waits:?}");
    assert_eq!(waits.last(), Some(&Duration::ZERO), "{waits:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_watch_that_fails_in_any_way_loses_no_chunk(seed: u64, chunks in 1u64..30) {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let calls = [Operation::WatchStream, Operation::StreamChanged];
            let mut plan = FaultPlan::random(seed, &calls, 12, 8);
            for (i, planned) in plan.faults.iter_mut().enumerate() {
                // A call that begins a watch and hangs is a store that does not answer.
                if seed >> i & 3 == 0 && planned.operation == Operation::StreamChanged {
                    planned.fault = Fault::Hang;
                }
            }
            let (streams, ..) = faulty(plan).await;
            let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
            let write = async {
                for n in 0..chunks {
                    sleep(Duration::from_millis(seed >> n & 255)).await;
                    let _more = writer.push(n.to_string()).await.unwrap();
                }
                writer.end(StreamEnd::Completed).await.unwrap()
            };
            let (_, (read, end)) = tokio::join!(write, rest(streams.follow("s", 0)));
            assert!(end.is_ok());
            let expected: Vec<_> = (0..chunks).map(|n| Bytes::from(n.to_string())).collect();
            assert_eq!(read, expected);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_longer_while_nothing_comes_and_is_quick_again() {
    let plan = always(Operation::WatchStream, Fault::BeforeApply);
    let (streams, ..) = faulty(plan).await;
    let mut writer = streams.write("s", WriteOptions::default().immediate()).await.unwrap();
    let mut reader = streams.follow("s", 0);
    assert!(timeout(Duration::from_secs(60), reader.next()).await.is_err(), "nothing came");
    let mut waits = Vec::new();
    for pause in [300, 10, 10] {
        let writing = async {
            sleep(Duration::from_millis(pause)).await;
            let _more = writer.push("x").await.unwrap();
            Instant::now()
        };
        let (written, read) = tokio::join!(writing, async {
            assert!(reader.next().await.unwrap().is_some());
            Instant::now()
        });
        waits.push(read.duration_since(written));
    }
    assert!(waits[0] <= Duration::from_millis(500), "{waits:?}");
    assert!(waits[1..].iter().all(|wait| *wait <= Duration::from_millis(25)), "{waits:?}");
}
