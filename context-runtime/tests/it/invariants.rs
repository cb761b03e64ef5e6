//! Acknowledged writes stay, whatever else is done to a chat.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_runtime::{
    CancelSignal, ContextEngine, Edits, Store, assistant, last_assistant_message, user,
};
use proptest::prelude::*;

use crate::kit::{builder, store};

#[derive(Clone, Debug)]
enum Step {
    Say(bool),
    Edit {
        of: prop::sample::Index,
        edits: Edits,
    },
    Lazy(Edits),
    Rewind(prop::sample::Index),
    Switch(prop::sample::Index),
    ForkHere,
    Continue,
    /// Another engine opens the chat and continues.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let edits = prop_oneof![Just(Edits::Auto), Just(Edits::Branch), Just(Edits::Amend)];
    prop_oneof![
        4 => any::<bool>().prop_map(Step::Say),
        2 => (any::<prop::sample::Index>(),
            edits.clone()).prop_map(|(of, edits)| Step::Edit { of, edits }),
        1 => edits.prop_map(Step::Lazy),
        1 => any::<prop::sample::Index>().prop_map(Step::Rewind),
        1 => any::<prop::sample::Index>().prop_map(Step::Switch),
        1 => Just(Step::ForkHere),
        1 => Just(Step::Continue),
        1 => Just(Step::Reopen),
    ]
}

/// The ids of every branch, and how often each message was amended.
type State = BTreeMap<String, Vec<(String, u32)>>;

async fn state(chat: &ContextEngine) -> State {
    let graph = chat.graph().await.unwrap();
    let parents: BTreeMap<_, _> = graph.nodes.iter().map(|p| (p.node.id.clone(), p)).collect();
    let path = |head: Option<context_runtime::MessageId>| {
        let ids = head
            .map(|head| context_runtime::graph::ancestors(head, |id| parents[id].parent.clone()));
        let mut path: Vec<_> = ids.unwrap_or_default();
        path.reverse();
        path.iter().map(|id| (id.to_string(), parents[id].node.revision)).collect()
    };
    graph
        .branches
        .iter()
        .map(|branch| (branch.name.to_string(), path(branch.head.clone())))
        .collect()
}

async fn take(step: &Step, n: usize, chat: &mut ContextEngine, store: &Arc<dyn Store>) {
    let ids: Vec<_> = chat.graph().await.unwrap().nodes.iter().map(|p| p.node.id.clone()).collect();
    match step {
        Step::Say(is_user) => {
            chat.set([if *is_user { user(format!("q{n}")) } else { assistant(format!("a{n}")) }]);
            let _saved = chat.save().await.unwrap();
        }
        Step::Edit { of, edits } if !ids.is_empty() => {
            chat.set([user(format!("e{n}")).with_id(of.get(&ids).as_str())]);
            let _saved = chat.save_with(*edits).await.unwrap();
        }
        Step::Lazy(edits) => {
            chat.set([last_assistant_message(format!("l{n}"))]);
            let _saved = chat.save_with(*edits).await.unwrap();
        }
        Step::Rewind(to) if !ids.is_empty() => {
            let _moved = chat.rewind(to.get(&ids)).await.unwrap();
        }
        Step::Switch(to) => {
            let branches = store.history().branches(chat.chat_ref()).await.unwrap();
            let _moved = chat.switch_branch(to.get(&branches).name.clone()).await.unwrap();
        }
        Step::ForkHere if chat.head_message().await.unwrap().is_some() => {
            let _moved = chat.fork_here().await.unwrap();
        }
        Step::Continue => {
            let _placeholder = chat.continue_turn(user(format!("c{n}"))).await.unwrap();
        }
        Step::Reopen => *chat = builder(store).ids(context_runtime::Uuid7Ids).open().await.unwrap(),
        Step::Edit { .. } | Step::Rewind(_) | Step::ForkHere => {}
    }
    assert_eq!(chat.pending().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn branches_only_grow_and_messages_only_gain_revisions(steps in
        proptest::collection::vec(step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = store().await;
            let mut chat = builder(&store).ids(context_runtime::Uuid7Ids).open().await.unwrap();
            let mut before = state(&chat).await;
            for (n, step) in steps.iter().enumerate() {
                take(step, n, &mut chat, &store).await;
                let after = state(&chat).await;
                for (branch, path) in &before {
                    let now = &after[branch];
                    assert!(now.len() >= path.len(), "{branch} is shorter after {step:?}");
                    for (old, new) in path.iter().zip(now) {
                        assert!(old.0 == new.0 && old.1 <= new.1, "{branch}: {old:?} became {new:?} after {step:?}");
                    }
                }
                // The engine's state is what a fresh engine reads.
                let mut fresh = builder(&store).branch(chat.branch().clone()).open().await.unwrap();
                let (own, read) = (chat.resolve().await.unwrap(), fresh.resolve().await.unwrap());
                assert_eq!(own.messages, read.messages, "after {step:?}");
                assert_eq!(chat.turn_count().await.unwrap(), fresh.turn_count().await.unwrap());
                before = after;
            }
            let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
            assert_eq!(report.findings, []);
        });
    }
}
