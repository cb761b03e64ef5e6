//! All stages, on a history that is a third larger than what fits: counted, planned, summarized by
//! a test double that answers immediately, cut and prepared. The floor counts the history once. A
//! pipeline also counts what policies write, and a summary request in several forms until one fits.

use std::hint::black_box;
use std::sync::Arc;

use context_runtime::microcompact::Microcompact;
use context_runtime::snip::Snip;
use context_runtime::summarize::Summarize;
use context_runtime::tokens::{ModelCounter, TokenCounter};
use context_runtime::truncate_head::TruncateHead;
use context_runtime::{
    ContextRuntime, DefaultContextRuntime, Message, ModelContext, PrepareInput, Role,
    compaction::Stage, model::Answer,
};

use crate::board::{Board, Row};
use crate::data::{MODEL, history, talk};
use crate::options::Options;

const RESULTS: &str = "pipeline at 130 %, results of tools";
const SUMMARY: &str = "pipeline at 130 %, talk, summarised";
const SNIPPED: &str = "pipeline at 130 %, talk, no summaries";
const SIZES: [usize; 2] = [1_000, 10_000];

/// The answer of the test double.
pub(crate) const ANSWER: &str = "## Objective\nWhat the user asked for.\n## Current state\nHalf of it is done.\n## Done\nThat half.\n\
     ## Remaining\nThe rest.\n## Files and artifacts\nNone";

/// Measures each history at each size.
pub(crate) async fn measure(board: &mut Board, options: &Options) {
    for size in SIZES {
        for case in [RESULTS, SUMMARY, SNIPPED].into_iter().filter(|case| options.has(case)) {
            let messages = if case == RESULTS { history(size) } else { talk(size) };
            one(board, case, &messages, options.rounds).await;
        }
    }
}

async fn one(board: &mut Board, case: &'static str, messages: &[Arc<Message>], rounds: usize) {
    let counter = ModelCounter::for_model(MODEL);
    let size = messages.len();
    let total = counter.count_messages(messages).tokens();
    let mut row = Row::new(case, size, "us", Some(10.0)).skip_first(1);
    for _ in 0..=rounds {
        let runtime = runtime(total, case != SNIPPED);
        let mut context = None;
        row.ours(size, async {
            context = Some(call(&runtime, messages).await);
        })
        .await;
        assert!(black_box(context).is_some_and(|context| context.fits() == Some(true)));
        row.floor(size, async {
            for message in messages {
                black_box(counter.count_message(message));
            }
        })
        .await;
    }
    board.add_with_goal(row, 1_000.0);
}

/// Returns a runtime for which a history of this many tokens takes 130 percent of the window's room
/// besides the reserve.
fn runtime(total: u64, summaries: bool) -> DefaultContextRuntime {
    let (input, reserve) = (total * 10 / 13, total / 20);
    let summarize = summaries.then(|| Stage::new(Summarize::new()));
    let stages = [Stage::new(Microcompact::new())].into_iter().chain(summarize);
    DefaultContextRuntime::builder()
        .window(input + reserve)
        .reserve(reserve)
        .compaction(stages.chain([Stage::new(Snip::new()), Stage::new(TruncateHead::new())]))
        .build()
        .unwrap()
}

/// Returns the prepared request, with a summary if one is requested.
async fn call(runtime: &DefaultContextRuntime, messages: &[Arc<Message>]) -> ModelContext {
    let input = || {
        PrepareInput::new(("ada", "s"), "t", "openai", MODEL)
            .messages(messages.iter().map(Arc::clone))
    };
    let context = runtime.prepare_for_model(input()).await.unwrap();
    let Some(task) = &context.summary else { return context };
    let answer = Answer::new(Message::text(Role::Assistant, ANSWER));
    runtime.accept_summary(&("ada", "s").into(), messages, task, &answer).unwrap();
    runtime.prepare_for_model(input()).await.unwrap()
}
