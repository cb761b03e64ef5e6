//! Files of older schemas are opened, upgraded, and keep all of their content.
//!
//! `tests/old/v<n>.db` was written by a program that knew schema `n`, with [`fill`]. `chats.json`
//! is the content that every version must read from it. Before a schema is changed, its file is
//! created, in the crate's folder, with
//! `WRITE_OLD=<file> cargo test --test life write_a_file -- --ignored`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use context_core::base::BlobId;
use context_core::memory::{MemoryRecord, MemoryScope};
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{
    ChainEnd, ChatPatch, ChatQuery, Commit, LeaseClaim, LeaseOutcome, LeaseRefusal, MemoryFind,
    MemoryOutcome, MemoryWrite, MemoryWritten, NewBlob, NewChat, RecordOutcome, RefChange,
    RefLogEntry, RoundCommit, StoredFragment, StreamAppend, StreamClaim, StreamOutcome, Window,
};
use context_core::trajectory::{AgentRef, NewQuery, Round};
use context_core::{BranchName, CancelSignal, ChatRef, Encoded, Metadata, Node, Store, Timestamp};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use serde_json::{Value, json};

use crate::store_fixture::{apply, extend, fork, many, says, stay};

const OLD: [&str; 9] =
    ["v1.db", "v3.db", "v4.db", "v5.db", "v6.db", "v7.db", "v8.db", "v9.db", "v10.db"];
/// The files with blobs.
const WITH_BLOBS: [&str; 7] = ["v4.db", "v5.db", "v6.db", "v7.db", "v8.db", "v9.db", "v10.db"];
/// The files with streams.
const WITH_STREAMS: [&str; 6] = ["v5.db", "v6.db", "v7.db", "v8.db", "v9.db", "v10.db"];
/// The files with trajectories.
const WITH_ROUNDS: [&str; 5] = ["v6.db", "v7.db", "v8.db", "v9.db", "v10.db"];
/// The files with versions of fragments.
const WITH_VERSIONS: [&str; 2] = ["v9.db", "v10.db"];
/// The file with a log of references.
const WITH_REF_LOG: &str = "v10.db";
/// The file with a memory.
const WITH_MEMORY: &str = "v7.db";
/// A blob of two pieces.
pub(crate) const REPORT: &[u8] = &[b'r'; 300_000];

fn old() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old")
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(SqliteConfig::new(path)).await.unwrap()
}

/// Fills a store with data of every kind.
pub(crate) async fn fill(store: &SqliteStore) {
    let history = store.history();
    let chat = ChatRef::new("ada", "trip");
    let new = NewChat {
        title: Some("Lisbon".to_owned()),
        metadata: Metadata::default().with("tags", json!(["a", "b"])),
        ..NewChat::new(chat.clone(), at(10))
    };
    let _ = history.create_chat(new).await.unwrap();
    // Runs of 64 and of 16 messages, and single messages.
    for (i, node) in many("m", 90).into_iter().enumerate() {
        let expected = if i == 0 { String::new() } else { format!("m{}", i - 1) };
        apply(
            history,
            Commit { at: at(20 + i as i64), ..extend(&chat, "main", &expected, vec![node]) },
        )
        .await;
    }
    let cut =
        Node::from_encoded("cut".into(), NodeKind::Boundary, at(200), Encoded::new("cut", 1, "{}"));
    apply(history, extend(&chat, "main", "m89", vec![cut.into(), says("after", "after the cut")]))
        .await;
    apply(history, fork(&chat, "side", "m40", many("s", 20))).await;
    apply(history, fork(&chat, "twig", "s9", many("t", 3))).await;
    apply(history, fork(&chat, "mark", "m10", Vec::new())).await;
    apply(history, fork(&chat, "other root", "", many("r", 2))).await;
    let amend = |words: &str, second| Commit {
        amendments: vec![says("m5", words), says("s3", words)],
        at: at(second),
        ..stay(&chat)
    };
    apply(history, amend("second words", 300)).await;
    apply(history, amend("third words", 301)).await;
    let fragment = |id: Option<&str>, body: &'static str| StoredFragment {
        id: id.map(Into::into),
        metadata: Metadata::default().with("n", 1),
        body: Encoded::new("test/fragment", 3, body),
    };
    let keyed = Commit {
        fragments: vec![fragment(Some("f"), "one"), fragment(None, "two")],
        patch: Some(ChatPatch {
            add: Metadata::default().with("count", 7),
            ..ChatPatch::default()
        }),
        ..keyed(&chat)
    };
    apply(history, keyed).await;
    history.set_checkpoint(&chat, &"start".into(), &"m0".into(), at(310)).await.unwrap();
    history.set_checkpoint(&chat, &"twig".into(), &"t1".into(), at(311)).await.unwrap();
    history.activate_branch(&chat, &"side".into(), at(312)).await.unwrap();
    for (user, id) in [("ada", "empty"), ("bob", "trip"), ("Zoë", "ch/at 'q'")] {
        let _ = history.create_chat(NewChat::new(ChatRef::new(user, id), at(400))).await.unwrap();
    }
    apply(history, extend(&ChatRef::new("bob", "trip"), "main", "", many("m", 5))).await;
    // Numbers of deleted rows must not be reused.
    let gone = ChatRef::new("bob", "gone");
    let _ = history.create_chat(NewChat::new(gone.clone(), at(400))).await.unwrap();
    apply(history, extend(&gone, "main", "", many("m", 5))).await;
    assert!(history.delete_chat(&gone, None).await.unwrap());
    let report = NewBlob::new(REPORT, at(420)).media_type("text/plain");
    store.blobs().unwrap().put_blob(&chat, report).await.unwrap();
    let (streams, early) = (store.streams().unwrap(), "early".into());
    for outcome in [
        streams.create_stream(&chat, &early, at(430)).await.unwrap(),
        streams.claim_stream(&chat, &early, &StreamClaim::new("w", at(431))).await.unwrap(),
        streams
            .append_stream(&chat, &early, StreamAppend::new("w", 0, ["x", "y"], at(432)))
            .await
            .unwrap(),
    ] {
        assert!(matches!(outcome, StreamOutcome::Applied(_)), "{outcome:?}");
    }
    let (round, commit) = asked();
    let recorded = store.trajectories().unwrap().record_round(&commit).await.unwrap();
    assert_eq!(recorded, RecordOutcome::Applied);
    assert_eq!(round.head().revision, 1);
}

/// A round with one question.
fn asked() -> (Round, RoundCommit) {
    let mut round = Round::new(AgentRef::main("ada", "early").round(0), at(440));
    let (_, changes) = round.ask(NewQuery::new("Where from?"), at(440)).unwrap();
    round.committed();
    let commit = RoundCommit::new("early", changes, round.head());
    (round, commit)
}

fn keyed(chat: &ChatRef) -> Commit {
    Commit { key: Some("key".into()), at: at(305), ..extend(chat, "twig", "t2", many("k", 2)) }
}

/// Returns everything that the public interface shows.
async fn everything(store: &SqliteStore) -> Value {
    let history = store.history();
    let mut all = Vec::new();
    for user in ["Zoë", "ada", "bob"] {
        for summary in history.list_chats(&ChatQuery::new(user)).await.unwrap().items {
            let chat = &summary.chat.chat;
            let mut messages = Vec::new();
            for placed in history.all_messages(chat, 1000, None).await.unwrap().items {
                let mut revisions = Vec::new();
                for revision in history.revisions(chat, &placed.node.id).await.unwrap() {
                    let node = node(&revision.node);
                    revisions.push(json!({ "node": node, "replaced_at": revision.replaced_at }));
                }
                let PlacedNode { parent, depth, .. } = &placed;
                let node = node(&placed.node);
                messages.push(json!({ "node": node, "parent": parent, "depth": depth,
                        "revisions": revisions }));
            }
            let branches = history.branches(chat).await.unwrap();
            let mut chains = Vec::new();
            for branch in &branches {
                let end = ChainEnd::Branch(branch.name.clone());
                let chain = history.chain(chat, &end, &Window::Whole).await.unwrap();
                chains.push(
                    chain.iter().map(|node| node.id.to_string()).collect::<Vec<_>>().join(" "),
                );
            }
            let fragments = store.fragments().fragments(chat).await.unwrap();
            let fragments: Vec<_> =
                fragments.iter().map(|f| json!([f.id, f.metadata, encoded(&f.body)])).collect();
            all.push(json!({
                "summary": summary, "messages": messages, "branches": branches, "chains": chains,
                "checkpoints": history.checkpoints(chat).await.unwrap(), "fragments": fragments,
            }));
        }
    }
    Value::Array(all)
}

fn node(node: &Node) -> Value {
    let kind = format!("{:?}", node.kind);
    json!([node.id, kind, node.created_at, node.revision, node.tokens, encoded(node.body())])
}

fn encoded(body: &Encoded) -> Value {
    json!([body.kind(), body.version(), String::from_utf8_lossy(body.bytes())])
}

#[tokio::test]
#[ignore = "writes a file"]
async fn write_a_file() {
    let path = PathBuf::from(std::env::var_os("WRITE_OLD").unwrap());
    let store = open(&path).await;
    fill(&store).await;
    let shown = serde_json::to_string_pretty(&everything(&store).await).unwrap();
    std::fs::write(path.with_file_name("chats.json"), shown + "\n").unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn old_files_are_brought_up_to_date_and_show_what_they_showed() {
    let expected = std::fs::read_to_string(old().join("chats.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for name in OLD {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::copy(old().join(name), &path).unwrap();
        for opened in ["the first time", "again"] {
            let store = open(&path).await;
            assert_eq!(everything(&store).await, expected, "{name} {opened}");
            let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
            assert_eq!(report.findings, [], "{name} {opened}");
            store.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn fragments_of_an_old_file_are_versions_without_a_time() {
    for name in OLD.into_iter().filter(|name| !WITH_VERSIONS.contains(name)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::copy(old().join(name), &path).unwrap();
        let store = open(&path).await;
        let (log, chat) = (store.fragment_log().unwrap(), ChatRef::new("ada", "trip"));
        let old = store.fragments().fragments(&chat).await.unwrap();
        let changed =
            StoredFragment { body: Encoded::new("test/fragment", 3, "x"), ..old[0].clone() };
        for at in [None, Some(at(470))] {
            if let Some(at) = at {
                let changed = std::slice::from_ref(&changed);
                store.fragments().put_fragments(&chat, changed, at).await.unwrap();
            }
            let log = log.fragment_log(&chat).await.unwrap();
            let before = log.as_of(Timestamp::from_micros(0), |_| false).unwrap();
            let before: Vec<_> = before.iter().filter_map(|it| it.fragment.clone()).collect();
            assert_eq!(before, old, "{name} {at:?}");
        }
        let current = log.fragment_log(&chat).await.unwrap();
        let now = current.as_of(at(470), |_| false).unwrap();
        assert_eq!(now[0].fragment.as_ref(), Some(&changed), "{name}");
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, [], "{name}");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_log_of_references_of_an_old_file_is_empty_and_begins() {
    for name in OLD.into_iter().filter(|name| *name != WITH_REF_LOG) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::copy(old().join(name), &path).unwrap();
        let store = open(&path).await;
        let (log, chat) = (store.ref_log().unwrap(), ChatRef::new("ada", "trip"));
        assert!(log.ref_log(&chat).await.unwrap().is_empty(), "{name}");
        let (history, checkpoint) = (store.history(), "begun".into());
        let head = history.branches(&chat).await.unwrap()[0].head.clone().unwrap();
        history.set_checkpoint(&chat, &checkpoint, &head, at(470)).await.unwrap();
        let set = RefChange::CheckpointSet { checkpoint, from: None, to: head, messages: 0 };
        let expected = [RefLogEntry::new(1, at(470), set)];
        assert_eq!(log.ref_log(&chat).await.unwrap().entries(), expected, "{name}");
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, [], "{name}");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn life_goes_on_in_an_old_file() {
    for name in OLD {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::copy(old().join(name), &path).unwrap();
        let store = open(&path).await;
        let (history, chat) = (store.history(), ChatRef::new("ada", "trip"));
        let again = history.commit(keyed(&chat)).await;
        assert!(again.is_err(), "{name}: a key that was used with fragments: {again:?}");
        apply(history, extend(&chat, "side", "s19", many("n", 40))).await;
        apply(history, extend(&chat, "side", "n39", many("o", 2))).await;
        apply(history, fork(&chat, "new", "o1", many("p", 2))).await;
        let leases = store.leases().unwrap();
        let claim = LeaseClaim::new("worker", at(445), Duration::from_secs(60));
        let taken = leases.take_lease(&chat, &claim).await.unwrap();
        assert!(matches!(taken, LeaseOutcome::Taken(_)), "{name}: {taken:?}");
        for count in [1, 2, 3] {
            let append = extend(&chat, "side", "o1", many("q", count));
            let refused = history.commit(Commit { at: at(446), ..append }).await.unwrap_err();
            assert!(LeaseRefusal::of(&refused).is_some(), "{name}: {refused:?}");
        }
        let blobs = store.blobs().unwrap();
        let id = blobs.put_blob(&chat, NewBlob::new("a long report", at(450))).await.unwrap().id;
        let read = blobs.read_blob(&chat, &id, 2..6, None).await.unwrap();
        assert_eq!(read.as_deref(), Some(&b"long"[..]), "{name}");
        let report = blobs.read_blob(&chat, &BlobId::of(REPORT), 0..u64::MAX, None).await.unwrap();
        assert_eq!(report.as_deref(), WITH_BLOBS.contains(&name).then_some(REPORT), "{name}");
        let (streams, answer) = (store.streams().unwrap(), "answer".into());
        for outcome in [
            streams.create_stream(&chat, &answer, at(460)).await.unwrap(),
            streams.claim_stream(&chat, &answer, &StreamClaim::new("w", at(461))).await.unwrap(),
            streams
                .append_stream(&chat, &answer, StreamAppend::new("w", 0, ["a", "b"], at(462)))
                .await
                .unwrap(),
        ] {
            assert!(matches!(outcome, StreamOutcome::Applied(_)), "{name}: {outcome:?}");
        }
        let part = streams.read_stream(&chat, &answer, 1, 10).await.unwrap().unwrap();
        assert_eq!(part.chunks, ["b"], "{name}");
        let early = streams.read_stream(&chat, &"early".into(), 0, 10).await.unwrap();
        let early = early.map(|part| part.chunks.concat());
        assert_eq!(early.as_deref(), WITH_STREAMS.contains(&name).then_some(&b"xy"[..]), "{name}");
        let trajectories = store.trajectories().unwrap();
        let agent = AgentRef::main("ada", "session");
        let mut round = Round::new(agent.round(0), at(470));
        let (_, changes) = round.ask(NewQuery::new("Where to?"), at(470)).unwrap();
        round.committed();
        let recorded =
            trajectories.record_round(&RoundCommit::new("k", changes, round.head())).await.unwrap();
        assert_eq!(recorded, RecordOutcome::Applied, "{name}");
        assert_eq!(
            trajectories.load_rounds(&agent, 0..=9).await.unwrap(),
            [round.to_record()],
            "{name}"
        );
        let early = trajectories.load_rounds(&AgentRef::main("ada", "early"), 0..=9).await.unwrap();
        let expected = WITH_ROUNDS.contains(&name).then(|| asked().0.to_record());
        assert_eq!(early, expected.into_iter().collect::<Vec<_>>(), "{name}");
        let (memories, scope) = (store.memories().unwrap(), MemoryScope::new("ada"));
        let find = MemoryFind::new(vec![scope.clone()], vec!["train".to_owned()], 10);
        let early = memories.find_memories(&find).await.unwrap().hits;
        let texts: Vec<&str> = early.iter().map(|hit| hit.stored.record.text.as_str()).collect();
        let expected: &[&str] =
            if name == WITH_MEMORY { &["Ada takes the train to Porto."] } else { &[] };
        assert_eq!(texts, expected, "{name}");
        let record = MemoryRecord::new(scope.clone(), "m", "episode", at(480), "To Porto.");
        let written =
            memories.write_memories(&[MemoryWrite::new(record.clone(), "porto")]).await.unwrap();
        assert_eq!(written, MemoryOutcome::Applied(vec![MemoryWritten::Written(1)]), "{name}");
        let find = MemoryFind::new(vec![scope], vec!["porto".to_owned()], 10);
        let found = memories.find_memories(&find).await.unwrap().hits;
        assert!(found.iter().any(|hit| hit.stored.record == record), "{name}");
        // A chat that is created again under the same name has another generation.
        let gone = ChatRef::new("bob", "gone");
        let mut generations = Vec::new();
        for _ in 0..2 {
            let _ = history.create_chat(NewChat::new(gone.clone(), at(500))).await.unwrap();
            apply(history, extend(&gone, "main", "", many("z", 3))).await;
            let end = ChainEnd::Branch(BranchName::main());
            generations
                .push(history.chain(&gone, &end, &Window::Whole).await.unwrap().generation());
            assert!(history.delete_chat(&gone, None).await.unwrap());
        }
        assert_ne!(generations[0], generations[1], "{name}");
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, [], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_old_file_may_be_opened_by_many_at_once() {
    for name in OLD {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::copy(old().join(name), &path).unwrap();
        let config = SqliteConfig::new(&path);
        let all: Vec<_> = (0..8).map(|_| tokio::spawn(SqliteStore::open(config.clone()))).collect();
        for opened in all {
            let store = opened.await.unwrap().unwrap();
            let chats = store.history().list_chats(&ChatQuery::new("ada")).await.unwrap();
            assert_eq!(chats.items.len(), 2, "{name}");
        }
    }
}
