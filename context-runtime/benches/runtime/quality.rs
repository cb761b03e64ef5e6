//! The savings of each policy on recorded conversations, and the cost for the provider's cache.
//!
//! Each policy precedes a cut of the beginning, which alone is the baseline: the cut covers what
//! the policy does not reach. So a policy that saves less than the baseline keeps more, and is
//! worth it if less has to be read again.
//!
//! | metric | |
//! |---|---|
//! | `saved_tokens` | tokens not sent, over all calls, of those that would have been sent uncut |
//! | `saved_share` | the same as a share |
//! | `reread_tokens` | tokens sent that are neither new nor in the provider's cache |
//! | `reread_share` | the same as a share of the tokens sent |
//! | `summarised_tokens` | tokens that models read for summaries |
//! | `cuts` | the number of calls with a cut |
//! | `refused` | the number of requests that the provider refused |

use std::collections::BTreeMap;
use std::sync::Arc;

use context_runtime::microcompact::Microcompact;
use context_runtime::snip::Snip;
use context_runtime::strip_images::StripImages;
use context_runtime::summarize::Summarize;
use context_runtime::tokens::{CachedCounter, ModelCounter, TokenCounter};
use context_runtime::truncate_head::TruncateHead;
use context_runtime::{Part, compaction::Stage};
use context_simulator::conversations::{Conversation, conversations, joined};
use context_simulator::recordings::folder;

use crate::options::Options;
use crate::replay::{Tally, replay};
use crate::sheet::{Metric, Sheet};

const WINDOWS: [u64; 3] = [8_000, 32_000, 200_000];
/// The length of conversations that are concatenated from several.
const LONG: u64 = 200_000;
const CASES: [&str; 5] = ["microcompact", "strip-images", "summarize", "snip", "all policies"];

/// Measures each policy on each set of conversations at each window.
pub(crate) async fn measure(sheet: &mut Sheet, options: &Options) {
    let Some(folder) = folder() else {
        sheet.note("no recorded conversations: quality is not measured");
        return;
    };
    let counter: Arc<dyn TokenCounter> =
        Arc::new(CachedCounter::new(Arc::new(ModelCounter::for_model(crate::data::MODEL))));
    for (name, chats) in datasets(&folder, &*counter) {
        for window in WINDOWS {
            let tokens = |chat: &Conversation| counter.count_messages(&chat.messages).tokens();
            let long: Vec<&Conversation> =
                chats.iter().filter(|chat| tokens(chat) > window / 2).collect();
            let dataset = format!("{name}, {}k", window / 1_000);
            if long.is_empty() {
                sheet.note(&format!("{dataset}: everything fits"));
                continue;
            }
            let baseline = play(&long, window, "truncate-head", &counter).await;
            for case in CASES.into_iter().filter(|case| options.has(case)) {
                if case == "strip-images" && !long.iter().any(|chat| has_media(chat)) {
                    continue;
                }
                let tally = play(&long, window, case, &counter).await;
                sheet.add(case, &dataset, &metrics(&tally, &baseline));
                if let Some(refusal) = &tally.refusal {
                    sheet.note(&format!("    refused: {refusal}"));
                }
            }
        }
    }
}

fn has_media(chat: &Conversation) -> bool {
    let is_media =
        |part: &Part| matches!(part, Part::Image(_) | Part::Document(_) | Part::Audio(_));
    chat.messages.iter().flat_map(|message| &message.parts).any(|part| match part {
        Part::ToolResult(result) => result.output.iter().any(is_media),
        part => is_media(part),
    })
}

/// Returns the conversations by source, and one that is concatenated from all.
fn datasets(
    folder: &std::path::Path,
    counter: &dyn TokenCounter,
) -> BTreeMap<String, Vec<Conversation>> {
    let mut sets: BTreeMap<String, Vec<Conversation>> = BTreeMap::new();
    for chat in conversations(folder).into_iter().filter(|chat| !chat.messages.is_empty()) {
        let source = chat.name.split('/').next().unwrap_or_default().to_owned();
        sets.entry(source).or_default().push(chat);
    }
    // In rotation, so that one source does not fill all of it.
    let most = sets.values().map(Vec::len).max().unwrap_or_default();
    let mixed: Vec<Conversation> = (0..most)
        .flat_map(|at| sets.values().filter_map(move |chats| chats.get(at)))
        .cloned()
        .collect();
    if let Some(first) = mixed.first() {
        let mut long = first.clone();
        (long.name, long.messages) = ("joined".to_owned(), joined(&mixed, LONG, counter));
        sets.insert(long.name.clone(), vec![long]);
    }
    sets
}

async fn play(
    chats: &[&Conversation],
    window: u64,
    case: &str,
    counter: &Arc<dyn TokenCounter>,
) -> Tally {
    let mut tally = Tally::default();
    for chat in chats {
        tally.add(&replay(chat, window, stages(case), counter).await);
    }
    tally
}

/// Returns a policy before a cut of the beginning, or all policies, from least to most lossy.
fn stages(case: &str) -> Vec<Stage> {
    let asked = |name: &str| case == name || case == "all policies";
    let mut stages = Vec::new();
    if asked("microcompact") {
        stages.push(Stage::new(Microcompact::new()));
    }
    if asked("strip-images") {
        stages.push(Stage::new(StripImages::new()));
    }
    if asked("summarize") {
        stages.push(Stage::new(Summarize::new()));
    }
    if asked("snip") {
        stages.push(Stage::new(Snip::new()));
    }
    stages.push(Stage::new(TruncateHead::new()));
    stages
}

fn metrics(tally: &Tally, baseline: &Tally) -> [Metric; 7] {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let metric = |name, of: &dyn Fn(&Tally) -> f64| Metric::new(name, of(tally), of(baseline));
    [
        metric("saved_tokens", &|tally| tally.saved() as f64),
        metric("saved_share", &|tally| share(tally.saved(), tally.uncut)),
        metric("reread_tokens", &|tally| tally.reread as f64),
        metric("reread_share", &|tally| share(tally.reread, tally.sent)),
        metric("summarised_tokens", &|tally| tally.summarised as f64),
        metric("cuts", &|tally| tally.cuts as f64),
        metric("refused", &|tally| tally.refused as f64).at_most(0.0),
    ]
}
