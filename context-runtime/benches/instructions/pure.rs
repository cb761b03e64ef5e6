//! Cases without a store: pure functions.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use context_runtime::microcompact::Microcompact;
use context_runtime::tokens::{ModelCounter, TokenCounter, Vocabulary};
use context_runtime::trajectory::Round;
use context_runtime::{
    RenderOptions,
    compaction::{Budget, CompactionPolicy, Goal, HistoryView},
    message_codec,
    model::{HistoryRules, ModelRequest, Unanswered, normalize},
    provider, renderer,
    store::Node,
};
use context_store_kit::pack as packed;

use crate::{Work, data, fragments, rounds, words};

pub(crate) fn render() -> Work {
    let (renderer, fragments) =
        (renderer("xml", RenderOptions::new()).unwrap(), fragments::mixed(1_000));
    Box::new(move || drop(black_box(renderer.render(black_box(&fragments)).unwrap())))
}

/// Message counts are known, as in a runtime. Those of shortened messages are not.
pub(crate) fn microcompact() -> Work {
    let (messages, counter) = (data::work(1_000, 4_000), ModelCounter::for_model("gpt-4o"));
    let counts: Vec<u64> =
        messages.iter().map(|message| counter.count_message(message).tokens()).collect();
    let total = counts.iter().sum::<u64>();
    let goal = Goal::new(Budget::new(total, 0), 0, total * 6 / 10);
    Box::new(move || {
        let view = HistoryView::counted(&messages, counts.iter().copied(), &counter);
        black_box(Microcompact::new().plan(&view, &goal).into_plan().unwrap());
    })
}

pub(crate) fn normalize_valid() -> Work {
    let messages = data::work(1_000, 400);
    Box::new(move || {
        drop(black_box(normalize(&messages, &HistoryRules::new(), Unanswered::Answer, false)));
    })
}

pub(crate) fn lower(name: &str) -> Work {
    let codec = message_codec(name).unwrap();
    let request = ModelRequest::new(data::work(1_000, 400)).model("m").max_output_tokens(1_000);
    let request = request.system(words::text(0)).tools(data::tools());
    Box::new(move || drop(black_box(codec.lower(black_box(&request)).unwrap())))
}

pub(crate) fn lift() -> Work {
    let (codec, body) = (provider("anthropic").unwrap(), data::answer());
    Box::new(move || drop(black_box(codec.lift_answer(black_box(&body)).unwrap())))
}

pub(crate) fn stream() -> Work {
    let (codec, events) = (provider("anthropic").unwrap(), data::events());
    Box::new(move || {
        let mut stream = codec.answer_stream();
        for event in &events {
            black_box(stream.push(event).unwrap());
        }
        drop(black_box(stream.finish()));
    })
}

pub(crate) fn tokens() -> Work {
    let text = data::long(7, 100_000);
    Box::new(move || {
        black_box(Vocabulary::O200kBase.count(black_box(&text)));
    })
}

fn nodes() -> Vec<Arc<Node>> {
    words::nodes(0..1_000).into_iter().map(Arc::new).collect()
}

pub(crate) fn pack() -> Work {
    let nodes = nodes();
    Box::new(move || drop(black_box(packed::pack_all(&nodes))))
}

pub(crate) fn unpack() -> Work {
    let bytes = Bytes::from(packed::pack_all(&nodes()));
    Box::new(move || {
        for node in packed::unpack(black_box(&bytes)).unwrap() {
            black_box(node.message().unwrap());
        }
    })
}

pub(crate) fn record() -> Work {
    let round = rounds::agent("s").round(0);
    Box::new(move || {
        let (mut growing, changes) = rounds::GrowingRound::of(round.clone(), rounds::NODES);
        black_box(growing.commit(changes));
    })
}

pub(crate) fn restore() -> Work {
    let (growing, _) = rounds::GrowingRound::of(rounds::agent("s").round(0), rounds::NODES);
    let record = growing.round.to_record();
    Box::new(move || drop(black_box(Round::from_record(record.clone()).unwrap())))
}
