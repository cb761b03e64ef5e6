//! Tests of the file channel.

mod damage;
mod model;
mod shared;

use std::path::{Path, PathBuf};

use context_core::Timestamp;
use context_core::store::{
    Durability, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, TrajectoryStore,
};
use context_core::trajectory::{
    AgentRef, Change, Changes, NewNode, NewQuery, NodeBody, NodeId, Round, RoundRecord, RoundState,
};
use context_trajectory::FileChannel;

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// A round that is recorded step by step.
pub(crate) struct RoundFixture {
    pub(crate) round: Round,
    changes: Vec<Change>,
}

impl RoundFixture {
    pub(crate) fn new(agent: &AgentRef, round: u32) -> Self {
        Self { round: Round::new(agent.round(round), at(1)), changes: Vec::new() }
    }

    /// Creates a round with its question.
    pub(crate) fn asked(agent: &AgentRef, round: u32) -> Self {
        let mut fixture = Self::new(agent, round);
        let (_, changes) = fixture.round.ask(NewQuery::new("why?"), at(10)).unwrap();
        fixture.changes.extend(changes);
        fixture
    }

    pub(crate) fn act(&mut self, after: NodeId, output: &str) -> NodeId {
        let action = NodeBody::action(
            "look",
            context_core::Json::from_text(r#"{"z":1.50,"a":"é"}"#).unwrap(),
        );
        let (id, added) = self
            .round
            .add(NewNode::new(action, [after]).edge("triggers").append(), at(20))
            .unwrap();
        let changes = Changes::new().set("output", output).set("success", true);
        let changed = self.round.change(id, &changes, Some("ada".into()), at(30)).unwrap();
        self.changes.extend(added.into_iter().chain(changed));
        id
    }

    pub(crate) fn note(&mut self, id: NodeId, output: &str) {
        let changes = Changes::new().set("output", output);
        self.changes.extend(self.round.change(id, &changes, None, at(40)).unwrap());
    }

    pub(crate) fn query(&self) -> NodeId {
        self.round.query().unwrap().id
    }

    /// Returns the changes since the last call as a commit.
    pub(crate) fn commit(&mut self) -> RoundCommit {
        self.round.committed();
        let head = self.round.head();
        RoundCommit::new(format!("key-{}", head.revision), std::mem::take(&mut self.changes), head)
    }
}

pub(crate) async fn record(store: &dyn TrajectoryStore, fixture: &mut RoundFixture) {
    assert_eq!(store.record_round(&fixture.commit()).await.unwrap(), RecordOutcome::Applied);
}

pub(crate) async fn load(store: &dyn TrajectoryStore, agent: &AgentRef) -> Vec<RoundRecord> {
    store.load_rounds(agent, 0..=u32::MAX).await.unwrap()
}

pub(crate) fn graph_of(root: &Path) -> PathBuf {
    root.join("ada/s/agent-0.round-0.jsonl")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_round_is_a_graph_file_and_a_head() {
    let root = tempfile::tempdir().unwrap();
    let (files, agent) = (FileChannel::new(root.path()), AgentRef::main("ada", "s"));
    assert_eq!(files.durability(), Durability::ProcessCrash);
    assert_eq!(FileChannel::synced(root.path()).durability(), Durability::PowerLoss);
    let mut first = RoundFixture::asked(&agent, 0);
    record(&files, &mut first).await;
    let mut second = RoundFixture::asked(&agent, 1);
    second.act(second.query(), "seen");
    record(&files, &mut second).await;
    files.close().await.unwrap();
    let folder = root.path().join("ada/s");
    let expected = [
        "agent-0.round-0.jsonl",
        "agent-0.round-0.meta.json",
        "agent-0.round-1.jsonl",
        "agent-0.round-1.meta.json",
    ];
    assert_eq!(names(&folder), expected);

    // Only the round's own data is written: bridges follow from the rounds.
    let graph = std::fs::read_to_string(folder.join("agent-0.round-1.jsonl")).unwrap();
    assert!(!graph.contains("continues_to"));
    let lines: Vec<&str> =
        graph.lines().map(|line| line.split_once(r#","record":"#).unwrap().1).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"form":"context round","version":1}}
    {"commit":{"key":"key-1","head":{"round":{"user":"ada","session":"s","agent":0,"round":1},"revision":1,"state":"open","title":"why?","query":0,"endpoints":[0,1],"next":2,"nodes":2,"numbers":[1,0,1,0,0,0,0,0,0,0,0],"created_at":1,"updated_at":30},"changes":[{"node_added":{"node":{"id":"1.0","type":"Query","label":"query00000","description":"User query No.00000","created_at":10,"fields":{"query":"why?","additional_files":[],"raw_user_query":""}}}},{"node_added":{"node":{"id":"1.1","type":"Action","label":"action00000","created_at":20,"fields":{"action":"look","params":{"z":1.50,"a":"é"},"output":"Pending","success":false}}}},{"edge_added":{"edge":{"from":"1.0","to":"1.1","name":"triggers"}}},{"node_changed":{"id":"1.1","version":{"number":0,"at":30,"author":"ada","was":{"output":"Pending","success":false}},"now":{"output":"seen","success":true}}}]}}}
    "#);
    let head = std::fs::read_to_string(folder.join("agent-0.round-0.meta.json")).unwrap();
    insta::assert_snapshot!(head, @r#"{"form":"context round head","version":1,"bytes":564,"lines":2,"head":{"round":{"user":"ada","session":"s","agent":0,"round":0},"revision":1,"state":"open","title":"why?","query":0,"endpoints":[0],"next":1,"nodes":1,"numbers":[1,0,0,0,0,0,0,0,0,0,0],"created_at":1,"updated_at":10}}"#);
    assert_eq!(load(&files, &agent).await, [first.round.to_record(), second.round.to_record()]);
}

#[tokio::test]
async fn a_restart_finds_what_was_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    let agent = AgentRef::new("Ada/..", "NUL", 3);
    let mut fixture = RoundFixture::asked(&agent, 7);
    let mut last = fixture.query();
    for step in 0..20 {
        // A new channel for each step, so that nothing is kept in the process.
        let files = FileChannel::new(root.path());
        last = fixture.act(last, &format!("seen {step}"));
        record(&files, &mut fixture).await;
        let fresh = FileChannel::new(root.path());
        assert_eq!(load(&fresh, &agent).await, [fixture.round.to_record()]);
        assert_eq!(
            fresh.rounds(&RoundQuery::of_user("Ada/..")).await.unwrap().items,
            [fixture.round.head()]
        );
    }
}

#[tokio::test]
async fn json_keeps_its_line_feeds() {
    let root = tempfile::tempdir().unwrap();
    let (files, agent) = (FileChannel::new(root.path()), AgentRef::main("ada", "s"));
    let mut fixture = RoundFixture::asked(&agent, 0);
    let written = context_core::Json::from_text("{\n  \"n\": 1.50\n}").unwrap();
    let mut item = context_core::trajectory::QueueItem::new("step");
    item.params.insert("as written".into(), written);
    assert!(fixture.round.queues_mut(at(11)).todo.push(item));
    record(&files, &mut fixture).await;
    fixture.round.set_state(RoundState::Closed, at(12));
    record(&files, &mut fixture).await;
    assert_eq!(load(&FileChannel::new(root.path()), &agent).await, [fixture.round.to_record()]);
}

#[tokio::test]
async fn what_is_refused_leaves_no_files() {
    let root = tempfile::tempdir().unwrap();
    let (files, agent) = (FileChannel::new(root.path()), AgentRef::main("ada", "s"));
    let mut late = RoundFixture::asked(&agent, 0);
    late.commit();
    let outcome = files.record_round(&late.commit()).await.unwrap();
    assert_eq!(outcome, RecordOutcome::Conflict { actual: 0 });
    assert_eq!(names(root.path()), [""; 0]);

    // Existing rounds are not touched either.
    let mut fixture = RoundFixture::asked(&agent, 0);
    record(&files, &mut fixture).await;
    let before = std::fs::read(graph_of(root.path())).unwrap();
    let mut twice = RoundFixture::asked(&agent, 0);
    twice.round.committed();
    assert!(files.record_round(&twice.commit()).await.is_err(), "its question is added twice");
    assert_eq!(std::fs::read(graph_of(root.path())).unwrap(), before);
    fixture.act(fixture.query(), "seen");
    record(&files, &mut fixture).await;
}

#[tokio::test]
async fn pruning_removes_files_and_empty_folders() {
    let root = tempfile::tempdir().unwrap();
    let files = FileChannel::new(root.path());
    let long = "s".repeat(500);
    for session in ["s", long.as_str()] {
        for round in 0..3 {
            record(&files, &mut RoundFixture::asked(&AgentRef::main("ada", session), round)).await;
        }
    }
    let heads = files.rounds(&RoundQuery::of_user("ada")).await.unwrap().items;
    let seen: Vec<_> = heads
        .iter()
        .map(|head| (head.round.agent.session.as_str().len(), head.round.round))
        .collect();
    assert_eq!(seen, [(1, 2), (1, 1), (1, 0), (500, 2), (500, 1), (500, 0)]);
    let pruned =
        files.prune_rounds(&RoundPrune::of_user("ada").session(long.as_str())).await.unwrap();
    assert_eq!((pruned.rounds, pruned.nodes), (3, 3));
    assert_eq!(names(&root.path().join("ada")), ["s"]);
    // A damaged round is removed together with all rounds, but not by age.
    files.close().await.unwrap();
    std::fs::write(root.path().join("ada/s/agent-0.round-1.jsonl"), "{\"check\":\"x\"}\n").unwrap();
    std::fs::remove_file(root.path().join("ada/s/agent-0.round-1.meta.json")).unwrap();
    assert!(files.prune_rounds(&RoundPrune::of_user("ada").updated_until(at(99))).await.is_err());
    assert!(files.prune_rounds(&RoundPrune::of_user("ada")).await.unwrap().rounds >= 1);
    assert_eq!(names(root.path()), [""; 0]);
}
