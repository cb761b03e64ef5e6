//! Single policies: ten thousand messages are reduced to six tenths of their tokens.
//!
//! The first pass of a policy is measured cold, including its counting. Its floor counts the
//! history once. Each result is counted once unchanged and about three times while it is shortened
//! to its bound, so a pass may take a multiple of the floor. `strip-images` has the same floor,
//! because it makes new messages, and they are counted.
//!
//! The others get known counts, as in a runtime, and make a plan that is applied. Their floor looks
//! up and adds the counts of all messages: it neither matches results to calls nor copies what
//! stays, so they may take a multiple of it, too.

use std::hint::black_box;
use std::sync::Arc;

use context_runtime::microcompact::Microcompact;
use context_runtime::snip::Snip;
use context_runtime::strip_images::StripImages;
use context_runtime::tokens::{CachedCounter, ModelCounter, TokenCounter};
use context_runtime::truncate_head::TruncateHead;
use context_runtime::{
    Message,
    compaction::{Budget, CompactionPolicy, Goal, HistoryView},
};

use crate::board::{Board, Row};
use crate::data::{MODEL, history, with_images};
use crate::options::Options;

const SIZE: usize = 10_000;
const FIRST: &str = "microcompact, first pass, cold";
const SECOND: &str = "microcompact, second pass";
const SNIP: &str = "snip";
const TRUNCATE: &str = "truncate-head";
const STRIP: &str = "strip-images, 4,000 images";

/// Measures each policy.
pub(crate) async fn measure(board: &mut Board, options: &Options) {
    let counter: Arc<dyn TokenCounter> = Arc::new(ModelCounter::for_model(MODEL));
    if options.has(FIRST) {
        first(board, options.rounds, &counter).await;
    }
    let rows: [(&str, &dyn CompactionPolicy, f64); 4] = [
        (SECOND, &Microcompact::new(), 40.0),
        (SNIP, &Snip::new(), 40.0),
        (TRUNCATE, &TruncateHead::new(), 40.0),
        (STRIP, &StripImages::new(), 2.0),
    ];
    for (case, policy, target) in rows.into_iter().filter(|(case, ..)| options.has(case)) {
        let messages = match case {
            SECOND => compacted(&*counter),
            STRIP => with_images(SIZE),
            _ => history(SIZE),
        };
        counted(
            board,
            Row::new(case, SIZE, "ns", Some(target)),
            policy,
            &messages,
            &counter,
            options.rounds,
        )
        .await;
    }
}

/// Returns the history after a policy.
fn pass(policy: &dyn CompactionPolicy, view: &HistoryView<'_>) -> Option<Vec<Arc<Message>>> {
    let total = view.total();
    let goal = Goal::new(Budget::new(total, 0), 0, total * 6 / 10);
    let plan = policy.plan(view, &goal).into_plan()?;
    Some(plan.apply(view.messages()).unwrap().messages.into())
}

fn compacted(counter: &dyn TokenCounter) -> Vec<Arc<Message>> {
    let messages = history(SIZE);
    pass(&Microcompact::new(), &HistoryView::new(&messages, counter)).unwrap()
}

async fn first(board: &mut Board, rounds: usize, counter: &Arc<dyn TokenCounter>) {
    let messages = history(SIZE);
    let mut row = Row::new(FIRST, SIZE, "us", Some(5.0)).skip_first(1);
    for _ in 0..=rounds {
        let cold = CachedCounter::new(Arc::clone(counter));
        let mut left = None;
        row.ours(SIZE, async {
            left = pass(&Microcompact::new(), &HistoryView::new(&messages, &cold));
        })
        .await;
        assert!(black_box(left).is_some());
        row.floor(SIZE, async {
            for message in &messages {
                black_box(counter.count_message(message));
            }
        })
        .await;
    }
    board.add_with_goal(row, 500.0);
}

async fn counted(
    board: &mut Board,
    row: Row,
    policy: &dyn CompactionPolicy,
    messages: &[Arc<Message>],
    counter: &Arc<dyn TokenCounter>,
    rounds: usize,
) {
    let known = CachedCounter::new(Arc::clone(counter));
    let counts: Vec<u64> =
        messages.iter().map(|message| known.count_shared(message).tokens()).collect();
    let mut row = row.skip_first(1);
    let counts_again = policy.name() == StripImages::NAME;
    for _ in 0..=rounds {
        let mut left = None;
        row.ours(SIZE, async {
            let view = HistoryView::counted(messages, counts.iter().copied(), &**counter);
            left = pass(policy, &view);
        })
        .await;
        drop(black_box(left));
        row.floor(SIZE, async {
            if counts_again {
                for message in messages {
                    black_box(counter.count_message(message));
                }
            } else {
                black_box(known.count_messages(black_box(messages)));
            }
        })
        .await;
    }
    board.add(row);
}
