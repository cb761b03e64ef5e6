//! A compacted chat that another process opens: cuts stay, and nothing is cut again.

use std::sync::Arc;

use context_runtime::microcompact::Microcompact;
use context_runtime::snip::Snip;
use context_runtime::truncate_head::TruncateHead;
use context_runtime::{
    ContextEngine, DefaultContextRuntime, Fragment, Message, Store,
    compaction::{HistoryView, Stage},
};

use crate::kit::store;
use crate::recorded_chats::{Chat, all_chats};
use crate::runtime_kit::{ByteCounter, ask, call, codes, prepare, reply, result};

/// The number of recorded conversations that are used.
const RECORDED: usize = 24;

async fn opened(store: &Arc<dyn Store>) -> ContextEngine {
    ContextEngine::builder(Arc::clone(store)).user("ada").chat("c").open().await.unwrap()
}

fn runtime(window: u64) -> DefaultContextRuntime {
    let stages =
        [Stage::new(Microcompact::new()), Stage::new(Snip::new()), Stage::new(TruncateHead::new())];
    let builder = DefaultContextRuntime::builder()
        .window(window + 100)
        .reserve(100)
        .counter(Arc::new(ByteCounter));
    builder.compaction(stages).build().unwrap()
}

/// Returns a generated conversation that needs no test data.
fn made() -> Chat {
    let turn = |turn: usize| {
        let id = format!("c{turn}");
        [
            ask(&format!("Question {turn}?")),
            call(&id),
            result(&id, "line\n".repeat(400)),
            reply(&id.repeat(40)),
        ]
    };
    let messages = (0..12).flat_map(turn).map(|message| (*message).clone()).collect();
    Chat { name: "made".to_owned(), messages }
}

/// A history that is compacted in memory alone overflows again with each start, and pays for the
/// same compaction each time.
#[tokio::test]
async fn a_compacted_chat_that_is_opened_anew_fits_and_is_not_compacted_again() {
    not_compacted_again([made()]).await;
}

#[tokio::test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
async fn a_recorded_chat_that_is_opened_anew_fits_and_is_not_compacted_again() {
    let long = |chat: &Chat| chat.messages.len() >= 12;
    let recorded: Vec<_> = all_chats().into_iter().filter(long).collect();
    assert!(recorded.len() >= RECORDED, "{} recorded chats", recorded.len());
    let every = recorded.len().div_ceil(RECORDED);
    not_compacted_again(recorded.into_iter().step_by(every)).await;
}

async fn not_compacted_again(chats: impl IntoIterator<Item = Chat>) {
    for Chat { name, messages } in chats {
        let store = store().await;
        let mut chat = opened(&store).await;
        chat.set(messages.into_iter().map(Fragment::from));
        let _saved = chat.save().await.unwrap();
        let turn = chat.resolve().await.unwrap();
        let history = turn.request().messages;
        let total = HistoryView::new(&history, &ByteCounter).total();
        for share in [0.5, 0.9] {
            let window = (total as f64 * share) as u64;
            let cut = prepare(&runtime(window), &history).await;
            assert_eq!(cut.fits(), Some(true), "{name} at {share}: {:?}", codes(&cut));
            let compacted =
                cut.rewrite.as_ref().unwrap_or_else(|| panic!("{name}: nothing was cut"));
            let mut chat = opened(&store).await;
            chat.compact(&turn, compacted, &cut.plans).await.unwrap().unwrap();
            let _saved = chat.save().await.unwrap();

            let shown: Vec<Arc<Message>> =
                opened(&store).await.resolve().await.unwrap().request().messages.into();
            let next = prepare(&runtime(window), &shown).await;
            assert!(
                !next.plans.iter().any(|plan| plan.applied),
                "{name} at {share}: {:?}",
                next.plans
            );
            assert_eq!((next.rewrite, next.boundaries.len()), (None, 0), "{name} at {share}");
            assert_eq!(next.request.messages, cut.request.messages, "{name} at {share}");
            assert_eq!(next.breakdown, cut.breakdown, "{name} at {share}");

            let mut chat = opened(&store).await;
            chat.undo_compaction().await.unwrap().unwrap();
            let _saved = chat.save().await.unwrap();
        }
    }
}
