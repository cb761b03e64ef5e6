//! The ways out of a turn: one order, whichever it is.

use std::time::Duration;

use context_runtime::memory::{MemoryScope, episodic};
use context_runtime::{
    CancelSource, HistoryTools, ToolFunction, TurnError, TurnLimits, TurnOutcome,
};

use super::*;
use crate::kit::{shown, store};
use crate::runtime_kit::FixedMemory;

#[tokio::test]
async fn a_cancelled_turn_leaves_a_valid_history_and_says_what_was_not_done() {
    let store = store().await;
    let model = simulator(asks_twice);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Weather?").tools([weather()]).begin().await.unwrap();
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    turn.received(reply.status, &reply.to_text());
    let first = turn.tool_calls().remove(0);
    turn.result(first.result("sun"));
    let report = turn.cancel().await.unwrap();
    assert_eq!(
        (report.outcome, &*report.not_run),
        (TurnOutcome::Interrupted, &["weather".to_owned()][..])
    );
    let expected = ["user: Weather?", "assistant: I look.", "tool: sun | The tool was not run."];
    assert_eq!(stored(&store).await, expected);
    assert_eq!(states(&store).await, [RoundState::Interrupted]);
    // The provider accepts what was left.
    assert_eq!(chat.ask("And now?").await.unwrap().text(), "2 cities.");
}

/// Regression test: a turn whose newest request was refused or not answered forgot what the
/// requests before it had cost.
#[tokio::test]
async fn a_request_without_an_answer_leaves_the_cost_of_the_others_known() {
    let store = store().await;
    let model = simulator(asks_twice);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Weather?").tools([weather()]).begin().await.unwrap();
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    turn.received(reply.status, &reply.to_text());
    for call in turn.tool_calls() {
        turn.result(call.result("sun"));
    }
    assert!(turn.next().await.unwrap().is_some());
    let known = turn.report().cost_usd;
    turn.received(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#);
    let report = turn.cancel().await.unwrap();
    assert!(report.cost_usd.is_some_and(|cost| cost > 0.0), "{report:?}");
    assert_eq!((report.cost_usd, report.calls), (known, 2));
}

#[tokio::test]
async fn a_signal_cancels_a_turn_between_two_requests() {
    let store = store().await;
    let source = CancelSource::new();
    let agents = agents(&store, simulator(done));
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Hello?").cancel(source.signal()).begin().await.unwrap();
    source.cancel();
    assert!(turn.next().await.unwrap_err().is_cancelled());
    assert!(turn.next().await.unwrap().is_none(), "the turn has ended");
    assert!(matches!(turn.finish().await, Err(TurnError::Unanswered)));
    assert_eq!(states(&store).await, [RoundState::Interrupted]);
}

#[tokio::test]
async fn a_refusal_that_nothing_helps_ends_the_turn_in_order() {
    let store = store().await;
    let model = faulty([ProviderFault::SignatureRefused; 9], done);
    let agents = agents(&store, model);
    let mut chat = chat(&agents).await;
    let failed = chat.ask("Hello?").await.unwrap_err();
    assert!(matches!(failed, TurnError::Call(_)), "{failed}");
    assert_eq!(stored(&store).await, ["user: Hello?"]);
    assert_eq!(states(&store).await, [RoundState::Interrupted]);
}

#[tokio::test]
async fn a_turn_is_bounded_in_steps_calls_and_time() {
    let endless = |_: &ModelRequest| vec![AnswerPiece::call("weather", json!({}))];
    let tool = || {
        [context_runtime::ToolFunction::with_schema(
            weather(),
            |call| async move { call.result("sun") },
        )]
    };
    let limits = [
        (TurnLimits::new().steps(3), "the turn reached its limit of 3 steps"),
        (TurnLimits::new().calls(2), "the turn reached its limit of 2 calls"),
        (TurnLimits::new().time(Duration::ZERO), "the turn reached its limit of 0 seconds"),
    ];
    for (limits, expected) in limits {
        let store = store().await;
        let agents = agents(&store, simulator(endless));
        let mut chat = chat(&agents).await;
        let failed = chat.ask("Go.").tools(tool()).limits(limits).await.unwrap_err();
        assert_eq!(failed.to_string(), expected);
        assert_eq!(states(&store).await, [RoundState::Interrupted]);
        assert!(chat.interrupted().await.unwrap().is_some(), "it can be resumed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_ends_with_the_time_of_the_turn() {
    let store = store().await;
    let agents = agents(&store, simulator(asks_twice));
    let mut chat = chat(&agents).await;
    let tool = [context_runtime::ToolFunction::with_schema(weather(), |call| async move {
        std::future::pending::<()>().await;
        call.result("never")
    })];
    let limits = TurnLimits::new().time(Duration::from_secs(60));
    let failed = chat.ask("Go.").tools(tool).limits(limits).await.unwrap_err();
    assert_eq!(failed.to_string(), "the turn reached its limit of 60 seconds");
    assert_eq!(stored(&store).await[2], "tool: The tool was not run. | The tool was not run.");
}

/// The memory captures a turn once, whichever way it ended.
#[tokio::test]
async fn a_memory_captures_a_turn_once() {
    for faults in [0, 9] {
        let store = store().await;
        let model: Arc<dyn LanguageModel> =
            Arc::new(faulty(vec![ProviderFault::SignatureRefused; faults], done));
        let agents =
            builder(&store).client(model).memory(episodic(&store).unwrap()).build().unwrap();
        let mut chat = chat(&agents).await;
        let asked = chat.ask("I get seasick on ferries.").await;
        assert_eq!(asked.is_ok(), faults == 0);
        agents.runtime().flush().await.unwrap();
        let records = store.memories().unwrap();
        let list = context_runtime::store::MemoryList::new(
            vec![MemoryScope::new("ada").session("lisbon"), MemoryScope::new("ada")],
            100,
        );
        let memories = records.list_memories(&list).await.unwrap().items;
        let about = memories.iter().filter(|memory| memory.record.text.contains("seasick")).count();
        assert_eq!(about, 1, "{memories:?}");
    }
}

/// A long turn is compacted half-way: its first steps are in no later prompt, and in the memory.
#[tokio::test]
async fn what_a_cut_takes_out_of_the_window_within_a_turn_is_captured_once() {
    const STEPS: usize = 6;
    let says = |request: &ModelRequest| {
        let said =
            |text: &str| request.messages.iter().any(|message| message.plain_text().contains(text));
        let results = request.messages.iter().flat_map(|message| message.tool_results()).count();
        let words = "It was a long way. ".repeat(40);
        match results {
            _ if request.tools.is_empty() => vec![AnswerPiece::text(
                "## Objective\nA trip\n## Current state\nOpen\n## Remaining\nBook\n## Files and artifacts\nNone",
            )],
            _ if said("And now?") || said("## Objective") => vec![AnswerPiece::text("Done.")],
            n if n < STEPS => vec![
                AnswerPiece::text(format!("Step {n}. {words}")),
                AnswerPiece::call("weather", json!({})),
            ],
            _ => vec![AnswerPiece::call(HistoryTools::COMPACT, json!({"instructions": ""}))],
        }
    };
    let (store, memory) = (store().await, Arc::new(FixedMemory::default()));
    let agents = builder(&store).history_tools(true).client(Arc::new(simulator(says)));
    let agents = agents.memory(Arc::clone(&memory)).build().unwrap();
    let mut chat = chat(&agents).await;
    let tool = ToolFunction::with_schema(weather(), |call| async move { call.result("sun") });
    let answer = chat.ask("Plan a trip.").tools([tool]).await.unwrap();
    assert_eq!(answer.text(), "Done.");
    let left = shown(chat.engine_mut()).await;
    assert!(!left.iter().any(|line| line.contains("Step 0")), "it was cut: {left:?}");
    chat.ask("And now?").await.unwrap();

    let captured = memory.captured.lock().unwrap();
    let texts = |at: usize| -> Vec<_> { captured[at].iter().collect() };
    for step in 0..STEPS {
        let text = format!("Step {step}.");
        let times = captured.iter().flatten().filter(|line| line.contains(&text)).count();
        assert_eq!(times, 1, "{text} in {captured:?}");
    }
    assert!(texts(0)[0].contains("Plan a trip.") && texts(0).last().unwrap().contains("Done."));
    assert_eq!((captured.len(), texts(1).len()), (2, 2), "{captured:?}");
}
