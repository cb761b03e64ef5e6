//! Real conversations, turn by turn, against a provider that refuses what does not fit: nothing is refused, whatever the
//! window, and what must be in a request is in every one.
//!
//! Each conversation meets one provider and one window, chosen by its place; `cargo xtask ci --long` has each meet all of
//! them. What a table says of it is printed with `--nocapture`.

mod checks;
mod conversations;
mod drive;
mod tally;

use std::sync::Arc;

use context_conformance::conversations::Conversation;
use context_runtime::{PROVIDERS, TokenCounter};
use conversations::{long, recorded};
use drive::{Setting, drive};
use tally::Table;

use crate::simulator::Quarters;

const WINDOWS: [u64; 3] = [8_000, 32_000, 200_000];

/// A way of caring for a conversation, for each place in a row of them: summaries every other time, and the caller goes on
/// with what was compacted, or with all of it.
fn setting(provider: &'static str, window: u64, place: usize) -> Setting {
    let (summaries, goes_on_compacted) = (place.is_multiple_of(2), (place / 2).is_multiple_of(2));
    Setting { provider, window, summaries, goes_on_compacted, resumed: 0 }
}

fn quarters() -> Arc<dyn TokenCounter> {
    Arc::new(Quarters)
}

/// Drives the conversations that this says, and shows what came of it.
async fn table(name: &str, of: impl IntoIterator<Item = (&Conversation, Setting)>) -> Table {
    let mut table = Table::default();
    for (conversation, setting) in of {
        table.add(&setting, drive(conversation, &setting, &quarters()).await);
    }
    table.show(name);
    table
}

/// The provider and the window that the conversation in this place meets.
fn share(place: usize) -> (&'static str, u64) {
    (PROVIDERS[place % PROVIDERS.len()], WINDOWS[place / PROVIDERS.len() % WINDOWS.len()])
}

#[tokio::test]
async fn every_recorded_conversation_comes_to_its_end() {
    let all = recorded();
    let pairs = PROVIDERS.len() * WINDOWS.len();
    let of = all.iter().enumerate().map(|(place, conversation)| {
        let (provider, window) = share(place);
        (conversation, setting(provider, window, place / pairs))
    });
    let table = table("recorded, one pair each", of).await;
    assert!(all.is_empty() || table.len() == pairs, "{} of {pairs}", table.len());
}

#[tokio::test]
async fn every_recorded_conversation_comes_to_its_end_in_a_small_window() {
    let all = recorded();
    let of = all.iter().enumerate().map(|(place, conversation)| {
        (conversation, setting(PROVIDERS[place / 4 % PROVIDERS.len()], WINDOWS[0], place))
    });
    let table = table("recorded, the smallest window", of).await;
    assert!(all.is_empty() || table.compactions() > 0);
}

/// Most of what a large window holds was said before, so that many calls come when it is full.
async fn long_one(window: u64, providers: &[&'static str]) {
    let Some(conversation) = long(200_000) else { return };
    let settings = providers.iter().enumerate().map(|(place, name)| setting(name, window, place));
    let of = settings.map(|setting| (&conversation, Setting { resumed: window / 2, ..setting }));
    let table = table("200,000 tokens", of).await;
    assert!(table.compactions() > 0);
}

#[tokio::test]
async fn a_long_conversation_comes_to_its_end_in_a_small_window() {
    long_one(WINDOWS[0], PROVIDERS).await;
}

#[tokio::test]
async fn a_long_conversation_comes_to_its_end_in_a_middling_window() {
    long_one(WINDOWS[1], PROVIDERS).await;
}

#[tokio::test]
async fn a_long_conversation_comes_to_its_end_in_a_large_window() {
    long_one(WINDOWS[2], &PROVIDERS[..1]).await;
}
