//! Statements for rounds of trajectories, except for those that are assembled from the parts of a
//! commit.

use std::fmt::Write as _;
use std::sync::LazyLock;

use context_core::trajectory::{FieldForm, TrajectoryNodeKind};

use crate::error::Fault;

/// The heads of rounds after a place, in the order of listings.
macro_rules! heads {
    ($of:expr, $behind:expr) => {
        concat!(
            "SELECT r.head::text, r.exact, r.session, r.agent::bigint, r.round::bigint, r.key, r.sum FROM #trajectory_round r WHERE r.user_id = $1 AND ",
            $of,
            " AND r.agent BETWEEN coalesce($3::bigint, 0) AND coalesce($3::bigint, 2147483647) AND r.round < $4::bigint AND ",
            $behind,
            " ORDER BY r.session, r.agent, r.round DESC LIMIT $8"
        )
    };
}

statements! {
    /// Creates the row of a round without any commit yet.
    CREATE_ROUND = "INSERT INTO #trajectory_round (user_id, session, agent, round, revision, key, state, title, nodes,
          created_at, updated_at, head, sum, beside)
        VALUES ($1, $2, $3::bigint, $4::bigint, 0, '', '', '', 0, 0, 0, '{}', '', 0) ON CONFLICT DO NOTHING";
    /// Locks the round until the transaction ends.
    LOCK_ROUND = "SELECT no, revision, key FROM #trajectory_round
        WHERE user_id = $1 AND session = $2 AND agent = $3::bigint AND round = $4::bigint FOR NO KEY UPDATE";
    /// The rounds of user $1 after agent $6 of session $5, round $7.
    ROUNDS_OF_USER = heads!(
        "$2::bytea IS NULL",
        "r.session >= $5 AND (r.session > $5 OR r.agent > $6::bigint OR r.agent = $6::bigint AND r.round < $7::bigint)"
    );
    /// The rounds of session $2 after one of its rounds.
    ROUNDS_OF_SESSION = heads!(
        "r.session = $2",
        "(r.session > $5 OR r.agent > $6::bigint OR r.agent = $6::bigint AND r.round < $7::bigint)"
    );
    NODES_OF_MESSAGE = "SELECT DISTINCT r.session, r.agent::bigint, r.round::bigint, m.ordinal
        FROM #trajectory_message m JOIN #trajectory_round r ON r.no = m.round
        WHERE m.user_id = $1 AND m.chat = $2 AND m.message = $3 AND r.user_id = $1 ORDER BY 1, 2, 3, 4";
    /// Removes at most $5 rounds of user $1, of session $2 and agent $3 if they are set, last
    /// written to at $4 or before. The order of locking is always the same, so writers cannot
    /// deadlock.
    PRUNE_ROUNDS = "WITH picked AS MATERIALIZED (
          SELECT no FROM #trajectory_round
          WHERE user_id = $1 AND ($2::bytea IS NULL OR session = $2) AND ($3::bigint IS NULL OR agent = $3)
            AND updated_at <= $4
          ORDER BY no LIMIT $5 FOR UPDATE),
        gone AS (DELETE FROM #trajectory_round r USING picked p WHERE r.no = p.no RETURNING r.nodes)
        SELECT count(*), coalesce(sum(nodes), 0)::bigint FROM gone";

    // Maintenance.
    REMAINING_ROUNDS = "SELECT (SELECT count(*) FROM #trajectory_round WHERE user_id = $1)
        + (SELECT count(*) FROM #trajectory_message WHERE user_id = $1)";
    /// The next round, with the columns of its row other than the head.
    ROUND_AFTER = "SELECT no, user_id, session, agent::bigint, round::bigint, revision, state, nodes, created_at, updated_at, title
        FROM #trajectory_round WHERE no > $1 ORDER BY no LIMIT 1";
    /// Messages of rounds of another user.
    WRONG_ROUND_MESSAGES = "SELECT DISTINCT r.user_id, r.session, r.agent::bigint, r.round::bigint FROM #trajectory_message m
        JOIN #trajectory_round r ON r.no = m.round WHERE m.user_id <> r.user_id";
}

/// The kind of a row in [`LOAD`], other than a node. A node's number is one above the index of its
/// kind.
pub(crate) const HEAD: i16 = 0;
pub(crate) const EDGE: i16 = 100;
pub(crate) const VERSION: i16 = 101;
pub(crate) const MESSAGE: i16 = 102;

/// The rounds from $4 to $5 of agent $3 of session $2 of user $1: all rows, or only the nodes of
/// numbers $6, without edges. It is one statement, so all rows are of one state. `OFFSET 0` makes
/// every table be read by round, whatever the planner estimates.
pub(crate) static LOAD: LazyLock<String> = LazyLock::new(|| {
    let mut load = format!(
        "WITH r AS MATERIALIZED (
           SELECT no, round::bigint AS round FROM #trajectory_round
           WHERE user_id = $1 AND session = $2 AND agent = $3::bigint AND round BETWEEN $4::bigint AND $5::bigint)
         SELECT {HEAD}::smallint, r.no, {}, r.round FROM r JOIN #trajectory_round t ON t.no = r.no",
        columns(HEAD)
    );
    for (row_kind, table) in TABLES.iter().filter(|(row_kind, _)| *row_kind != HEAD) {
        let filter = match *row_kind {
            EDGE => "$6::bigint[] IS NULL",
            _ => "($6::bigint[] IS NULL OR t.ordinal = ANY($6::bigint[]))",
        };
        let _ = write!(
            load,
            " UNION ALL SELECT {row_kind}::smallint, r.no, n.*, r.round FROM r CROSS JOIN LATERAL (
                SELECT {} FROM #trajectory_{table} t WHERE t.round = r.no AND {filter} OFFSET 0) n",
            columns(*row_kind)
        );
    }
    load
});

/// Rows that belong to no round, as the name of their table and the number of the round.
pub(crate) static STRAY_ROWS: LazyLock<String> = LazyLock::new(|| {
    let mut strays = String::new();
    for (_, table) in TABLES.iter().filter(|(row_kind, _)| *row_kind != HEAD) {
        let union = if strays.is_empty() { "" } else { " UNION ALL " };
        let _ = write!(
            strays,
            "{union}SELECT DISTINCT 'trajectory_{table}', t.round FROM #trajectory_{table} t
             WHERE NOT EXISTS (SELECT FROM #trajectory_round r WHERE r.no = t.round)"
        );
    }
    strays
});

/// The kinds of rows, each with the suffix of its table's name.
pub(crate) static TABLES: LazyLock<Vec<(i16, &'static str)>> = LazyLock::new(|| {
    let nodes = (1..).zip(TrajectoryNodeKind::ALL.into_iter().map(TrajectoryNodeKind::lower));
    let others = [(HEAD, "round"), (EDGE, "edge"), (VERSION, "version"), (MESSAGE, "message")];
    others.into_iter().chain(nodes).collect()
});

/// Returns the kind of node of a row.
pub(crate) fn kind(row_kind: i16) -> Result<TrajectoryNodeKind, Fault> {
    let kind = usize::try_from(row_kind - 1).ok().and_then(|at| TrajectoryNodeKind::ALL.get(at));
    kind.copied().ok_or(Fault::Corrupt("a node of a round cannot be read", None))
}

/// Returns the columns of a row `t`. Their number and types are the same for every kind of row.
pub(crate) fn columns(row_kind: i16) -> String {
    match row_kind {
        HEAD => "t.beside, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::text, NULL::text, NULL::bigint,
            t.head::text, t.exact, NULL::text[], t.key, NULL::bytea, t.sum"
            .into(),
        EDGE => "t.source, t.position, t.target_round, t.target, t.name, NULL::text, NULL::text, NULL::bigint, NULL::text,
            t.exact, NULL::text[], NULL::bytea, NULL::bytea, t.sum"
            .into(),
        VERSION => "t.ordinal, t.number, NULL::bigint, NULL::bigint, NULL::text, NULL::text, t.author, t.at, t.was::text,
            t.exact, NULL::text[], NULL::bytea, NULL::bytea, t.sum"
            .into(),
        MESSAGE => "t.ordinal, t.position, NULL::bigint, NULL::bigint, NULL::text, NULL::text, NULL::text, NULL::bigint,
            NULL::text, NULL::bytea, NULL::text[], t.chat, t.message, t.sum"
            .into(),
        node => format!(
            "t.ordinal, NULL::bigint, NULL::bigint, NULL::bigint, t.label, t.description, t.author, t.created_at,
               t.measures::text, t.exact, ARRAY[{}]::text[], NULL::bytea, NULL::bytea, t.sum",
            kind(node).map(values).unwrap_or_default()
        ),
    }
}

/// Returns the columns of the fields of a kind, as texts.
fn values(kind: TrajectoryNodeKind) -> String {
    let mut values = String::new();
    for field in kind.fields() {
        let comma = if values.is_empty() { "" } else { ", " };
        let cast = if field.form == FieldForm::Text { "" } else { "::text" };
        let _ = write!(values, "{comma}t.\"{}\"{cast}", field.name);
    }
    values
}
