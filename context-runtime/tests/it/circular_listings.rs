//! Stores with circular listings: code that walks all pages stops with an error.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use context_runtime::store::{
    Cursor, FragmentStore, HistoryStore, MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune,
    RoundQuery, RoundsPruned, StoreInfo, TrajectoryStore,
};
use context_runtime::trajectory::{AgentRef, RoundHead, RoundRecord};
use context_runtime::transfer::LeftBehind;
use context_runtime::{ChatId, ErrorKind, MessageId, Result, Store, UserId};

/// A store whose list of rounds never ends.
#[derive(Debug)]
struct CircularStore(Arc<dyn Store>);

impl CircularStore {
    fn inner(&self) -> &dyn TrajectoryStore {
        self.0.trajectories().unwrap()
    }
}

impl Store for CircularStore {
    fn info(&self) -> StoreInfo {
        self.0.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        self.0.history()
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.0.fragments()
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        Some(self)
    }
}

#[async_trait]
impl TrajectoryStore for CircularStore {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        self.inner().record_round(commit).await
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        self.inner().load_rounds(agent, rounds).await
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        let page = self.inner().rounds(&query.clone().after(None)).await?;
        let next = match query.after.as_ref().map(Cursor::as_str) {
            Some("a") => "b",
            _ => "a",
        };
        Ok(Page { next: Some(Cursor::new(next)), ..page })
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        self.inner().nodes_of_message(user, chat, message).await
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        self.inner().prune_rounds(prune).await
    }
}

#[tokio::test]
async fn a_listing_that_goes_in_a_circle_is_an_error() {
    let store = CircularStore(context_runtime::open("mem:").await.unwrap());
    let error = LeftBehind::of_user(&store, &"ada".into()).await.unwrap_err();
    assert_eq!((error.kind(), error.operation()), (ErrorKind::Corrupt, "rounds"), "{error}");
    assert_eq!(
        (error.message(), error.get("thing")),
        ("stored keys are not in order", Some("round"))
    );
}
