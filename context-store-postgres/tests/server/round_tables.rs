//! Trajectories as tables: plain SQL queries, access, findings of the check, round trips, and
//! processes that write to one round.

use std::process::Command;

use context_core::store::{RecordOutcome, RoundCommit, RoundPrune, RoundQuery, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, Changes, MessageLink, NewNode, NewQuery, NodeBody, NodeId, NodeRemoval, Round,
};
use context_core::{CancelSignal, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions};

use crate::fixture::{StoreFixture, T, chat, nothing_is_wrong};
use crate::proxy::Proxy;

const QUERY: NodeId = NodeId::new(0, 0);
const ACTION: NodeId = NodeId::new(0, 1);

/// A round with a question, an action with its output, a file that it created, and a conclusion.
pub(crate) fn filled(agent: &AgentRef) -> (Round, RoundCommit) {
    let mut round = Round::new(agent.round(0), T);
    let query = NewQuery::new("which\0 one?").message(MessageLink::new("chat", "m1"));
    let mut changes = round.ask(query, T).unwrap().1;
    let body = NodeBody::action("search", serde_json::json!({"q": "trains"}));
    changes.extend(round.add(NewNode::new(body, [QUERY]), T).unwrap().1);
    changes.extend(
        round.add(NewNode::new(NodeBody::file("a.csv"), [ACTION]).edge("produces"), T).unwrap().1,
    );
    let output = Changes::new().set("output", serde_json::json!([1.5, 2])).set("success", true);
    changes.extend(round.change(ACTION, &output, None, T).unwrap());
    changes
        .extend(round.add(NewNode::new(NodeBody::state("the first one"), [ACTION]), T).unwrap().1);
    round.committed();
    let commit = RoundCommit::new("first", changes, round.head());
    (round, commit)
}

async fn applied(store: &dyn TrajectoryStore, commit: &RoundCommit) {
    assert_eq!(store.record_round(commit).await.unwrap(), RecordOutcome::Applied);
}

/// Commits the changes to a round.
async fn commit(
    store: &dyn TrajectoryStore,
    round: &mut Round,
    changes: Vec<context_core::trajectory::Change>,
) {
    round.committed();
    applied(store, &RoundCommit::new(format!("{}", round.revision()), changes, round.head())).await;
}

async fn texts(fixture: &StoreFixture, connection: &mut PgConnection, sql: &str) -> Vec<String> {
    let schema = format!("\"{}\"", fixture.schema);
    sqlx::query_scalar(AssertSqlSafe(sql.replace("@store", &schema)))
        .fetch_all(connection)
        .await
        .unwrap()
}

pub(crate) async fn people_ask_with_plain_sql() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    for agent in [
        AgentRef::main("ada", "tr\0ip"),
        AgentRef::new("ada", "tr\0ip", 1),
        AgentRef::main("bob", "tr\0ip"),
    ] {
        applied(store.trajectories().unwrap(), &filled(&agent).1).await;
    }
    let mut connection = fixture.connection().await;
    for (sql, expected) in [
        (
            "SELECT concat_ws(' ', node, label, action, params->>'q', output->>0, success, created_at AT TIME ZONE 'UTC')
             FROM @store.trajectory_actions WHERE user_id = 'ada' AND session = 'tr␀ip' AND agent = 0 AND round = 0",
            &["0.1 action00000 search trains 1.5 t 1970-01-01 00:00:01"][..],
        ),
        ("SELECT query FROM @store.trajectory_queries WHERE user_id = 'ada' AND agent = 1", &["which␀ one?"]),
        (
            "SELECT concat_ws(' ', from_node, name, to_node) FROM @store.trajectory_edges
             WHERE user_id = 'bob' ORDER BY position",
            &["0.0 triggers 0.1", "0.1 produces 0.2", "0.1 has_conclusion 0.3"],
        ),
        (
            "SELECT kind || ' ' || count(*) FROM @store.trajectory_nodes WHERE user_id = 'ada' GROUP BY kind ORDER BY kind",
            &["Action 2", "File 2", "Query 2", "State 2"],
        ),
        (
            "SELECT was->>'output' FROM @store.trajectory_versions WHERE user_id = 'bob' AND node = '0.1'",
            &["Pending"],
        ),
        (
            "SELECT concat_ws(' ', agent, node) FROM @store.trajectory_messages
             WHERE user_id = 'ada' AND chat = 'chat' AND message = 'm1' ORDER BY agent",
            &["0 0.0", "1 0.0"],
        ),
        (
            "SELECT concat_ws(' ', agent, state, title, nodes, revision) FROM @store.trajectory_rounds
             WHERE user_id = 'bob'",
            &["0 open which␀ one? 4 1"],
        ),
    ] {
        assert_eq!(texts(&fixture, &mut connection, sql).await, expected, "{sql}");
    }
    fixture.drop().await;
}

pub(crate) async fn recording_and_loading_are_one_round_trip_each() {
    let fixture = StoreFixture::new();
    let server: PgConnectOptions = fixture.url.parse().unwrap();
    let proxy = Proxy::of(format!("{}:{}", server.get_host(), server.get_port())).await;
    let (user, database) = (server.get_username(), server.get_database().unwrap_or("postgres"));
    let url = format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", proxy.port);
    let config =
        PostgresConfig::from_url(&url).unwrap().schema(fixture.schema.as_str()).connections(1);
    let store = PostgresStore::open(config).await.unwrap();
    let rounds = store.trajectories().unwrap();
    let agent = AgentRef::main("ada", "trip");
    let (mut round, first) = filled(&agent);
    applied(rounds, &first).await;
    let mut last = ACTION;
    for i in 0..20 {
        let before = proxy.round_trips();
        let body = NodeBody::action("search", serde_json::json!({"q": i}));
        let (id, changes) =
            round.add(NewNode::new(body, [last]).edge("triggers").append(), T).unwrap();
        last = id;
        commit(rounds, &mut round, changes).await;
        let output = Changes::new().set("output", serde_json::json!(i)).describe("found");
        let changed = round.change(id, &output, None, T).unwrap();
        commit(rounds, &mut round, changed).await;
        let (gone, changes) =
            round.add(NewNode::new(NodeBody::state("x"), [last]).append(), T).unwrap();
        commit(rounds, &mut round, changes).await;
        let removed = round.remove(gone, NodeRemoval::Leaf, T).unwrap();
        commit(rounds, &mut round, removed).await;
        let loaded = rounds.load_rounds(&agent, 0..=9).await.unwrap();
        // The first call also prepares the statements.
        assert!(
            i == 0 || proxy.round_trips() - before == 5,
            "{i}: {}",
            proxy.round_trips() - before
        );
        assert_eq!(loaded, [round.to_record()]);
    }
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

pub(crate) async fn the_check_finds_what_is_wrong_with_rounds() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let mut connection = fixture.connection().await;
    let (rounds, user) = (store.trajectories().unwrap(), RoundPrune::of_user("ada"));
    for (statement, expected) in [
        (
            "DELETE FROM @store.trajectory_file",
            "the number of nodes of a round differs from the number in its head",
        ),
        (
            "UPDATE @store.trajectory_round SET revision = 7",
            "the columns of its row differ from its head",
        ),
        (
            "UPDATE @store.trajectory_round SET session = 'other'",
            "the checksum of the head of a round does not match",
        ),
        (
            "UPDATE @store.trajectory_round SET head = '{}', exact = NULL",
            "the checksum of the head of a round does not match",
        ),
        (
            "UPDATE @store.trajectory_edge SET target = 9 WHERE source = 0",
            "the checksum of an edge of a round does not match",
        ),
        (
            "DELETE FROM @store.trajectory_query",
            "a version or a message belongs to a node that does not exist",
        ),
        (
            "UPDATE @store.trajectory_version SET was = '7'",
            "the checksum of a version of a node does not match",
        ),
        (
            "UPDATE @store.trajectory_query SET exact = '{}'",
            "the checksum of a node of a round does not match",
        ),
        (
            "UPDATE @store.trajectory_message SET chat = 'other'",
            "the checksum of the message of a node does not match",
        ),
        (
            "UPDATE @store.trajectory_message SET user_id = 'eve'",
            "the link to a message belongs to another user",
        ),
    ] {
        applied(rounds, &filled(&AgentRef::main("ada", "trip")).1).await;
        nothing_is_wrong(&store).await;
        fixture.run(&mut connection, statement).await;
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        let session = if statement.contains("session = 'other'") { "other" } else { "trip" };
        let place = format!("round 0 of agent 0 of session {session}: ");
        let is_told = |problem: &String| problem.starts_with(&place) && problem.contains(expected);
        assert!(found.iter().any(is_told), "{statement}: {found:?}");
        assert_eq!(report.rounds, 1);
        assert_eq!(rounds.prune_rounds(&user).await.unwrap().rounds, 1);
    }
    fixture.drop().await;
}

pub(crate) async fn another_role_sees_rounds_of_the_user_it_names() {
    let fixture = StoreFixture::new();
    let owner = PostgresStore::open(fixture.config().row_security(true)).await.unwrap();
    let role = format!("{}_app", fixture.schema);
    let mut connection = fixture.connection().await;
    let grant = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'hunter2'; GRANT USAGE ON SCHEMA @store TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA @store TO {role}"
    );
    fixture.run(&mut connection, &grant).await;
    let options =
        fixture.url.parse::<PgConnectOptions>().unwrap().username(&role).password("hunter2");
    let url = options.to_url_lossy().to_string();
    let config = PostgresConfig::from_url(url.split('?').next().unwrap()).unwrap();
    let config =
        config.schema(fixture.schema.as_str()).connections(2).create(false).row_security(true);
    let store = PostgresStore::open(config).await.unwrap();
    let rounds = store.trajectories().unwrap();
    for user in ["ada", "bob"] {
        let agent = AgentRef::main(user, "trip");
        let (mut round, first) = filled(&agent);
        applied(rounds, &first).await;
        assert_eq!(rounds.record_round(&first).await.unwrap(), RecordOutcome::Replayed);
        let described = round.change(ACTION, &Changes::new().describe("looks"), None, T).unwrap();
        commit(rounds, &mut round, described).await;
        let removed = round.remove(NodeId::new(0, 2), NodeRemoval::Leaf, T).unwrap();
        commit(rounds, &mut round, removed).await;
        assert_eq!(rounds.load_rounds(&agent, 0..=0).await.unwrap(), [round.to_record()]);
        assert_eq!(
            rounds.nodes_of_message(&agent.user, &"chat".into(), &"m1".into()).await.unwrap().len(),
            1
        );
        assert_eq!(rounds.rounds(&RoundQuery::of_user(user)).await.unwrap().items, [round.head()]);
    }
    let mut bare = options.connect().await.unwrap();
    let tables = "SELECT relname::text FROM pg_class WHERE relnamespace = '@store'::regnamespace
        AND relname LIKE 'trajectory%' AND relkind IN ('r', 'v') ORDER BY 1";
    let tables = texts(&fixture, &mut connection, tables).await;
    assert_eq!(tables.len(), 31, "{tables:?}");
    for table in &tables {
        let users = format!("SELECT count(*)::text FROM @store.{table}");
        assert_eq!(texts(&fixture, &mut bare, &users).await, ["0"], "{table}");
    }
    let set = "SELECT set_config('context.user_id', encode('ada'::bytea, 'hex'), false)";
    sqlx::query(set).fetch_one(&mut bare).await.unwrap();
    let own = "SELECT user_id || ' ' || description FROM @store.trajectory_actions";
    assert_eq!(texts(&fixture, &mut bare, own).await, ["ada looks"]);
    assert_eq!(texts(&fixture, &mut connection, own).await.len(), 2);
    assert_eq!(rounds.prune_rounds(&RoundPrune::of_user("ada")).await.unwrap().rounds, 1);
    nothing_is_wrong(&owner).await;
    store.close().await.unwrap();
    fixture.run(&mut connection, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    fixture.drop().await;
}

const CHILD: &str = "CONTEXT_TEST_POSTGRES_ROUNDS";
const COMMITS: u64 = 15;

/// Adds nodes to one round and reads it again after each conflict. The test below runs this in
/// processes of their own.
pub(crate) async fn one_that_writes_to_a_round() {
    let Ok(schema) = std::env::var(CHILD) else { return };
    let store = StoreFixture::named(&schema).open().await;
    let (rounds, agent) = (store.trajectories().unwrap(), AgentRef::main("ada", "trip"));
    let mut written = 0;
    while written < COMMITS {
        let record = rounds.load_rounds(&agent, 0..=0).await.unwrap().pop().unwrap();
        let mut round = Round::from_record(record).unwrap();
        let new = NewNode::new(NodeBody::state("x"), [QUERY])
            .append()
            .author(std::process::id().to_string());
        let (_, changes) = round.add(new, T).unwrap();
        round.committed();
        let key = format!("{} {}", std::process::id(), round.revision());
        let commit = RoundCommit::new(key, changes, round.head());
        match rounds.record_round(&commit).await.unwrap() {
            RecordOutcome::Applied => written += 1,
            outcome => assert!(matches!(outcome, RecordOutcome::Conflict { .. }), "{outcome:?}"),
        }
    }
}

pub(crate) async fn of_several_processes_one_wins_each_revision() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let (rounds, agent) = (store.trajectories().unwrap(), AgentRef::main("ada", "trip"));
    applied(rounds, &filled(&agent).1).await;
    let child = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "round_tables::one_that_writes_to_a_round"])
            .env(CHILD, &fixture.schema)
            .spawn()
            .unwrap()
    };
    let children = [child(), child()];
    let pids = children.each_ref().map(|child| child.id().to_string());
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let record = rounds.load_rounds(&agent, 0..=0).await.unwrap().pop().unwrap();
    assert_eq!(record.head.revision, 1 + 2 * COMMITS);
    for pid in pids {
        let own = record.nodes.iter().filter(|node| node.author.as_deref() == Some(&pid));
        assert_eq!(own.count() as u64, COMMITS);
    }
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

pub(crate) async fn erasing_a_user_takes_rounds_too() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let rounds = store.trajectories().unwrap();
    for number in 0..103 {
        applied(rounds, &filled(&AgentRef::new("ada", "trip", number)).1).await;
    }
    applied(rounds, &filled(&AgentRef::main("bob", "trip")).1).await;
    chat(&store, "cleo").await;
    let maintenance = store.maintenance().unwrap();
    let users = maintenance.users(2, None).await.unwrap();
    assert_eq!(users.items, ["ada", "bob"]);
    assert_eq!(maintenance.users(9, users.next.as_ref()).await.unwrap().items, ["cleo"]);
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.rounds, erased.chats, erased.remaining), (103, 0, 0));
    let mut connection = fixture.connection().await;
    let left = "SELECT user_id FROM @store.trajectory_nodes GROUP BY 1";
    assert_eq!(texts(&fixture, &mut connection, left).await, ["bob"]);
    fixture.drop().await;
}
