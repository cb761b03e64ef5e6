//! From a file to the body of a request, by a runtime that has seen nothing of the chat.

use std::hint::black_box;

use context_runtime::model::TokenCounter;
use context_runtime::store::{Chain, Window};
use context_runtime::tokens::ModelCounter;
use context_runtime::{ContextRuntime, DefaultContextRuntime, Json, PrepareInput, provider};

use crate::bench::Bench;
use crate::board::Row;
use crate::file_store::{FileStore, chat};

const PROVIDER: &str = "openai";
const MODEL: &str = "gpt-4o";
/// Larger than the history, so that all of it is sent.
const WINDOW: u64 = 1_000_000_000;

/// Loads a chat, prepares a call with all of its messages, and writes the body. The floor counts
/// the tokens of their texts, with the same tokenizer.
pub(crate) async fn cold(bench: &mut Bench) {
    let n = 10_000;
    let (ours, chat) = (FileStore::create(&bench.path("body.ours"), false).await, chat("chat"));
    ours.fill_by_turns(&chat, n).await;
    ours.checkpoint();
    let chain = ours.load(&chat, "main", &Window::Whole).await;
    let messages = chain.messages();
    let texts: Vec<_> = messages.iter().map(|message| message.plain_text()).collect();
    let (tokenizer, least) = (ModelCounter::for_model(MODEL), texts.concat().len());
    let mut row =
        Row::new("from the file to the body of a request", n, "us", Some(1.5)).skip_first(1);
    for _ in 0..bench.rounds + 1 {
        row.ours(n, async {
            let body = black_box(body(ours.load(&chat, "main", &Window::Whole).await).await);
            assert!(body.as_str().len() > least);
        })
        .await;
        row.floor(n, async {
            for text in &texts {
                black_box(tokenizer.count(black_box(text)));
            }
        })
        .await;
    }
    bench.board.add(row);
}

async fn body(chain: Chain) -> Json {
    let runtime = DefaultContextRuntime::builder().build().unwrap();
    let input = PrepareInput::new(("ada", "s"), "t", PROVIDER, MODEL)
        .conversation(chain.messages())
        .window(WINDOW);
    let context = runtime.prepare_for_model(input).await.unwrap();
    provider(PROVIDER).unwrap().lower(&context.request).unwrap().body
}
