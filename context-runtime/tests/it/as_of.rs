//! The state of a chat as of a message: fragments, messages, checkpoints and the prompt.

use std::sync::Arc;

use context_runtime::store::{FragmentVersion, StoreInfo};
use context_runtime::{
    Clock, ContextEngine, Edits, ErrorKind, Fragment, IdGenerator, Store, Timestamp, hint, role,
};
use proptest::prelude::*;

use crate::kit::{CountingIds, TickingClock, builder, engine, say, store, texts};

fn rule(id: &str, text: &str) -> Fragment {
    hint(text).persisted().with_id(id)
}

/// Returns id and whether the time is known of each fragment that was in force.
fn names(versions: &[FragmentVersion]) -> Vec<(&str, bool)> {
    let ids = versions.iter().map(|it| it.id.as_ref().map_or("", |id| id.as_str()));
    ids.zip(versions.iter().map(|it| it.at.is_some())).collect()
}

#[tokio::test]
async fn fragments_and_messages_are_as_they_were() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([rule("price", "EUR"), rule("tone", "brief"), say("u1", "Two.")]);
    chat.save().await.unwrap();
    chat.checkpoint("asked").await.unwrap();
    chat.set([rule("price", "USD"), say("a1", "Window?")]).save().await.unwrap();
    chat.unset(&"tone".into()).await.unwrap();
    chat.set([say("u1", "Three.")]).save_with(Edits::Amend).await.unwrap();
    chat.set([say("u2", "Aisle."), role("not persisted")]).save().await.unwrap();
    chat.checkpoint("late").await.unwrap();

    let first = chat.as_of(&"u1".into()).await.unwrap();
    assert_eq!(&*first.system_prompt, "<hint>EUR</hint>\n<hint>brief</hint>");
    assert_eq!(texts(&first.messages), ["u1: Two."]);
    assert_eq!(names(&first.fragments), [("price", true), ("tone", true)]);

    let second = chat.as_of(&"a1".into()).await.unwrap();
    assert_eq!(&*second.system_prompt, "<hint>USD</hint>\n<hint>brief</hint>");
    assert_eq!(texts(&second.messages), ["u1: Two.", "a1: Window?"]);
    let checkpoints: Vec<_> = second.checkpoints.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(checkpoints, ["asked"]);

    let last = chat.as_of(&"u2".into()).await.unwrap();
    assert_eq!(&*last.system_prompt, "<hint>USD</hint>");
    assert_eq!(texts(&last.messages), ["u1: Three.", "a1: Window?", "u2: Aisle."]);
    assert_eq!(last.history.len(), 3);

    let absent = chat.as_of(&"ghost".into()).await.unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_look_back_writes_nothing_and_leaves_the_engine_as_it_is() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([rule("price", "EUR"), say("u1", "Two.")]).save().await.unwrap();
    chat.set([rule("price", "USD"), say("a1", "Window?")]);
    let before = chat.chat().await.unwrap();
    let then = chat.as_of(&"u1".into()).await.unwrap();
    assert_eq!(
        (texts(&then.messages), &*then.system_prompt),
        (vec!["u1: Two.".to_owned()], "<hint>EUR</hint>")
    );
    assert_eq!(chat.chat().await.unwrap(), before);
    let resolved = chat.resolve().await.unwrap();
    assert_eq!(&*resolved.system_prompt, "<hint>USD</hint>");
    assert_eq!(texts(&resolved.messages), ["u1: Two.", "a1: Window?"]);
}

/// A store without a log of fragments.
#[derive(Debug)]
struct Forgetful(Arc<dyn Store>);

impl Store for Forgetful {
    fn info(&self) -> StoreInfo {
        self.0.info()
    }

    fn history(&self) -> &dyn context_runtime::store::HistoryStore {
        self.0.history()
    }

    fn fragments(&self) -> &dyn context_runtime::store::FragmentStore {
        self.0.fragments()
    }
}

#[tokio::test]
async fn a_store_without_versions_is_refused() {
    let store: Arc<dyn Store> = Arc::new(Forgetful(store().await));
    let mut chat = engine(&store).await;
    chat.set([say("u1", "Two.")]).save().await.unwrap();
    let refused = chat.as_of(&"u1".into()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    // The prompt of now stands in for earlier ones, and says so.
    chat.set([rule("price", "EUR")]).save().await.unwrap();
    let chain = chat.resolve().await.unwrap().messages;
    let prompts = chat.prompt_history(&chain).await.unwrap();
    assert_eq!((&*prompts.at(0).text, prompts.at(0).is_recorded), ("<hint>EUR</hint>", false));
    assert_eq!(prompts.present().text, prompts.at(0).text);
    assert!(prompts.present().is_recorded);
}

/// The clock and the ids of several engines, so that none of them begins anew.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<(TickingClock, CountingIds)>);

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        self.0.0.now()
    }
}

impl IdGenerator for Shared {
    fn next_id(&self) -> String {
        self.0.1.next_id()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Set(u8, u8),
    Unset(u8),
    Say,
    Reopen,
    Rewind(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4_u8, 0..3_u8).prop_map(|(id, text)| Step::Set(id, text)),
        2 => (0..4_u8).prop_map(Step::Unset),
        4 => Just(Step::Say),
        1 => Just(Step::Reopen),
        1 => any::<prop::sample::Index>().prop_map(Step::Rewind),
    ]
}

/// Saves a message and returns what a new engine is shown right after it.
async fn shown_after(
    store: &Arc<dyn Store>,
    chat: &mut ContextEngine,
    id: &str,
) -> (String, Vec<String>) {
    chat.set([say(id, id)]).save().await.unwrap();
    let mut fresh = builder(store).branch(chat.branch().clone()).open().await.unwrap();
    let resolved = fresh.resolve().await.unwrap();
    (resolved.system_prompt.to_string(), texts(&resolved.messages))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_message_shows_the_state_right_after_it(steps in prop::collection::vec(step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let store = store().await;
            let shared = Shared::default();
            let open = async || {
                let engine = builder(&store).clock(shared.clone()).ids(shared.clone());
                engine.open().await.unwrap()
            };
            let mut chat = open().await;
            let mut seen: Vec<(String, (String, Vec<String>))> = Vec::new();
            for step in steps {
                match step {
                    Step::Set(id, text) => {
                        chat.set([rule(&format!("f{id}"), &format!("text {text}"))]);
                    }
                    Step::Unset(id) => {
                        chat.unset(&format!("f{id}").as_str().into()).await.unwrap();
                    }
                    Step::Say => {
                        let id = format!("u{}", seen.len());
                        let shown = shown_after(&store, &mut chat, &id).await;
                        seen.push((id, shown));
                    }
                    Step::Reopen => {
                        chat.save().await.unwrap();
                        chat = open().await;
                    }
                    Step::Rewind(to) if !seen.is_empty() => {
                        let (id, _) = to.get(&seen);
                        chat.rewind(&id.as_str().into()).await.unwrap();
                    }
                    Step::Rewind(_) => {}
                }
            }
            for (id, (prompt, messages)) in seen {
                let then = chat.as_of(&id.as_str().into()).await.unwrap();
                assert_eq!(then.system_prompt.to_string(), prompt, "as of {id}");
                let prompts = chat.prompt_history(&then.history).await.unwrap();
                let last = prompts.at(then.history.len() - 1);
                assert_eq!((last.text.to_string(), last.is_recorded), (prompt, true), "at {id}");
                assert_eq!(texts(&then.messages), messages, "as of {id}");
            }
        });
    }
}
