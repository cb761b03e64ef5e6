//! Trajectories: the data in the inner store, the places at which it can be decrypted, and rounds
//! that a rotation leaves.

use std::sync::Arc;

use context_core::base::JsonMap;
use context_core::store::{RecordOutcome, RoundCommit, RoundQuery};
use context_core::trajectory::{
    AgentRef, Change, Changes, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeId,
    QueueItem, Round, RoundRecord, RoundRef,
};
use context_core::{CancelSignal, ErrorKind, Store};
use context_store_layers::{EncryptedStore, RotateOptions};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::fixture::{at, memory, over, ring};

const MARKER: &str = "quetzalcoatlus";

fn place() -> RoundRef {
    AgentRef::main("ada", "s").round(0)
}

/// Returns the commits of a round with the word in every text and JSON value.
fn commits(word: &str) -> (Round, Vec<RoundCommit>) {
    let mut round = Round::new(place(), at(1));
    let query = NewQuery::new(word).raw(word).files([word]).message(MessageLink::new("c", "m1"));
    let (query, changes) = round.ask(query, at(2)).unwrap();
    let mut params = JsonMap::new();
    params.insert("with".to_owned(), word.into());
    let step = QueueItem { name: "plan".to_owned(), params };
    assert!(round.queues_mut(at(2)).todo.push(step));
    round.committed();
    let mut commits = vec![RoundCommit::new("one", changes, round.head())];
    let mut measures = Measures::default();
    measures.model = Some("a model".into());
    let call = NodeBody::action(word, serde_json::json!({"b": word, "a": 1}));
    let call = NewNode::new(call, [query]).label("call_1").describe(word).measure(measures);
    let (call, mut changes) = round.add(call, at(3)).unwrap();
    for output in [word, "done"] {
        let change = Changes::new()
            .set("output", serde_json::json!([output]))
            .describe(output)
            .set("success", true);
        changes.extend(round.change(call, &change, Some("somebody".into()), at(4)).unwrap());
    }
    round.committed();
    commits.push(RoundCommit::new("two", changes, round.head()));
    (round, commits)
}

async fn record(store: &dyn Store, word: &str) -> (Round, Vec<RoundCommit>) {
    let (round, commits) = commits(word);
    for commit in &commits {
        let outcome = store.trajectories().unwrap().record_round(commit).await.unwrap();
        assert_eq!(outcome, RecordOutcome::Applied);
    }
    (round, commits)
}

async fn load(store: &dyn Store) -> context_core::Result<RoundRecord> {
    Ok(store.trajectories().unwrap().load_rounds(&place().agent, 0..=0).await?.pop().unwrap())
}

#[tokio::test]
async fn no_word_reaches_the_files() {
    for encrypted in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let inner = SqliteStore::open(SqliteConfig::new(folder.path().join("a.db"))).await.unwrap();
        let inner: Arc<dyn Store> = Arc::new(inner);
        let layered: Arc<dyn Store> = Arc::new(over(&inner, &["k1"]));
        let store = if encrypted { &layered } else { &inner };
        let (round, _) = record(&**store, MARKER).await;
        assert_eq!(load(&**store).await.unwrap(), round.to_record());
        let files = std::fs::read_dir(folder.path()).unwrap();
        let bytes: Vec<u8> =
            files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
        let holds = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        assert_eq!(holds(MARKER), !encrypted);
        // This data stays readable on purpose.
        for word in ["call_1", "somebody", "triggers", "a model", "plan", "m1"] {
            assert!(holds(word), "{word}");
        }
    }
}

#[tokio::test]
async fn a_round_comes_back_and_keeps_its_forms_beneath() {
    let inner = memory();
    let store = over(&inner, &["k1"]);
    let (round, commits) = record(&store, MARKER).await;
    assert_eq!(load(&store).await.unwrap(), round.to_record());
    let heads = store.trajectories().unwrap().rounds(&RoundQuery::of_user("ada")).await.unwrap();
    assert_eq!(heads.items, [round.head()]);
    let last = store.trajectories().unwrap().record_round(&commits[1]).await.unwrap();
    assert_eq!(last, RecordOutcome::Replayed);
    // The stored graph is valid. Only its texts are encrypted.
    let beneath = load(&*inner).await.unwrap();
    assert_eq!(beneath.edges, round.to_record().edges);
    assert!(Round::from_record(beneath).is_ok());
    let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.rounds, report.findings), (1, Vec::new()));
}

#[tokio::test]
async fn nothing_opens_in_another_place() {
    let (one, _) = commits("first");
    let sealed = {
        let inner = memory();
        record(&over(&inner, &["k1"]), "first").await;
        load(&*inner).await.unwrap()
    };
    let node = |ordinal: usize| sealed.nodes[ordinal].clone();
    let moved = |change: &dyn Fn(&mut RoundRecord)| {
        let mut record = sealed.clone();
        change(&mut record);
        record
    };
    let of_bob = moved(&|record| record.head.round.agent.user = "bob".into());
    let of_another = moved(&|record| record.head.round.agent.agent = 1);
    let swapped = moved(&|record| {
        Arc::make_mut(&mut record.nodes[0]).description = node(1).description.clone()
    });
    // The record of an earlier version is not valid for the present one.
    let undone = moved(&|record| {
        let was = record.nodes[1].versions[1].previous.get("output").unwrap().clone();
        let node = Arc::make_mut(&mut record.nodes[1]);
        node.body = node.body.clone().with("output", was).unwrap();
    });
    let plain = moved(&|record| record.head.title = "plain".into());
    for record in [of_bob, of_another, swapped, undone, plain] {
        let inner = memory();
        let mut head = record.head.clone();
        (head.revision, head.queues) = (1, Default::default());
        let added =
            record.nodes.iter().map(|node| Change::NodeAdded { node: node.clone() }).collect();
        let written =
            inner.trajectories().unwrap().record_round(&RoundCommit::new("k", added, head)).await;
        assert_eq!(written.unwrap(), RecordOutcome::Applied);
        let agent = &record.head.round.agent;
        let store = over(&inner, &["k1"]);
        let refused = store.trajectories().unwrap().load_rounds(agent, 0..=0).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt);
        assert!(!format!("{refused:?}").contains("first"));
        let report = store.check_user(&agent.user, &CancelSignal::never()).await.unwrap();
        assert_eq!(report.len(), 1);
    }
    assert_eq!(one.len(), 2);
}

/// A reply is lost, the keys are changed, and the caller tries again.
#[tokio::test]
async fn a_change_of_keys_leaves_rounds_readable_and_counted() {
    let inner = memory();
    let (mut round, commits) = record(&over(&inner, &["k1"]), MARKER).await;
    let store = over(&inner, &["k2", "k1"]);
    let trajectories = store.trajectories().unwrap();
    assert_eq!(trajectories.record_round(&commits[1]).await.unwrap(), RecordOutcome::Replayed);
    let changes = Changes::new().set("output", serde_json::json!("more"));
    let changes = round.change(NodeId::new(0, 1), &changes, None, at(9)).unwrap();
    round.committed();
    let third = RoundCommit::new("three", changes, round.head());
    assert_eq!(trajectories.record_round(&third).await.unwrap(), RecordOutcome::Applied);
    assert_eq!(load(&store).await.unwrap(), round.to_record());
    let (user, never) = ("ada".into(), CancelSignal::never());
    let usage = store.key_usage(&user, &never).await.unwrap();
    assert!(usage.records.len() == 2 && usage.plain == 0 && usage.broken == 0, "{usage:?}");
    let rotated =
        store.rotate_user(&user, &RotateOptions::default(), &never, |_, _| {}).await.unwrap();
    assert_eq!((rotated.chats, rotated.left), (0, 1));
    let without = over(&inner, &["k2"]);
    assert_eq!(load(&without).await.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn rounds_without_encryption_are_refused_unless_allowed() {
    let inner = memory();
    let (round, _) = record(&*inner, MARKER).await;
    assert_eq!(load(&over(&inner, &["k1"])).await.unwrap_err().kind(), ErrorKind::Corrupt);
    let store = EncryptedStore::new(Arc::clone(&inner), ring(&["k1"])).allow_plain(true);
    assert_eq!(load(&store).await.unwrap(), round.to_record());
    let usage = store.key_usage(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert!(usage.plain > 10 && usage.records.is_empty());
}
