//! Trajectories in the file: plain SQL queries, cascading deletion, and findings of the check.

use context_core::store::{RecordOutcome, RoundCommit, RoundPrune};
use context_core::trajectory::{
    AgentRef, Change, Changes, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeId, Round,
    TrajectoryNode, edge,
};
use context_core::{CancelSignal, ChatRef, ErrorKind, Store};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row};

use crate::store_fixture::{StoreFixture, T, is_found};

const ROUND_TABLES: [&str; 5] = [
    "trajectory_round",
    "trajectory_query",
    "trajectory_edge",
    "trajectory_version",
    "trajectory_message",
];

pub(crate) fn id(round: u32, ordinal: u32) -> NodeId {
    NodeId::new(round, ordinal)
}

pub(crate) async fn record(fixture: &StoreFixture, round: &mut Round, changes: Vec<Change>) {
    round.committed();
    let commit = RoundCommit::new(format!("k{}", round.revision()), changes, round.head());
    assert_eq!(
        fixture.store.trajectories().unwrap().record_round(&commit).await.unwrap(),
        RecordOutcome::Applied
    );
}

/// A round of five nodes: a question, a search that failed at first, its result, a table with a
/// column, and the answer.
fn told(agent: &AgentRef, number: u32, question: &str) -> (Round, Vec<Change>) {
    let mut round = Round::new(agent.round(number), T);
    let link = |message: &str| MessageLink::new("trip", message);
    let (query, mut all) = round.ask(NewQuery::new(question).message(link("m1")), T).unwrap();
    let mut measures = Measures::default();
    (measures.model, measures.input_tokens) = (Some("large".into()), Some(120));
    let search = NewNode::new(NodeBody::action("search", json!({ "text": "rain" })), [query]);
    let (search, changes) =
        round.add(search.author("planner").message(link("m2")).measure(measures), T).unwrap();
    all.extend(changes);
    let outcome = Changes::new().set("output", json!({ "rows": 3 })).set("success", true);
    all.extend(round.change(search, &outcome, Some("executor".into()), T).unwrap());
    let (table, changes) = round
        .add(NewNode::new(NodeBody::table("/rain.csv"), [search]).edge(edge::PRODUCES), T)
        .unwrap();
    all.extend(changes);
    let column = NodeBody::column("/rain.csv").with("values", json!(["wet", "dry"])).unwrap();
    all.extend(
        round.add(NewNode::new(column, [table]).edge(edge::HAS_COLUMN).label("mm"), T).unwrap().1,
    );
    all.extend(round.add(NewNode::new(NodeBody::response("Take a coat."), [search]), T).unwrap().1);
    (round, all)
}

/// Two rounds of the main agent, and one of a sub-agent.
async fn kept() -> StoreFixture {
    let fixture = StoreFixture::new().await;
    for (agent, number) in [(0, 0), (0, 1), (1, 0)] {
        let (mut round, changes) =
            told(&AgentRef::new("ada", "monday", agent), number, "Will it rain?");
        record(&fixture, &mut round, changes).await;
    }
    assert_eq!(fixture.problems().await, [""; 0]);
    fixture
}

async fn rows(fixture: &StoreFixture, statement: &'static str) -> Vec<String> {
    let rows = sqlx::query(statement).fetch_all(&mut fixture.file().await).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn do_to_the_file(fixture: &StoreFixture, statement: &'static str) {
    let mut file = fixture.file().await;
    for part in ["PRAGMA foreign_keys = OFF", statement] {
        sqlx::query(part).execute(&mut file).await.unwrap();
    }
}

#[tokio::test]
async fn people_ask_with_plain_sql() {
    let fixture = kept().await;
    let of_round = "SELECT node || ' ' || kind || ' ' || label FROM trajectory_nodes
        WHERE user = 'ada' AND session = 'monday' AND agent = 0 AND round = 1 ORDER BY ordinal";
    assert_eq!(
        rows(&fixture, of_round).await,
        [
            "1.0 Query query00000",
            "1.1 Action action00000",
            "1.2 Table table00000",
            "1.3 Column mm",
            "1.4 Response response00000"
        ]
    );
    let of_subagent = "SELECT \"query\" FROM trajectory_queries WHERE user = 'ada' AND agent = 1";
    assert_eq!(rows(&fixture, of_subagent).await, ["Will it rain?"]);
    let costs = "SELECT action || ': ' || sum(measures ->> 'input_tokens') FROM trajectory_actions
        WHERE session = 'monday' AND success AND output ->> 'rows' = 3 GROUP BY action";
    assert_eq!(rows(&fixture, costs).await, ["search: 360"]);
    let columns = "SELECT label || ' ' || \"values\" FROM trajectory_columns WHERE from_table = '/rain.csv' LIMIT 1";
    assert_eq!(rows(&fixture, columns).await, [r#"mm ["wet","dry"]"#]);
    let edges = "SELECT from_node || ' ' || name || ' ' || to_node FROM trajectory_edges
        WHERE user = 'ada' AND session = 'monday' AND agent = 0 AND round = 0 ORDER BY position";
    assert_eq!(
        rows(&fixture, edges).await,
        ["0.0 triggers 0.1", "0.1 produces 0.2", "0.2 has_column 0.3", "0.1 has_response 0.4"]
    );
    let versions =
        "SELECT node || ' ' || author || ' ' || was FROM trajectory_versions WHERE agent = 1";
    assert_eq!(
        rows(&fixture, versions).await,
        [r#"0.1 executor {"output":"Pending","success":false}"#]
    );
    let messages =
        "SELECT message FROM trajectory_messages WHERE chat = 'trip' AND agent = 1 ORDER BY node";
    assert_eq!(rows(&fixture, messages).await, ["m1", "m2"]);
}

#[tokio::test]
async fn nodes_go_with_their_round() {
    let fixture = kept().await;
    let trajectories = fixture.store.trajectories().unwrap();
    let pruned = trajectories.prune_rounds(&RoundPrune::of_user("ada").agent(0)).await.unwrap();
    assert_eq!((pruned.rounds, pruned.nodes), (2, 10));
    assert_eq!(fixture.number("SELECT count(*) FROM trajectory_nodes").await, 5);
    let pruned = trajectories.prune_rounds(&RoundPrune::of_user("ada")).await.unwrap();
    assert_eq!((pruned.rounds, pruned.nodes), (1, 5));
    for table in ROUND_TABLES {
        let left = sqlx::query(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
        let left: i64 = left.fetch_one(&mut fixture.file().await).await.unwrap().get(0);
        assert_eq!(left, 0, "{table}");
    }
}

/// Changes that contradict the stored round are rejected, and the round is unchanged.
#[tokio::test]
async fn a_commit_that_cannot_be_done_leaves_no_trace() {
    let fixture = kept().await;
    let trajectories = fixture.store.trajectories().unwrap();
    let agent = AgentRef::main("ada", "monday");
    let before = trajectories.load_rounds(&agent, 0..=0).await.unwrap();
    let mut head = before[0].head.clone();
    (head.revision, head.next, head.nodes) = (2, 9, 6);
    let node = |ordinal: u32, body: NodeBody, label: &str| Change::NodeAdded {
        node: TrajectoryNode::new(id(0, ordinal), label, body, T).into(),
    };
    let version = before[0].nodes[1].versions[0].clone();
    let change = |ordinal: u32, now: Changes| Change::NodeChanged {
        id: id(0, ordinal),
        version: version.clone(),
        now,
    };
    let fine = node(5, NodeBody::file("/f"), "f");
    for (wrong, kind) in [
        (node(1, NodeBody::action("again", json!({})), "again"), ErrorKind::Corrupt),
        (node(1, NodeBody::file("/g"), "another kind"), ErrorKind::Corrupt),
        (node(6, NodeBody::table("/rain.csv"), "table00000"), ErrorKind::Corrupt),
        (change(7, Changes::new().describe("not there")), ErrorKind::Corrupt),
        (change(1, Changes::new().set("no field", true)), ErrorKind::Invalid),
        (change(1, Changes::new().set("success", "perhaps")), ErrorKind::Invalid),
        (Change::NodeRemoved { id: id(0, 7) }, ErrorKind::Corrupt),
    ] {
        let commit = RoundCommit::new("wrong", vec![fine.clone(), wrong], head.clone());
        let error = trajectories.record_round(&commit).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(trajectories.load_rounds(&agent, 0..=0).await.unwrap(), before);
    }
    let stranger = RoundCommit::new("wrong", vec![Change::NodeRemoved { id: id(4, 0) }], {
        let mut head = head.clone();
        (head.round, head.revision) = (agent.round(4), 1);
        head
    });
    assert_eq!(trajectories.record_round(&stranger).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(fixture.problems().await, [""; 0]);
    let commit = RoundCommit::new("right", vec![fine], head);
    assert_eq!(trajectories.record_round(&commit).await.unwrap(), RecordOutcome::Applied);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_write_to_a_round_each_revision_has_one() {
    let fixture = std::sync::Arc::new(StoreFixture::new().await);
    let (mut round, changes) = told(&AgentRef::main("ada", "monday"), 0, "Who is first?");
    record(&fixture, &mut round, changes).await;
    let writers = (0..4).map(|writer| {
        let fixture = std::sync::Arc::clone(&fixture);
        tokio::spawn(async move {
            let store = fixture.again().await;
            let trajectories = store.trajectories().unwrap();
            let agent = AgentRef::main("ada", "monday");
            let mut conflicts = 0;
            for step in 0..10 {
                loop {
                    let record = trajectories.load_rounds(&agent, 0..=0).await.unwrap().remove(0);
                    let mut round = Round::from_record(record).unwrap();
                    let node = NewNode::new(NodeBody::file("/f"), [id(0, 1)]).edge(edge::PRODUCES);
                    let (_, changes) = round.add(node, T).unwrap();
                    round.committed();
                    let commit =
                        RoundCommit::new(format!("{writer}/{step}"), changes, round.head());
                    match trajectories.record_round(&commit).await.unwrap() {
                        RecordOutcome::Applied => break,
                        RecordOutcome::Conflict { actual } => {
                            assert!(actual >= commit.head.revision);
                            conflicts += 1;
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            conflicts
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        let _: u32 = writer.await.unwrap();
    }
    let record = fixture.store.trajectories().unwrap();
    let record =
        record.load_rounds(&AgentRef::main("ada", "monday"), 0..=0).await.unwrap().remove(0);
    assert_eq!((record.head.revision, record.nodes.len(), record.edges.len()), (41, 45, 44));
    assert_eq!(fixture.problems().await, [""; 0]);
}

#[tokio::test]
async fn the_check_finds_what_is_wrong_with_rounds() {
    for (statement, expected) in [
        (
            "DELETE FROM trajectory_table WHERE round = 1",
            "an edge from 0.1 to 0.2 has an end that does not exist",
        ),
        ("DELETE FROM trajectory_response WHERE round = 1", "has 4 nodes, but its head states 5"),
        (
            "DELETE FROM trajectory_action WHERE round = 1",
            "versions or messages belong to a node that is missing",
        ),
        (
            "UPDATE trajectory_edge SET source = 2, target = 1 WHERE position = 0",
            "its flow has a cycle",
        ),
        (
            "UPDATE trajectory_round SET state = 'open', title = 'x'",
            "its row differs from its head",
        ),
        (
            "UPDATE trajectory_round SET session = 'tuesday'",
            "is stored as another round than its head states",
        ),
        (
            "UPDATE trajectory_round SET head = 'x' WHERE no = 2",
            "the head of a round cannot be read",
        ),
        ("UPDATE trajectory_action SET params = '{'", "a field of a node is not JSON"),
        ("UPDATE trajectory_action SET measures = '7'", "a node cannot be read"),
        ("UPDATE trajectory_version SET was = '{\"no field\":1}'", "a node cannot be read"),
        (
            "UPDATE trajectory_message SET user = 'eve'",
            "links of its nodes to messages are stored under another user",
        ),
        (
            "UPDATE trajectory_column SET round = 77 WHERE round = 1",
            "a row refers to a row that is missing",
        ),
    ] {
        let fixture = kept().await;
        do_to_the_file(&fixture, statement).await;
        let problems = fixture.problems().await;
        assert!(
            problems.iter().any(|problem| is_found(problem, expected)),
            "{statement}: {problems:?}"
        );
        let report = fixture.maintenance().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.rounds, 3, "{statement}");
    }
}

#[tokio::test]
async fn damaged_rounds_are_an_error_and_never_a_part() {
    let fixture = kept().await;
    do_to_the_file(&fixture, "UPDATE trajectory_action SET params = '{'").await;
    let trajectories = fixture.store.trajectories().unwrap();
    let error =
        trajectories.load_rounds(&AgentRef::main("ada", "monday"), 0..=9).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.message(), "the checksum of a row of a round differs");
}

#[tokio::test]
async fn erased_rounds_leave_no_trace() {
    let fixture = kept().await;
    let chat = fixture.create("bob", "chat").await;
    let agent = AgentRef::new("eve hunter2-", "hunter2-", 0);
    for number in 0..3 {
        let (mut round, mut changes) = told(&agent, number, &"hunter2-".repeat(5_000));
        let secret = || "hunter2-".repeat(20_000);
        let file = NewNode::new(NodeBody::file(secret()), [id(number, 1)]).edge(edge::PRODUCES);
        let link = MessageLink::new("hunter2-", "hunter2-");
        let file = file.label("hunter2-").describe(secret()).author("hunter2-").message(link);
        let (file, more) = round.add(file, T).unwrap();
        changes.extend(more);
        record(&fixture, &mut round, changes).await;
        let changes = round
            .change(file, &Changes::new().describe("nothing").set("path", "/"), None, T)
            .unwrap();
        record(&fixture, &mut round, changes).await;
    }
    let users = fixture.maintenance().users(10, None).await.unwrap().items;
    assert_eq!(users, ["ada", "bob", "eve hunter2-"]);
    let never = CancelSignal::never();
    let erased = fixture.maintenance().erase_user(&"eve hunter2-".into(), &never).await.unwrap();
    assert_eq!((erased.chats, erased.rounds, erased.remaining), (0, 3, 0));
    for name in ["s.db", "s.db-wal"] {
        let bytes = std::fs::read(fixture.folder.path().join(name)).unwrap_or_default();
        assert!(!bytes.windows(8).any(|part| part == b"hunter2-"), "{name}");
    }
    assert_eq!(fixture.maintenance().users(1, None).await.unwrap().next.unwrap().as_str(), "ada");
    let kept = fixture
        .store
        .trajectories()
        .unwrap()
        .load_rounds(&AgentRef::main("ada", "monday"), 0..=9)
        .await
        .unwrap();
    assert_eq!(kept.len(), 2);
    assert!(fixture.history().chat(&ChatRef::new("bob", chat.chat)).await.unwrap().is_some());
    assert_eq!(fixture.problems().await, [""; 0]);
}

/// The cost of a commit must not grow with the round.
#[tokio::test]
async fn an_entry_is_written_by_the_keys_of_an_index() {
    let fixture = kept().await;
    let mut file = fixture.file().await;
    for statement in [
        "SELECT max(position) FROM trajectory_edge WHERE round = 1",
        "SELECT 1 FROM trajectory_action WHERE round = 1 AND ordinal IN (SELECT value FROM json_each('[1]'))",
        "DELETE FROM trajectory_edge WHERE round = 1 AND source IN (SELECT value FROM json_each('[1]'))",
        "DELETE FROM trajectory_edge WHERE round = 1 AND target_round = 0
           AND target IN (SELECT value FROM json_each('[1]'))",
        "SELECT node FROM trajectory_nodes WHERE user = 'ada' AND session = 'monday' AND agent = 0 AND round = 0",
        "SELECT 1 FROM trajectory_message WHERE user = 'ada' AND chat = 'trip' AND message = 'm1'",
        "SELECT head FROM trajectory_round WHERE user = 'ada' AND session > 's' AND round < 9
           ORDER BY session, agent, round DESC LIMIT 2",
    ] {
        let plan = sqlx::query(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}")));
        for row in plan.fetch_all(&mut file).await.unwrap() {
            let step: &str = row.get(3);
            let scans = step.starts_with("SCAN") && !step.contains("json_each");
            assert!(!scans && !step.contains("TEMP B-TREE"), "{statement}: {step}");
        }
    }
}

#[tokio::test]
async fn a_round_that_lost_a_row_is_not_read_as_a_smaller_one() {
    for lost in [
        "DELETE FROM trajectory_action WHERE round = 2",
        "DELETE FROM trajectory_edge WHERE round = 2 AND position = 3",
        "DELETE FROM trajectory_version WHERE round = 2",
        "DELETE FROM trajectory_message WHERE round = 2 AND message = 'm2'",
    ] {
        let fixture = kept().await;
        let mut file = fixture.file().await;
        let triggers = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";
        let triggers: Vec<(String, String)> =
            sqlx::query_as(triggers).fetch_all(&mut file).await.unwrap();
        // Triggers are disabled, as they do not see the loss of a page either.
        let without = triggers.iter().map(|(name, _)| format!("DROP TRIGGER {name}"));
        let with = triggers.iter().map(|(_, text)| text.clone());
        for statement in without.chain([lost.to_owned()]).chain(with) {
            sqlx::query(AssertSqlSafe(statement)).execute(&mut file).await.unwrap();
        }
        let (agent, trajectories) =
            (AgentRef::main("ada", "monday"), fixture.store.trajectories().unwrap());
        assert_eq!(trajectories.load_rounds(&agent, 0..=0).await.unwrap().len(), 1, "{lost}");
        let error = trajectories.load_rounds(&agent, 0..=1).await.expect_err(lost);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{lost}: {error}");
        let problems = fixture.problems().await;
        assert!(
            problems.iter().any(|problem| problem.starts_with("round 1 of agent 0")),
            "{lost}: {problems:?}"
        );
    }
}
