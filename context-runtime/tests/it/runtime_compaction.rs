//! Compaction when the window fills up: which stages run, which plans are carried out, and what
//! stays unchanged.

use std::sync::Arc;

use context_runtime::{
    ContextRuntime, DefaultContextRuntime, ErrorKind, Message, NullContextRuntime, Role,
    compaction::{
        BoundaryKind, Budget, CacheState, CutOwner, Goal, HistoryRewrite, HistoryView, Pipeline,
        Stage,
    },
    model::{Answer, SummaryError, Usage},
    snip::Snip,
    truncate_head::TruncateHead,
};

use crate::runtime_kit::*;

/// Returns a task, results of this many bytes, and a reply.
fn work(results: usize, bytes: usize) -> Vec<Arc<Message>> {
    let mut history = vec![ask("task")];
    for i in 0..results {
        history.extend([call(&format!("c{i}")), result(&format!("c{i}"), "x".repeat(bytes))]);
    }
    history
}

fn stages() -> [Stage; 3] {
    [Stage::new(ShorteningPolicy), Stage::new(SummaryPolicy), Stage::new(TruncateHead::new())]
}

fn runtime() -> DefaultContextRuntime {
    builder().compaction(stages()).build().unwrap()
}

/// Returns a history that fills a window of a thousand to this level: each call counts 11 bytes and
/// the task 4.
fn of(tokens: usize) -> Vec<Arc<Message>> {
    let mut history = work(4, 100);
    let rest = tokens - 448 - 5;
    history.extend([call("last"), result("last", "y".repeat(rest - 11)), reply("fills")]);
    history
}

#[tokio::test]
async fn gentle_stages_come_first_and_harsh_ones_late() {
    let at = |tokens| async move {
        let history = of(tokens);
        let context = prepare(&runtime(), &history).await;
        let view = HistoryView::new(&history, &ByteCounter);
        assert_eq!(view.total(), tokens as u64);
        (context.plans.len(), context.summary.is_some(), context.breakdown.history.tokens())
    };
    assert_eq!(at(799).await, (0, false, 799));
    assert_eq!(at(800).await, (1, false, 440));
    assert_eq!(at(930).await, (1, false, 570));
    // A summary is requested where shortening is not enough. The request can be sent without it.
    let history =
        [vec![ask("task")], (0..9).map(|i| reply(&i.to_string().repeat(100))).collect()].concat();
    let history = [history, vec![call("a"), result("a", "z".repeat(80)), reply("end")]].concat();
    let context = prepare(&runtime(), &history).await;
    assert_eq!(
        (context.plans.len(), context.summary.is_some(), context.fits()),
        (0, true, Some(true))
    );
    assert!(
        context.request.messages.iter().zip(&history).all(|(sent, given)| Arc::ptr_eq(sent, given))
    );
}

#[tokio::test]
async fn a_compaction_is_done_once_whichever_history_the_caller_goes_on_with() {
    let runtime = runtime();
    let mut history = of(850);
    let first = prepare(&runtime, &history).await;
    assert_eq!(first.boundaries[0].kind, BoundaryKind::Microcompact);
    assert_eq!(first.boundaries[0].retained_messages, history.len());
    assert!(first.plans[0].applied && codes(&first).contains(&"context_compacted"));
    let compacted = first.rewrite.clone().unwrap();
    assert_eq!(compacted.origins, (0..history.len()).map(Some).collect::<Vec<_>>());
    history.push(ask("go on"));
    let second = prepare(&runtime, &history).await;
    assert_eq!((second.plans.len(), second.boundaries.len()), (0, 1));
    assert!(second.request.messages.starts_with(&first.request.messages));
    assert!(second.prefix.intact && !codes(&second).contains(&"prefix_changed"));
    // The caller keeps the compacted history.
    let adopted: Vec<_> = [compacted.messages.to_vec(), vec![ask("go on"), reply("on")]].concat();
    let third = prepare(&runtime, &adopted).await;
    assert_eq!((third.rewrite, third.boundaries.len()), (None, 0));
    assert!(third.request.messages.starts_with(&first.request.messages) && third.prefix.intact);
    assert_eq!(third.breakdown.total().tokens(), HistoryView::new(&adopted, &ByteCounter).total());
}

/// A chat with an engine: the cuts come with the input, and the session keeps none.
#[tokio::test]
async fn cuts_that_the_caller_owns_are_not_remembered_twice() {
    let (runtime, mut history) = (runtime(), of(850));
    let mut given = input(&history);
    given.cuts = CutOwner::Caller;
    let first = runtime.prepare_for_model(given.clone()).await.unwrap();
    given.rewrite.clone_from(&first.rewrite);
    history.push(ask("go on"));
    given.request.messages = history.clone().into();
    let second = runtime.prepare_for_model(given).await.unwrap();
    assert_eq!((second.plans.len(), second.boundaries.len()), (0, 1));
    assert!(second.request.messages.starts_with(&first.request.messages));
    assert_eq!(second.rewrite.unwrap().covered, history.len());
    // Without the caller's cuts, the whole history is cut anew.
    let third = prepare(&runtime, &history).await;
    assert!(third.plans[0].applied);
}

/// After a refusal the caller cuts deeper than the session did.
#[tokio::test]
async fn a_session_takes_over_the_cuts_of_its_caller() {
    let (runtime, history) = (runtime(), of(600));
    let mut given = input(&history);
    given.rewrite = Some(HistoryRewrite::retain(&history, [0, history.len() - 1]));
    let first = runtime.prepare_for_model(given).await.unwrap();
    assert_eq!(first.request.messages.len(), 2);
    assert_eq!(prepare(&runtime, &history).await.request.messages, first.request.messages);
}

#[tokio::test]
async fn cuts_of_another_conversation_are_refused() {
    let (runtime, history) = (runtime(), of(600));
    let mut given = input(&history[1..]);
    given.rewrite = Some(HistoryRewrite::retain(&history, [0, history.len() - 1]));
    for runtime in [&runtime as &dyn ContextRuntime, &NullContextRuntime::default()] {
        let error = runtime.prepare_for_model(given.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    assert_eq!(prepare(&runtime, &history).await.rewrite, None, "nothing was taken over");
}

#[tokio::test]
async fn what_is_cached_is_not_given_up_for_little() {
    let stages = || [Stage::new(ShorteningPolicy)];
    let clock = HandClock::default();
    let runtime =
        builder().compaction(stages()).clock(clock.clone()).expected_calls(2).build().unwrap();
    // A short old result before much cached content.
    let mut history = vec![
        ask("task"),
        call("a"),
        result("a", "x".repeat(60)),
        call("b"),
        result("b", "x".repeat(20)),
    ];
    history.extend([ask(&"q".repeat(590)), reply(&"r".repeat(60))]);
    assert!(prepare(&runtime, &history).await.plans.is_empty());
    history.extend([call("c"), result("c", "y".repeat(40))]);
    let warm = prepare(&runtime, &history).await;
    assert_eq!(codes(&warm), ["compaction_not_worth"]);
    assert!(!warm.plans[0].applied && warm.plans[0].price.reread > 600, "{:?}", warm.plans);
    assert_eq!(warm.plans[0].reason, "it pays off after 157 calls");
    // Five minutes later nothing is cached any more.
    clock.advance(300);
    let cold = prepare(&runtime, &history).await;
    assert!(cold.plans[0].applied && cold.plans[0].price.reread == 0);
}

#[tokio::test]
async fn a_summary_stands_for_what_it_was_asked_for_and_what_came_meanwhile_stays() {
    let runtime = builder().compaction([Stage::new(SummaryPolicy)]).build().unwrap();
    let mut history = work(8, 102);
    history.push(reply("so far"));
    let context = prepare(&runtime, &history).await;
    let task = context.summary.unwrap();
    history.push(ask("hurry up"));
    let answer = Answer::new(Message::text(Role::Assistant, "what was done"));
    let accepted = runtime.accept_summary(&("ada", "s").into(), &history, &task, &answer).unwrap();
    assert_eq!(
        shown(&accepted.messages),
        [
            "user: what was done",
            "user: task",
            "assistant: call c6",
            "tool: result c6",
            "assistant: call c7",
            "tool: result c7",
            "assistant: so far",
            "user: hurry up"
        ]
    );
    assert_eq!(accepted.origins.last(), Some(&Some(history.len() - 1)));
    // The accepted history is used, once, and no diagnostic warns of the intended change.
    let next = prepare(&runtime, &history).await;
    assert_eq!(next.request.messages, accepted.messages);
    assert_eq!((codes(&next), next.boundaries.len()), (vec![], 1));
    assert!(next.summary.is_none());
    assert_eq!(
        runtime.accept_summary(&("ada", "s").into(), &history, &task, &answer),
        Err(SummaryError::NotAsked)
    );
}

#[tokio::test]
async fn a_summary_that_leaves_more_than_was_wanted_is_told_once() {
    let runtime = builder().compaction([Stage::new(SummaryPolicy)]).build().unwrap();
    let mut history = work(8, 102);
    history.push(reply("so far"));
    let task = prepare(&runtime, &history).await.summary.unwrap();
    let answer = Answer::new(Message::text(Role::Assistant, "s".repeat(400)));
    let _accepted = runtime.accept_summary(&("ada", "s").into(), &history, &task, &answer).unwrap();
    let next = prepare(&runtime, &history).await;
    let told: Vec<_> = next.diagnostics.iter().map(|told| told.message.as_str()).collect();
    assert_eq!(told, ["the history has 636 tokens, 600 were wanted"]);
    assert_eq!(codes(&next), ["compaction_target_not_reached"]);
    assert_eq!(codes(&prepare(&runtime, &history).await), Vec::<&str>::new());
}

#[cfg(feature = "summarize")]
#[tokio::test]
async fn a_summary_without_parts_that_each_has_is_taken_and_told_once() {
    let stage = Stage::new(context_runtime::summarize::Summarize::new());
    let runtime = builder().window(20_010).compaction([stage]).build().unwrap();
    let history = work(60, 300);
    let task = prepare(&runtime, &history).await.summary.unwrap();
    let text = "## Objective\nA train\n## Current state\nOne found\n## Remaining\nBook it";
    let answer = Answer::new(Message::text(Role::Assistant, text));
    let _accepted = runtime.accept_summary(&("ada", "s").into(), &history, &task, &answer).unwrap();
    let next = prepare(&runtime, &history).await;
    let told: Vec<_> = next.diagnostics.iter().map(|told| told.message.as_str()).collect();
    assert_eq!(told, ["the summary was accepted although it lacks Files and artifacts"]);
    assert_eq!(codes(&next), ["compact_summary_structure_weak"]);
    assert_eq!(codes(&prepare(&runtime, &history).await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_summary_that_fails_changes_nothing_and_is_not_asked_for_again_at_once() {
    let clock = HandClock::default();
    let runtime =
        builder().compaction([Stage::new(SummaryPolicy)]).clock(clock.clone()).build().unwrap();
    let mut history = work(8, 102);
    history.push(reply("so far"));
    let task = prepare(&runtime, &history).await.summary.unwrap();
    // The summary was ignored, so the next call asks again.
    assert!(prepare(&runtime, &history).await.summary.is_some());
    let mut broken = Answer::new(Message::text(Role::Assistant, "what w"));
    broken.complete = false;
    assert_eq!(
        runtime.accept_summary(&("ada", "s").into(), &history, &task, &broken),
        Err(SummaryError::CutOff)
    );
    let next = prepare(&runtime, &history).await;
    assert_eq!(
        (next.request.messages.to_vec(), next.fits(), codes(&next)),
        (history.clone(), Some(true), vec!["compact_summary_failed"])
    );
    assert!(next.summary.is_none());
    clock.advance(59);
    assert!(prepare(&runtime, &history).await.summary.is_none());
    clock.advance(1);
    assert!(prepare(&runtime, &history).await.summary.is_some());
    runtime.summary_failed(&("ada", "s").into());
    assert!(prepare(&runtime, &history).await.summary.is_none());
    // Another history is not the one that was summarized.
    assert_eq!(
        runtime.accept_summary(&("ada", "s").into(), &history[1..], &task, &broken),
        Err(SummaryError::Stale)
    );
}

#[tokio::test]
async fn the_head_is_cut_only_when_nothing_fits() {
    let long = |messages| {
        let mut history: Vec<_> = vec![ask("task")];
        history.extend((0..messages).map(|_| reply(&"r".repeat(99))));
        history.push(ask("next"));
        history
    };
    let runtime = builder().compaction([Stage::new(TruncateHead::new())]).build().unwrap();
    let full = prepare(&runtime, &long(9)).await;
    assert_eq!((full.plans.len(), full.fits()), (0, Some(true)));
    let over = prepare(&runtime, &long(30)).await;
    assert_eq!((over.plans.len(), over.fits()), (1, Some(true)));
    assert!(over.breakdown.total().tokens() <= 600);
    let said = shown(&over.request.messages);
    assert!(said.contains(&"user: task".to_owned()) && said.contains(&"user: next".to_owned()));
    let nothing = builder().build().unwrap();
    let nothing = prepare(&nothing, &long(30)).await;
    assert_eq!(
        (codes(&nothing), nothing.fits()),
        (vec!["context_overflow_after_emergency_compaction"], Some(false))
    );
}

#[tokio::test]
async fn compaction_that_goes_round_in_circles_stops_until_the_user_asks_for_something() {
    let runtime = builder().compaction([Stage::new(SingleRemovalPolicy)]).build().unwrap();
    let mut history = vec![ask("task")];
    history.extend((0..10).map(|i| reply(&format!("{i:092}"))));
    let mut stopped = Vec::new();
    for round in 10..15 {
        let context = prepare(&runtime, &history).await;
        stopped.push(codes(&context).contains(&"compaction_stopped"));
        // Fills what was freed.
        history = context.rewrite.map_or(history.clone(), |compacted| compacted.messages.into());
        history.push(reply(&format!("{round:092}")));
    }
    assert_eq!(stopped, [false, false, false, true, true]);
    history.push(ask("go on"));
    assert!(!codes(&prepare(&runtime, &history).await).contains(&"compaction_stopped"));
}

/// Regression: what was learned about a model was forgotten with the messages.
#[tokio::test]
async fn what_was_learned_of_a_model_survives_a_compaction() {
    let runtime = DefaultContextRuntime::builder()
        .window(2_000)
        .reserve(100)
        .compaction([Stage::new(ShorteningPolicy)]);
    let runtime = runtime.build().unwrap();
    let words = |id: &str| result(id, "Two tickets to Lisbon, please. ".repeat(60));
    let mut history = vec![ask("task"), call("a"), words("a"), call("b"), words("b")];
    let before = prepare(&runtime, &history).await;
    assert!(before.plans.is_empty());
    let mut usage = Usage::default();
    usage.input = before.breakdown.total().tokens() * 5 / 4;
    runtime.observe_usage(&("ada", "s").into(), &usage);
    let learned = runtime.calibrations();
    let factor = learned.get("claude-sonnet-4-5").factor();
    assert!((1.2..1.3).contains(&factor), "{factor}");
    history.extend([call("c"), words("c"), call("d"), words("d"), reply("so far")]);
    let after = prepare(&runtime, &history).await;
    let compacted = after.rewrite.as_ref().unwrap();
    assert!(after.plans[0].applied && compacted.messages.len() == history.len());
    assert_eq!(runtime.calibrations(), learned);
    let counter =
        context_runtime::tokens::ModelTable::builtin().model("claude-sonnet-4-5").counter();
    let counted = HistoryView::new(&compacted.messages, &counter).total() as f64;
    let reckoned = after.breakdown.history.tokens() as f64;
    assert!((reckoned / counted / factor - 1.0).abs() < 0.02, "{reckoned} of {counted}");
}

#[test]
fn a_pipeline_shows_what_it_would_do() {
    let history = of(500);
    let view = HistoryView::new(&history, &ByteCounter);
    let pipeline = Pipeline::new(stages()).unwrap();
    let budget = Budget::new(1_000, 0);
    let goal = Goal::new(budget, 0, budget.input());
    let planned = pipeline.run(&view, &goal);
    assert!(planned.steps.is_empty() && planned.rewrite.is_none());
    let mut cache = CacheState::default();
    cache.messages = history.len();
    let mut goal = Goal::new(budget, 0, 300).cache(cache);
    let planned = pipeline.clone().forced().run(&view, &goal);
    assert_eq!(planned.steps[0].plan.description, "4 results");
    assert_eq!(planned.steps[0].plan.saved(), 360);
    // The tokens that were cut count for the next stage.
    assert_eq!(planned.summary.is_some(), planned.after > 300);
    // A second run on the compacted history has nothing to do.
    let compacted: HistoryRewrite = planned.rewrite.unwrap();
    goal.target = budget.input();
    let again = pipeline.run(&HistoryView::new(&compacted.messages, &ByteCounter), &goal);
    assert!(again.steps.is_empty());
}

/// Each cut makes the provider read again what its cache had, so a large window is cut to less.
#[test]
fn by_default_a_large_window_is_cut_to_a_smaller_share() {
    let after = |stage: Stage, input: u64| {
        let turns = input as usize * 19 / 20 / 200;
        let messages = (0..turns).flat_map(|_| [ask(&"a".repeat(100)), reply(&"r".repeat(100))]);
        let history: Vec<_> = messages.collect();
        let goal = Goal::new(Budget::new(input, 0), 0, input);
        let view = HistoryView::new(&history, &ByteCounter);
        Pipeline::new([stage]).unwrap().run(&view, &goal).after
    };
    for (input, target) in
        [(8_000, 4_800), (16_000, 9_600), (24_000, 9_600), (32_000, 9_600), (100_000, 30_000)]
    {
        let after = after(Stage::new(Snip::new()), input);
        assert!((target - 500..=target).contains(&after), "{after} of {input}");
    }
    let after = after(Stage::new(Snip::new()).target(0.6), 100_000);
    assert!((59_500..=60_000).contains(&after), "{after} where the program has chosen");
}

/// A chat that is opened again, or went back, ends in calls that nobody answered. The results that
/// stand in for them have to fit with the first request, not only with the ones after it.
#[tokio::test]
async fn what_the_first_repair_adds_fits_too() {
    let mut history = work(6, 100);
    history.extend([call("open"), ask("go on")]);
    let filled = HistoryView::new(&history, &ByteCounter).total();
    history.insert(1, reply(&"z".repeat(usize::try_from(990 - filled).unwrap())));
    assert_eq!(HistoryView::new(&history, &ByteCounter).total(), 990);
    let truncates = builder().compaction([Stage::new(TruncateHead::new())]).build().unwrap();
    let context = prepare(&truncates, &history).await;
    assert_eq!((context.plans.len(), context.fits()), (1, Some(true)), "{context:?}");
    // Without an open call the same history fits as it is.
    history[14] = reply("open");
    let runtime = builder().compaction([Stage::new(TruncateHead::new())]).build().unwrap();
    let context = prepare(&runtime, &history).await;
    assert_eq!((context.plans.len(), context.fits()), (0, Some(true)));
}
