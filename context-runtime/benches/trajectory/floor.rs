//! The floor on SQLite: the same tables with rusqlite alone, read into texts, written without
//! checks.

use std::hint::black_box;
use std::path::Path;

use context_runtime::store::RoundCommit;
use context_runtime::trajectory::{Change, FieldValue, RoundRecord, TrajectoryNodeKind};
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql};

/// The tables of the measured kinds.
const KINDS: [TrajectoryNodeKind; 5] = [
    TrajectoryNodeKind::Query,
    TrajectoryNodeKind::State,
    TrajectoryNodeKind::Action,
    TrajectoryNodeKind::File,
    TrajectoryNodeKind::Response,
];

/// The columns before those of the fields.
const COLUMNS: &str = "round, ordinal, label, description, created_at, author, measures";

const PRAGMAS: &str = "
    PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 268435456;
    PRAGMA cache_size = -65536; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 2000";

pub(crate) struct Floor {
    connection: Connection,
}

impl Floor {
    /// Opens the file of a store, whose tables it uses.
    pub(crate) fn open(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(PRAGMAS).unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        Self { connection }
    }

    /// Moves the log into the file, so that no later row pays for earlier writes.
    pub(crate) fn checkpoint(&self) {
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }

    fn execute(&self, sql: &str, values: &[&dyn ToSql]) {
        self.connection.prepare_cached(sql).unwrap().execute(values).unwrap();
    }

    /// Reads all rows of a session and parses their JSON columns. Returns their number.
    pub(crate) fn scan(&self, session: &str) -> usize {
        let rounds = "FROM trajectory_round r WHERE r.user = 'user' AND r.session = ?1";
        let mut rows = self.rows(&format!("SELECT r.head {rounds}"), session, &[0]);
        for kind in KINDS {
            let json = kind.fields().iter().zip(6..);
            let json =
                json.filter(|(field, _)| field.form.as_str() == "JSON").map(|(_, column)| column);
            let fields: Vec<String> =
                kind.fields().iter().map(|field| format!("n.\"{}\"", field.name)).collect();
            let sql = format!(
                "SELECT n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, {}
                 FROM trajectory_round r JOIN trajectory_{} n ON n.round = r.no
                 WHERE r.user = 'user' AND r.session = ?1",
                fields.join(", "),
                kind.lower()
            );
            rows += self.rows(&sql, session, &json.collect::<Vec<_>>());
        }
        let beside =
            "JOIN trajectory_round r ON n.round = r.no WHERE r.user = 'user' AND r.session = ?1";
        let versions =
            "SELECT n.ordinal, n.number, n.at, n.author, n.was FROM trajectory_version n";
        rows += self.rows(&format!("{versions} {beside}"), session, &[4]);
        let edges =
            "SELECT n.position, n.source, n.target_round, n.target, n.name FROM trajectory_edge n";
        rows + self.rows(&format!("{edges} {beside}"), session, &[])
    }

    fn rows(&self, sql: &str, session: &str, json: &[usize]) -> usize {
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([session]).unwrap();
        let mut all: Vec<Vec<Value>> = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            for column in json {
                let text = row.get_ref(*column).unwrap().as_str().unwrap();
                black_box(serde_json::from_str::<serde_json::Value>(text).unwrap());
            }
            all.push((0..columns).map(|column| row.get(column).unwrap()).collect());
        }
        black_box(all).len()
    }

    /// Writes a whole round, in one transaction, and returns its number in the file.
    pub(crate) fn insert(&self, commit: &RoundCommit, record: &RoundRecord) -> i64 {
        self.execute("BEGIN IMMEDIATE", &[]);
        let no = self.insert_head(commit);
        self.insert_rows(no, record, 0);
        self.execute("COMMIT", &[]);
        no
    }

    /// Writes the nodes and edges of a record to a round, in one transaction. The first edge gets
    /// this position.
    pub(crate) fn extend(&self, no: i64, commit: &RoundCommit, added: &RoundRecord, first: usize) {
        self.execute("BEGIN IMMEDIATE", &[]);
        self.insert_rows(no, added, first);
        self.update_head(no, commit);
        self.execute("COMMIT", &[]);
    }

    fn insert_rows(&self, no: i64, record: &RoundRecord, first: usize) {
        record.nodes.iter().for_each(|node| self.insert_node(no, node));
        for (position, edge) in (first..).zip(&record.edges) {
            self.insert_edge(no, position, edge);
        }
    }

    /// Writes what was added to a round, in one transaction.
    pub(crate) fn append(&self, no: i64, position: &mut usize, commit: &RoundCommit) {
        self.execute("BEGIN IMMEDIATE", &[]);
        for change in &commit.changes {
            match change {
                Change::NodeAdded { node } => self.insert_node(no, node),
                Change::EdgeAdded { edge } => {
                    self.insert_edge(no, *position, edge);
                    *position += 1;
                }
                other => panic!("only additions are measured here: {other:?}"),
            }
        }
        self.update_head(no, commit);
        self.execute("COMMIT", &[]);
    }

    fn update_head(&self, no: i64, commit: &RoundCommit) {
        let head = serde_json::to_string(&commit.head).unwrap();
        let revision = commit.head.revision as i64;
        let sql = "UPDATE trajectory_round SET revision = ?2, key = ?3, nodes = ?4, head = ?5 WHERE no = ?1";
        self.execute(sql, &[&no, &revision, &commit.key.as_str(), &commit.head.nodes, &head]);
    }

    fn insert_head(&self, commit: &RoundCommit) -> i64 {
        let head = &commit.head;
        let text = serde_json::to_string(head).unwrap();
        let sql = "INSERT INTO trajectory_round
              (user, session, agent, round, revision, key, state, title, nodes, created_at, updated_at, head)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let agent = &head.round.agent;
        let (created, updated) = (head.created_at.as_micros(), head.updated_at.as_micros());
        let (user, session) = (agent.user.as_str(), agent.session.as_str());
        let values: [&dyn ToSql; 12] = [
            &user,
            &session,
            &agent.agent,
            &head.round.round,
            &(head.revision as i64),
            &commit.key.as_str(),
            &head.state.as_str(),
            &&*head.title,
            &head.nodes,
            &created,
            &updated,
            &text,
        ];
        self.execute(sql, &values);
        self.connection.last_insert_rowid()
    }

    fn insert_node(&self, no: i64, node: &context_runtime::trajectory::TrajectoryNode) {
        let sql = insert_of(node.kind());
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        statement.raw_bind_parameter(1, no).unwrap();
        statement.raw_bind_parameter(2, node.id.ordinal).unwrap();
        statement.raw_bind_parameter(3, &*node.label).unwrap();
        statement.raw_bind_parameter(4, &*node.description).unwrap();
        statement.raw_bind_parameter(5, node.created_at.as_micros()).unwrap();
        statement.raw_bind_parameter(6, node.author.as_deref()).unwrap();
        let measures =
            node.measures.as_ref().map(|measures| serde_json::to_string(measures).unwrap());
        statement.raw_bind_parameter(7, measures).unwrap();
        for ((_, value), column) in node.body.iter().zip(8..) {
            match value {
                FieldValue::Text(text) => statement.raw_bind_parameter(column, &**text),
                FieldValue::Flag(flag) => statement.raw_bind_parameter(column, *flag),
                FieldValue::Json(json) => statement.raw_bind_parameter(column, json.as_str()),
                _ => panic!("a form that is not measured"),
            }
            .unwrap();
        }
        statement.raw_execute().unwrap();
        for (position, link) in node.messages.iter().enumerate() {
            let sql =
                "INSERT INTO trajectory_message (round, ordinal, position, user, chat, message)
                VALUES (?, ?, ?, 'user', ?, ?)";
            let (position, chat) = (position as i64, link.chat.as_str());
            self.execute(sql, &[&no, &node.id.ordinal, &position, &chat, &link.message.as_str()]);
        }
        for version in &node.versions {
            let was = serde_json::to_string(&version.previous).unwrap();
            let at = version.at.as_micros();
            let sql = "INSERT INTO trajectory_version (round, ordinal, number, at, author, was) VALUES (?, ?, ?, ?, ?, ?)";
            let author = version.author.as_deref();
            self.execute(sql, &[&no, &node.id.ordinal, &version.number, &at, &author, &was]);
        }
    }

    fn insert_edge(&self, no: i64, position: usize, edge: &context_runtime::trajectory::Edge) {
        let sql = "INSERT INTO trajectory_edge (round, position, source, target_round, target, name) VALUES (?, ?, ?, ?, ?, ?)";
        let (from, to) = (edge.from, edge.to);
        self.execute(
            sql,
            &[&no, &(position as i64), &from.ordinal, &to.round, &to.ordinal, &&*edge.name],
        );
    }
}

/// Returns the statement that adds a node of a kind.
fn insert_of(kind: TrajectoryNodeKind) -> &'static str {
    use std::sync::LazyLock;
    static ALL: LazyLock<Vec<(TrajectoryNodeKind, String)>> = LazyLock::new(|| {
        let insert = |kind: TrajectoryNodeKind| {
            let fields: String =
                kind.fields().iter().map(|field| format!(", \"{}\"", field.name)).collect();
            let values = vec!["?"; 7 + kind.fields().len()].join(", ");
            format!("INSERT INTO trajectory_{} ({COLUMNS}{fields}) VALUES ({values})", kind.lower())
        };
        KINDS.map(|kind| (kind, insert(kind))).into()
    });
    &ALL.iter().find(|(known, _)| *known == kind).unwrap().1
}
