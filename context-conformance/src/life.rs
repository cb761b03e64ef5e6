//! Random operations on a chat, in a store and in the model.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_core::store::CommitOutcome;
use context_core::{ErrorKind, Result, Store};

use crate::action::{Action, Answer};
use crate::chat_fixture::ChatFixture;
use crate::expect::{ensure, same};
use crate::script::Script;
use crate::step::Step;
use crate::verdict::{Check, Stop};
use crate::visible_chat::VisibleChat;

/// The number of retries of a call without reply.
const TRIES: usize = 100;

/// A chat in the store and in the model.
pub(crate) struct Life {
    /// The chat through the handle that reads.
    view: ChatFixture,
    /// The chat through the handle that writes. Replies may be lost there.
    fixture: ChatFixture,
    script: Script,
    /// The generation, and the number of changes at that time.
    generation: (u64, u64),
    /// The generations of deleted chats.
    past: BTreeSet<u64>,
}

impl Life {
    /// Creates a chat of the name of `view`, which must not exist yet. It is written through
    /// `store`, if given, which may lose replies.
    pub(crate) async fn begin(view: ChatFixture, store: Option<Arc<dyn Store>>) -> Check<Self> {
        let _created = view.history().create_chat(Script::birth(view.chat.clone())).await?;
        let script = Script::new(view.chat.clone(), store.is_some());
        let fixture = store.map_or_else(|| view.clone(), |store| view.through(store));
        let generation = (view.whole("main").await?.generation(), 0);
        Ok(Self { view, fixture, script, generation, past: BTreeSet::new() })
    }

    pub(crate) async fn live(&mut self, steps: &[Step]) -> Check {
        for (i, step) in steps.iter().enumerate() {
            let did = format!("step {i}, {step:?}");
            let Some(action) = self.script.next(step) else { continue };
            let (seen, lost) = answered(&self.fixture, &action).await;
            let expected = self.script.expect(&action);
            agree(&did, seen, lost, &expected)?;
            if matches!((&action, expected), (Action::DeleteChat { .. }, Ok(Answer::Was(true)))) {
                self.past.insert(self.generation.0);
                self.generation = (self.view.whole("main").await?.generation(), 0);
            }
            let seen = VisibleChat::of(&self.view).await?;
            same(
                format!("the chat after {did}"),
                &seen.as_ref(),
                &Some(&self.script.model.visible(self.view.store.ref_log().is_some())),
            )?;
            self.look_at_edition(&did).await?;
        }
        Ok(())
    }

    /// Expects the generation to grow if and only if stored messages were changed or removed.
    async fn look_at_edition(&mut self, did: &str) -> Check {
        let model = &self.script.model;
        let now = (self.view.whole(model.chat.active.as_str()).await?.generation(), model.changes);
        let (before, changes) = self.generation;
        let grown = if now.1 == changes { now.0 == before } else { now.0 > before };
        ensure(grown, || {
            format!(
                "the generation after {did}: it was {before}, {} changes later it is {}",
                now.1 - changes,
                now.0
            )
        })?;
        let anew = !self.past.contains(&now.0);
        ensure(anew, || {
            format!("the generation after {did}: {} was one of a chat that is deleted", now.0)
        })?;
        self.generation = now;
        Ok(())
    }
}

/// Retries a call until it is answered. Returns the answer, and whether an earlier reply was lost.
pub(crate) async fn answered(fixture: &ChatFixture, action: &Action) -> (Result<Answer>, bool) {
    let mut lost = false;
    for _ in 0..TRIES {
        match action.perform(fixture).await {
            Err(error) if error.kind() == ErrorKind::Unavailable => lost = true,
            result => return (result, lost),
        }
    }
    (action.perform(fixture).await, lost)
}

/// Expects the answer of the model. After a lost reply, a commit is reported as replayed. Of other
/// calls, only their effect can be compared then.
pub(crate) fn agree(
    did: &str,
    seen: Result<Answer>,
    lost: bool,
    expected: &Result<Answer, ErrorKind>,
) -> Check {
    use Answer::Commit;
    match (seen, expected) {
        (
            Ok(Commit(CommitOutcome::Replayed(seen))),
            Ok(Commit(CommitOutcome::Applied(expected))),
        ) if lost => same(format!("where {did} was found to have gone"), &seen, expected),
        (Ok(seen @ Commit(_)), expected) => {
            same(format!("the outcome of {did}"), &Ok(seen), expected)
        }
        _ if lost => Ok(()),
        (Err(error), Ok(_)) => Err(Stop::Fail(format!("{did}: saw {error:?}"))),
        (seen, expected) => {
            same(format!("the answer to {did}"), &seen.map_err(|error| error.kind()), expected)
        }
    }
}
