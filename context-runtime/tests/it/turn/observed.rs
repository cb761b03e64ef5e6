//! The spans of a turn are exactly those that the documentation lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Mutex;

use context_runtime::ToolFunction;
use context_runtime::memory::episodic;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

type Spans = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// Records the names and fields of spans with the target `context`.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Spans>>);

struct Fields<'s>(&'s mut BTreeSet<&'static str>, &'s mut Vec<String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name());
        self.1.push(format!("{value:?}"));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "context"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut seen = self.0.lock().unwrap();
        let name = span.metadata().name();
        let fields = seen.entry(name).or_default();
        // A field that is recorded later is declared here.
        fields.extend(span.metadata().fields().iter().map(|field| field.name()));
        let mut values = Vec::new();
        span.record(&mut Fields(fields, &mut values));
        assert!(!values.iter().any(|value| value.contains("seasick") || value.contains("ada")));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Returns the spans of the table on the facade's page.
fn documented() -> Vec<(String, BTreeSet<String>)> {
    let page = include_str!("../../../src/lib.rs");
    let table = page.split_once("//! | span |").unwrap().1;
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("//! | `"));
    let quoted = |cell: &str| -> BTreeSet<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    rows.map(|row| {
        let cells: Vec<_> = row.split(" | ").collect();
        let name = cells[0].trim_end_matches('`').to_owned();
        let mut fields = quoted(cells.get(2).copied().unwrap_or_default());
        fields.insert("gen_ai.conversation.id".to_owned());
        (name, fields)
    })
    .collect()
}

#[test]
fn a_turn_opens_the_spans_that_are_documented() {
    let recorder = Recorder::default();
    let spans = Arc::clone(&recorder.0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    // With a single subscriber, `tracing` asks the default of whichever thread meets a span first
    // whether anybody listens, and caches the answer of other tests. With two it asks both.
    let _second = tracing::Dispatch::new(Recorder::default());
    tracing::subscriber::with_default(recorder, || {
        runtime.block_on(async {
            let store = crate::kit::store().await;
            // Both forms of the summary fail, and then the request is refused.
            let model = faulty([ProviderFault::Overflow; 3], asks_twice).window(20_000);
            let model: Arc<dyn LanguageModel> = Arc::new(model);
            let memory = episodic(&store).unwrap();
            let agents = builder(&store)
                .client(model)
                .memory(memory)
                .runtime(|runtime| runtime.window(16_000).reserve(1_000))
                .build()
                .unwrap();
            let mut chat = chat(&agents).await;
            for _ in 0..20 {
                chat.set([context_runtime::user("I get seasick on ferries. ".repeat(120))]);
                chat.set([context_runtime::assistant("Take the train. ".repeat(120))]);
            }
            let tool =
                ToolFunction::with_schema(weather(), |call| async move { call.result("sun") });
            chat.ask("And now?").tools([tool]).await.unwrap();
        });
    });
    let seen: Vec<_> = std::mem::take(&mut *spans.lock().unwrap())
        .into_iter()
        .map(|(name, fields)| (name.to_owned(), fields.into_iter().map(str::to_owned).collect()))
        .collect();
    let mut expected = documented();
    expected.sort();
    assert_eq!(seen, expected);
}
