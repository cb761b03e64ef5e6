//! Messages and words that no compaction takes, and the triggers that start one.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::compaction::{Stage, Trigger, snip, truncate_head};
use context_runtime::{
    ContextEngine, ErrorKind, Message, ModelContext, Role, RuntimeFault, snip::Snip, store::Node,
    summarize::Summarize, truncate_head::TruncateHead,
};

use crate::kit;
use crate::runtime_kit::*;

fn talk(turns: usize) -> Vec<Arc<Message>> {
    let turn = |n: usize| {
        let answer = format!("answer {n}: {}", "it depends on the day. ".repeat(4));
        [ask(&format!("question {n}")), reply(&answer)]
    };
    (0..turns).flat_map(turn).collect()
}

fn has(context: &ModelContext, message: &Message) -> bool {
    context.request.messages.iter().any(|sent| **sent == *message)
}

/// A user says in the second of many turns what must always hold, and the agent forgets it when the
/// window fills up. Pinned, it stays to the letter, whichever policy cuts.
#[tokio::test]
async fn a_pinned_message_survives_every_policy() {
    let rule = Message::text(Role::Assistant, "Agreed: never book before nine.").pinned();
    let mut history = talk(20);
    history[3] = Arc::new(rule.clone());
    let policies =
        [("snip", Stage::new(Snip::new())), ("truncate-head", Stage::new(TruncateHead::new()))];
    for (name, policy) in policies {
        let runtime = builder().compaction([policy.trigger(0.5).target(0.3)]).build().unwrap();
        let context = prepare(&runtime, &history).await;
        assert!(context.rewrite.is_some(), "{name} cuts");
        assert!(has(&context, &rule), "{name}: {:?}", shown(&context.request.messages));
        assert!(!has(&context, &history[5]), "{name} leaves others out");
    }
    let summarize = Stage::new(Summarize::new().window(20_000)).trigger(0.5).target(0.4);
    let runtime = builder().window(4_000).compaction([summarize]).build().unwrap();
    let task = prepare(&runtime, &[history.clone(), talk(20)].concat())
        .await
        .summary
        .expect("a summary is requested");
    assert!(task.keeps.contains(&3), "{task:?}");

    let limited = builder().max_messages(4).build().unwrap();
    let context = prepare(&limited, &history).await;
    assert!(has(&context, &rule), "beside the newest four");
    assert!(history[36..].iter().all(|message| has(&context, message)));
    assert!(!history[4..36].iter().any(|message| has(&context, message)));
}

#[tokio::test]
async fn the_users_own_words_stay_up_to_a_share_of_the_room() {
    let history = talk(20);
    let asked = |context: &ModelContext| {
        let shown = shown(&context.request.messages);
        shown.iter().filter(|message| message.starts_with("user: question")).count()
    };
    let sent = async |share: f64| {
        let cut = Stage::new(TruncateHead::new()).trigger(0.5).target(0.4);
        let runtime = builder().user_words(share).compaction([cut]).build().unwrap();
        prepare(&runtime, &history).await
    };
    let (without, some, more) = (sent(0.0).await, sent(0.1).await, sent(0.3).await);
    assert!(asked(&without) < asked(&some) && asked(&some) < asked(&more));
    assert_eq!(asked(&more), 20, "questions are short, so all of them fit");
    for context in [without, some, more] {
        assert!(has(&context, &history[0]), "the first one always");
        assert!(context.breakdown.total().tokens() <= 400);
    }
}

#[tokio::test]
async fn a_stage_runs_by_messages_turns_tokens_or_after_a_pause() {
    let history = talk(8);
    let cuts = async |trigger: Trigger| {
        let runtime =
            builder().window(100_000).compaction([Stage::new(Snip::new()).trigger(trigger)]);
        let context = prepare(&runtime.build().unwrap(), &history).await;
        context.plans.iter().find(|plan| plan.applied).map(|plan| plan.reason.clone())
    };
    assert_eq!(cuts(Trigger::Messages(17)).await, None);
    let reason = cuts(Trigger::Messages(16)).await.unwrap();
    assert_eq!(reason, "the trigger is reached: 16 messages");
    assert_eq!(cuts(Trigger::Turns(9)).await, None);
    assert!(cuts(Trigger::Turns(8).and(Trigger::Tokens(100))).await.is_some());
    assert_eq!(cuts(Trigger::Turns(8).and(Trigger::Tokens(100_000))).await, None);
    assert!(cuts(Trigger::Turns(9).or(Trigger::Tokens(100))).await.is_some());

    let clock = HandClock::default();
    let pause = Trigger::Idle(Duration::from_secs(300));
    let stage = Stage::new(Snip::new()).trigger(pause);
    let runtime = builder().window(100_000).clock(clock.clone()).compaction([stage]);
    let runtime = runtime.build().unwrap();
    assert_eq!(prepare(&runtime, &history).await.plans, []);
    clock.advance(299);
    assert_eq!(prepare(&runtime, &history).await.plans, []);
    clock.advance(300);
    assert!(prepare(&runtime, &history).await.plans[0].applied);
}

#[test]
fn a_share_out_of_range_is_refused() {
    let faults = builder().user_words(0.6).build().unwrap_err();
    assert!(matches!(faults.0[..], [RuntimeFault::Share { setting: "user_words", .. }]));
    let trigger = Trigger::Messages(3).or(1.5);
    let stages = [snip().trigger(trigger), truncate_head()];
    assert!(builder().compaction(stages).build().is_err());
}

#[tokio::test]
async fn a_stored_message_is_pinned_in_place_and_stays_so_in_other_processes() {
    let store = kit::store().await;
    let mut chat = kit::with_messages(&store, &["u1", "a1", "u2"]).await;
    assert!(chat.pin(&"a1".into()).await.unwrap());
    assert!(!chat.pin(&"a1".into()).await.unwrap(), "it is pinned already");
    assert_eq!(kit::shown(&mut chat).await, ["u1: text u1", "a1: text a1", "u2: text u2"]);
    chat.set([kit::say("a2", "more")]);
    let _saved = chat.save().await.unwrap();

    // Ids of its own, as another process has.
    let other = ContextEngine::builder(Arc::clone(&store)).user("ada").chat("c");
    let mut other = other.open().await.unwrap();
    let pins = async |chat: &mut ContextEngine| {
        let resolved = chat.resolve().await.unwrap();
        let pinned = |node: &Arc<Node>| node.message().unwrap().is_pinned();
        resolved.messages.iter().map(pinned).collect::<Vec<_>>()
    };
    assert_eq!(pins(&mut other).await, [false, true, false, false]);
    assert!(other.unpin(&"a1".into()).await.unwrap());
    assert_eq!(pins(&mut other).await, [false; 4]);
    assert_eq!(pins(&mut chat).await, [false; 4], "the first engine notices");
    assert_eq!(store.history().revisions(chat.chat_ref(), &"a1".into()).await.unwrap().len(), 2);
    assert_eq!(chat.pin(&"nowhere".into()).await.unwrap_err().kind(), ErrorKind::NotFound);
}
