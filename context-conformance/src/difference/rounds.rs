//! Round moves, played to all stores.

use std::sync::Arc;

use context_core::store::{RecordOutcome, RoundCommit, RoundPrune, RoundQuery};
use context_core::trajectory::{AgentRef, Round, RoundRecord, RoundRef};
use context_core::{ChatRef, Error, ErrorKind, Store, Timestamp};
use serde::Serialize;

use super::moves::RoundMove;
use super::store_set::{CallResult, StoreSet};
use crate::chat_fixture::ChatFixture;
use crate::round_fixture::RoundFixture;
use crate::verdict::Check;
use context_simulator::Random;

/// The state that later moves need.
#[derive(Default)]
pub(super) struct Rounds {
    /// The last commit, to be repeated.
    last: Option<RoundCommit>,
    /// The number of commits so far, which makes their keys unique.
    made: u64,
}

impl Rounds {
    pub(super) async fn play(
        &mut self,
        stores: &StoreSet,
        chat: &ChatRef,
        did: &str,
        action: &RoundMove,
    ) -> Check {
        let (user, name) = (chat.user.as_str(), chat.chat.as_str());
        match *action {
            RoundMove::Live { session, round, seed, stale } => {
                let place = AgentRef::main(user, format!("s{session}")).round(round);
                let seen = load(stores, chat, &format!("the round before {did}"), &place).await?;
                let commit = self.commit(stores, &place, seen, seed, stale);
                self.record(stores, chat, did, commit).await?;
                load(stores, chat, &format!("the round after {did}"), &place).await?;
            }
            RoundMove::Repeat => {
                if let Some(commit) =
                    self.last.clone().filter(|last| last.head.round.agent.user == *user)
                {
                    self.record(stores, chat, did, commit).await?;
                }
            }
            RoundMove::Message { n } => {
                let nodes = async |fixture: ChatFixture| {
                    let Some(trajectories) = fixture.store.trajectories() else {
                        return Ok(CallResult::Unable);
                    };
                    let message = format!("m{n}").into();
                    Ok(trajectories
                        .nodes_of_message(&fixture.chat.user, &"chat".into(), &message)
                        .await
                        .into())
                };
                stores.compare(user, name, did, nodes).await?;
            }
            RoundMove::Prune { back, session } => {
                let prune = RoundPrune::of_user(user).updated_until(written(back));
                let prune =
                    session.map_or(prune.clone(), |session| prune.session(format!("s{session}")));
                let pruned = async |fixture: ChatFixture| {
                    let Some(trajectories) = fixture.store.trajectories() else {
                        return Ok(CallResult::Unable);
                    };
                    Ok(trajectories.prune_rounds(&prune).await.into())
                };
                stores.compare(user, name, did, pruned).await?;
            }
        }
        let heads = async |fixture: ChatFixture| match fixture.store.trajectories() {
            Some(_) => Ok(CallResult::Answer(texts(
                &fixture.heads_of(&RoundQuery::of_user(user).limit(2)).await?,
            ))),
            None => Ok(CallResult::Unable),
        };
        stores.compare(user, name, &format!("the rounds after {did}"), heads).await.map(drop)
    }

    /// Returns the next commit of a random round. The store need not expect it next.
    fn commit(
        &mut self,
        stores: &StoreSet,
        place: &RoundRef,
        seen: Option<RoundRecord>,
        seed: u64,
        stale: bool,
    ) -> RoundCommit {
        let store: Arc<dyn Store> = Arc::clone(&stores.0[0].store);
        let fixture = ChatFixture::new(store, place.agent.user.as_str(), "chat");
        let begun = RoundFixture::new(&fixture, place.clone());
        let mut round_fixture = match seen.map(Round::from_record) {
            Some(Ok(round)) => RoundFixture::of(&fixture, round),
            _ => begun,
        };
        round_fixture.live(&mut Random::new(seed));
        if stale {
            round_fixture.round.committed();
        }
        let mut commit = round_fixture.commit();
        self.made += 1;
        commit.key = format!("{}-{}", place.agent.user, self.made).into();
        commit
    }

    async fn record(
        &mut self,
        stores: &StoreSet,
        chat: &ChatRef,
        did: &str,
        commit: RoundCommit,
    ) -> Check {
        let recorded = async |fixture: ChatFixture| {
            let Some(trajectories) = fixture.store.trajectories() else {
                return Ok(CallResult::Unable);
            };
            Ok(trajectories.record_round(&commit).await.into())
        };
        let outcome = stores.compare(chat.user.as_str(), chat.chat.as_str(), did, recorded).await?;
        if outcome == Some(RecordOutcome::Applied) {
            self.last = Some(commit);
        }
        Ok(())
    }
}

/// Returns a time at which rounds are written. The clock of a fixture begins there.
fn written(ticks: usize) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + ticks as i64)
}

/// Loads a round, which must be the same in all stores.
async fn load(
    stores: &StoreSet,
    chat: &ChatRef,
    did: &str,
    place: &RoundRef,
) -> Check<Option<RoundRecord>> {
    let loaded = async |fixture: ChatFixture| {
        let Some(trajectories) = fixture.store.trajectories() else {
            return Ok(CallResult::Unable);
        };
        let rounds = trajectories.load_rounds(&place.agent, place.round..=place.round).await;
        Ok(rounds.map(|rounds| texts(&rounds)).into())
    };
    let texts = stores.compare(chat.user.as_str(), chat.chat.as_str(), did, loaded).await?;
    let read = |text: String| {
        serde_json::from_str(&text)
            .map_err(|error| Error::new(ErrorKind::Corrupt, "load_rounds", error.to_string()))
    };
    Ok(texts.and_then(|mut texts| texts.pop()).map(read).transpose()?)
}

/// Formats values as JSON, for a readable difference.
fn texts(values: &[impl Serialize]) -> Vec<String> {
    values.iter().map(|value| serde_json::to_string(value).unwrap_or_default()).collect()
}
