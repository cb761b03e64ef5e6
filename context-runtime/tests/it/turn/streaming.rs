//! Answers as they come: deltas, the stream of a turn, broken streams.

use context_runtime::model::AnswerDelta;
use context_runtime::store::StreamState;
use context_runtime::streams::WriteOptions;
use context_runtime::{CancelSource, DecisionSet, ModelCall, PrepareInput, RecoveryChain};

use super::*;
use crate::kit::store;

/// Reads the stream of a turn, as another process would.
async fn followed(chat: &AgentChat, turn: &str) -> Vec<AnswerDelta> {
    let mut reader = chat.engine().streams().follow(turn, 0);
    let mut deltas = Vec::new();
    while let Ok(Some(chunk)) = reader.next().await {
        deltas.push(serde_json::from_slice(&chunk.bytes).unwrap());
    }
    deltas
}

fn text(deltas: &[AnswerDelta]) -> String {
    let pieces = deltas.iter().filter_map(|delta| match delta {
        AnswerDelta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

#[tokio::test]
async fn an_answer_is_heard_as_it_comes_and_kept_for_other_readers() {
    let store = store().await;
    let agents = agents(&store, simulator(asks_twice));
    let mut chat = chat(&agents).await;
    let mut pieces = Vec::new();
    let functions = [context_runtime::ToolFunction::with_schema(weather(), |call| async move {
        call.result("sun")
    })];
    let answer = chat
        .ask("Weather?")
        .tools(functions)
        .on_delta(|delta| pieces.push(delta.clone()))
        .await
        .unwrap();
    assert_eq!(text(&pieces), "I look.2 cities.");
    let calls = pieces.iter().filter(|delta| matches!(delta, AnswerDelta::ToolCall { .. })).count();
    assert_eq!((answer.text().as_ref(), calls), ("2 cities.", 2));

    assert_eq!(followed(&chat, answer.turn.as_str()).await, pieces);
    let stream = chat.engine().streams().get(answer.turn.as_str()).await.unwrap().unwrap();
    assert_eq!(stream.state, StreamState::Completed);
}

/// Regression test: the words of a short answer stayed in the stream of its turn, since they were
/// searched for there and run into those of the next answer.
#[tokio::test]
async fn a_redacted_answer_takes_the_stream_of_its_turn_along() {
    let store = store().await;
    let agents = agents(&store, simulator(asks_twice));
    let mut chat = chat(&agents).await;
    let functions = [context_runtime::ToolFunction::with_schema(weather(), |call| async move {
        call.result("sun")
    })];
    let answer = chat.ask("Weather?").tools(functions).on_delta(|_| ()).await.unwrap();
    let nodes = chat.engine().graph().await.unwrap().nodes;
    let first = nodes.iter().find(|placed| placed.node.role() == Some(Role::Assistant)).unwrap();
    let id = first.node.id.clone();
    assert_ne!(id, answer.id);
    let report = chat.engine_mut().redact(&id).await.unwrap();
    assert_eq!(report.streams, 1);
    assert!(chat.engine().streams().get(answer.turn.as_str()).await.unwrap().is_none());
}

/// The same events, whichever way they are read.
#[tokio::test]
async fn a_program_hands_over_the_events_of_its_own_client() {
    for name in ["openai", "openai-responses", "anthropic", "gemini"] {
        let store = store().await;
        let codec = provider(name).unwrap();
        let counter = Arc::new(ModelCounter::for_model(MODEL));
        let model = Simulator::new(Arc::clone(&codec), counter).window(200_000).behaviour(done);
        let agents = builder(&store).provider(codec).build().unwrap();
        let mut chat = chat(&agents).await;
        let mut turn = chat.turn("Hello?").begin().await.unwrap();
        let mut heard = Vec::new();
        while let Some(request) = turn.next().await.unwrap() {
            let reply = model.stream(request.body().as_str());
            let context_simulator::ReplyContent::Events(events) = reply.content else {
                panic!("{name} does not stream")
            };
            for event in events {
                heard.extend(turn.event(&event).await.unwrap());
            }
        }
        let answer = turn.finish().await.unwrap();
        assert_eq!((answer.text().as_ref(), text(&heard).as_str()), ("Done.", "Done."), "{name}");
        assert!(!answer.is_incomplete());
    }
}

#[tokio::test]
async fn a_broken_stream_is_requested_again_and_listeners_are_told() {
    let store = store().await;
    let faults = [ProviderFault::BrokenStream { after_events: 4 }];
    let says = |_: &ModelRequest| vec![AnswerPiece::text("One two three four five six.")];
    let agents = agents(&store, faulty(faults, says));
    let mut chat = chat(&agents).await;
    let mut pieces = Vec::new();
    let answer = chat.ask("Count.").on_delta(|delta| pieces.push(delta.clone())).await.unwrap();
    assert_eq!(
        (answer.text().as_ref(), answer.report.retries),
        ("One two three four five six.", 1)
    );
    assert!(!answer.is_incomplete());
    let restart = pieces.iter().position(|delta| *delta == AnswerDelta::Restarted).unwrap();
    assert!(restart > 0);
    assert_eq!(text(&pieces[restart..]), "One two three four five six.");
    assert_eq!(answer.report.attempts[0].decision.kind().as_str(), "retry_unchanged");
}

#[tokio::test]
async fn a_stream_that_keeps_breaking_ends_as_an_incomplete_answer() {
    let store = store().await;
    let faults = [ProviderFault::BrokenStream { after_events: 4 }];
    let says = |_: &ModelRequest| vec![AnswerPiece::text("One two three four five six.")];
    let model: Arc<dyn LanguageModel> = Arc::new(faulty(faults, says));
    let once = RecoveryChain::new(DecisionSet::Full).broken_retries(0);
    let agents = builder(&store).client(model).recovery(once).build().unwrap();
    let mut chat = chat(&agents).await;
    let answer = chat.ask("Count.").on_text(|_| ()).await.unwrap();
    assert!(answer.is_incomplete() && answer.text().starts_with("One"), "{answer}");
    assert_eq!(answer.report.attempts[0].decision.kind().as_str(), "accept_partial");
    assert_eq!(answer.report.calls, 1);
}

/// Another process may end a turn through its stream.
#[tokio::test]
async fn a_reader_cancels_a_turn_through_its_stream() {
    let store = store().await;
    let model = simulator(done);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Hello?").begin().await.unwrap();
    let (id, streams) = (turn.id().clone(), turn.engine().streams());
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.stream(request.body().as_str());
    let context_simulator::ReplyContent::Events(events) = reply.content else { panic!() };
    let mut ended = None;
    let mut cancelled = false;
    for event in events {
        match turn.event(&event).await {
            Ok(deltas) if !deltas.is_empty() && !cancelled => {
                streams.cancel(id.as_str()).await.unwrap();
                cancelled = true;
                // The request is seen with the next write.
                let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"."}}"#;
                for _ in 0..30 {
                    if let Err(error) = turn.event(piece).await {
                        ended = Some(error);
                        break;
                    }
                }
            }
            Ok(_) => {}
            Err(error) => ended = ended.or(Some(error)),
        }
    }
    assert!(ended.unwrap().is_cancelled());
    drop(turn);
    assert_eq!(states(&store).await, [RoundState::Interrupted]);
}

#[tokio::test]
async fn a_call_streams_for_those_who_own_their_loop() {
    let runtime = context_runtime::DefaultContextRuntime::builder().model(MODEL).build().unwrap();
    let model = faulty([ProviderFault::BrokenStream { after_events: 4 }], asks_twice);
    let input = PrepareInput::new(("ada", "c"), "t", "anthropic", MODEL)
        .messages([context_runtime::Message::from("Weather?")])
        .tools([weather()]);
    let options = CallOptions::new().first_wait(std::time::Duration::ZERO);
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), input).options(options);
    let mut pieces = Vec::new();
    let answer = call.run_streaming(&model, &mut |delta| pieces.push(delta)).await.unwrap();
    assert_eq!(answer.message.tool_calls().count(), 2);
    let restart = pieces.iter().position(|delta| *delta == AnswerDelta::Restarted).unwrap();
    assert_eq!(text(&pieces[restart..]), "I look.");
    assert!(call.usage().output > 0 && call.cost_usd().is_some());
}

#[tokio::test]
async fn a_cancelled_turn_says_so_in_its_stream() {
    let store = store().await;
    let source = CancelSource::new();
    let signal = source.signal();
    let agents = agents(&store, simulator(asks_twice));
    let mut chat = chat(&agents).await;
    let functions = [context_runtime::ToolFunction::with_schema(weather(), move |call| {
        source.cancel();
        async move { call.result("sun") }
    })];
    let asked = chat.ask("Weather?").tools(functions).on_text(|_| ()).cancel(signal).await;
    assert!(asked.unwrap_err().is_cancelled());
    let question = chat.engine_mut().first_user_message().await.unwrap().unwrap();
    let stream = chat.engine().streams().get(question.id.as_str()).await.unwrap().unwrap();
    assert_eq!(stream.state, StreamState::Cancelled);
}

/// A process died in the middle of an answer. Nobody stored the part, so its deltas must not stand
/// in front of the answer that a reader of the continued turn gets.
#[tokio::test]
async fn the_stream_of_a_continued_turn_begins_anew() {
    for ended in [false, true] {
        let store = store().await;
        let model = simulator(done);
        let agents = agents(&store, model.clone());
        let mut chat = chat(&agents).await;
        let streams = chat.engine().streams();
        let mut turn = chat.turn("Hello?").begin().await.unwrap();
        let id = turn.id().clone();
        let request = turn.next().await.unwrap().unwrap();
        let reply = model.stream(request.body().as_str());
        let context_simulator::ReplyContent::Events(events) = reply.content else { panic!() };
        for event in &events[..events.len() - 2] {
            turn.event(event).await.unwrap();
        }
        match ended {
            true => drop(turn.cancel().await.unwrap()),
            false => drop(turn),
        }
        let before = streams.get(id.as_str()).await.unwrap().unwrap();
        assert_eq!(before.state.is_final(), ended);

        let mut pieces = Vec::new();
        let resumed = chat.resume().ask().on_delta(|delta| pieces.push(delta.clone()));
        let answer = resumed.await.unwrap();
        assert_eq!((&answer.turn, answer.text().as_ref()), (&id, "Done."));
        assert!(answer.report.diagnostics.is_empty(), "{:?}", answer.report.diagnostics);
        assert_eq!(followed(&chat, id.as_str()).await, pieces);
        let after = streams.get(id.as_str()).await.unwrap().unwrap();
        assert_eq!((after.run, after.state), (before.run + 1, StreamState::Completed));
    }
}

/// The answer does not depend on its stream, and nothing is lost in silence.
#[tokio::test]
async fn a_stream_that_somebody_else_writes_is_reported() {
    let store = store().await;
    let model = simulator(done);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Hello?").begin().await.unwrap();
    let streams = turn.engine().streams();
    let other = streams.write(turn.id().as_str(), WriteOptions::default()).await.unwrap();
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.stream(request.body().as_str());
    let context_simulator::ReplyContent::Events(events) = reply.content else { panic!() };
    for event in events {
        turn.event(&event).await.unwrap();
    }
    let answer = turn.finish().await.unwrap();
    assert_eq!(answer.text(), "Done.");
    let [diagnostic] = &answer.report.diagnostics[..] else { panic!("{:?}", answer.report) };
    assert_eq!(diagnostic.code.as_str(), "stream_not_written");
    assert!(diagnostic.message.contains("belongs to another writer"), "{diagnostic}");
    drop(other);
}
