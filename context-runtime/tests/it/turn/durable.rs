//! What is stored when, and what another process finds.

use context_runtime::trajectory::TrajectoryNodeKind;
use context_runtime::{Turn, TurnOutcome};

use super::*;
use crate::kit::store;

#[tokio::test]
async fn a_question_is_stored_when_begin_returns() {
    let store = store().await;
    let agents = agents(&store, simulator(done));
    let mut chat = chat(&agents).await;
    let turn = chat.turn("Two tickets.").begin().await.unwrap();
    assert_eq!(stored(&store).await, ["user: Two tickets."]);
    assert_eq!(rounds(&store).await[0].len(), 1, "the question is recorded");
    turn.cancel().await.unwrap();
}

#[tokio::test]
async fn answers_and_results_are_stored_when_the_next_request_leaves() {
    let store = store().await;
    let model = simulator(asks_twice);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Weather?").tools([weather()]).begin().await.unwrap();
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    turn.received(reply.status, &reply.to_text());
    let calls = turn.tool_calls();
    assert_eq!(calls.len(), 2);
    turn.result(calls[1].result("rain"));
    turn.result(calls[0].result("sun"));
    assert!(turn.tool_calls().is_empty(), "both have a result");
    assert_eq!(stored(&store).await.len(), 1);

    assert!(turn.next().await.unwrap().is_some());
    let expected = ["user: Weather?", "assistant: I look.", "tool: sun | rain"];
    assert_eq!(stored(&store).await, expected, "in the order of the calls");
    turn.cancel().await.unwrap();
}

/// A process that is killed leaves a turn without an end. The next one sees it and goes on.
#[tokio::test]
async fn an_interrupted_turn_is_seen_continued_and_closed() {
    let store = store().await;
    let model = simulator(asks_twice);
    let first = agents(&store, model.clone());
    let mut chat = chat(&first).await;
    let mut turn = chat.turn("Weather?").tools([weather()]).begin().await.unwrap();
    let id = turn.id().clone();
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    turn.received(reply.status, &reply.to_text());
    drop(turn);
    drop((chat, first));

    let second = agents(&store, model.clone());
    let mut chat = super::chat(&second).await;
    let interrupted = chat.interrupted().await.unwrap().unwrap();
    assert_eq!((&interrupted.id, interrupted.open_calls.len()), (&id, 0));
    let mut turn = chat.resume().tools([weather()]).begin().await.unwrap();
    assert_eq!(turn.id(), &id);
    while let Some(request) = turn.next().await.unwrap() {
        let reply = model.send(request.body().as_str());
        turn.received(reply.status, &reply.to_text());
        for call in turn.tool_calls() {
            turn.result(call.result("sun"));
        }
    }
    assert_eq!(turn.finish().await.unwrap().text(), "2 cities.");
    assert!(chat.interrupted().await.unwrap().is_none());
    assert_eq!(states(&store).await, [RoundState::Closed], "the same round");
}

#[tokio::test]
async fn a_turn_that_nobody_ended_is_closed_by_the_next_one() {
    let store = store().await;
    let first = agents(&store, simulator(done));
    let mut chat = chat(&first).await;
    drop(chat.turn("Two tickets.").begin().await.unwrap());
    assert_eq!(states(&store).await, [RoundState::Open]);
    let answer = chat.ask("Are you there?").await.unwrap();
    assert_eq!(answer.text(), "Done.");
    assert_eq!(states(&store).await, [RoundState::Interrupted, RoundState::Closed]);
    assert_eq!(stored(&store).await.len(), 3, "both questions, one answer");
}

#[tokio::test]
async fn there_is_nothing_to_resume_in_an_empty_chat() {
    let store = store().await;
    let agents = agents(&store, simulator(done));
    let mut chat = chat(&agents).await;
    assert!(chat.interrupted().await.unwrap().is_none());
    let refused = chat.resume().begin().await.unwrap_err().to_string();
    assert!(refused.contains("no question to continue"), "{refused}");
}

/// Calls whose results were lost with the process come first: the program runs them again or not.
#[tokio::test]
async fn calls_that_an_interrupted_turn_left_are_answered_first() {
    for runs_again in [true, false] {
        let store = store().await;
        let model = simulator(asks_twice);
        let agents = agents(&store, model.clone());
        let mut chat = chat(&agents).await;
        let mut turn = chat.turn("Weather?").tools([weather()]).begin().await.unwrap();
        let request = turn.next().await.unwrap().unwrap();
        let reply = model.send(request.body().as_str());
        turn.received(reply.status, &reply.to_text());
        let call = turn.tool_calls().remove(0);
        drop(turn.agent(&call, "helper").await.unwrap()); // stores the answer
        drop(turn);

        let interrupted = chat.interrupted().await.unwrap().unwrap();
        assert_eq!(interrupted.open_calls.len(), 2);
        let mut turn = chat.resume().tools([weather()]).begin().await.unwrap();
        for call in turn.tool_calls().iter().filter(|_| runs_again) {
            turn.result(call.result("sun"));
        }
        while let Some(request) = turn.next().await.unwrap() {
            let reply = model.send(request.body().as_str());
            turn.received(reply.status, &reply.to_text());
        }
        assert_eq!(turn.finish().await.unwrap().text(), "2 cities.");
        let lost = "The turn was interrupted. It is not known whether the tool ran.";
        let expected = if runs_again { "sun | sun".to_owned() } else { format!("{lost} | {lost}") };
        assert_eq!(stored(&store).await[2], format!("tool: {expected}"));
        assert!(chat.interrupted().await.unwrap().is_none());
    }
}

/// A program whose loop is the library's continues with it, too: the tools that may have run are
/// not run again behind the user's back.
#[tokio::test]
async fn the_library_continues_an_interrupted_turn() {
    let store = store().await;
    let model = simulator(asks_twice);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Weather?").tools([weather()]).begin().await.unwrap();
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    turn.received(reply.status, &reply.to_text());
    let call = turn.tool_calls().remove(0);
    drop(turn.agent(&call, "helper").await.unwrap()); // stores the answer
    drop(turn);

    let never = context_runtime::ToolFunction::with_schema(weather(), |call| async move {
        call.error("ran again")
    });
    let answer = chat.resume().ask().tools([never]).await.unwrap();
    assert_eq!(answer.text(), "2 cities.");
    let stored = stored(&store).await;
    assert!(!stored[2].contains("ran again") && stored[2].contains("not known"), "{stored:?}");
    assert_eq!(states(&store).await, [RoundState::Closed]);
}

/// The process ended between the answer and the end of the turn: nothing is asked again.
#[tokio::test]
async fn a_turn_that_has_its_answer_is_only_finished() {
    let store = store().await;
    let model = simulator(done);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let answer = chat.ask("Hello?").await.unwrap();
    let mut turn = chat.resume().begin().await.unwrap();
    assert!(turn.next().await.unwrap().is_none());
    assert_eq!(turn.finish().await.unwrap().id, answer.id);
    assert_eq!(model.log().len(), 1);
}

/// A chat remembers the round that it closed and reads nothing before it begins the next. Another
/// process may have recorded in between.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn turns_of_two_processes_have_rounds_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("chats").display());
    let mut chats = Vec::new();
    for _ in 0..2 {
        let store = context_runtime::open(&url).await.unwrap();
        let model: Arc<dyn LanguageModel> = Arc::new(simulator(done));
        let agents = Agents::builder(store).client(model).build().unwrap();
        chats.push(chat(&agents).await);
    }
    for (at, question) in [(0, "One?"), (1, "Two?"), (0, "Three?"), (0, "Four?"), (1, "Five?")] {
        let answer = chats[at].ask(question).await.unwrap();
        assert!(answer.report.diagnostics.is_empty(), "{:?}", answer.report.diagnostics);
    }
    let rounds = rounds(chats[0].agents().store()).await;
    let asked: Vec<_> = rounds.iter().map(|round| round.nodes().next().unwrap()).collect();
    let asked: Vec<_> = asked.iter().map(|query| query.body.headline().to_string()).collect();
    assert_eq!(asked, ["One?", "Two?", "Three?", "Four?", "Five?"]);
    assert!(rounds.iter().all(|round| round.state() == RoundState::Closed && round.len() == 2));
}

/// Asks a question, and returns the turn once it has its answer.
async fn answered<'c>(chat: &'c mut AgentChat, model: &Simulator) -> Turn<'c> {
    let mut turn = chat.turn("Two tickets.").begin().await.unwrap();
    while let Some(request) = turn.next().await.unwrap() {
        let reply = model.send(request.body().as_str());
        turn.received(reply.status, &reply.to_text());
    }
    turn
}

/// The final answer is recorded with the end of the round. A turn that is dropped instead keeps
/// what is known of it.
#[tokio::test]
async fn the_answer_of_a_dropped_turn_is_recorded_by_the_next_one() {
    let store = store().await;
    let model = simulator(done);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    drop(answered(&mut chat, &model).await);
    chat.ask("Are you there?").await.unwrap();
    let rounds = rounds(&store).await;
    assert_eq!(states(&store).await, [RoundState::Interrupted, RoundState::Closed]);
    let answer = rounds[0].nodes().last().unwrap();
    assert_eq!(answer.kind(), TrajectoryNodeKind::Response);
    assert!(answer.measures.as_ref().unwrap().output_tokens.is_some());
}

/// Another process may close the round of a turn that only looks as if nobody would end it.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_turn_whose_round_another_process_wrote_to_is_recorded_once() {
    for resumes in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("chats").display());
        let model = simulator(done);
        let mut chats = Vec::new();
        for _ in 0..2 {
            let store = context_runtime::open(&url).await.unwrap();
            let client: Arc<dyn LanguageModel> = Arc::new(model.clone());
            chats.push(chat(&Agents::builder(store).client(client).build().unwrap()).await);
        }
        let [one, other] = &mut chats[..] else { unreachable!() };
        let turn = answered(one, &model).await;
        if resumes {
            other.resume().begin().await.unwrap().finish().await.unwrap();
        } else {
            other.ask("Are you there?").await.unwrap();
        }
        let answer = turn.finish().await.unwrap();
        assert!(answer.report.diagnostics.is_empty(), "{:?}", answer.report.diagnostics);
        let round = rounds(other.agents().store()).await.remove(0);
        let kinds: Vec<_> = round.nodes().map(|node| node.kind()).collect();
        assert_eq!(kinds, [TrajectoryNodeKind::Query, TrajectoryNodeKind::Response]);
        assert_eq!(round.state(), RoundState::Closed);
    }
}

/// A server of which every request may reach another process: each step of a turn is made by
/// agents that know nothing of the step before.
#[tokio::test]
async fn a_turn_is_continued_by_another_process_after_every_step() {
    let store = store().await;
    let model = simulator(asks_twice);
    // Ids of their own, as processes have.
    let process = || builder(&store).ids(context_runtime::Uuid7Ids).build().unwrap();
    let first = process();
    let mut asked = chat(&first).await;
    let mut turn = asked.turn("Weather?").id("q-1").tools([weather()]).begin().await.unwrap();
    assert_eq!(turn.id().as_str(), "q-1");
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    assert_eq!(turn.suspend().await.unwrap().outcome, TurnOutcome::Open);

    let second = process();
    let mut answered = chat(&second).await;
    let mut turn = answered.resume().tools([weather()]).begin().await.unwrap();
    let again = turn.next().await.unwrap().unwrap();
    assert_eq!(again.body(), request.body(), "the same request is prepared again");
    turn.received(reply.status, &reply.to_text());
    let calls = turn.tool_calls();
    assert_eq!(calls.len(), 2);
    turn.result(calls[1].result("rain"));
    turn.suspend().await.unwrap();
    assert_eq!(stored(&store).await, ["user: Weather?", "assistant: I look.", "tool: rain"]);

    let third = process();
    let mut resumed = chat(&third).await;
    let left = resumed.interrupted().await.unwrap().unwrap();
    assert_eq!(left.open_calls, [calls[0].clone()]);
    let mut turn = resumed.resume().tools([weather()]).begin().await.unwrap();
    turn.result(calls[0].result("sun"));
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    turn.received(reply.status, &reply.to_text());
    assert!(turn.next().await.unwrap().is_none());
    turn.suspend().await.unwrap();
    assert_eq!(states(&store).await, [RoundState::Open]);

    let fourth = process();
    let mut ended = chat(&fourth).await;
    let mut turn = ended.resume().begin().await.unwrap();
    assert!(turn.next().await.unwrap().is_none());
    assert_eq!(turn.finish().await.unwrap().text(), "2 cities.");
    assert_eq!(states(&store).await, [RoundState::Closed], "one round");
    let nodes = rounds(&store).await;
    let actions = nodes[0].nodes().filter(|node| node.kind() == TrajectoryNodeKind::Action);
    assert_eq!(actions.count(), 2, "each call is recorded once");
}

/// Regression test: the result of a call that a continued turn gives is in another message than the
/// one that its action is linked to, and stayed in the round when that message was redacted.
#[tokio::test]
async fn a_redacted_result_of_a_continued_turn_leaves_the_round() {
    let store = store().await;
    let model = simulator(asks_twice);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Weather?").tools([weather()]).begin().await.unwrap();
    let request = turn.next().await.unwrap().unwrap();
    let reply = model.send(request.body().as_str());
    turn.received(reply.status, &reply.to_text());
    let calls = turn.tool_calls();
    turn.result(calls[1].result("quetzal"));
    turn.suspend().await.unwrap();
    let mut turn = chat.resume().tools([weather()]).begin().await.unwrap();
    turn.result(calls[0].result("pangolin"));
    assert!(turn.next().await.unwrap().is_some());
    turn.cancel().await.unwrap();
    let recorded = async || {
        let records: Vec<_> = rounds(&store).await.iter().map(|round| round.to_record()).collect();
        serde_json::to_string(&records).unwrap()
    };
    assert!(recorded().await.contains("quetzal") && recorded().await.contains("pangolin"));

    let nodes = chat.engine().graph().await.unwrap().nodes;
    let newest = nodes.iter().rfind(|placed| placed.node.role() == Some(Role::Tool)).unwrap();
    let id = newest.node.id.clone();
    chat.engine_mut().redact(&id).await.unwrap();
    assert!(recorded().await.contains("quetzal"));
    assert!(!recorded().await.contains("pangolin"));
}

/// Regression test: a removal wrote to the round of a dropped turn, which was still in memory. The
/// next turn could not close it, and was not recorded.
#[tokio::test]
async fn a_turn_after_a_redacted_one_that_was_dropped_is_recorded() {
    let store = store().await;
    let agents = agents(&store, simulator(done));
    let mut chat = chat(&agents).await;
    let dropped = chat.turn("Hello?").begin().await.unwrap();
    let question = dropped.id().clone();
    drop(dropped);
    chat.engine_mut().redact(&question).await.unwrap();
    let answer = chat.ask("And now?").await.unwrap();
    assert_eq!(answer.report.diagnostics, []);
    assert_eq!(states(&store).await, [RoundState::Interrupted, RoundState::Closed]);
}

/// A program that waits itself is told how long.
#[tokio::test]
async fn a_call_that_does_not_sleep_names_the_wait() {
    let store = store().await;
    let agents = agents(&store, simulator(done));
    let mut chat = chat(&agents).await;
    let calls = CallOptions::new().sleep(false);
    let mut turn = chat.turn("Hello?").calls(calls).begin().await.unwrap();
    let first = turn.next().await.unwrap().unwrap();
    assert!(first.wait.is_zero());
    turn.received(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#);
    let again = turn.next().await.unwrap().unwrap();
    assert_eq!((again.number, again.wait), (2, std::time::Duration::from_secs(1)));
    turn.cancel().await.unwrap();
}
