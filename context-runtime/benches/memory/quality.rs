//! The recall of turns that contain the answer: how often, and at which rank.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use context_runtime::memory::{Episodic, recalled_memories};
use context_runtime::tokens::Vocabulary;
use context_runtime::{
    CancelSignal, Message, Renderer, Role, Timestamp, XmlRenderer,
    memory::{CapturedMessage, CapturedTurn, MemoryProvider, MemoryScope, RecallQuery},
};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use serde::Serialize;

use crate::Options;
use crate::baseline::Baseline;
use crate::dialogue::Dialogue;

/// The target above the baseline.
pub(crate) struct Target {
    /// The ranks at which recall is reported.
    pub(crate) at: &'static [usize],
    /// A rank, and by how much recall at this rank must exceed the baseline's.
    pub(crate) above: (usize, f64),
}

pub(crate) const BFCL: Target = Target { at: &[1, 5, 10], above: (1, 0.08) };
pub(crate) const WRITTEN: Target = Target { at: &[1, 5, 10, 20], above: (5, 0.25) };
pub(crate) const LOCOMO: Target = Target { at: &[1, 5, 10, 20], above: (5, 0.10) };

/// The ranks of the evidence among the recalled turns, for many questions.
#[derive(Clone, Default)]
struct EvidenceRanks(Vec<Option<usize>>);

impl EvidenceRanks {
    fn recall(&self, at: usize) -> f64 {
        let found = self.0.iter().filter(|place| place.is_some_and(|place| place < at)).count();
        found as f64 / self.0.len().max(1) as f64
    }

    /// Returns the mean reciprocal rank.
    fn mrr(&self) -> f64 {
        let sum: f64 = self.0.iter().flatten().map(|place| 1.0 / (place + 1) as f64).sum();
        sum / self.0.len().max(1) as f64
    }
}

/// A number as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    area: &'static str,
    /// `all`, a category, or a dialogue.
    case: &'a str,
    dataset: &'a str,
    metric: String,
    value: f64,
    baseline: f64,
    target: Option<f64>,
}

/// Asks every question of every dialogue, and reports which targets were missed.
pub(crate) async fn measure(
    data: &'static str,
    dialogues: &[Dialogue],
    target: &Target,
    options: &Options,
) -> Vec<String> {
    let mut ours: BTreeMap<String, EvidenceRanks> = BTreeMap::new();
    let mut baseline: BTreeMap<String, EvidenceRanks> = BTreeMap::new();
    let (mut costs, mut tokens) = (Vec::new(), Vec::new());
    for dialogue in dialogues {
        let folder = tempfile::tempdir().unwrap();
        let config = SqliteConfig::new(folder.path().join("memory.db"));
        let store = Arc::new(SqliteStore::open(config).await.unwrap());
        let whole = Episodic::new(Arc::clone(&store) as _).unwrap().hot(Duration::ZERO).limit(20);
        let usual = Episodic::new(Arc::clone(&store) as _).unwrap().hot(Duration::ZERO);
        capture(&whole, dialogue).await;
        let plain = Baseline::new(&dialogue.turns);
        let place =
            |ids: &[String], evidence: &[String]| ids.iter().position(|id| evidence.contains(id));
        for question in &dialogue.questions {
            let query = || {
                let last = dialogue.turns.iter().map(|turn| turn.at).max().unwrap_or_default();
                RecallQuery::new(MemoryScope::new("user"), question.text.as_str())
                    .at(Timestamp::from_micros(last))
                    .max_tokens(2_000)
            };
            let mut unbounded = query();
            unbounded.max_tokens = None;
            let recalled = whole.recall(&unbounded, &CancelSignal::never()).await.unwrap();
            let ids: Vec<String> = recalled.memories.iter().filter_map(message).collect();
            let found = place(&ids, &question.evidence);
            let before = crate::scale::cpu();
            let given = usual.recall(&query(), &CancelSignal::never()).await.unwrap();
            costs.push((crate::scale::cpu() - before) * 1e3);
            let shown =
                XmlRenderer::default().render(&[recalled_memories(&given.memories)]).unwrap();
            tokens.push(Vocabulary::O200kBase.count(&shown) as f64);
            let best = plain.best(&question.text, 20);
            let theirs: Vec<String> =
                best.iter().map(|at| dialogue.turns[*at].id.clone()).collect();
            let plainly = place(&theirs, &question.evidence);
            if options.misses && found != Some(0) {
                println!(
                    "{} {:?} at {found:?}, baseline {plainly:?}",
                    dialogue.name, question.text
                );
                let of = |id: &String| {
                    dialogue.turns.iter().find(|turn| turn.id == *id).map(|turn| turn.text.as_str())
                };
                println!(
                    "    wanted: {}",
                    question.evidence.first().and_then(of).unwrap_or_default()
                );
                println!("    first:  {}", ids.first().and_then(of).unwrap_or_default());
            }
            // A dialogue is a fold: nothing was decided by its questions alone.
            let cases = ["all", question.category.as_str(), dialogue.name.as_str()];
            for case in cases.into_iter().collect::<BTreeSet<_>>() {
                ours.entry(case.to_owned()).or_default().0.push(found);
                baseline.entry(case.to_owned()).or_default().0.push(plainly);
            }
        }
    }
    show(data, target, options, &ours, &baseline);
    if !options.json {
        println!(
            "{data}: a recall within 2,000 tokens takes {:.2} ms CPU and gives {:.0} tokens (medians)",
            median(&mut costs),
            median(&mut tokens)
        );
    }
    let (Some(ours), Some(baseline)) = (ours.get("all"), baseline.get("all")) else {
        return Vec::new();
    };
    let (at, above) = target.above;
    let mut missed = Vec::new();
    if ours.recall(at) < baseline.recall(at) + above {
        missed.push(format!("{data}: recall@{at} {above} above the baseline"));
    }
    if ours.mrr() <= baseline.mrr() {
        missed.push(format!("{data}: MRR above the baseline"));
    }
    missed
}

async fn capture(memory: &Episodic, dialogue: &Dialogue) {
    for turn in &dialogue.turns {
        let message = Message::text(Role::User, turn.text.as_str());
        let mut said =
            CapturedMessage::new(turn.id.as_str(), message).at(Timestamp::from_micros(turn.at));
        said.speaker.clone_from(&turn.speaker);
        let scope = MemoryScope::new("user").session(turn.session.as_str());
        let turn =
            CapturedTurn::new(scope, turn.id.as_str(), Timestamp::from_micros(turn.at), vec![said]);
        memory.capture(&turn, &CancelSignal::never()).await.unwrap();
    }
}

/// Returns the turn that a memory is of.
fn message(memory: &context_runtime::memory::RecalledMemory) -> Option<String> {
    Some(memory.source.as_ref()?.message.as_ref()?.to_string())
}

fn show(
    data: &'static str,
    target: &Target,
    options: &Options,
    ours: &BTreeMap<String, EvidenceRanks>,
    baseline: &BTreeMap<String, EvidenceRanks>,
) {
    if !options.json {
        let heads: String =
            target.at.iter().map(|at| format!("{:>16}", format!("recall@{at}"))).collect();
        println!("{:<24} {:>5} {heads} {:>16}    (ours / BM25)", data, "n", "MRR");
    }
    for (case, places) in ours {
        let plain = &baseline[case];
        if options.json {
            let metric = |at: &usize| {
                let (value, baseline) = (places.recall(*at), plain.recall(*at));
                let (checked, above) = target.above;
                let is_checked = case == "all" && *at == checked;
                let target = is_checked.then_some(baseline + above);
                (format!("recall@{at}"), value, baseline, target)
            };
            let mrr = ("MRR".to_owned(), places.mrr(), plain.mrr(), None);
            for (metric, value, baseline, target) in target.at.iter().map(metric).chain([mrr]) {
                let (area, dataset) = ("memory", data);
                let line = Line { area, case, dataset, metric, value, baseline, target };
                println!("{}", serde_json::to_string(&line).unwrap());
            }
            continue;
        }
        let both = |ours: f64, plain: f64| format!("{:>16}", format!("{ours:.3} / {plain:.3}"));
        let columns: String =
            target.at.iter().map(|at| both(places.recall(*at), plain.recall(*at))).collect();
        println!("{case:<24} {:>5} {columns} {}", places.0.len(), both(places.mrr(), plain.mrr()));
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
