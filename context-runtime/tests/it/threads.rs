//! Compile-time checks of which types and futures may be sent to and shared between threads, so
//! that a field that changes it is noticed.

use std::sync::Arc;

use context_runtime::streams::{AnswerReader, AnswerWriter, Streams};
use context_runtime::{
    CancelSignal, CancelSource, ContextEngine, ContextRuntime, Error, Fragment, Message, Resolved,
    Store,
    memory::MemoryProvider,
    model::LanguageModel,
    store::{Chain, StoreRegistry},
    user,
};

use crate::kit::{engine, store};

fn goes<T: Send>() {}

fn is_shared<T: Send + Sync>() {}

/// Takes the future itself, as `spawn` does.
fn may_be_spawned<T>(future: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
    future
}

#[test]
fn handles_are_shared_and_work_under_way_goes() {
    is_shared::<Arc<dyn Store>>();
    is_shared::<Arc<dyn ContextRuntime>>();
    is_shared::<Arc<dyn MemoryProvider>>();
    is_shared::<Arc<dyn LanguageModel>>();
    is_shared::<StoreRegistry>();
    is_shared::<Streams>();
    is_shared::<CancelSource>();
    is_shared::<CancelSignal>();
    is_shared::<Error>();
    is_shared::<(Chain, Message, Fragment, Resolved)>();
    goes::<ContextEngine>();
    goes::<AnswerWriter>();
    goes::<AnswerReader>();
}

#[cfg(feature = "trajectory")]
#[test]
fn recorders_are_shared() {
    is_shared::<context_runtime::trajectory::Trajectories>();
    is_shared::<context_runtime::trajectory::OpenRound>();
}

#[cfg(feature = "cache")]
#[test]
fn a_cache_of_chains_is_shared() {
    is_shared::<context_runtime::ChainCache>();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_works_in_a_task() {
    let mut chat = engine(&store().await).await;
    let task = tokio::spawn(async move {
        chat.set([user("Two tickets to Lisbon.")]);
        let saved = may_be_spawned(chat.save()).await?;
        let shown = may_be_spawned(chat.resolve()).await?.messages.len();
        may_be_spawned(chat.checkpoint("here")).await?;
        Ok::<_, Error>((saved.branch, shown))
    });
    let (branch, shown) = task.await.unwrap().unwrap();
    assert_eq!((branch.as_str(), shown), ("main", 1));
}
