//! Costs of sets of policies, and their share of what is kept of recorded conversations: our sets
//! and those of other agents.
//!
//! Every call of a conversation is made against a simulated provider with a prompt cache; the model
//! repeats the recorded answers, whatever it is sent. Requests for summaries go to the same
//! provider and cache.
//!
//! | metric | |
//! |---|---|
//! | `cents` | cents for all calls and summaries, by the price table |
//! | `summary_cents` | the part of summaries |
//! | `saved` | percent of the tokens of the uncut requests that were not sent |
//! | `reread` | thousands of tokens that were sent, neither new nor in the cache |
//! | `summarised` | thousands of tokens that models read and wrote for summaries |
//! | `words` | percent of the user's words before each call that were sent word for word |
//! | `facts` | percent of the [facts](facts) asked for later that the request has |
//! | `one_call` | the same with those that one call of a tool returns |
//! | `cuts` | calls with a cut |
//! | `refused` | calls that the provider refused, after all attempts |
//!
//! The facts of refused calls count as lost.

mod archive;
mod chat;
mod codex;
mod drive;
mod facts;
mod gemini_cli;
mod openhands;
mod provider;
mod sets;
mod summary;
mod tally;
mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use context_runtime::Part;
use context_runtime::tokens::{CachedCounter, ModelTable, TokenCounter};
use context_simulator::conversations::{Conversation, conversations, joined};
use context_simulator::recordings::folder;

use crate::options::Options;
use crate::sheet::{Metric, Sheet};
use drive::play;
use sets::Set;
use tally::Tally;

const WINDOWS: [u64; 3] = [8_000, 32_000, 200_000];
/// The lengths of conversations that are joined from several.
const LENGTHS: [u64; 2] = [200_000, 1_000_000];

/// Measures each set of policies on each set of conversations at each window. Without `--quality`
/// only the shorter conversations, at the smaller windows.
pub(crate) async fn measure(sheet: &mut Sheet, options: &Options) {
    let Some(folder) = folder() else {
        sheet.note("no recorded conversations: quality is not measured");
        return;
    };
    let model = ModelTable::builtin().model(provider::MODEL);
    let counter: Arc<dyn TokenCounter> = Arc::new(CachedCounter::new(Arc::new(model.counter())));
    let lengths = if options.quality { &LENGTHS[..] } else { &LENGTHS[..1] };
    let windows = if options.quality { &WINDOWS[..] } else { &WINDOWS[..2] };
    for (name, chats) in datasets(&folder, lengths, &*counter) {
        for window in windows.iter().copied() {
            let tokens = |chat: &Conversation| counter.count_messages(&chat.messages).tokens();
            let long: Vec<&Conversation> =
                chats.iter().filter(|chat| tokens(chat) > window / 2).collect();
            let dataset = format!("{name}, window {}k", window / 1_000);
            if long.is_empty() {
                sheet.note(&format!("{dataset}: everything fits"));
                continue;
            }
            compare(sheet, options, &dataset, &long, window, &counter).await;
        }
    }
}

async fn compare(
    sheet: &mut Sheet,
    options: &Options,
    dataset: &str,
    chats: &[&Conversation],
    window: u64,
    counter: &Arc<dyn TokenCounter>,
) {
    let mut baseline = None;
    let sets = [Set::BASELINE].into_iter().chain(Set::SINGLE).chain(Set::WHOLE);
    for set in sets {
        let is_baseline = set == Set::BASELINE;
        if !is_baseline && !options.has(set.name())
            || set.name() == "strip-images" && !chats.iter().any(|chat| has_media(chat))
        {
            continue;
        }
        let mut tally = Tally::default();
        for chat in chats {
            tally.add(&play(chat, window, set, counter).await);
        }
        let baseline = baseline.get_or_insert_with(|| tally.clone());
        if is_baseline {
            sheet.begin(&format!(
                "{dataset}: conversations {}, calls {}, facts asked for later {}",
                chats.len(),
                tally.calls,
                tally.asked
            ));
        }
        sheet.add(set.name(), dataset, &metrics(&tally, baseline, set.is_ours()));
        if let Some(refusal) = tally.refusal.filter(|_| set.is_ours()) {
            sheet.note(&format!("refused: {refusal}"));
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

/// Returns the conversations by source, and conversations that are joined from all.
fn datasets(
    folder: &Path,
    lengths: &[u64],
    counter: &dyn TokenCounter,
) -> Vec<(String, Vec<Conversation>)> {
    let mut sources: BTreeMap<String, Vec<Conversation>> = BTreeMap::new();
    for chat in conversations(folder).into_iter().filter(|chat| !chat.messages.is_empty()) {
        let source = chat.name.split('/').next().unwrap_or_default().to_owned();
        sources.entry(source).or_default().push(chat);
    }
    // In rotation, so that one source does not fill all of it.
    let most = sources.values().map(Vec::len).max().unwrap_or_default();
    let mixed: Vec<Conversation> = (0..most)
        .flat_map(|at| sources.values().filter_map(move |chats| chats.get(at)))
        .cloned()
        .collect();
    let mut sets: Vec<_> = sources.into_iter().collect();
    if let Some(first) = mixed.first() {
        sets.extend(lengths.iter().map(|length| {
            let mut long = first.clone();
            long.messages = joined(&mixed, *length, counter);
            (format!("joined to {}k", length / 1_000), vec![long])
        }));
    }
    sets
}

fn metrics(tally: &Tally, baseline: &Tally, is_ours: bool) -> [Metric; 10] {
    let percent = |part: u64, whole: u64| part as f64 / whole.max(1) as f64 * 100.0;
    let metric = |name, of: &dyn Fn(&Tally) -> f64| Metric::new(name, of(tally), of(baseline));
    let refused = metric("refused", &|tally| tally.refused as f64);
    [
        metric("cents", &|tally| tally.cents.iter().sum()),
        metric("summary_cents", &|tally| tally.cents[1]),
        metric("saved", &|tally| percent(tally.saved(), tally.uncut)),
        metric("reread", &|tally| tally.reread as f64 / 1e3),
        metric("summarised", &|tally| tally.summarised as f64 / 1e3),
        metric("words", &|tally| percent(tally.words[1], tally.words[0])),
        metric("facts", &|tally| percent(tally.in_request, tally.asked)),
        metric("one_call", &|tally| percent(tally.in_request + tally.one_call_away, tally.asked)),
        metric("cuts", &|tally| tally.cuts as f64),
        if is_ours { refused.at_most(0.0) } else { refused },
    ]
}
