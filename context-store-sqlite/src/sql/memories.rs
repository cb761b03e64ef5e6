//! The statements for memory records.
//!
//! Values that may hold any character are passed in JSON as hexadecimal digits, because SQLite's
//! JSON ends a text at a NUL.

/// A text of a JSON list.
macro_rules! text {
    ($value:literal) => {
        concat!("CAST(unhex(", $value, ") AS TEXT)")
    };
}

/// The scopes of user ?1 that lie within project ?2, agent ?3 and session ?4, as far as these are
/// set.
macro_rules! covered {
    () => {
        "s.user = ?1 AND (?2 IS NULL OR s.project = ?2) AND (?3 IS NULL OR s.agent = ?3)
           AND (?4 IS NULL OR s.session = ?4)"
    };
}

/// The concatenated word lists of the newest ?2 records that expression ?1 finds in the index, from
/// place ?3 on.
macro_rules! lists {
    () => {
        "SELECT count(*), CAST(group_concat(w.list, '') AS BLOB) FROM (
           SELECT rowid AS place FROM memory_index WHERE memory_index MATCH ?1 AND rowid >= ?3
           ORDER BY rowid DESC LIMIT ?2) f
         CROSS JOIN memory_words w ON w.place = f.place"
    };
}

/// The places of the newest ?3 records of kind ?1 below place ?2, as a JSON list. They are read
/// from the index whose entries are counted.
macro_rules! places {
    ($index:literal, $from:expr) => {
        concat!(
            "SELECT json_group_array(place) FROM (SELECT place FROM memory ",
            $index,
            " WHERE kind = ?1 AND place < ?2 ",
            $from,
            " ORDER BY place DESC LIMIT ?3)"
        )
    };
}

/// The neighbours of the records in the JSON list of ids ?2 of scope ?1, by $place, at most ?3 on
/// each side.
macro_rules! beside {
    ($place:literal) => {
        concat!(beside!($place, "<", "DESC"), " UNION ALL ", beside!($place, ">", "ASC"))
    };
    ($place:literal, $side:literal, $order:literal) => {
        concat!(
            "SELECT m.place, m.version, m.body, m.sum, j.key FROM json_each(?2) j
               CROSS JOIN memory c ON c.scope = ?1 AND c.id = ",
            text!("j.value"),
            " CROSS JOIN memory m ON m.place IN (SELECT b.place FROM memory b
                WHERE b.session = c.session AND b.kind = c.kind AND ",
            $place,
            " ",
            $side,
            " c.place ORDER BY ",
            $place,
            " ",
            $order,
            " LIMIT ?3)"
        )
    };
}

/// Whether the counters of scope `s` agree with their checksum, which is updated along with them.
macro_rules! scope_agrees {
    () => {
        "s.count_sum IS s.records * 1000003 + s.words * 1000033"
    };
}

/// Whether the counters of kind `k` agree with their checksum.
macro_rules! kind_agrees {
    () => {
        "k.count_sum IS k.records * 1000003 + k.bytes * 1000033 + k.vectors * 1000037"
    };
}

/// Whether the counters of session `n` agree with their checksum.
macro_rules! session_agrees {
    () => {
        "n.count_sum IS n.records * 1000003"
    };
}

statements! {
    // Scopes.
    /// The scopes of user ?1 in the JSON list of keys ?2 that exist, with their kinds.
    SCOPES = concat!("SELECT j.key, s.no, s.records, s.words, k.no, k.kind,
          s.user, s.key, s.project, s.agent, s.session, s.sum, k.sum, k.records,
          ", scope_agrees!(), " AND (k.no IS NULL OR ", kind_agrees!(), ") FROM json_each(?2) j
        CROSS JOIN memory_scope s ON s.user = ?1 AND s.key = j.value LEFT JOIN memory_kind k ON k.scope = s.no
        ORDER BY j.key, k.no");
    SCOPES_BESIDE = absent!("0", "t.key = f.key AND t.user = ?1", "no, key", "memory_scope", "user = ?1", "key",
        "?2", "t.no = f.no");
    COUNT_OF_SCOPE = "SELECT count(*) FROM memory WHERE scope = ?1";
    MEMORIES_BESIDE = absent!("0", "t.id = f.id AND t.scope = ?1", "place, id", "memory", "scope = ?1", "id", "?2",
        "t.place = f.place");
    COUNT_OF_KIND = "SELECT count(*) FROM memory WHERE kind = ?1";
    COUNT_OF_SESSION = "SELECT count(*) FROM memory WHERE session = ?1";
    /// The number of records of scope ?1 with key ?2, counted without the index of keys.
    COUNT_OF_KEY = "SELECT count(*) FROM memory INDEXED BY sqlite_autoindex_memory_1 WHERE scope = ?1 AND key = ?2";
    COUNT_FILED_BY_KEY = "SELECT count(*) FROM memory WHERE scope = ?1 AND key = ?2";
    /// Whether the index of sessions is complete. It is true without a count if there are many
    /// sessions.
    SESSIONS_AGREE = "SELECT CASE WHEN (SELECT max(no) FROM memory_session) <= 4096 THEN
        (SELECT count(*) FROM memory_session NOT INDEXED)
        = (SELECT count(*) FROM memory_session WHERE user >= '') ELSE true END";
    /// The places, sessions and kinds of a JSON list of ids of scope ?1, as a JSON list.
    FILED_UNDER = concat!("SELECT json_group_array(json_array(m.place, m.session, m.kind))
        FROM json_each(?2) j CROSS JOIN memory m ON m.scope = ?1 AND m.id = ", text!("j.value"));
    /// Whether each session of a JSON list has as many records as its counter says. Sessions with
    /// many records are not counted.
    SESSIONS_COUNTED = concat!("SELECT ", session_agrees!(), " AND (n.records > 512
          OR n.records = (SELECT count(m.version) FROM memory m WHERE m.session = n.no))
        FROM json_each(?1) j LEFT JOIN memory_session n ON n.no = j.value WHERE j.value IS NOT NULL");
    CREATE_SCOPE = "INSERT INTO memory_scope (user, key, project, agent, session, count_sum)
        VALUES (?1, ?2, ?3, ?4, ?5, 0) RETURNING no";
    CREATE_KIND = "INSERT INTO memory_kind (scope, kind, count_sum) VALUES (?1, ?2, 0) RETURNING no";
    SESSION = concat!("SELECT n.no, n.sum, n.records, ", session_agrees!(),
        " FROM memory_session n WHERE n.user = ?1 AND n.session = ?2");
    CREATE_SESSION = "INSERT INTO memory_session (user, session, count_sum) VALUES (?1, ?2, 0) RETURNING no";
    COUNT_SCOPE = "UPDATE memory_scope SET records = records + ?2, words = words + ?3,
          count_sum = count_sum + ?2 * 1000003 + ?3 * 1000033 WHERE no = ?1";
    COUNT_KIND = "UPDATE memory_kind SET records = records + ?2, bytes = bytes + ?3, vectors = vectors + ?4,
          count_sum = count_sum + ?2 * 1000003 + ?3 * 1000033 + ?4 * 1000037 WHERE no = ?1";
    FORGET_KINDS = "DELETE FROM memory_kind WHERE records = 0 AND no IN (SELECT value FROM json_each(?1))";
    FORGET_SESSIONS = "DELETE FROM memory_session WHERE no IN (SELECT value FROM json_each(?1))
        AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.session = memory_session.no)";
    /// Removes scopes without records and without marks of forgotten ones.
    FORGET_SCOPES = "DELETE FROM memory_scope WHERE records = 0 AND no IN (SELECT value FROM json_each(?1))
        AND NOT EXISTS (SELECT 1 FROM memory_mark m WHERE m.scope = memory_scope.no)";
    SCOPES_AT = "SELECT no, project, agent, session FROM memory_scope WHERE no IN (SELECT value FROM json_each(?1))";
    COVERED_SCOPES = concat!("SELECT json_group_array(s.no) FROM memory_scope s WHERE ",
        covered!());

    // Records.
    /// The records of scope ?1 in the JSON list of ids ?2.
    MEMORIES = concat!("SELECT m.place, m.version, m.body, m.sum, j.key FROM json_each(?2) j
        CROSS JOIN memory m ON m.scope = ?1 AND m.id = ", text!("j.value"), " ORDER BY j.key");
    MEMORIES_AT = "SELECT m.place, m.version, m.body, m.sum FROM json_each(?1) j CROSS JOIN memory m ON m.place = j.value";
    /// For a JSON list of pairs of a scope and an id, the records that exist: the index of the
    /// pair, the place and the version.
    FILED = concat!("SELECT j.key, m.place, m.version FROM json_each(?1) j
        CROSS JOIN memory m ON m.scope = j.value ->> 0 AND m.id = ", text!("j.value ->> 1"));
    /// For a JSON list of pairs of a scope and a mark, the indexes of the pairs that exist.
    MARKED = "SELECT j.key FROM json_each(?1) j
        CROSS JOIN memory_mark m ON m.scope = j.value ->> 0 AND m.mark = unhex(j.value ->> 1)";
    ADD_MARKS = "INSERT OR IGNORE INTO memory_mark (scope, mark)
        SELECT value ->> 0, unhex(value ->> 1) FROM json_each(?1)";
    FORGET_MARKS = "DELETE FROM memory_mark WHERE (scope, mark) IN (
        SELECT value ->> 0, unhex(value ->> 1) FROM json_each(?1))";
    FORGET_ALL_MARKS = "DELETE FROM memory_mark WHERE scope IN (SELECT value FROM json_each(?1))";
    LAST = "SELECT place, word FROM memory_last";
    MOVE_LAST = "UPDATE memory_last SET place = ?1, word = ?2, sum = ?1 * 1000003 + ?2 * 1000033";

    // Words.
    /// The numbers of a JSON list of words of kind ?2 of scope ?1, NULL for new words, as a JSON
    /// list.
    NUMBERS = "SELECT json_group_array(no) FROM (SELECT w.no FROM json_each(?3) j
        LEFT JOIN memory_word w ON w.scope = ?1 AND w.word = j.value AND w.kind = ?2 ORDER BY j.key)";
    /// Adds the words of a JSON list of word, number, additional records and checksum.
    COUNT_WORDS = "INSERT INTO memory_word (scope, word, kind, no, found, sum)
        SELECT ?1, value ->> 0, ?2, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?3) WHERE true
        ON CONFLICT (scope, word, kind) DO UPDATE SET found = found + excluded.found";
    /// Subtracts the counts of a JSON list of pairs of a word's number and its number of removed
    /// records.
    DISCOUNT_WORDS = "UPDATE memory_word SET found = found - (j.value ->> 1)
        FROM json_each(?1) j WHERE memory_word.no = j.value ->> 0";
    FORGET_WORDS = "DELETE FROM memory_word WHERE found <= 0
        AND no IN (SELECT value ->> 0 FROM json_each(?1))";
    /// For a JSON list of scopes and one of words: the kind, the index of the word in the list, its
    /// number, its number of records, the scope and the checksum, as a JSON list.
    TERMS = "SELECT json_group_array(json_array(w.kind, j.key, w.no, w.found, w.scope, w.sum))
        FROM json_each(?1) s CROSS JOIN json_each(?2) j
        CROSS JOIN memory_word w ON w.scope = s.value AND w.word = j.value";
    /// The words before and after each word of a JSON list ?2 in scopes ?1, of every kind. The
    /// columns are NULL for a word that is not found at its own key.
    WORDS_BESIDE = "SELECT w.scope, w.word, w.kind, w.no, w.sum FROM (
          SELECT s.value AS scope, (SELECT max(word) FROM memory_word WHERE scope = s.value AND word < j.value) AS word
          FROM json_each(?1) s CROSS JOIN json_each(?2) j
          UNION
          SELECT s.value, (SELECT min(word) FROM memory_word WHERE scope = s.value AND word > j.value)
          FROM json_each(?1) s CROSS JOIN json_each(?2) j) f
        LEFT JOIN memory_word w ON w.scope = f.scope AND w.word = f.word WHERE f.word IS NOT NULL";
    /// Whether each scope of a JSON list has a word.
    HAVE_WORDS = "SELECT EXISTS (SELECT 1 FROM memory_word w WHERE w.scope = j.value) FROM json_each(?1) j";
    LISTS = lists!();
    LISTS_AT = "SELECT CAST(group_concat(w.list, '') AS BLOB) FROM json_each(?1) j
        CROSS JOIN memory_words w ON w.place = j.value";

    // Vectors.
    /// The places of the newest ?3 vectors of kind ?1 by embedder ?2.
    NEWEST_VECTORS = "SELECT json_group_array(place) FROM (
        SELECT place FROM memory_vector WHERE kind = ?1 AND model = ?2 ORDER BY place DESC LIMIT ?3)";
    /// The vectors at a JSON list of places that are by embedder ?2 and have ?3 bytes: their places
    /// and checksums, and their concatenated numbers.
    VECTORS = "SELECT json_group_array(json_array(v.place, v.sum)), CAST(group_concat(v.data, '') AS BLOB) FROM json_each(?1) j
        CROSS JOIN memory_vector v ON v.place = j.value WHERE v.model = ?2 AND length(v.data) = ?3";

    // Listing.
    PLACES = places!("INDEXED BY memory_of_kind", "");
    /// The places of session ?4, and of message ?5 if it is set.
    PLACES_OF_SESSION = places!("INDEXED BY memory_of_session", "AND session = ?4 AND (?5 IS NULL OR message = ?5)");
    PLACES_OF_MESSAGE = places!("", "AND session = ?4 AND message = ?5");
    /// The places of scope ?6 under key ?7, limited to session ?4 and message ?5 if they are set.
    PLACES_OF_KEY = places!("INDEXED BY memory_of_key",
        "AND scope = ?6 AND key = ?7 AND (?4 IS NULL OR session = ?4) AND (?5 IS NULL OR message = ?5)");
    /// The neighbours of the records in the JSON list of ids ?2 of scope ?1, at most ?3 on each
    /// side.
    BESIDE = beside!("b.place");
    /// The same for sessions with few records, without relying on the order of the index.
    BESIDE_OF_FEW = beside!("+b.place");
    /// The next scopes of user ?1 after key ?2, with their kinds.
    STATS = concat!("SELECT s.key, s.project, s.agent, s.session, k.kind, k.records, k.bytes, k.vectors,
          s.no, s.user, s.sum, k.no, k.sum, ", scope_agrees!(), " AND ", kind_agrees!(), "
          AND s.records = (SELECT sum(records) FROM memory_kind WHERE scope = s.no) FROM (
          SELECT * FROM memory_scope s WHERE user = ?1 AND key > ?2 AND (records > 0 OR NOT (", scope_agrees!(), "))
          ORDER BY key LIMIT ?3) s
        LEFT JOIN memory_kind k ON k.scope = s.no ORDER BY s.key");

    // Forgetting.
    FORGOTTEN_IDS = concat!("SELECT json_group_array(m.place) FROM json_each(?2) j
        CROSS JOIN memory m ON m.scope = ?1 AND m.id = ", text!("j.value"));
    /// The records from session ?5, when no message ?6 is set.
    FORGOTTEN_SESSION = concat!("SELECT json_group_array(m.place) FROM memory_session n
        CROSS JOIN memory m ON m.session = n.no CROSS JOIN memory_scope s ON s.no = m.scope
        WHERE n.user = ?1 AND n.session = ?5 AND ?6 IS NULL AND ", covered!());
    FORGOTTEN_MESSAGE = concat!("SELECT json_group_array(m.place) FROM memory_session n
        CROSS JOIN memory m ON m.session = n.no AND m.message = ?6 CROSS JOIN memory_scope s ON s.no = m.scope
        WHERE n.user = ?1 AND n.session = ?5 AND ", covered!());
    FORGOTTEN_SCOPE = concat!("SELECT json_group_array(m.place) FROM memory_scope s
        CROSS JOIN memory m ON m.scope = s.no WHERE ", covered!());
    FORGOTTEN_USER = "SELECT json_group_array(place) FROM (SELECT m.place FROM memory_scope s
        CROSS JOIN memory m ON m.scope = s.no WHERE s.user = ?1 LIMIT ?2)";
    /// The rows that are removed with the records of a JSON list of places.
    GOING = "SELECT m.place, m.scope, m.kind, m.id, m.session, m.bytes, v.place IS NOT NULL, w.list FROM json_each(?1) j
        CROSS JOIN memory m ON m.place = j.value JOIN memory_words w ON w.place = m.place
        LEFT JOIN memory_vector v ON v.place = m.place";
    FORGET_INDEX = "DELETE FROM memory_index WHERE rowid IN (SELECT value FROM json_each(?1))";
    FORGET_LISTS = "DELETE FROM memory_words WHERE place IN (SELECT value FROM json_each(?1))";
    FORGET_VECTORS = "DELETE FROM memory_vector WHERE place IN (SELECT value FROM json_each(?1))";
    FORGET_MEMORIES = "DELETE FROM memory WHERE place IN (SELECT value FROM json_each(?1))";
    /// The number of places of a JSON list that any table or index still has.
    REMAINING_AT = "SELECT (SELECT count(*) FROM json_each(?1) j WHERE
          EXISTS (SELECT 1 FROM memory m WHERE m.place = j.value)
          OR EXISTS (SELECT 1 FROM memory_words m WHERE m.place = j.value)
          OR EXISTS (SELECT 1 FROM memory_vector m WHERE m.place = j.value)
          OR EXISTS (SELECT 1 FROM memory_index_docsize m WHERE m.id = j.value))";
    /// Counts the rows of user ?1 and the rows that belong to no user.
    REMAINING = "SELECT (SELECT count(*) FROM memory_scope WHERE user = ?1)
        + (SELECT count(*) FROM memory_session WHERE user = ?1)
        + (SELECT count(*) FROM memory m JOIN memory_scope s ON s.no = m.scope WHERE s.user = ?1)
        + (SELECT count(*) FROM memory_word w JOIN memory_scope s ON s.no = w.scope WHERE s.user = ?1)
        + (SELECT count(*) FROM memory WHERE scope NOT IN (SELECT no FROM memory_scope))
        + (SELECT count(*) FROM memory_kind WHERE scope NOT IN (SELECT no FROM memory_scope))
        + (SELECT count(*) FROM memory_word WHERE scope NOT IN (SELECT no FROM memory_scope))
        + (SELECT count(*) FROM memory_mark WHERE scope NOT IN (SELECT no FROM memory_scope))
        + (SELECT count(*) FROM memory_words WHERE place NOT IN (SELECT place FROM memory))
        + (SELECT count(*) FROM memory_vector WHERE place NOT IN (SELECT place FROM memory))
        + (SELECT count(*) FROM memory_index_docsize WHERE id NOT IN (SELECT place FROM memory))";
    /// Until this statement runs, deleted entries are only marked as deleted.
    TIDY_INDEX = "INSERT INTO memory_index (memory_index) VALUES ('optimize')";

    // Checking.
    /// Counters that disagree with their checksum, and sessions with a wrong number of records:
    /// each table with its number of such rows.
    MISCOUNTED = concat!("SELECT 'memory_scope', count(*) FROM memory_scope s WHERE NOT (", scope_agrees!(), ")
        UNION ALL SELECT 'memory_kind', count(*) FROM memory_kind k WHERE NOT (", kind_agrees!(), ")
        UNION ALL SELECT 'memory_session', count(*) FROM memory_session n WHERE NOT (", session_agrees!(), ")
          OR n.records <> (SELECT count(*) FROM memory m WHERE m.session = n.no)
        UNION ALL SELECT 'memory', (SELECT count(*) FROM memory INDEXED BY memory_of_key WHERE key IS NOT NULL)
          <> (SELECT count(*) FROM memory NOT INDEXED WHERE key IS NOT NULL)
        UNION ALL SELECT 'memory', (SELECT count(*) FROM memory INDEXED BY memory_of_message WHERE message IS NOT NULL)
          <> (SELECT count(*) FROM memory NOT INDEXED WHERE message IS NOT NULL)");
    LOOK_AT_INDEX = "SELECT rowid FROM memory_index LIMIT 1";
    /// Rows that belong to nothing or that nothing needs: each table with its number of such rows.
    STRAYS = "SELECT 'memory_kind', count(*) FROM memory_kind k
          WHERE k.records = 0 OR NOT EXISTS (SELECT 1 FROM memory_scope s WHERE s.no = k.scope)
        UNION ALL SELECT 'memory_scope', count(*) FROM memory_scope s
          WHERE s.records = 0 AND NOT EXISTS (SELECT 1 FROM memory_mark m WHERE m.scope = s.no)
        UNION ALL SELECT 'memory_session', count(*) FROM memory_session n
          WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.session = n.no)
        UNION ALL SELECT 'memory', count(*) FROM memory m
          WHERE NOT EXISTS (SELECT 1 FROM memory_kind k WHERE k.no = m.kind AND k.scope = m.scope)
        UNION ALL SELECT 'memory_word', count(*) FROM memory_word w
          WHERE NOT EXISTS (SELECT 1 FROM memory_kind k WHERE k.no = w.kind AND k.scope = w.scope)
        UNION ALL SELECT 'memory_words', count(*) FROM memory_words w
          WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.place = w.place)
        UNION ALL SELECT 'memory_vector', count(*) FROM memory_vector v
          WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.place = v.place AND m.kind = v.kind)
        UNION ALL SELECT 'memory_index', count(*) FROM memory_index_docsize d
          WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.place = d.id)
        UNION ALL SELECT 'memory_mark', count(*) FROM memory_mark m
          WHERE NOT EXISTS (SELECT 1 FROM memory_scope s WHERE s.no = m.scope)
        UNION ALL SELECT 'memory_last', count(*) FROM memory_last l
          WHERE l.place < (SELECT max(place) FROM memory) OR l.word < (SELECT max(no) FROM memory_word)
            OR l.sum <> l.place * 1000003 + l.word * 1000033";
    /// The next scope after number ?1.
    SCOPE_AFTER = "SELECT no, user, key, project, agent, session, records, words FROM memory_scope
        WHERE no > ?1 ORDER BY no LIMIT 1";
    KINDS_OF = "SELECT no, kind, records, bytes, vectors FROM memory_kind WHERE scope = ?1";
    /// The next few records of kind ?1 after place ?2, with all their stored data.
    MEMORIES_AFTER = "SELECT m.place, m.version, m.body, m.sum, m.id, m.key, n.session, m.message, m.bytes,
          w.list, d.sz, v.place IS NOT NULL, n.user FROM memory m
        LEFT JOIN memory_session n ON n.no = m.session LEFT JOIN memory_words w ON w.place = m.place
        LEFT JOIN memory_index_docsize d ON d.id = m.place LEFT JOIN memory_vector v ON v.place = m.place
        WHERE m.kind = ?1 AND m.place > ?2 ORDER BY m.place LIMIT 500";
    HAS_WORD = "SELECT 1 FROM memory_index WHERE memory_index MATCH ?1 AND rowid = ?2";
    /// The words of kind ?2 of scope ?1 by number, each with its stored number of records, as a
    /// JSON list.
    WORDS_OF = "SELECT json_group_array(json_array(no, found)) FROM (
        SELECT no, found FROM memory_word WHERE scope = ?1 AND kind = ?2 ORDER BY no)";
    /// The number of words of scope ?1 whose number of records differs in the index.
    WRONG_WORDS = "SELECT count(*) FROM memory_word w WHERE w.scope = ?1
        AND w.found IS NOT (SELECT doc FROM memory_vocabulary v WHERE v.term = printf('%x', w.no))";
}

#[cfg(test)]
mod tests {
    use sqlx::Row;

    use super::ALL;
    use crate::{SqliteConfig, SqliteStore};

    /// Statements that read whole tables: the check, and counting what is left of a user.
    const WHOLE: [&str; 6] =
        ["REMAINING", "STRAYS", "LAST", "MOVE_LAST", "MISCOUNTED", "SESSIONS_AGREE"];

    #[tokio::test]
    async fn no_statement_goes_through_what_it_does_not_need() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(SqliteConfig::new(folder.path().join("s.db"))).await.unwrap();
        let connections = store.into_connections();
        let mut writer = connections.writer().await.unwrap();
        for (name, text) in ALL.iter().filter(|(name, _)| !WHOLE.contains(name)) {
            let plan = sqlx::query(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
            for row in plan.fetch_all(&mut writer.connection).await.unwrap() {
                let step: &str = row.get(3);
                // The plan of a virtual table always says the same. Numbers after "INDEX" mean that
                // the table is queried with a constraint.
                let fine = [
                    "json_each",
                    "VIRTUAL TABLE",
                    "CONSTANT ROW",
                    "SCAN (subquery",
                    "SCAN f",
                    "SCAN s",
                ];
                let scans =
                    step.starts_with("SCAN") && !fine.iter().any(|fine| step.contains(fine));
                assert!(!scans, "{name}: {step}");
            }
        }
    }
}
