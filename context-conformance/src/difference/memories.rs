//! Memory moves, played to all stores.

use context_core::ChatRef;
use context_core::memory::StoredMemory;
use context_core::store::{MemoriesFound, MemoryFind, MemoryList, MemoryOutcome};

use super::moves::MemoryMove;
use super::store_set::{CallResult, StoreSet};
use crate::chat_fixture::ChatFixture;
use crate::memory_fixture::{MemoryModel, MemoryStep, scope, search_words, vector};
use crate::verdict::Check;
use context_simulator::Random;

/// The state that later moves need.
#[derive(Default)]
pub(super) struct Memories {
    /// The expected memories, from which valid steps are generated.
    model: MemoryModel,
    /// The last step, to be repeated.
    last: Option<MemoryStep>,
}

impl Memories {
    pub(super) async fn play(
        &mut self,
        stores: &StoreSet,
        chat: &ChatRef,
        did: &str,
        action: &MemoryMove,
    ) -> Check {
        let (user, name) = (chat.user.as_str(), chat.chat.as_str());
        match *action {
            MemoryMove::Live { seed } => {
                let step = MemoryStep::random(&mut Random::new(seed), user, &self.model);
                self.step(stores, chat, did, step).await
            }
            MemoryMove::Repeat => match self.last.clone() {
                Some(step) => self.step(stores, chat, did, step).await,
                None => Ok(()),
            },
            MemoryMove::Find { seed } => {
                let mut random = Random::new(seed);
                let scopes = (0..=random.below(4)).map(|_| scope(&mut random, user)).collect();
                let mut find =
                    MemoryFind::new(scopes, search_words(&mut random), 1 + random.below(6));
                find.vector = random.one_in(2).then(|| vector(&mut random));
                let found = async |fixture: ChatFixture| match fixture.store.memories() {
                    Some(memories) => Ok(memories.find_memories(&find).await.map(hits).into()),
                    None => Ok(CallResult::Unable),
                };
                stores.compare(user, name, did, found).await.map(drop)
            }
        }
    }

    async fn step(
        &mut self,
        stores: &StoreSet,
        chat: &ChatRef,
        did: &str,
        step: MemoryStep,
    ) -> Check {
        let (user, name) = (chat.user.as_str(), chat.chat.as_str());
        let done = async |fixture: ChatFixture| match (fixture.store.memories(), &step) {
            (None, _) => Ok(CallResult::Unable),
            (Some(memories), MemoryStep::Write(writes)) => {
                Ok(memories.write_memories(writes).await.map(outcome).into())
            }
            (Some(memories), MemoryStep::Forget(forget)) => Ok(memories
                .forget_memories(forget)
                .await
                .map(|forgotten| format!("{forgotten:?}"))
                .into()),
        };
        stores.compare(user, name, did, done).await?;
        match &step {
            MemoryStep::Write(writes) => drop(self.model.write(writes)),
            MemoryStep::Forget(forget) => drop(self.model.forget(forget)),
        }
        self.last = Some(step);
        let scopes: Vec<_> =
            self.model.names.keys().filter(|scope| scope.user == *user).cloned().collect();
        let all = async |fixture: ChatFixture| {
            if fixture.store.memories().is_none() {
                return Ok(CallResult::Unable);
            }
            let stats = fixture.memory_stats(&fixture.chat.user, 2).await?;
            let mut seen = vec![format!("{stats:?}")];
            for scopes in scopes.chunks(context_core::base::limits::MAX_MEMORY_SCOPES) {
                let listed = fixture.list_memories(&MemoryList::new(scopes.to_vec(), 3)).await?;
                seen.extend(listed.iter().map(text));
            }
            Ok(CallResult::Answer(seen))
        };
        stores.compare(user, name, &format!("the memories after {did}"), all).await.map(drop)
    }
}

/// Formats a record without its position, since positions are comparable within one store only.
fn text(stored: &StoredMemory) -> String {
    let record = serde_json::to_string(&stored.record).unwrap_or_default();
    format!("version {} of {record}", stored.version)
}

/// Formats an outcome. A store may choose which of several conflicts it reports.
fn outcome(outcome: MemoryOutcome) -> String {
    match outcome {
        MemoryOutcome::Conflict { .. } => "a conflict".to_owned(),
        other => format!("{other:?}"),
    }
}

fn hits(found: MemoriesFound) -> Vec<String> {
    let hits = found.hits.iter().map(|hit| {
        let similarity = hit.similarity.map(|similarity| format!("{similarity:.4}"));
        format!("{}, score {:.6}, similarity {similarity:?}", text(&hit.stored), hit.score)
    });
    hits.chain([format!("{:?}", found.bm25)]).collect()
}
