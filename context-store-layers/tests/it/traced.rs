//! The spans and fields are exactly those that the documentation lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use context_core::base::BlobId;
use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope};
use context_core::store::{
    BlobPrune, BlobStore, ChatPatch, ChatQuery, Commit, MemoryExpected, MemoryFind, MemoryList,
    MemoryRecordStore, MemoryWrite, NewBlob, NewChat, RoundCommit, RoundPrune, RoundQuery,
    SearchQuery, StreamAppend, StreamClaim, StreamPrune, StreamStore, TrajectoryStore, Window,
};
use context_core::trajectory::{NewNode, NewQuery, NodeBody, Round};
use context_core::{CancelSignal, Store};
use context_store_inmem::InMemoryStore;
use context_store_layers::TracedStore;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::fixture::{at, branch, chat, extend, fragment, says};

/// A span that was opened: its name and its fields.
#[derive(Clone, Debug, Default, PartialEq)]
struct RecordedSpan {
    name: &'static str,
    fields: BTreeMap<&'static str, String>,
}

impl Visit for RecordedSpan {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

/// Records all spans.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<RecordedSpan>>>);

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "context.store"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut seen = RecordedSpan { name: span.metadata().name(), ..RecordedSpan::default() };
        span.record(&mut seen);
        let mut spans = self.0.lock().unwrap();
        spans.push(seen);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(&mut self.0.lock().unwrap()[span.into_u64() as usize - 1]);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs calls of a traced store and returns the spans.
fn spans<F: Future<Output = ()>>(
    layer: impl Fn(TracedStore) -> TracedStore,
    calls: impl FnOnce(Arc<dyn Store>) -> F,
) -> Vec<RecordedSpan> {
    let recorder = Recorder::default();
    let spans = Arc::clone(&recorder.0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tracing::subscriber::with_default(recorder, || {
        let store = layer(TracedStore::new(Arc::new(InMemoryStore::default())));
        runtime.block_on(calls(Arc::new(store)));
    });
    std::mem::take(&mut *spans.lock().unwrap())
}

/// Makes every call, some of them twice.
async fn everything(store: Arc<dyn Store>) {
    let (history, chat) = (store.history(), chat());
    for _ in 0..2 {
        let _created = history.create_chat(NewChat {
            title: Some("a secret title".into()),
            ..NewChat::new(chat.clone(), at(1))
        });
        let _created = _created.await.unwrap();
        let commit = extend("main", None, vec![says("a", "a secret"), says("b", "another secret")]);
        let _outcome = history.commit(commit).await.unwrap();
    }
    history.chat(&chat).await.unwrap();
    history.list_chats(&ChatQuery::new("ada")).await.unwrap();
    history.update_chat(&chat, &ChatPatch::default(), at(2)).await.unwrap();
    history.chat_size(&chat).await.unwrap();
    history.branches(&chat).await.unwrap();
    let target = context_core::store::Target::Fork {
        name: context_core::store::ForkName::Exact("side".into()),
        at: Some("a".into()),
        activate: false,
    };
    let _outcome = history
        .commit(Commit { nodes: vec![says("x", "y")], ..Commit::new(chat.clone(), target, at(3)) })
        .await
        .unwrap();
    history.activate_branch(&chat, &"main".into(), at(3)).await.unwrap();
    history.rename_branch(&chat, &"side".into(), &"aside".into(), at(3)).await.unwrap();
    let _gone =
        history.delete_branch(&chat, &"aside".into(), Some(&"x".into()), at(3)).await.unwrap();
    history.set_checkpoint(&chat, &"cp".into(), &"a".into(), at(3)).await.unwrap();
    history.checkpoints(&chat).await.unwrap();
    history.delete_checkpoint(&chat, &"cp".into(), at(3)).await.unwrap();
    history.chain(&chat, &branch("main"), &Window::Whole).await.unwrap();
    history.messages(&chat, &["a".into(), "ghost".into()]).await.unwrap();
    history.all_messages(&chat, 10, None).await.unwrap();
    history.revisions(&chat, &"a".into()).await.unwrap();
    store.fragments().put_fragments(&chat, &[fragment("f", "a secret")], at(3)).await.unwrap();
    store.fragments().fragments(&chat).await.unwrap();
    store.open_chat(&chat, None, &Window::Boundary).await.unwrap();
    store.fragments().remove_fragment(&chat, &"f".into(), at(3)).await.unwrap();
    store.ref_log().unwrap().ref_log(&chat).await.unwrap();
    store.ref_log().unwrap().clear_ref_log(&chat).await.unwrap();
    let log = store.fragment_log().unwrap();
    log.fragment_log(&chat).await.unwrap();
    log.clear_fragment_log(&chat).await.unwrap();
    store.search().unwrap().search(&SearchQuery::new("ada", "secret")).await.unwrap();
    blobs(store.blobs().unwrap()).await;
    streams(store.streams().unwrap()).await;
    rounds(store.trajectories().unwrap()).await;
    memories(store.memories().unwrap()).await;
    let maintenance = store.maintenance().unwrap();
    maintenance.check(&CancelSignal::never()).await.unwrap();
    maintenance.users(10, None).await.unwrap();
    maintenance.vacuum().await.unwrap_err();
    maintenance.backup(std::path::Path::new("unused")).await.unwrap_err();
    history.delete_chat(&chat, None).await.unwrap();
    let _erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
}

async fn blobs(blobs: &dyn BlobStore) {
    let (chat, id) = (chat(), BlobId::of(b"secret bytes"));
    blobs.put_blob(&chat, NewBlob::new("secret bytes", at(4))).await.unwrap();
    blobs.blob(&chat, &id).await.unwrap();
    blobs.read_blob(&chat, &id, 0..6, None).await.unwrap();
    blobs.blobs(&chat, 10, None).await.unwrap();
    blobs.remove_blob(&chat, &id).await.unwrap();
    blobs.prune_blobs(&BlobPrune::new("ada", at(9))).await.unwrap();
}

async fn streams(streams: &dyn StreamStore) {
    let (chat, id) = (chat(), "s".into());
    let _outcome = streams.create_stream(&chat, &id, at(4)).await.unwrap();
    let _outcome = streams.claim_stream(&chat, &id, &StreamClaim::new("w", at(4))).await.unwrap();
    let append = StreamAppend::new("w", 0, ["secret chunk"], at(4))
        .end(context_core::store::StreamEnd::Completed);
    let _outcome = streams.append_stream(&chat, &id, append).await.unwrap();
    streams.cancel_stream(&chat, &id, at(5)).await.unwrap();
    streams.stream(&chat, &id).await.unwrap();
    streams.read_stream(&chat, &id, 0, 10).await.unwrap();
    assert!(streams.watch_stream(&chat, &id).await.unwrap().is_some());
    streams.streams(&chat, 10, None).await.unwrap();
    let _outcome = streams.reopen_stream(&chat, &id, 0, at(5)).await.unwrap();
    streams.remove_stream(&chat, &id).await.unwrap();
    streams.prune_streams(&StreamPrune::new("ada", at(9))).await.unwrap();
}

async fn rounds(trajectories: &dyn TrajectoryStore) {
    let agent = context_core::trajectory::AgentRef::main("ada", "s");
    let mut round = Round::new(agent.round(0), at(4));
    let (query, changes) = round.ask(NewQuery::new("a secret question"), at(4)).unwrap();
    round.committed();
    let first = RoundCommit::new("1", changes, round.head());
    let answer = NewNode::new(NodeBody::response("a secret answer"), [query]);
    let (_, changes) = round.add(answer, at(5)).unwrap();
    let stale = RoundCommit::new("2", changes, round.head());
    for commit in [&first, &first, &stale] {
        let _outcome = trajectories.record_round(commit).await.unwrap();
    }
    trajectories.load_rounds(&agent, 0..=9).await.unwrap();
    trajectories.rounds(&RoundQuery::of_user("ada")).await.unwrap();
    trajectories.nodes_of_message(&"ada".into(), &"trip".into(), &"a".into()).await.unwrap();
    trajectories.prune_rounds(&RoundPrune::of_user("ada")).await.unwrap();
}

async fn memories(memories: &dyn MemoryRecordStore) {
    let scope = MemoryScope::new("ada");
    let record = |text: &str| MemoryRecord::new(scope.clone(), "m", "note", at(4), text);
    let first = MemoryWrite::new(record("a secret memory"), "memory");
    let stale = first.clone().expected(MemoryExpected::Version(7));
    for write in [first, stale] {
        let _outcome = memories.write_memories(&[write]).await.unwrap();
    }
    memories.memories(&scope, &["m".into()]).await.unwrap();
    memories.memory_neighbours(&scope, &["m".into()], 1).await.unwrap();
    memories.list_memories(&MemoryList::new(vec![scope.clone()], 9)).await.unwrap();
    let find = MemoryFind::new(vec![scope.clone()], vec!["memory".into()], 9);
    memories.find_memories(&find).await.unwrap();
    memories.memory_stats(&"ada".into(), 9, None).await.unwrap();
    let _forgotten = memories.forget_memories(&MemoryForget::Scope(scope)).await.unwrap();
}

/// Parses the tables of the documentation: the fields and outcomes of each span.
fn documented() -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let words = |cell: &str| -> BTreeSet<String> {
        cell.split(',')
            .map(|word| word.trim().trim_matches('`').to_owned())
            .filter(|word| !word.is_empty())
            .collect()
    };
    let rows = include_str!("../../src/traced.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("/// | `context.store."));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').collect();
        let name = format!("context.store.{}", cells[0].trim().trim_end_matches('`'));
        (name, (words(cells[1]), words(cells[2])))
    })
    .collect()
}

/// The fields of every span. Other fields are those of failed calls or of options.
const ALWAYS: [&str; 3] = ["operation", "store", "outcome"];
const SOMETIMES: [&str; 5] = ["user", "chat", "content", "error.kind", "error.retry"];

#[test]
fn the_documentation_lists_what_is_emitted() {
    let documented = documented();
    let spans = spans(|store| store.scope(true).content(true), everything);
    let mut emitted: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for span in &spans {
        let (_, outcomes) =
            documented.get(span.name).unwrap_or_else(|| panic!("{} is not documented", span.name));
        let outcome = &span.fields["outcome"];
        assert!(
            outcomes.contains(outcome) || outcome == "error",
            "{}: outcome {outcome}",
            span.name
        );
        assert!(ALWAYS.iter().all(|field| span.fields.contains_key(field)), "{span:?}");
        assert_eq!(span.fields["operation"], span.name.trim_start_matches("context.store."));
        assert_eq!(span.fields["store"], "inmem");
        let other =
            span.fields.keys().filter(|key| !ALWAYS.contains(key) && !SOMETIMES.contains(key));
        emitted.entry(span.name).or_default().extend(other.map(|key| (*key).to_owned()));
    }
    for (name, (fields, _)) in &documented {
        match emitted.get(name.as_str()) {
            Some(emitted) => assert_eq!(emitted, fields, "{name}"),
            None => panic!("{name} is documented, but not emitted"),
        }
    }
}

#[test]
fn nobody_is_named_and_nothing_is_quoted_unless_asked_for() {
    let plain = spans(|store| store, everything);
    for span in &plain {
        assert!(!span.fields.contains_key("user") && !span.fields.contains_key("chat"), "{span:?}");
        assert!(
            !span.fields.values().any(|value| value.contains("secret") || value == "ada"),
            "{span:?}"
        );
    }
    let scoped = spans(|store| store.scope(true), everything);
    let commit = scoped.iter().find(|span| span.name == "context.store.commit").unwrap();
    assert_eq!((commit.fields["user"].as_str(), commit.fields["chat"].as_str()), ("ada", "trip"));
    assert!(!scoped.iter().any(|span| format!("{span:?}").contains("secret")));
    let quoted = spans(|store| store.content(true), everything);
    let with = |name: &str| {
        quoted
            .iter()
            .filter(|span| span.name == name)
            .filter_map(|span| span.fields.get("content"))
            .collect::<Vec<_>>()
    };
    assert!(with("context.store.commit")[0].contains("another secret"));
    assert!(with("context.store.chain")[0].contains("another secret"));
    assert_eq!(with("context.store.create_chat")[0], "a secret title");
    assert_eq!(with("context.store.search"), ["secret"]);
    assert_eq!(with("context.store.write_memories")[0], "a secret memory");
    assert_eq!(with("context.store.find_memories"), ["memory"]);
    // Bytes are not text, and rounds are not included.
    assert!(
        with("context.store.put_blob").is_empty() && with("context.store.read_blob").is_empty()
    );
    assert!(!quoted.iter().any(|span| format!("{span:?}").contains("secret bytes")
        || format!("{span:?}").contains("secret chunk")
        || format!("{span:?}").contains("secret question")));
}

#[test]
fn counts_and_errors_are_told() {
    let spans = spans(
        |store| store,
        async |store: Arc<dyn Store>| {
            let commit = || extend("main", None, vec![says("a", "x"), says("b", "y")]);
            store.history().commit(commit()).await.unwrap_err();
            let _created = store.history().create_chat(NewChat::new(chat(), at(1))).await.unwrap();
            let _outcome = store.history().commit(commit()).await.unwrap();
            let _outcome = store.history().commit(commit()).await.unwrap();
            let ghost = extend("main", None, vec![says("c", "x")]);
            let _outcome = store.history().commit(ghost).await.unwrap();
        },
    );
    let commits: Vec<_> = spans.iter().filter(|span| span.name == "context.store.commit").collect();
    let outcomes: Vec<_> = commits.iter().map(|span| span.fields["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["error", "applied", "replayed", "conflict"]);
    let bytes = 2 * says("a", "x").body().bytes().len();
    assert_eq!(commits[0].fields["sent.items"], "2");
    assert_eq!(commits[0].fields["sent.bytes"], bytes.to_string());
    assert_eq!(
        (commits[0].fields["error.kind"].as_str(), commits[0].fields["error.retry"].as_str()),
        ("not_found", "never")
    );
}
