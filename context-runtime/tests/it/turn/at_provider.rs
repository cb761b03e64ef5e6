//! Turns whose provider compacts the conversation.

use context_runtime::compaction::{provider_compact, truncate_head};
use context_runtime::model::ModelCodec;

use super::*;
use crate::kit::store;
use crate::simulator::QuarterCounter;

const OPENAI: (&str, &str) = ("openai-responses", "gpt-5.2");
const CLAUDE: (&str, &str) = ("anthropic", "claude-sonnet-5");

fn model((name, model): (&str, &str)) -> Simulator {
    let answers = |request: &ModelRequest| {
        let is_task = request.compaction.is_some();
        vec![AnswerPiece::text(if is_task {
            "A train to Lisbon."
        } else {
            "There is one at noon."
        })]
    };
    Simulator::new(provider(name).unwrap(), Arc::new(QuarterCounter))
        .window(40_000)
        .model(model)
        .behaviour(answers)
}

fn agents_of(store: &Arc<dyn Store>, case: (&str, &str), ids: u64) -> (Agents, Simulator) {
    let simulator = model(case);
    let codec: Arc<dyn ModelCodec> = provider(case.0).unwrap();
    let client: Arc<dyn LanguageModel> = Arc::new(simulator.clone());
    let agents = builder(store)
        .ids(CountingIds::from(ids))
        .model(case.1)
        .provider(codec)
        .client(client)
        .runtime(|runtime| runtime.window(40_000).reserve(4_000).counter(Arc::new(QuarterCounter)))
        .compaction([provider_compact(), truncate_head()])
        .build()
        .unwrap();
    (agents, simulator)
}

async fn ask(chat: &mut AgentChat, turn: usize) -> Vec<String> {
    let question = format!("{turn} {}", "Look for another train. ".repeat(100));
    let report = chat.turn(question).ask().await.unwrap().report;
    report.diagnostics.iter().map(|told| told.code.as_str().to_owned()).collect()
}

fn body(simulator: &Simulator) -> String {
    simulator.last_body().unwrap()
}

/// Nobody waits for a compaction that is made ahead, and the turns that were taken meanwhile
/// follow its block.
#[tokio::test]
async fn a_block_is_made_ahead_and_later_turns_follow_it() {
    for case in [OPENAI, CLAUDE] {
        let store = store().await;
        let (agents, simulator) = agents_of(&store, case, 0);
        let mut chat = chat(&agents).await;
        let mut turn = 0;
        while !body_has_block(&simulator) {
            let told = ask(&mut chat, turn).await;
            assert_eq!(told, [] as [&str; 0], "{case:?}");
            // The task of the compaction runs while nobody waits for it.
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            turn += 1;
            assert!(turn < 100, "{case:?}");
        }
        assert!(body(&simulator).contains(&format!("\"{} Look", turn - 1)), "{case:?}");
        let window = simulator.log().iter().filter_map(|served| served.input).max().unwrap();
        assert!(window < 36_000 * 9 / 10, "it was begun before it was needed: {window}");
    }
}

fn body_has_block(simulator: &Simulator) -> bool {
    simulator.last_body().is_some_and(|body| body.contains(r#""type":"compaction""#))
}

/// A model of another provider would get nothing of a sealed block, so the cut is undone and made
/// anew.
#[tokio::test]
async fn another_provider_gets_the_whole_conversation_back() {
    let store = store().await;
    let (agents, simulator) = agents_of(&store, OPENAI, 0);
    let mut first = chat(&agents).await;
    let mut turn = 0;
    while !body_has_block(&simulator) {
        ask(&mut first, turn).await;
        turn += 1;
    }
    agents.shutdown().await.unwrap();
    let (others, claude) = agents_of(&store, CLAUDE, 100_000);
    let mut second = chat(&others).await;
    let told = ask(&mut second, turn).await;
    assert!(told.contains(&"compaction_sealed".to_owned()), "{told:?}");
    let sent = body(&claude);
    assert!(!sent.contains("in a form that only it reads"), "{sent}");
    assert!(sent.contains("A train to Lisbon.") || sent.contains("\"5 Look"), "{sent}");

    // The other way round there is a text that everybody reads, so nothing is undone.
    let mut turn = turn + 1;
    while !body_has_block(&claude) {
        ask(&mut second, turn).await;
        turn += 1;
    }
    others.shutdown().await.unwrap();
    let (again, openai) = agents_of(&store, OPENAI, 200_000);
    let mut third = chat(&again).await;
    let told = ask(&mut third, turn).await;
    assert!(!told.contains(&"compaction_sealed".to_owned()), "{told:?}");
    assert!(body(&openai).contains("A train to Lisbon."), "{}", body(&openai));
}
