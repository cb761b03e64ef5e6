//! Recorded conversations, driven turn by turn against a provider.

use std::sync::Arc;

use context_runtime::{
    CancelSignal, Message, Part, Role,
    model::{HistoryRules, LanguageModel, ModelRequest, TokenCounter, Unanswered, normalize},
};
use context_simulator::conversations::{conversations, joined};
use context_simulator::recordings::folder;
use context_simulator::{AnswerPiece, ConversationReplay, ProviderFault, Script};

use super::{QuarterCounter, simulators};

/// Plays a recording against a provider and returns the final history. A call that fails
/// temporarily is repeated.
async fn play(simulator: &impl LanguageModel, replay: &ConversationReplay) -> Vec<Arc<Message>> {
    let mut history: Vec<Arc<Message>> = replay.system().to_vec();
    while let Some(step) = replay.advance() {
        history.extend(step.input);
        if step.answer.is_none() {
            break;
        }
        let request =
            ModelRequest::new(history.iter().cloned()).model("a-model").max_output_tokens(20_000);
        let answer = loop {
            match simulator.complete(&request, &CancelSignal::never()).await {
                Ok(answer) => break answer,
                Err(error) => assert!(error.retryable, "{error}"),
            }
        };
        history.push(answer.message.into());
    }
    history
}

/// Returns the output of a model, in the provider's own order of texts and calls.
fn words(message: &Message) -> (String, Vec<(String, String)>) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for say in AnswerPiece::of_parts(&message.parts) {
        match say {
            AnswerPiece::Text(said) => text.push_str(&said),
            AnswerPiece::Call { id, name, .. } => calls.push((id.unwrap_or_default(), name)),
            _ => {}
        }
    }
    (text, calls)
}

#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn recordings_are_played_to_their_end_by_every_provider() {
    let folder = folder().expect("test data");
    let all = conversations(&folder);
    let some: Vec<_> = all.iter().step_by(9).collect();
    assert!(all.len() > 60, "{}", all.len());
    for recording in some {
        let repeated =
            Script::default().at(1, ProviderFault::Overloaded).at(4, ProviderFault::Server);
        for (name, all) in simulators() {
            let replay = ConversationReplay::new(recording.messages.iter().cloned());
            let simulator = all.behaviour(replay.clone()).script(repeated.clone());
            let played = play(&simulator, &replay).await;
            assert_eq!(played.len(), recording.messages.len(), "{name}: {}", recording.name);
            for (played, recorded) in played.iter().zip(&recording.messages) {
                assert_eq!(words(played), words(recorded), "{name}: {}", recording.name);
            }
            let answers =
                recording.messages.iter().filter(|message| message.role == Role::Assistant).count();
            let answered = simulator.log().iter().filter(|served| served.is_answered()).count();
            assert_eq!(answered, answers, "{name}: {}", recording.name);
        }
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn joined_recordings_are_valid_and_as_long_as_asked() {
    let folder = folder().expect("test data");
    let all = conversations(&folder);
    let tau: Vec<_> = all.into_iter().filter(|chat| chat.name.starts_with("tau-bench")).collect();
    for tokens in [0, 2_000, 50_000, 400_000] {
        let long = joined(&tau, tokens, &QuarterCounter);
        let total: u64 =
            long.iter().map(|message| QuarterCounter.count_message(message).tokens()).sum();
        // The longest turn, and the system prompt, which is always present.
        assert!(total <= tokens.max(4_000), "{total} for {tokens}");
        assert!(total + 20_000 > tokens, "{total} for {tokens}");
        let valid = normalize(&long, &HistoryRules::new(), Unanswered::Answer, false);
        assert!(valid.diagnostics.is_empty(), "{tokens}: {:?}", valid.diagnostics.first());
        let calls = long.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        });
        let mut ids: Vec<&str> = calls.collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id is given twice");
    }
    assert!(joined(&[], 1_000, &QuarterCounter).is_empty());
}
