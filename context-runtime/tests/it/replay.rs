//! Recorded conversations, turn by turn, against a provider that refuses what does not fit: nothing
//! is refused, whatever the window, and every request has its required content.
//!
//! Each conversation meets one provider and one window, chosen by its position.
//! `cargo xtask ci --long` has each meet all of them. `--nocapture` prints the tables.

mod checks;
mod conversations;
mod drive;
mod tally;

use std::sync::Arc;

use context_runtime::{PROVIDERS, model::TokenCounter};
use context_simulator::conversations::Conversation;
use context_simulator::{ProviderFault, Script};
use conversations::{long, recorded};
use drive::{Setting, drive};
use tally::Table;

use crate::simulator::QuarterCounter;

const WINDOWS: [u64; 3] = [8_000, 32_000, 200_000];

/// Returns the setting for a position: summaries every other time, and a caller that continues with
/// the compacted history, or with all of it.
fn setting(provider: &'static str, window: u64, place: usize) -> Setting {
    let (summaries, goes_on_compacted) = (place.is_multiple_of(2), (place / 2).is_multiple_of(2));
    let script = Script::default();
    Setting { provider, window, summaries, goes_on_compacted, believed: window, script, resumed: 0 }
}

fn quarters() -> Arc<dyn TokenCounter> {
    Arc::new(QuarterCounter)
}

/// Drives the given conversations and prints the results.
async fn table(name: &str, of: impl IntoIterator<Item = (&Conversation, Setting)>) -> Table {
    let mut table = Table::default();
    for (conversation, setting) in of {
        table.add(&setting, drive(conversation, &setting, &quarters()).await);
    }
    table.show(name);
    table
}

/// Returns the provider and the window for the conversation at this position.
fn share(place: usize) -> (&'static str, u64) {
    (PROVIDERS[place % PROVIDERS.len()], WINDOWS[place / PROVIDERS.len() % WINDOWS.len()])
}

#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn every_recorded_conversation_comes_to_its_end() {
    let all = recorded();
    let pairs = PROVIDERS.len() * WINDOWS.len();
    let of = all.iter().enumerate().map(|(place, conversation)| {
        let (provider, window) = share(place);
        (conversation, setting(provider, window, place / pairs))
    });
    let table = table("recorded, one pair each", of).await;
    assert_eq!(table.len(), pairs);
}

#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn every_recorded_conversation_comes_to_its_end_in_a_small_window() {
    let all = recorded();
    let of = all.iter().enumerate().map(|(place, conversation)| {
        (conversation, setting(PROVIDERS[place / 4 % PROVIDERS.len()], WINDOWS[0], place))
    });
    let table = table("recorded, the smallest window", of).await;
    assert!(table.compactions() > 0);
}

/// Drives a long conversation, of which `resumed` tokens came before. Some callers continue with
/// the compacted history, others pass all of it each time. Neither causes the same compaction
/// twice.
async fn long_one(tokens: u64, windows: &[u64], providers: &[&'static str], resumed: u64) {
    let conversation = long(tokens);
    let pairs =
        windows.iter().flat_map(|window| providers.iter().map(|provider| (*window, *provider)));
    let of = pairs.enumerate().map(|(place, (window, provider))| {
        (&conversation, Setting { resumed, ..setting(provider, window, place) })
    });
    let table = table(&conversation.name, of).await;
    assert!(table.compactions() > 0);
}

#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn a_long_conversation_comes_to_its_end_in_a_small_window() {
    long_one(200_000, &WINDOWS[..1], PROVIDERS, 0).await;
}

#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn a_long_conversation_comes_to_its_end_in_a_middling_window() {
    long_one(200_000, &WINDOWS[1..2], &PROVIDERS[1..2], 0).await;
}

/// Most of it came before, since only a full window is of interest.
#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn a_long_conversation_comes_to_its_end_in_a_large_window() {
    long_one(200_000, &WINDOWS[2..], &PROVIDERS[2..3], 170_000).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn every_call_ends_whatever_the_provider_says() {
    let faults = [
        ProviderFault::Overflow,
        ProviderFault::Overloaded,
        ProviderFault::EmptyAnswer,
        ProviderFault::RateLimit { retry_after: None },
        ProviderFault::OutputTooLarge,
        ProviderFault::Server,
    ];
    let script =
        (0..60).fold(Script::default(), |script, n| script.at(n * 7 + 2, faults[n as usize % 6]));
    let all = recorded();
    let of = all.iter().step_by(3).enumerate().map(|(place, conversation)| {
        let (provider, _) = share(place);
        let setting = setting(provider, WINDOWS[place % 2], place);
        (conversation, Setting { script: script.clone(), goes_on_compacted: true, ..setting })
    });
    let table = table("with faults", of).await;
    assert!(table.refused() > 20);
}

#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn a_window_that_is_smaller_than_believed_is_found_out() {
    let all = recorded();
    let of = all.iter().step_by(2).enumerate().map(|(place, conversation)| {
        let (provider, _) = share(place);
        let setting = setting(provider, WINDOWS[0], place);
        (conversation, Setting { believed: WINDOWS[1], goes_on_compacted: true, ..setting })
    });
    table("a window of 8,000 that is taken for one of 32,000", of).await;
}

#[tokio::test]
#[ignore = "takes minutes; cargo xtask ci --long runs it"]
async fn large_every_recorded_conversation_meets_every_provider_and_window() {
    let all = recorded();
    for place in 0..4 {
        let pairs =
            WINDOWS.iter().flat_map(|window| PROVIDERS.iter().map(|provider| (*window, *provider)));
        let of = pairs.flat_map(|(window, provider)| {
            all.iter().map(move |chat| (chat, setting(provider, window, place)))
        });
        table("recorded, all pairs", of).await;
    }
}

#[tokio::test]
#[ignore = "takes minutes; cargo xtask ci --long runs it"]
async fn large_a_long_conversation_meets_every_provider_and_window() {
    long_one(200_000, &WINDOWS, PROVIDERS, 0).await;
}

#[tokio::test]
#[ignore = "takes minutes; cargo xtask ci --long runs it"]
async fn large_a_million_tokens_meet_every_provider_and_window() {
    long_one(1_000_000, &WINDOWS, PROVIDERS, 0).await;
}
