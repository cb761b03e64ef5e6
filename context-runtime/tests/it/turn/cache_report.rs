//! The report of a turn on the provider's prompt cache.

use context_runtime::role;

use super::*;
use crate::kit::store;

/// The cache of the provider ends between two turns, though nothing was changed and no time has
/// passed. The report of the turn says how many tokens that cost.
#[tokio::test]
async fn a_turn_says_what_the_cache_lost() {
    let store = store().await;
    let agents = agents(&store, simulator(done));
    let mut chat = chat(&agents).await;
    chat.set([role("You book trips, and ask before you pay. ".repeat(800))]);
    let answer = |read: u64, written: u64| {
        let usage = json!({"input_tokens": 10, "output_tokens": 2,
            "cache_read_input_tokens": read, "cache_creation_input_tokens": written});
        json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn", "usage": usage})
        .to_string()
    };
    let mut lost = Vec::new();
    for (read, written) in [(0, 8_000), (8_000, 20), (0, 8_040)] {
        let mut turn = chat.turn("Go on.").begin().await.unwrap();
        assert!(turn.next().await.unwrap().is_some());
        turn.received(200, &answer(read, written));
        assert!(turn.next().await.unwrap().is_none());
        lost.push(turn.finish().await.unwrap().report.cache_lost);
    }
    assert_eq!(lost[..2], [0, 0]);
    assert!((7_000..9_000).contains(&lost[2]), "{lost:?}");
}
