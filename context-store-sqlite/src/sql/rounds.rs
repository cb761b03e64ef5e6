//! The statements for rounds of trajectories, and for edges, versions and links of nodes. The
//! statements for node tables are in `node_tables`.

/// The rounds of user ?1, of session ?2 and agent ?3 if they are set, last written to at ?4 or
/// before if that time is set.
macro_rules! pruned_rounds {
    () => {
        " FROM trajectory_round WHERE user = ?1 AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR agent = ?3)
           AND (?4 IS NULL OR updated_at <= ?4)"
    };
}

statements! {
    ROUND = "SELECT no, revision, key, head ->> 'next',
          coalesce((SELECT position FROM trajectory_edge WHERE round = no ORDER BY position DESC LIMIT 1), -1) + 1
        FROM trajectory_round WHERE user = ?1 AND session = ?2 AND agent = ?3 AND round = ?4";
    CREATE_ROUND = "INSERT INTO trajectory_round
          (user, session, agent, round, revision, key, state, title, nodes, created_at, updated_at, head,
           sum, beside)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? * 1000037) RETURNING no";
    WRITE_ROUND = "UPDATE trajectory_round SET revision = ?2, key = ?3, state = ?4, title = ?5, nodes = ?6,
        created_at = ?7, updated_at = ?8, head = ?9, sum = ?10, beside = beside + ?11 * 1000037 WHERE no = ?1";
    FORGET_EDGES_FROM = "DELETE FROM trajectory_edge WHERE round = ?1 AND source IN (SELECT value FROM json_each(?2))";
    /// Edges to nodes of round ?1, whose number is ?3.
    FORGET_EDGES_TO = "DELETE FROM trajectory_edge WHERE round = ?1 AND target_round = ?3
        AND target IN (SELECT value FROM json_each(?2))";
    FORGET_VERSIONS = "DELETE FROM trajectory_version WHERE round = ?1
        AND ordinal IN (SELECT value FROM json_each(?2))";
    FORGET_MESSAGES = "DELETE FROM trajectory_message WHERE round = ?1
        AND ordinal IN (SELECT value FROM json_each(?2))";
    ROUNDS_OF_NUMBERS = "SELECT no, head, key, sum, beside FROM trajectory_round
        WHERE user = ?1 AND session = ?2 AND agent = ?3 AND round BETWEEN ?4 AND ?5 ORDER BY round";
    /// The heads of an agent's rounds below round ?4, the highest first.
    HEADS_OF_AGENT = "SELECT head, key, sum FROM trajectory_round
        WHERE user = ?1 AND session = ?2 AND agent = ?3 AND round < ?4 ORDER BY round DESC LIMIT ?5";
    /// The heads of a session's rounds below round ?3, after round ?5 of agent ?4.
    HEADS_OF_SESSION = "SELECT head, key, sum, agent, round FROM trajectory_round
        WHERE user = ?1 AND session = ?2 AND agent = ?4 AND round < min(?3, ?5)
        UNION ALL SELECT head, key, sum, agent, round FROM trajectory_round
        WHERE user = ?1 AND session = ?2 AND agent > ?4 AND round < ?3
        ORDER BY agent, round DESC LIMIT ?6";
    /// The heads of a user's rounds below round ?3, of agent ?2 if it is set, after round ?6 of
    /// agent ?5 of session ?4.
    HEADS_OF_USER = "SELECT head, key, sum, session, agent, round FROM trajectory_round
        WHERE user = ?1 AND session = ?4 AND agent = ?5 AND round < min(?3, ?6) AND (?2 IS NULL OR agent = ?2)
        UNION ALL SELECT head, key, sum, session, agent, round FROM trajectory_round
        WHERE user = ?1 AND session = ?4 AND agent > ?5 AND round < ?3 AND (?2 IS NULL OR agent = ?2)
        UNION ALL SELECT head, key, sum, session, agent, round FROM trajectory_round
        WHERE user = ?1 AND session > ?4 AND round < ?3 AND (?2 IS NULL OR agent = ?2)
        ORDER BY session, agent, round DESC LIMIT ?7";
    NODES_OF_MESSAGE = "SELECT DISTINCT r.session, r.agent, r.round, m.ordinal
        FROM trajectory_message m LEFT JOIN trajectory_round r ON r.no = m.round
        WHERE m.user = ?1 AND m.chat = ?2 AND m.message = ?3 ORDER BY r.session, r.agent, r.round, m.ordinal";
    PRUNED_ROUNDS = concat!("SELECT count(*), coalesce(sum(nodes), 0)", pruned_rounds!());
    PRUNE_ROUNDS = concat!("DELETE", pruned_rounds!());
    /// A few rounds of a user, each with its number of nodes.
    ROUNDS_OF = "SELECT no, nodes FROM trajectory_round WHERE user = ?1 LIMIT 1000";
    DELETE_ROUNDS = "DELETE FROM trajectory_round WHERE no IN (SELECT value FROM json_each(?1))";
    /// The next few rounds with all columns of their rows.
    ROUNDS_AFTER = "SELECT no, head, key, sum, beside, user, session, agent, round, revision, state, title, nodes,
          created_at, updated_at FROM trajectory_round WHERE no > ?1 ORDER BY no LIMIT 64";
    /// Rounds with links to messages that are filed under another user than that of the round.
    WRONG_MESSAGES = "SELECT r.user, r.session, r.agent, r.round FROM trajectory_message m
        JOIN trajectory_round r ON r.no = m.round WHERE m.user <> r.user GROUP BY r.no";
}
