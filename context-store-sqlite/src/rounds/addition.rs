//! The fast path of a commit to a round that changes and removes no stored node: one statement,
//! unless it adds many rows.
//!
//! Nearly every commit that records a run has this form. The fast path makes no decisions: if the
//! round's revision is not the expected one, or anything else is in the way, nothing is written,
//! and the transaction in [`record`](crate::rounds::record) finds the answer.
//!
//! The statement inserts into a view, and a trigger does the rest. Both are temporary objects of
//! the connection, so they are not in the file. They are created when a commit is written that has
//! nodes of these kinds and this many other rows. With rows as JSON lists, one view would do for
//! all commits, but cost half as much again: SQLite parses the lists, and opens every table.

use std::fmt::Write as _;
use std::sync::Arc;

use context_core::store::RoundCommit;
use context_core::trajectory::{RoundRef, TrajectoryNodeKind};
use sqlx::AssertSqlSafe;

use crate::checksums::rounds::{EDGE, MESSAGE, VERSION};
use crate::connections::Writer;
use crate::error::Result;
use crate::rounds::node_tables::{columns, name};
use crate::rounds::plan::Plan;
use crate::rounds::row_values::{
    bind_head, bind_sealed, edge_values, link_values, measures_text, node_values, version_values,
    was_text,
};
use crate::sql::{Statement, run};

/// The most rows of a shape. A larger commit is written table by table.
const MOST_ROWS: usize = 24;
/// The most shapes of a connection. Programs record in a few.
const MOST_SHAPES: usize = 64;

/// The rows that a commit adds, without their values.
struct Shape {
    /// Whether the round is new.
    creates: bool,
    nodes: Vec<TrajectoryNodeKind>,
    versions: usize,
    links: usize,
    edges: usize,
}

impl Shape {
    /// Returns the shape of a commit, or `None` if the commit is none for the fast path.
    fn of(plan: &Plan<'_>, commit: &RoundCommit) -> Option<Self> {
        let nodes = &plan.fresh.nodes;
        let shape = Self {
            creates: commit.expected == 0,
            nodes: nodes.iter().map(|node| node.kind()).collect(),
            versions: nodes.iter().map(|node| node.versions.len()).sum(),
            links: nodes.iter().map(|node| node.messages.len()).sum(),
            edges: plan.edges.len(),
        };
        let rows = shape.nodes.len() + shape.versions + shape.links + shape.edges;
        (plan.only_adds() && rows <= MOST_ROWS).then_some(shape)
    }

    /// Returns the name of the view. No other shape has it.
    fn view(&self) -> String {
        let Self { creates, nodes, versions, links, edges } = self;
        let kinds: String = nodes.iter().map(|kind| format!("_{}", kind.lower())).collect();
        let what = if *creates { "new" } else { "known" };
        format!("add_to_{what}_round{kinds}_{versions}_{links}_{edges}")
    }

    /// Returns the view, its trigger, and the statement that adds a commit of this shape.
    fn statements(&self, view: &str) -> [String; 3] {
        let mut trigger = Trigger::new(self);
        for kind in &self.nodes {
            trigger.insert(&name(*kind), &columns(*kind)[1..]);
        }
        let repeated = [
            (self.versions, VERSION, &["ordinal", "number", "at", "author", "was"][..]),
            (self.links, MESSAGE, &["ordinal", "position", "chat", "message"]),
        ];
        for (rows, table, columns) in repeated {
            for _ in 0..rows {
                trigger.insert(table, columns);
            }
        }
        for edge in 0..self.edges {
            trigger.insert_edge(edge);
        }
        trigger.finish(view)
    }
}

/// The trigger of a shape, while it is built.
struct Trigger {
    /// The number of the round, as the trigger finds it.
    no: &'static str,
    creates: bool,
    edges: usize,
    /// The columns of the view, which are the parameters in their order. Two more follow: the
    /// number of the round, and the position of its next edge.
    columns: Vec<String>,
    body: String,
}

impl Trigger {
    fn new(shape: &Shape) -> Self {
        const HEAD: [&str; 9] = [
            "revision",
            "key",
            "state",
            "title",
            "nodes",
            "created_at",
            "updated_at",
            "head",
            "sum",
        ];
        let beside = 1_000_037 * shape.edges;
        let (no, columns, body) = if shape.creates {
            let columns = [&["user", "session", "agent", "round"][..], &HEAD].concat();
            let body = format!(
                "INSERT INTO trajectory_round ({}, beside) VALUES (NEW.{}, {beside});",
                columns.join(", "),
                columns.join(", NEW."),
            );
            ("last_insert_rowid()", columns, body)
        } else {
            let set = HEAD.map(|column| format!("{column} = NEW.{column}")).join(", ");
            let body = format!(
                "UPDATE trajectory_round SET {set}, beside = beside + {beside}
                   WHERE no = NEW.no AND revision = NEW.expected
                     AND (NEW.first IS NULL OR head ->> 'next' <= NEW.first);
                 SELECT raise(ABORT, 'the round is elsewhere') WHERE changes() <> 1;"
            );
            ("NEW.no", [&["user"][..], &HEAD, &["expected", "first"]].concat(), body)
        };
        Self {
            no,
            creates: shape.creates,
            edges: shape.edges,
            columns: columns.into_iter().map(str::to_owned).collect(),
            body,
        }
    }

    /// Inserts a row of a table: the number of the round, these columns and the checksum.
    fn insert(&mut self, table: &str, columns: &[impl AsRef<str>]) {
        let (mut names, mut values) = (String::new(), String::new());
        for column in columns.iter().map(AsRef::as_ref).chain(["sum"]) {
            let parameter = format!("p{}", self.columns.len());
            // Writing to a string cannot fail.
            let _ = write!(names, ", {column}");
            let _ = write!(values, ", NEW.{parameter}");
            self.columns.push(parameter);
        }
        if table == MESSAGE {
            names.push_str(", user");
            values.push_str(", NEW.user");
        }
        let no = self.no;
        let _ = write!(self.body, "INSERT INTO {table} (round{names}) VALUES ({no}{values});");
    }

    /// Inserts an edge that has this many before it in the commit.
    fn insert_edge(&mut self, before: usize) {
        let at = self.columns.len();
        self.columns.extend((at..at + 5).map(|at| format!("p{at}")));
        let _ = write!(
            self.body,
            "INSERT INTO {EDGE} (round, position, source, target_round, target, name, sum)
               VALUES ({}, NEW.place + {before}, NEW.p{at}, NEW.p{}, NEW.p{}, NEW.p{},
                 NEW.p{} | ((NEW.place + {before}) << 32));",
            self.no,
            at + 1,
            at + 2,
            at + 3,
            at + 4,
        );
    }

    fn finish(self, view: &str) -> [String; 3] {
        let Self { columns, body, .. } = self;
        // SQLite and the driver find a parameter without a number faster.
        let parameters = vec!["?"; columns.len()].join(", ");
        let place = match self.edges {
            0 => "NULL",
            _ => {
                "1 + coalesce((SELECT position FROM trajectory_edge WHERE round = r.no
                   ORDER BY position DESC LIMIT 1), -1)"
            }
        };
        let add = match self.creates {
            true => format!("INSERT INTO {view} VALUES ({parameters}, NULL, 0)"),
            false => format!(
                "WITH r (no) AS (SELECT (SELECT no FROM trajectory_round
                   WHERE user = ? AND session = ? AND agent = ? AND round = ?))
                 INSERT INTO {view} SELECT {parameters}, r.no, {place} FROM r"
            ),
        };
        let nulls = vec!["NULL"; columns.len() + 2].join(", ");
        let columns = columns.join(", ");
        [
            format!(
                "CREATE TEMP VIEW IF NOT EXISTS {view} ({columns}, no, place) AS SELECT {nulls}"
            ),
            format!(
                "CREATE TEMP TRIGGER IF NOT EXISTS {view}_run
                 INSTEAD OF INSERT ON {view} BEGIN {body} END"
            ),
            add,
        ]
    }
}

/// Writes a commit that changes and removes no stored node. Returns false for any other commit, or
/// if the file disagrees.
pub(crate) async fn record(writer: &mut Writer, commit: &RoundCommit) -> Result<bool> {
    // The transaction refuses a commit that cannot be folded, if its revision is the expected one.
    let Ok(plan) = Plan::of(commit) else { return Ok(false) };
    let Some(shape) = Shape::of(&plan, commit) else { return Ok(false) };
    let Some(statement) = statement(writer, &shape).await? else { return Ok(false) };
    let mut texts = Texts::default();
    for node in &plan.fresh.nodes {
        texts.measures.push(measures_text(node.measures.as_deref())?);
        texts.versions.extend(node.versions.iter().map(was_text).collect::<Result<Vec<_>>>()?);
    }
    let query = bind(sqlx::query(AssertSqlSafe(statement)), commit, &plan, &texts)?;
    match run(&mut writer.connection, query).await {
        Ok(_) => Ok(true),
        Err(fault) if fault.is_refusal() => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Returns the statement that adds a commit of a shape. Returns `None` if the connection has too
/// many shapes.
async fn statement(writer: &mut Writer, shape: &Shape) -> Result<Option<Arc<str>>> {
    let view = shape.view();
    if let Some(statement) = writer.round_statements.get(&view) {
        return Ok(Some(Arc::clone(statement)));
    }
    if writer.round_statements.len() == MOST_SHAPES {
        return Ok(None);
    }
    let [create, trigger, add] = shape.statements(&view);
    for statement in [create, trigger] {
        run(&mut writer.connection, sqlx::query(AssertSqlSafe(statement))).await?;
    }
    let statement = Arc::from(add);
    writer.round_statements.insert(view, Arc::clone(&statement));
    Ok(Some(statement))
}

/// The JSON texts of nodes and versions, in their order.
#[derive(Default)]
struct Texts {
    measures: Vec<Option<String>>,
    versions: Vec<String>,
}

fn bind<'q>(
    query: Statement<'q>,
    commit: &'q RoundCommit,
    plan: &'q Plan<'_>,
    texts: &'q Texts,
) -> Result<Statement<'q>> {
    let round = &commit.head.round;
    let RoundRef { agent, round: number } = round;
    let query = query.bind(agent.user.as_str()).bind(agent.session.as_str());
    let mut query = query.bind(i64::from(agent.agent)).bind(i64::from(*number));
    let nodes = || plan.fresh.nodes.iter();
    if commit.expected == 0 {
        query = bind_head(query, commit)?;
    } else {
        let first = nodes().map(|node| i64::from(node.id.ordinal)).min();
        query = bind_head(query.bind(agent.user.as_str()), commit)?;
        query = query.bind(i64::try_from(commit.expected).unwrap_or(i64::MAX)).bind(first);
    }
    let query = nodes().zip(&texts.measures).fold(query, |query, (node, measures)| {
        bind_sealed(query, &name(node.kind()), round, node_values(node, measures.as_deref()))
    });
    let versions = nodes().flat_map(|node| node.versions.iter().map(|version| (node.id, version)));
    let query = versions.zip(&texts.versions).fold(query, |query, ((id, version), was)| {
        bind_sealed(query, VERSION, round, version_values(id.ordinal, version, was))
    });
    let links =
        nodes().flat_map(|node| node.messages.iter().enumerate().map(|link| (node.id, link)));
    let query = links.fold(query, |query, (id, (position, link))| {
        bind_sealed(query, MESSAGE, round, link_values(id.ordinal, position, link))
    });
    let edges = plan.edges.iter();
    Ok(edges.fold(query, |query, edge| bind_sealed(query, EDGE, round, edge_values(edge))))
}

#[cfg(test)]
mod tests {
    use context_core::Timestamp;
    use context_core::trajectory::{
        AgentRef, Change, Changes, MessageLink, NewNode, NewQuery, NodeBody, Round, RoundState,
    };
    use serde_json::json;

    use super::*;
    use crate::{SqliteConfig, SqliteStore};

    /// The commits of a turn with one tool call: the question, the call with its result, and the
    /// answer.
    fn turn() -> [RoundCommit; 3] {
        let at = Timestamp::default();
        let link = |message: &str| MessageLink::new("trip", message);
        let mut round = Round::new(AgentRef::main("ada", "trip").round(0), at);
        let commit = |round: &mut Round, changes: Vec<Change>| {
            round.committed();
            RoundCommit::new(format!("k{}", round.revision()), changes, round.head())
        };
        let (query, changes) = round.ask(NewQuery::new("Rain?").message(link("m1")), at).unwrap();
        let asked = commit(&mut round, changes);
        let call = NewNode::new(NodeBody::action("search", json!({})), [query]);
        let (call, mut changes) = round.add(call.message(link("m2")), at).unwrap();
        let outcome = Changes::new().set("output", json!("Rain."));
        changes.extend(round.change(call, &outcome, None, at).unwrap());
        let called = commit(&mut round, changes);
        let answer = NewNode::new(NodeBody::response("Yes."), [call]).message(link("m3"));
        let (_, changes) = round.add(answer, at).unwrap();
        round.set_state(RoundState::Closed, at);
        [asked, called, commit(&mut round, changes)]
    }

    #[tokio::test]
    async fn the_commits_of_a_turn_take_the_fast_path_and_no_commit_takes_it_twice() {
        let folder = tempfile::tempdir().unwrap();
        let config = SqliteConfig::new(folder.path().join("s.db"));
        let connections = SqliteStore::open(config).await.unwrap().into_connections();
        let mut writer = connections.writer().await.unwrap();
        for commit in turn() {
            assert!(record(&mut writer, &commit).await.unwrap(), "{commit:?}");
            assert!(!record(&mut writer, &commit).await.unwrap(), "{commit:?}");
        }
        assert_eq!(writer.round_statements.len(), 3);
    }
}
