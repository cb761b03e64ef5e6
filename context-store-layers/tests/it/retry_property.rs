//! With any plan of temporary faults, a store under the retry layer answers like one that never
//! fails, and holds the same data.

use std::fmt::Debug;
use std::sync::Arc;

use context_core::base::BlobId;
use context_core::store::{
    ChatPatch, Commit, CommitOutcome, ForkName, NewBlob, NewChat, StreamAppend, StreamClaim,
    StreamEnd, StreamOutcome, Target, TitleChange, Window,
};
use context_core::{Error, MessageId, Metadata, Result, Store};
use context_simulator::faults::{FaultPlan, FaultStore, Operation};
use context_store_inmem::InMemoryStore;
use context_store_layers::{RetryPolicy, RetryStore};
use proptest::prelude::*;

use crate::fixture::{Numbers, at, begin, branch, chat, extend, fragment, says, stay};
use crate::retry::RecordingSleeper;

/// A call, with numbers that are mapped to existing names.
#[derive(Clone, Debug)]
enum Step {
    Create,
    Set,
    Add,
    Delete { idle: bool },
    Extend { branch: usize },
    Graft { branch: usize, seen: usize },
    Fork { at: usize, exact: bool, empty: bool },
    Amend { message: usize },
    Activate { branch: usize },
    Rename { branch: usize, to: usize },
    DeleteBranch { branch: usize, stale: bool },
    SetCheckpoint { message: usize },
    DeleteCheckpoint,
    Put { id: usize },
    Remove { id: usize },
    PutBlob { n: usize },
    RemoveBlob { n: usize },
    CreateStream { n: usize },
    Claim { n: usize },
    Append { n: usize, end: bool },
    Cancel { n: usize },
    RemoveStream { n: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0..4usize;
    prop_oneof![
        1 => Just(Step::Create),
        1 => Just(Step::Set),
        2 => Just(Step::Add),
        1 => any::<bool>().prop_map(|idle| Step::Delete { idle }),
        4 => n().prop_map(|branch| Step::Extend { branch }),
        2 => (n(), n()).prop_map(|(branch, seen)| Step::Graft { branch, seen }),
        3 => (0..20usize, any::<bool>(),
            any::<bool>()).prop_map(|(at, exact, empty)| Step::Fork { at, exact, empty }),
        2 => (0..20usize).prop_map(|message| Step::Amend { message }),
        1 => n().prop_map(|branch| Step::Activate { branch }),
        2 => (n(), n()).prop_map(|(branch, to)| Step::Rename { branch, to }),
        2 => (n(), any::<bool>()).prop_map(|(branch, stale)| Step::DeleteBranch { branch, stale }),
        1 => (0..20usize).prop_map(|message| Step::SetCheckpoint { message }),
        1 => Just(Step::DeleteCheckpoint),
        1 => n().prop_map(|id| Step::Put { id }),
        1 => n().prop_map(|id| Step::Remove { id }),
        1 => n().prop_map(|n| Step::PutBlob { n }),
        1 => n().prop_map(|n| Step::RemoveBlob { n }),
        2 => (0..2usize).prop_map(|n| Step::CreateStream { n }),
        2 => (0..2usize).prop_map(|n| Step::Claim { n }),
        3 => (0..2usize, proptest::bool::weighted(0.2)).prop_map(|(n, end)| Step::Append { n,
            end }),
        1 => (0..2usize).prop_map(|n| Step::Cancel { n }),
        1 => (0..2usize).prop_map(|n| Step::RemoveStream { n }),
    ]
}

/// Returns the result of a call as text, to compare two stores. A commit that was done already
/// counts like one that is done.
fn told<T: Debug>(result: Result<T>) -> String {
    result.map_or_else(|error: Error| error.kind().to_string(), |answer| format!("{answer:?}"))
}

fn committed(result: Result<CommitOutcome>) -> String {
    told(result.map(|outcome| match outcome {
        CommitOutcome::Replayed(committed) => CommitOutcome::Applied(committed),
        outcome => outcome,
    }))
}

fn streamed(result: Result<StreamOutcome>) -> String {
    told(result.map(|outcome| match outcome {
        StreamOutcome::Replayed(stream) => StreamOutcome::Applied(stream),
        outcome => outcome,
    }))
}

/// Makes the `n`th call.
async fn play(store: &dyn Store, model: &dyn Store, n: usize, step: &Step) -> String {
    let (history, chat, now) = (store.history(), chat(), at(100 + n as i64));
    let (blobs, streams) = (store.blobs().expect("both have"), store.streams().expect("both have"));
    let stream = |n: usize| format!("s{n}").into();
    let branches = model.history().branches(&chat).await.unwrap_or_default();
    let heads = |n: usize| branches.get(n % branches.len().max(1));
    let name = |n: usize| heads(n).map_or_else(|| "ghost".into(), |branch| branch.name.clone());
    let all = model
        .history()
        .all_messages(&chat, 1000, None)
        .await
        .map_or_else(|_| Vec::new(), |page| page.items);
    let message = |n: usize| {
        all.get(n % (all.len() + 1)).map_or_else(|| "ghost".into(), |placed| placed.node.id.clone())
    };
    match *step {
        Step::Create => told(history.create_chat(NewChat::new(chat, now)).await),
        Step::Set => {
            let patch =
                ChatPatch { title: TitleChange::Set(format!("title {n}")), ..ChatPatch::default() };
            told(history.update_chat(&chat, &patch, now).await)
        }
        Step::Add => {
            let patch =
                ChatPatch { add: Metadata::default().with("used", 1), ..ChatPatch::default() };
            told(history.update_chat(&chat, &patch, now).await)
        }
        Step::Delete { idle } => {
            told(history.delete_chat(&chat, idle.then(|| at(90 + n as i64))).await)
        }
        Step::Extend { branch } => {
            let head = heads(branch).and_then(|branch| branch.head.clone());
            let nodes = vec![says(&format!("m{n}"), "new"), says(&format!("m{n}-2"), "new")];
            let commit = extend(name(branch).as_str(), head.as_ref().map(MessageId::as_str), nodes);
            committed(history.commit(commit).await)
        }
        Step::Graft { branch, seen } => {
            let target =
                Target::Graft { branch: name(branch), seen: all.first().map(|_| message(seen)) };
            let nodes = vec![says(&format!("g{n}"), "grafted")];
            committed(history.commit(Commit { nodes, ..Commit::new(chat, target, now) }).await)
        }
        Step::Fork { at: from, exact, empty } => {
            let base = name(0);
            let fork = if exact {
                ForkName::Exact(format!("b{}", n % 6).into())
            } else {
                ForkName::NextVersionOf(base)
            };
            let target = Target::Fork {
                name: fork,
                at: all.first().map(|_| message(from)),
                activate: exact,
            };
            let nodes = if empty { Vec::new() } else { vec![says(&format!("f{n}"), "forked")] };
            committed(history.commit(Commit { nodes, ..Commit::new(chat, target, now) }).await)
        }
        Step::Amend { message: id } => {
            let amendments = vec![says(message(id).as_str(), &format!("amended {n}"))];
            let patch =
                ChatPatch { add: Metadata::default().with("amended", 1), ..ChatPatch::default() };
            committed(history.commit(Commit { amendments, patch: Some(patch), ..stay() }).await)
        }
        Step::Activate { branch } => told(history.activate_branch(&chat, &name(branch), now).await),
        Step::Rename { branch, to } => {
            let to = format!("named-{to}").into();
            told(history.rename_branch(&chat, &name(branch), &to, now).await)
        }
        Step::DeleteBranch { branch, stale } => {
            let head = heads(branch).and_then(|branch| branch.head.clone());
            let head = if stale { None } else { head };
            told(history.delete_branch(&chat, &name(branch), head.as_ref(), now).await)
        }
        Step::SetCheckpoint { message: id } => {
            told(history.set_checkpoint(&chat, &"cp".into(), &message(id), now).await)
        }
        Step::DeleteCheckpoint => told(history.delete_checkpoint(&chat, &"cp".into(), now).await),
        Step::Put { id } => {
            let new = [fragment(&format!("f{id}"), &format!("text {n}"))];
            told(store.fragments().put_fragments(&chat, &new, now).await)
        }
        Step::Remove { id } => {
            told(store.fragments().remove_fragment(&chat, &format!("f{id}").into(), now).await)
        }
        Step::PutBlob { n } => {
            told(blobs.put_blob(&chat, NewBlob::new(format!("bytes {n}"), now)).await)
        }
        Step::RemoveBlob { n } => {
            told(blobs.remove_blob(&chat, &BlobId::of(format!("bytes {n}").as_bytes())).await)
        }
        Step::CreateStream { n } => streamed(streams.create_stream(&chat, &stream(n), now).await),
        Step::Claim { n } => {
            streamed(streams.claim_stream(&chat, &stream(n), &StreamClaim::new("w", now)).await)
        }
        Step::Append { n: of, end } => {
            let there =
                model.streams().expect("both have").stream(&chat, &stream(of)).await.ok().flatten();
            let offset = there.map_or(0, |stream| stream.chunks);
            let append = StreamAppend::new("w", offset, [format!("chunk {n}"), "x".into()], now);
            let append = if end { append.end(StreamEnd::Completed) } else { append };
            streamed(streams.append_stream(&chat, &stream(of), append).await)
        }
        Step::Cancel { n } => told(streams.cancel_stream(&chat, &stream(n), now).await),
        Step::RemoveStream { n } => told(streams.remove_stream(&chat, &stream(n)).await),
    }
}

/// Returns everything visible of the chat.
async fn visible(store: &dyn Store) -> String {
    let (history, chat) = (store.history(), chat());
    let mut seen =
        format!("{:?} {}", history.chat(&chat).await, told(history.checkpoints(&chat).await));
    let branches = history.branches(&chat).await;
    for one in branches.iter().flatten() {
        let chain = history.chain(&chat, &branch(one.name.as_str()), &Window::Whole).await.unwrap();
        seen += &format!("\n{one:?} generation {} {chain:?}", chain.generation());
    }
    let blobs = store.blobs().expect("both have").blobs(&chat, 100, None).await;
    let streams = store.streams().expect("both have");
    for one in streams.streams(&chat, 100, None).await.iter().flat_map(|page| &page.items) {
        seen += &told(streams.read_stream(&chat, &one.id, 0, 1000).await);
    }
    seen + &told(store.fragments().fragments(&chat).await) + &told(blobs)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(256) })]

    #[test]
    fn nothing_is_lost_and_nothing_is_doubled(
        steps in proptest::collection::vec(step(), 1..25),
        seed in any::<u64>(),
        faults in 0..40usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let operations: Vec<_> =
                [Operation::WRITES, Operation::READS, Operation::BLOBS,
                    Operation::STREAMS].concat();
            let plan = FaultPlan::random(seed, &operations, 8, faults);
            let (plain, faulty) = (InMemoryStore::default(), Arc::new(InMemoryStore::default()));
            let policy = RetryPolicy::default().tries(50).total(std::time::Duration::MAX);
            let broken = Arc::new(FaultStore::new(Arc::clone(&faulty) as _, plan.clone()));
            let repeated =
                RetryStore::new(broken,
                    Arc::new(Numbers::default())).policy(policy)
                    .sleeper(Arc::new(RecordingSleeper::default()));
            begin(&plain, &["a", "b"]).await;
            begin(&*faulty, &["a", "b"]).await;
            for (n, step) in steps.iter().enumerate() {
                // Both stores get the same call, chosen by the state of the store without faults
                // before the call.
                let told = play(&repeated, &plain, n, step).await;
                let expected = play(&plain, &plain, n, step).await;
                assert_eq!(told, expected, "call {n}, {step:?}, with {plan}");
                assert_eq!(visible(&*faulty).await, visible(&plain).await, "after call {n}, {step:?}, with {plan}");
            }
        });
    }
}
