//! Message, node, usage, cost, times and cuts name each other.

use context_runtime::trajectory::{TrajectoryNodeKind, record_chat};

use super::*;
use crate::kit::store;

#[tokio::test]
async fn an_answer_its_node_and_the_provider_say_the_same() {
    let store = store().await;
    let model = simulator(asks_twice);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let functions = [context_runtime::ToolFunction::with_schema(weather(), |call| async move {
        call.result("sun")
    })];
    let answer = chat.ask("Weather?").tools(functions).await.unwrap();
    assert_eq!(
        (answer.text().as_ref(), answer.report.calls, answer.report.steps),
        ("2 cities.", 2, 1)
    );

    let log = model.log();
    let input: u64 = log.iter().filter_map(|served| served.input).sum();
    let output: u64 = log.iter().map(|served| served.output).sum();
    let usage = answer.report.usage;
    assert_eq!((usage.total_input(), usage.output), (input, output));

    let rounds = rounds(&store).await;
    let round = &rounds[0];
    let measures: Vec<_> = round.nodes().filter_map(|node| node.measures.clone()).collect();
    let sum = |field: fn(&context_runtime::trajectory::Measures) -> Option<u64>| {
        measures.iter().filter_map(|measures| field(measures)).sum::<u64>()
    };
    assert_eq!((sum(|m| m.input_tokens), sum(|m| m.output_tokens)), (input, output));
    let cost: f64 = measures.iter().filter_map(|measures| measures.cost_usd).sum();
    assert!((cost - answer.report.cost_usd.unwrap()).abs() < 1e-12 && cost > 0.0);

    let of_kind = |kind| round.nodes().filter(move |node| node.kind() == kind).collect::<Vec<_>>();
    let response = of_kind(TrajectoryNodeKind::Response)[0];
    let known = response.measures.as_ref().unwrap();
    assert_eq!(
        (known.provider.as_deref(), known.model.as_deref()),
        (Some("anthropic"), Some(MODEL))
    );
    assert!(known.started_at < known.ended_at);
    assert_eq!(response.messages[0].message, answer.id);

    let trajectories = store.trajectories().unwrap();
    let nodes =
        trajectories.nodes_of_message(&"ada".into(), &"lisbon".into(), &answer.id).await.unwrap();
    assert_eq!(nodes.len(), 1);
    // The question, the conclusion, and the calls with the message of their results.
    let graph = chat.engine().graph().await.unwrap();
    for node in graph.nodes {
        let linked = trajectories
            .nodes_of_message(&"ada".into(), &"lisbon".into(), &node.node.id)
            .await
            .unwrap();
        assert!(!linked.is_empty(), "{}", node.node.id);
    }
    let actions = of_kind(TrajectoryNodeKind::Action);
    assert_eq!(actions.len(), 2);
    assert!(actions.iter().all(|action| {
        action.body.text("action") == "weather"
            && action.body.get("output").unwrap().to_json().as_str() == r#""sun""#
            && action.measures.as_ref().unwrap().ended_at.is_some()
    }));
}

/// A summary, a refusal and the answer are one call of the turn: its node has the tokens of all.
#[tokio::test]
async fn a_cut_is_linked_to_the_node_whose_request_it_cut() {
    let store = store().await;
    let model = simulator(done).window(6_000);
    let agents = builder(&store)
        .client(Arc::new(model.clone()) as Arc<dyn LanguageModel>)
        .compaction([context_runtime::compaction::truncate_head()])
        .build()
        .unwrap();
    let mut chat = chat(&agents).await;
    for step in 0..40 {
        chat.set([context_runtime::user("What is the weather in Lisbon? ".repeat(20))]);
        chat.set([context_runtime::assistant(format!("{step}: warm. ").repeat(20))]);
    }
    let answer = chat.ask("And today?").await.unwrap();
    assert_eq!(answer.report.attempts.len(), 1, "the window was smaller than expected");
    let boundary = chat.engine_mut().compactions().await.unwrap().pop().unwrap();
    let nodes = store
        .trajectories()
        .unwrap()
        .nodes_of_message(&"ada".into(), &"lisbon".into(), &boundary.id)
        .await
        .unwrap();
    assert_eq!(nodes.len(), 1, "{nodes:?}");
}

#[tokio::test]
async fn without_recording_everything_else_is_the_same() {
    let mut told = Vec::new();
    for record in [true, false] {
        let store = store().await;
        let model: Arc<dyn LanguageModel> = Arc::new(simulator(asks_twice));
        let agents = builder(&store).client(model).record(record).build().unwrap();
        let mut chat = chat(&agents).await;
        let functions =
            [context_runtime::ToolFunction::with_schema(weather(), |call| async move {
                call.result("sun")
            })];
        let answer = chat.ask("Weather?").tools(functions).await.unwrap();
        assert_eq!(rounds(&store).await.len(), usize::from(record));
        told.push((answer.to_string(), answer.report.usage, stored(&store).await));
    }
    assert_eq!(told[0], told[1]);
}

/// Turns of two branches, recorded by the chat itself, and one that only the chat has.
#[tokio::test]
async fn turns_that_were_recorded_live_are_not_recorded_from_the_chat() {
    let store = store().await;
    let agents = agents(&store, simulator(asks_twice));
    let mut chat = chat(&agents).await;
    let functions = || {
        [context_runtime::ToolFunction::with_schema(
            weather(),
            |call| async move { call.result("sun") },
        )]
    };
    let first = chat.ask("Weather?").tools(functions()).await.unwrap();
    chat.ask("And tomorrow?").tools(functions()).await.unwrap();
    chat.engine_mut().rewind(&first.id).await.unwrap();
    chat.ask("And on Sunday?").tools(functions()).await.unwrap();
    let live = rounds(&store).await;
    assert_eq!(live.len(), 3);

    let trajectories = agents.trajectories().unwrap();
    let of_chat = chat.engine().chat_ref().clone();
    let recorded = record_chat(trajectories, store.history(), &of_chat).await.unwrap();
    assert_eq!((recorded.rounds(), recorded.recorded(), recorded.taken()), (3, 0, 0));
    let records = |rounds: &[Arc<Round>]| -> Vec<_> {
        rounds.iter().map(|round| round.to_record()).collect()
    };
    assert_eq!(records(&rounds(&store).await), records(&live));

    chat.engine_mut().set([context_runtime::user("Thanks.")]);
    chat.engine_mut().set([context_runtime::assistant("You are welcome.")]);
    chat.engine_mut().save().await.unwrap();
    for expected in [1, 0] {
        let recorded = record_chat(trajectories, store.history(), &of_chat).await.unwrap();
        assert_eq!((recorded.recorded(), recorded.taken()), (expected, 0));
    }
    let all = rounds(&store).await;
    assert_eq!(records(&all[..3]), records(&live));
    assert_eq!(all[3].query().unwrap().body.headline(), "Thanks.");
}
