//! The reason of each broken prefix.

use std::sync::Arc;

use context_runtime::{
    Message,
    sent::{BreakCause, ReplayOptions, RequestDiff, RequestOrigin, RequestReplay},
    store::Node,
    user,
};

use super::live::{LiveChat, Step, stages};

/// A conversation that fills the window, so that the newest request is cut.
async fn long_chat() -> LiveChat {
    let mut live = LiveChat::new("anthropic", stages(&["microcompact", "snip"])).await;
    for _ in 0..6 {
        live.step(&Step::Call(700, 40)).await;
    }
    live
}

async fn replay(live: &LiveChat) -> RequestReplay {
    let options = live.options(stages(&["microcompact", "snip"]));
    RequestReplay::new(&live.chain().await, live.prompt.as_str(), options).unwrap()
}

#[tokio::test]
async fn the_first_request_has_no_prefix_and_the_next_has_all_of_it() {
    let mut live = LiveChat::new("anthropic", Vec::new()).await;
    live.step(&Step::Ask(50, 50)).await;
    live.step(&Step::Ask(50, 50)).await;
    let mut replay = replay(&live).await;
    let first = replay.report(1).unwrap().prefix;
    assert_eq!((first.cause, first.intact), (Some(BreakCause::FirstRequest), false));
    let second = replay.report(2).unwrap().prefix;
    assert_eq!((second.cause, second.intact, second.lost), (None, true, 0));
    assert!(second.shared > 50);
}

#[tokio::test]
async fn a_cut_is_named_with_its_policy_and_its_request() {
    let live = long_chat().await;
    let mut replay = replay(&live).await;
    let cut = (1..=replay.requests().len()).find_map(|number| {
        let report = replay.report(number).unwrap();
        report.plans.iter().any(|plan| plan.applied).then_some(report)
    });
    let report = cut.expect("the window is small");
    let policy = report.plans.iter().find(|plan| plan.applied).unwrap().policy.to_owned();
    let cause = BreakCause::Cut { policy: policy.clone(), request: Some(report.number) };
    assert_eq!(report.prefix.cause, Some(cause.clone()));
    assert_eq!(report.origin, RequestOrigin::Recorded);
    let broken = &report.pieces[report.prefix.broken_at.unwrap()];
    assert_eq!((broken.policy.as_ref(), broken.request), (Some(&policy), Some(report.number)));
    let message = report.prefix.message.as_ref().unwrap();
    assert_eq!(report.piece(message).unwrap().policy, Some(policy));
    // The cut is in force in the next request too, and breaks nothing there.
    let next = replay.report(report.number + 1).unwrap();
    assert!(next.prefix.intact && next.plans.is_empty());
    assert_eq!((next.cuts.len(), next.saved.tokens), (report.cuts.len(), report.saved.tokens));
    assert!(next.cuts[0].boundary.is_some());
    // Between the two requests the difference says the same.
    let diff = replay.diff(report.number - 1, report.number).unwrap();
    assert_eq!((diff.cause.clone(), diff.broken_at), (Some(cause), report.prefix.broken_at));
    assert!(diff.changes.len() > 1, "{diff}");
}

#[tokio::test]
async fn a_long_pause_loses_what_was_shared() {
    let mut live = LiveChat::new("anthropic", Vec::new()).await;
    live.step(&Step::Ask(2_000, 50)).await;
    live.step(&Step::Pause(4_000)).await;
    live.step(&Step::Ask(50, 50)).await;
    let prefix = replay(&live).await.report(2).unwrap().prefix;
    let pause = BreakCause::Pause { seconds: 4_001, lifetime: 300 };
    assert_eq!((prefix.cause, prefix.intact), (Some(pause), true));
    assert_eq!((prefix.reused, prefix.lost), (0, prefix.shared));
    assert!(prefix.shared > 2_000 && prefix.lost_usd.unwrap() > 0.0);
}

#[tokio::test]
async fn an_undone_cut_is_named() {
    let mut live = long_chat().await;
    assert!(live.engine.undo_compaction().await.unwrap().is_some());
    live.engine.set([user("Again, please.")]);
    let _saved = live.engine.save().await.unwrap();
    // With a larger window nothing is cut on top.
    let options = live.options(stages(&["snip"])).window(100_000);
    let mut replay =
        RequestReplay::new(&live.chain().await, live.prompt.as_str(), options).unwrap();
    let last = replay.requests().len();
    assert!(replay.requests()[last - 1].answer.is_none());
    let prefix = replay.report(last).unwrap().prefix;
    assert_eq!(prefix.cause, Some(BreakCause::Undo));
}

#[tokio::test]
async fn a_changed_prompt_and_other_tools_and_another_model_are_named() {
    let mut live = LiveChat::new("anthropic", Vec::new()).await;
    live.step(&Step::Ask(50, 50)).await;
    let chain = live.chain().await;
    let report = |prompt: &str, options: ReplayOptions| {
        RequestReplay::new(&chain, prompt, options).unwrap().report(1).unwrap()
    };
    let own = report("Be short.", live.options(Vec::new()));
    let cause = |other| RequestDiff::between(&own, &other).cause;
    let options = live.options(Vec::new());
    assert_eq!(cause(report("Be short.", options.clone())), None);
    assert_eq!(cause(report("Be long.", options.clone())), Some(BreakCause::SystemPrompt));
    let without = options.clone().request(Default::default());
    assert_eq!(cause(report("Be short.", without)), Some(BreakCause::Tools));
    let other = options.model("claude-opus-4-5");
    assert_eq!(cause(report("Be short.", other)), Some(BreakCause::Model));
}

#[tokio::test]
async fn an_edit_and_another_branch_are_named() {
    let mut live = LiveChat::new("anthropic", Vec::new()).await;
    for _ in 0..2 {
        live.step(&Step::Ask(50, 50)).await;
    }
    let old = replay(&live).await.report(2).unwrap();
    let first = live.chain().await[1].id.clone();
    live.engine.rewind(&first).await.unwrap();
    live.engine.set([user("Something else.").with_id("other")]);
    let _saved = live.engine.save().await.unwrap();
    let new = replay(&live).await.report(2).unwrap();
    let diff = RequestDiff::between(&old, &new);
    assert_eq!(diff.cause, Some(BreakCause::Branch { message: "other".into() }), "{diff}");

    // The same message with another text, as after an amendment.
    let mut chain = live.chain().await;
    let at = chain.position(&"other".into()).unwrap();
    let text = Message::from("Something new.");
    chain.replace(at, Arc::new(Node::new("other", text, chain[at].created_at)));
    let options = live.options(stages(&["microcompact", "snip"]));
    let mut replay = RequestReplay::new(&chain, live.prompt.as_str(), options).unwrap();
    let edited = replay.report(2).unwrap();
    let diff = RequestDiff::between(&new, &edited);
    assert_eq!(diff.cause, Some(BreakCause::Edit { message: "other".into() }), "{diff}");
}
