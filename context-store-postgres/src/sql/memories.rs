//! Statements for memories.
//!
//! Writers lock the row of the user first. Before a word is looked up in the index, it is mixed
//! with the shelf and the part of the record's place, as in [`crate::memories::words`]. The
//! function `int8xor` replaces its operator `#`, because `#` stands for the schema here.

/// The part that holds the place of a record.
macro_rules! part {
    () => {
        "((m.place & 4294967295) >> 13)"
    };
}

/// The scope `s` that $1 to $4 name.
macro_rules! scope {
    () => {
        "#memory_scope s ON s.user_id = $1 AND s.project = $2 AND s.agent = $3 AND s.session = $4"
    };
}

/// The scopes `s` of user $1 that $2 to $4 name, with the number `n` of each.
macro_rules! scopes {
    () => {
        "unnest($2::bytea[], $3::bytea[], $4::bytea[]) WITH ORDINALITY c (project, agent, session, n)
           JOIN #memory_scope s ON s.user_id = $1 AND s.project = c.project AND s.agent = c.agent AND s.session = c.session"
    };
}

/// The scopes of user $1 within the scope that $2 to $4 name.
macro_rules! covered {
    () => {
        "SELECT no FROM #memory_scope WHERE user_id = $1 AND $2::bytea IN ('', project)
           AND $3::bytea IN ('', agent) AND $4::bytea IN ('', session)"
    };
}

/// A page of the records of kinds $5 of the scopes.
macro_rules! list {
    ($filter:expr) => {
        concat!(
            "SELECT m.place, m.version, m.body FROM (
               SELECT h.no FROM ",
            scopes!(),
            " JOIN #memory_shelf h ON h.scope = s.no AND ($5::bytea[] IS NULL OR h.kind = ANY($5))) h
             CROSS JOIN LATERAL (
               SELECT place, version, body FROM #memory m WHERE m.shelf = h.no AND m.place < $6 AND ",
            $filter,
            " ORDER BY m.place DESC LIMIT $7) m
             ORDER BY m.place DESC LIMIT $7"
        )
    };
}

/// The shelf of a record, its number of words, and its words. If there are many, only those among
/// the given words are returned.
macro_rules! words {
    ($wanted:literal) => {
        concat!(
            "m.shelf, cardinality(m.words)::bigint, CASE WHEN cardinality(m.words) <= 64 THEN m.words ELSE ARRAY(
               SELECT w FROM unnest(m.words) w WHERE int8xor(w, (m.shelf << 19) + ",
            part!(),
            ") = ANY(",
            $wanted,
            "::bigint[])) END"
        )
    };
}

/// The records that have some of the words of shelves, by parts $5: the newest first, up to a
/// limit.
macro_rules! any_of {
    ($words:literal, $limit:literal, $where:expr) => {
        concat!(
            "(SELECT m.tid FROM unnest($5::bigint[]) l (part)
              CROSS JOIN LATERAL (
                SELECT array_agg(int8xor(w.word, (w.shelf << 19) + l.part)) AS keys
                FROM unnest(",
            $words,
            ") w (shelf, word, first, last) WHERE l.part BETWEEN w.first AND w.last) k
              CROSS JOIN LATERAL (
                SELECT m.tid FROM (
                  SELECT m.ctid AS tid, m.place, m.shelf FROM #memory m WHERE ",
            $where,
            " m.words && k.keys OFFSET 0) m
                WHERE m.shelf = ANY($1::bigint[]) ORDER BY m.place DESC) m
              LIMIT ",
            $limit,
            ")"
        )
    };
}

/// Records to score, with those of their words that are among $2. There are three groups:
///
/// * Records in shelves $6 that have the first words of $3. The pairs of $4 and $10 say how many
///   words and in which part, and are tried in order until $11 records are found. A shelf has these
///   words in parts $7 to $8, and $9 says how many of the first words it has.
/// * Records that have one of the words $12 to $15.
/// * The newest $20 records that have one of $16 to $19.
///
/// Groups and pairs are read in this order, because the results of a loop are not sorted, and the
/// loop ends when there are enough.
macro_rules! candidates {
    ($where:expr) => {
        concat!(
            "SELECT m.place, ",
            words!("$2"),
            " FROM (
               SELECT tid FROM (
                 SELECT m.tid FROM unnest($4::bigint[], $10::bigint[]) l (most, part)
                 CROSS JOIN LATERAL (
                   SELECT m.tid FROM unnest($6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]) s (shelf, first, last, most)
                   CROSS JOIN LATERAL (
                     SELECT array_agg(int8xor(w, (s.shelf << 19) + l.part)) AS keys FROM unnest(($3::bigint[])[1:l.most]) w) k
                   CROSS JOIN LATERAL (
                     SELECT m.ctid AS tid, m.place, m.shelf FROM #memory m WHERE ",
            $where,
            " m.words @> k.keys OFFSET 0) m
                   WHERE l.part BETWEEN s.first AND s.last AND s.most >= l.most AND m.shelf = s.shelf
                   ORDER BY m.place DESC) m
                 LIMIT $11) several
               UNION ",
            any_of!("$12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[]", "NULL", $where),
            " UNION ",
            any_of!("$16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[]", "$20", $where),
            ") c CROSS JOIN LATERAL (SELECT place, shelf, words FROM #memory m WHERE m.ctid = c.tid OFFSET 0) m"
        )
    };
}

statements! {
    // Writing.
    LOCK_MEMORY_USER = "SELECT no, written FROM #memory_user WHERE user_id = $1 FOR NO KEY UPDATE";
    /// Locks the row of a user that may not exist yet. It uses up a number of the sequence even if
    /// the row exists, so `LOCK_MEMORY_USER` is tried first.
    ADD_MEMORY_USER = "INSERT INTO #memory_user AS u (user_id, written) VALUES ($1, 0)
        ON CONFLICT (user_id) DO UPDATE SET written = u.written RETURNING no, written";
    /// The scopes that exist.
    MEMORY_SCOPES = concat!("SELECT c.n, s.no FROM ", scopes!());
    ADD_MEMORY_SCOPES = "INSERT INTO #memory_scope (user_id, project, agent, session, key, marks)
        SELECT $1, i.*, 0 FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[]) i RETURNING no, key";
    /// The stored state of records $2 in scopes $1, and of marks $3. The body is returned where $4
    /// is true.
    MEMORIES_TO_WRITE = "SELECT i.n, m.place, m.version, m.shelf, CASE WHEN i.exact THEN m.body END, k.known
        FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::boolean[]) WITH ORDINALITY i (scope, id, mark, exact, n)
        LEFT JOIN LATERAL (SELECT * FROM #memory m WHERE m.scope = i.scope AND m.id = i.id OFFSET 0) m ON true
        LEFT JOIN LATERAL (
          SELECT true AS known FROM #memory_mark k WHERE k.scope = i.scope AND k.mark = i.mark OFFSET 0) k ON true
        WHERE m.place IS NOT NULL OR k.known";
    /// Updates the counters of shelves for new records, and creates the shelves that do not exist.
    ADD_TO_SHELVES = "INSERT INTO #memory_shelf AS h (scope, kind, records, words, vectors, bytes, first, last)
        SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
          $8::bigint[])
        ON CONFLICT (scope, kind) DO UPDATE SET records = h.records + excluded.records, words = h.words + excluded.words,
          vectors = h.vectors + excluded.vectors, bytes = h.bytes + excluded.bytes,
          first = least(h.first, excluded.first), last = greatest(h.last, excluded.last)
        RETURNING no, scope, kind";
    /// Adds records $3 to $13 with words $14 to $16 and vectors $17 to $21, removes marks $22 and
    /// $23, and sets the counter of user $1 to $2.
    ADD_MEMORIES = "WITH records AS (
          INSERT INTO #memory (place, scope, shelf, id, version, key, session, message, size, words, body)
          SELECT i.place, i.scope, i.shelf, i.id, i.version, i.key, i.session, i.message, i.size, i.words::bigint[], i.body
          FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bytea[], $9::bytea[],
            $10::bytea[], $11::bigint[], $12::text[], $13::bytea[])
            i (place, scope, shelf, id, version, key, session, message, size, words, body)),
        words AS (
          INSERT INTO #memory_word AS c (shelf, word, records)
          SELECT * FROM unnest($14::bigint[], $15::bigint[], $16::bigint[])
          ON CONFLICT (shelf, word) DO UPDATE SET records = c.records + excluded.records),
        vectors AS (
          INSERT INTO #memory_vector (place, shelf, model, length, data)
          SELECT * FROM unnest($17::bigint[], $18::bigint[], $19::bytea[], $20::bigint[], $21::bytea[])),
        marks AS (
          DELETE FROM #memory_mark k USING unnest($22::bigint[], $23::bytea[]) i (scope, mark)
          WHERE k.scope = i.scope AND k.mark = i.mark RETURNING k.scope),
        fewer AS (
          UPDATE #memory_scope s SET marks = s.marks - k.marks
          FROM (SELECT scope, count(*) AS marks FROM marks GROUP BY scope) k WHERE s.no = k.scope)
        UPDATE #memory_user SET written = $2 WHERE no = $1";
    /// Removes the records at places $1 and subtracts them from all counters.
    REMOVE_MEMORIES = concat!("WITH gone AS (
          DELETE FROM #memory WHERE place = ANY($1::bigint[]) RETURNING place, shelf, size, words),
        vectors AS (DELETE FROM #memory_vector WHERE place = ANY($1::bigint[]) RETURNING shelf),
        lost AS (
          SELECT m.shelf, w.word, count(*) AS records FROM gone m CROSS JOIN LATERAL (
            SELECT DISTINCT int8xor(w, (m.shelf << 19) + ", part!(), ") AS word FROM unnest(m.words) w) w
          GROUP BY m.shelf, w.word),
        less AS (
          UPDATE #memory_word c SET records = c.records - l.records FROM lost l
          WHERE c.shelf = l.shelf AND c.word = l.word AND c.records > l.records),
        none AS (
          DELETE FROM #memory_word c USING lost l
          WHERE c.shelf = l.shelf AND c.word = l.word AND c.records <= l.records),
        counted AS (
          SELECT shelf, count(*) AS records, sum(cardinality(words))::bigint AS words, sum(size)::bigint AS bytes,
            (SELECT count(*) FROM vectors v WHERE v.shelf = g.shelf) AS vectors
          FROM gone g GROUP BY shelf),
        shelves AS (
          UPDATE #memory_shelf h SET records = h.records - c.records, words = h.words - c.words,
            vectors = h.vectors - c.vectors, bytes = h.bytes - c.bytes
          FROM counted c WHERE h.no = c.shelf)
        SELECT count(*) FROM gone");

    // Reading.
    MEMORIES = concat!("SELECT m.place, m.version, m.body
        FROM unnest($5::bytea[]) WITH ORDINALITY i (id, n) JOIN ", scope!(), "
        CROSS JOIN LATERAL (SELECT place, version, body FROM #memory m WHERE m.scope = s.no AND m.id = i.id OFFSET 0) m
        ORDER BY i.n");
    LIST_MEMORIES = list!("true");
    LIST_MEMORIES_OF_KEY = list!("m.key = $8 AND ($9::bytea IS NULL OR m.session = $9)
        AND ($10::bytea IS NULL OR m.message = $10)");
    LIST_MEMORIES_OF_SESSION = list!("m.session = $8");
    LIST_MEMORIES_OF_MESSAGE = list!("m.session = $8 AND m.message = $9");
    MEMORIES_BESIDE = concat!("SELECT i.n, b.place, b.version, b.body
        FROM unnest($5::bytea[]) WITH ORDINALITY i (id, n) JOIN ", scope!(), "
        CROSS JOIN LATERAL (
          SELECT place, shelf, session FROM #memory m WHERE m.scope = s.no AND m.id = i.id AND m.session IS NOT NULL OFFSET 0) m
        CROSS JOIN LATERAL (
          (SELECT place, version, body FROM #memory b WHERE b.shelf = m.shelf AND b.session = m.session AND b.place < m.place
           ORDER BY b.place DESC LIMIT $6)
          UNION ALL
          (SELECT place, version, body FROM #memory b WHERE b.shelf = m.shelf AND b.session = m.session AND b.place > m.place
           ORDER BY b.place LIMIT $6)) b
        ORDER BY i.n, b.place");
    /// The shelves of the next $3 scopes after $2.
    MEMORY_STATS = "SELECT s.project, s.agent, s.session, h.kind, h.records, h.vectors, h.bytes
        FROM (
          SELECT no, project, agent, session, key FROM #memory_scope s WHERE user_id = $1 AND key > $2
            AND EXISTS (SELECT FROM #memory_shelf h WHERE h.scope = s.no)
          ORDER BY key LIMIT $3) s
        JOIN #memory_shelf h ON h.scope = s.no ORDER BY s.key";

    // Finding.
    /// The counters of each shelf, and the number of its records that contain each of the words $5.
    SHELVES = concat!("SELECT h.no, h.kind, h.records, h.words, h.first, h.last, ARRAY(
          SELECT coalesce((SELECT c.records FROM #memory_word c WHERE c.shelf = h.no AND c.word = w.word), 0)
          FROM unnest($5::bigint[]) WITH ORDINALITY w (word, n) ORDER BY w.n)
        FROM ", scopes!(), " JOIN #memory_shelf h ON h.scope = s.no");
    CANDIDATES = candidates!("");
    /// The variant for row-level security, where the index of words is not used before the policy:
    /// every part is read as a whole. $21 is the first place of the user.
    CANDIDATES_OF_POLICY = candidates!("m.shelf = ANY($1::bigint[]) AND m.place BETWEEN $21 + (l.part << 13) AND $21 + (l.part << 13) + 8191 AND");
    /// The records at places $1, with those of their words that are among $2, and their vectors of
    /// model $3 and length $4.
    HITS = concat!("SELECT m.place, ", words!("$2"), ", m.version, m.body, v.data FROM unnest($1::bigint[]) i (place)
        CROSS JOIN LATERAL (SELECT * FROM #memory m WHERE m.place = i.place OFFSET 0) m
        LEFT JOIN LATERAL (
          SELECT data FROM #memory_vector v WHERE v.place = m.place AND v.model = $3 AND v.length = $4 OFFSET 0) v ON true");
    /// The $5 newest vectors of shelves $1 before place $4.
    NEWEST_VECTORS = "SELECT v.place, v.data FROM (
          SELECT n.place FROM unnest($1::bigint[]) s (shelf) CROSS JOIN LATERAL (
            SELECT place FROM #memory_vector v WHERE v.shelf = s.shelf AND v.model = $2 AND v.length = $3 AND v.place < $4
            ORDER BY place DESC LIMIT $5) n
          ORDER BY n.place DESC LIMIT $5) n
        CROSS JOIN LATERAL (SELECT place, data FROM #memory_vector v WHERE v.place = n.place OFFSET 0) v
        ORDER BY v.place DESC";

    // Forgetting.
    MEMORIES_BY_ID = concat!("SELECT m.place, s.no, m.id, s.project, s.agent, s.session
        FROM (SELECT DISTINCT unnest($5::bytea[]) AS id) i JOIN ", scope!(), "
        CROSS JOIN LATERAL (SELECT place, id FROM #memory m WHERE m.scope = s.no AND m.id = i.id OFFSET 0) m");
    MEMORIES_BY_SOURCE = concat!("SELECT m.place, s.no, m.id, s.project, s.agent, s.session
        FROM (", covered!(), ") c JOIN #memory_scope s ON s.no = c.no JOIN #memory_shelf h ON h.scope = s.no
        JOIN #memory m ON m.shelf = h.no AND m.session = $5 AND ($6::bytea IS NULL OR m.message = $6)");
    COVERED_SCOPES = covered!();
    ADD_MARKS = "WITH marks AS (
          INSERT INTO #memory_mark (scope, mark, sum)
          SELECT i.scope, i.mark, substring(sha256(i.mark) FOR 4) FROM unnest($1::bigint[], $2::bytea[]) i (scope, mark)
          ON CONFLICT DO NOTHING RETURNING scope)
        UPDATE #memory_scope s SET marks = s.marks + k.marks
        FROM (SELECT scope, count(*) AS marks FROM marks GROUP BY scope) k WHERE s.no = k.scope";
    /// Removes everything of scopes $1 except for the rows of the scopes, and returns how many
    /// records they had.
    EMPTY_SCOPES = "WITH shelves AS (DELETE FROM #memory_shelf WHERE scope = ANY($1::bigint[]) RETURNING no),
        marks AS (DELETE FROM #memory_mark WHERE scope = ANY($1::bigint[])),
        scopes AS (UPDATE #memory_scope SET marks = 0 WHERE no = ANY($1::bigint[])),
        words AS (DELETE FROM #memory_word c USING shelves h WHERE c.shelf = h.no),
        vectors AS (DELETE FROM #memory_vector v USING shelves h WHERE v.shelf = h.no),
        gone AS (DELETE FROM #memory m USING shelves h WHERE m.shelf = h.no RETURNING 1)
        SELECT count(*) FROM gone";
    /// Counts the rows that emptied scopes $1 still have.
    LEFT_OF_SCOPES = "SELECT (SELECT count(*) FROM #memory WHERE scope = ANY($1::bigint[]))
        + (SELECT count(*) FROM #memory_shelf WHERE scope = ANY($1::bigint[]))
        + (SELECT count(*) FROM #memory_mark WHERE scope = ANY($1::bigint[]))";
    /// Removes empty rows: shelves, then scopes, then the user.
    REMOVE_EMPTY_SHELVES = "DELETE FROM #memory_shelf WHERE records = 0
        AND scope IN (SELECT no FROM #memory_scope WHERE user_id = $1)";
    REMOVE_EMPTY_SCOPES = "DELETE FROM #memory_scope s WHERE user_id = $1
        AND NOT EXISTS (SELECT FROM #memory_shelf h WHERE h.scope = s.no)
        AND NOT EXISTS (SELECT FROM #memory_mark k WHERE k.scope = s.no)";
    REMOVE_EMPTY_MEMORY_USER = "DELETE FROM #memory_user WHERE user_id = $1
        AND NOT EXISTS (SELECT FROM #memory_scope WHERE user_id = $1)";
    /// Counts the rows that removed records at places $1 still have.
    LEFT_AT_PLACES = "SELECT (SELECT count(*) FROM #memory WHERE place = ANY($1::bigint[]))
        + (SELECT count(*) FROM #memory_vector WHERE place = ANY($1::bigint[]))";

    // Maintenance.
    /// Counts the rows of a user and the rows that belong to no user.
    REMAINING_MEMORIES = "SELECT (SELECT count(*) FROM #memory_user WHERE user_id = $1)
        + (SELECT count(*) FROM #memory_scope WHERE user_id = $1)
        + (SELECT count(*) FROM #memory m WHERE NOT EXISTS (
            SELECT FROM #memory_scope s WHERE s.no = m.scope AND s.user_id <> $1))
        + (SELECT count(*) FROM #memory_word c WHERE NOT EXISTS (SELECT FROM #memory_shelf h WHERE h.no = c.shelf))
        + (SELECT count(*) FROM #memory_vector v WHERE NOT EXISTS (SELECT FROM #memory m WHERE m.place = v.place))";
    STRAY_MEMORIES = "SELECT place FROM #memory m WHERE NOT EXISTS (
        SELECT FROM #memory_shelf h JOIN #memory_scope s ON s.no = h.scope JOIN #memory_user u ON u.user_id = s.user_id
        WHERE h.no = m.shelf AND s.no = m.scope AND u.no = m.place >> 32 AND m.place & 4294967295 BETWEEN 1 AND u.written)";
    STRAY_VECTORS = "SELECT place FROM #memory_vector v WHERE NOT EXISTS (
        SELECT FROM #memory m WHERE m.place = v.place AND m.shelf = v.shelf)";
    STRAY_MEMORY_WORDS = "SELECT DISTINCT shelf FROM #memory_word c WHERE NOT EXISTS (
        SELECT FROM #memory_shelf h WHERE h.no = c.shelf)";
    /// The keys of scopes that belong to no user or contain nothing.
    STRAY_SCOPES = "SELECT key FROM #memory_scope s WHERE NOT EXISTS (SELECT FROM #memory_user u WHERE u.user_id = s.user_id)
        OR NOT EXISTS (SELECT FROM #memory_shelf h WHERE h.scope = s.no) AND NOT EXISTS (
          SELECT FROM #memory_mark k WHERE k.scope = s.no)";
    /// The scopes of shelves and marks that do not exist.
    LOST_SCOPES = "SELECT DISTINCT t.scope FROM (SELECT scope FROM #memory_shelf UNION ALL SELECT scope FROM #memory_mark) t
        WHERE NOT EXISTS (SELECT FROM #memory_scope s WHERE s.no = t.scope)";
    /// The next scopes, the stored and actual number of their marks, and the number of marks that
    /// disagree with their checksum.
    SCOPES_AFTER = "SELECT s.no, s.user_id, s.project, s.agent, s.session, s.key, s.marks, k.marks, k.wrong
        FROM #memory_scope s CROSS JOIN LATERAL (
          SELECT count(*) AS marks, count(*) FILTER (WHERE sum <> substring(sha256(mark) FOR 4)) AS wrong
          FROM #memory_mark WHERE scope = s.no) k
        WHERE s.no > $1 ORDER BY s.no LIMIT $2";
    /// The next shelf with its stored and actual counters, and the number of words whose number of
    /// records is wrong.
    SHELF_AFTER = concat!("SELECT h.no, s.user_id, s.project, s.agent, s.session, h.kind,
          ARRAY[h.records, h.words, h.vectors, h.bytes],
          ARRAY[m.records, m.words, (SELECT count(*) FROM #memory_vector v WHERE v.shelf = h.no), m.bytes],
          coalesce(m.first >= h.first AND m.last <= h.last, false), (
            SELECT count(*) FROM (SELECT word, records FROM #memory_word WHERE shelf = h.no) c FULL JOIN (
              SELECT w.word, count(*) AS records FROM #memory m CROSS JOIN LATERAL (
                SELECT DISTINCT int8xor(w, (m.shelf << 19) + ", part!(), ") AS word FROM unnest(m.words) w) w
              WHERE m.shelf = h.no GROUP BY w.word) f ON f.word = c.word
            WHERE f.records IS DISTINCT FROM c.records)
        FROM #memory_shelf h JOIN #memory_scope s ON s.no = h.scope CROSS JOIN LATERAL (
          SELECT count(*) AS records, coalesce(sum(cardinality(words)), 0)::bigint AS words, coalesce(sum(size), 0)::bigint AS bytes,
            min(place) AS first, max(place) AS last
          FROM #memory WHERE shelf = h.no) m
        WHERE h.no > $1 ORDER BY h.no LIMIT 1");
    /// The next records of a shelf with all columns and their vectors.
    MEMORIES_AFTER = "SELECT m.place, m.version, m.body, m.id, m.key, m.session, m.message, m.size, v.model, v.length, v.data
        FROM #memory m LEFT JOIN #memory_vector v ON v.place = m.place
        WHERE m.shelf = $1 AND m.place > $2 ORDER BY m.place LIMIT $3";
}
