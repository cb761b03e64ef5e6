//! Omissions of a program are reported once, with the method to call.

use std::sync::Arc;

use context_runtime::memory::episodic;
use context_runtime::trajectory::{AgentRef, RoundState, Trajectories};
use context_runtime::{ContextRuntime, DefaultContextRuntime, RuntimeFaults, user};

use crate::kit::{builder, engine, say, store};
use crate::runtime_kit::HandClock;
use crate::two_users::Traces;

/// Returns the warnings that were logged.
async fn warned(of: impl AsyncFnOnce()) -> Vec<String> {
    let traces = Traces::default();
    let guard = tracing::subscriber::set_default(traces.clone());
    of().await;
    drop(guard);
    traces.lines().into_iter().filter(|line| line.starts_with("WARN")).collect()
}

#[tokio::test]
async fn an_engine_that_is_dropped_with_pending_messages_says_so_once_and_not_what_they_say() {
    let store = store().await;
    let told = warned(async || {
        let mut chat = engine(&store).await;
        chat.set([say("m1", "a secret"), say("m2", "another")]);
        let _turn = chat.resolve().await.unwrap();
    });
    let told = told.await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("call `save`")
            && told[0].contains("messages=2")
            && told[0].contains("chat=c")
    );
    assert!(!told[0].contains("secret"));

    let told = warned(async || {
        let mut chat = engine(&store).await;
        chat.set([say("m1", "said"), say("m2", "not meant")]);
        assert!(chat.unset(&"m2".into()).await.unwrap());
        let _saved = chat.save().await.unwrap();
        chat.set([say("m3", "for one prompt").transient()]);
        drop(chat);
        let _turn = builder(&store).open().await.unwrap().resolve().await.unwrap();
    });
    assert_eq!(told.await, Vec::<String>::new());
}

#[tokio::test]
async fn a_turn_that_was_captured_and_never_saved_is_told_of() {
    let store = store().await;
    let memory = episodic(&store).unwrap();
    let runtime = DefaultContextRuntime::builder().window(10_000).memory(memory).build().unwrap();
    for saves in [false, true] {
        let told = warned(async || {
            let mut chat = engine(&store).await;
            chat.set([user(format!("My cat is called Tom: {saves}."))]);
            let turn = chat.resolve().await.unwrap();
            assert_eq!(runtime.capture_turn(turn.capture()).await.unwrap(), []);
            runtime.flush().await.unwrap();
            if saves {
                let _saved = chat.save().await.unwrap();
            }
        });
        let told = told.await;
        let of_capture =
            told.iter().filter(|line| line.contains("call `save` before `capture_turn`")).count();
        assert_eq!((told.len(), of_capture), if saves { (0, 0) } else { (2, 1) }, "{told:?}");
    }
}

#[tokio::test]
async fn a_memory_that_is_dropped_before_it_kept_its_turns_says_so_once() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("m1", "My cat is called Tom.")]);
    let _saved = chat.save().await.unwrap();
    let turn = chat.resolve().await.unwrap();
    for flushes in [false, true] {
        let told = warned(async || {
            let memory = episodic(&store).unwrap();
            let runtime =
                DefaultContextRuntime::builder().window(10_000).memory(memory).build().unwrap();
            assert_eq!(runtime.capture_turn(turn.capture()).await.unwrap(), []);
            if flushes {
                runtime.flush().await.unwrap();
            }
        });
        let told = told.await;
        assert_eq!(told.len(), usize::from(!flushes), "{told:?}");
        assert!(told.iter().all(|line| line.contains("call `flush`") && line.contains("turns=1")));
    }
}

#[tokio::test]
async fn a_writer_of_an_answer_that_is_dropped_with_chunks_says_so_once() {
    let store = store().await;
    let chat = builder(&store).open().await.unwrap();
    for (id, flushes) in [("lost", false), ("kept", true)] {
        let told = warned(async || {
            let mut answer = chat.streams().write(id, Default::default()).await.unwrap();
            let _demand = answer.push("a secret").await.unwrap();
            if flushes {
                let _demand = answer.flush().await.unwrap();
            }
        });
        let told = told.await;
        assert_eq!(told.len(), usize::from(!flushes), "{told:?}");
        assert!(told.iter().all(|line| line.contains("chunks=1") && !line.contains("secret")));
    }
}

#[tokio::test]
async fn a_round_that_is_dropped_open_says_so_once() {
    let store = store().await;
    let trajectories = Trajectories::new(store).unwrap();
    let agent = AgentRef::main("ada", "lisbon");
    let told = warned(async || {
        let round = trajectories.begin(&agent).await.unwrap();
        round.ask("Where is it warm?").await.unwrap();
        let (clone, name) = (round.clone(), round.reference().clone());
        drop(round);
        clone.set_state(RoundState::Open).await.unwrap();
        drop(clone);
        let again = trajectories.open(&name, Default::default()).await.unwrap();
        drop(again);
    });
    let told = told.await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("call `finish`")
            && told[0].contains("round 0 of agent 0 of session lisbon")
    );

    let told = warned(async || {
        let round = trajectories.begin(&agent).await.unwrap();
        round.ask("And cheap?").await.unwrap();
        round.finish().await.unwrap();
        // Nothing was recorded in this round.
        let _empty = trajectories.begin(&agent).await.unwrap();
    });
    assert_eq!(told.await, Vec::<String>::new());
}

#[tokio::test]
async fn a_round_that_nobody_finished_is_shown_as_interrupted() {
    let (store, clock) = (store().await, HandClock::default());
    let trajectories = Trajectories::builder(store).clock(Arc::new(clock.clone())).build().unwrap();
    let agent = AgentRef::main("ada", "lisbon");
    for question in ["Where is it warm?", "And cheap?"] {
        trajectories.begin(&agent).await.unwrap().ask(question).await.unwrap();
    }
    let shown = async || {
        let graph = trajectories.graph("ada", "lisbon").await.unwrap();
        graph
            .agents()
            .flat_map(|agent| agent.rounds())
            .map(|round| round.state())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown().await, [RoundState::Interrupted, RoundState::Open], "a later one has begun");
    clock.advance(3_599);
    assert_eq!(shown().await[1], RoundState::Open);
    clock.advance(1);
    assert_eq!(shown().await[1], RoundState::Interrupted, "nothing was written for an hour");
    let goes_on = trajectories.open(&agent.round(1), Default::default()).await.unwrap();
    goes_on.set_state(RoundState::Closed).await.unwrap();
    assert_eq!(shown().await, [RoundState::Interrupted, RoundState::Closed]);
}

fn refused(faults: Result<DefaultContextRuntime, RuntimeFaults>) -> String {
    // The output of a `main` that returns this error.
    format!("{:?}", faults.unwrap_err())
}

#[test]
fn a_runtime_that_would_fail_later_is_not_built() {
    let builder = DefaultContextRuntime::builder;
    assert_eq!(
        refused(builder().model("nobody-knows").user("").build()),
        "the parts of the runtime are invalid: the user may not be empty: name one, or leave `user` out; the window of the model nobody-knows \
         is not known: set `window`, or give a table of `models` that has it"
    );
    assert!(refused(builder().model(" ").build()).contains("the model may not be empty"));
    assert!(
        refused(builder().model("gpt-4o").agent("").build()).contains("the agent may not be empty")
    );
    assert!(builder().model("nobody-knows").window(8_000).build().is_ok());
    assert!(builder().build().is_ok(), "inputs name their models");
}
