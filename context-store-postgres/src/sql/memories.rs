//! Statements about memories.
//!
//! Whoever writes to memories of a user locks the row of the user first. A word is mixed with its
//! shelf and the part of places its record is in before it is looked for in the index, as
//! [`crate::memories::words`] does it; `int8xor` is the operator whose sign stands for the schema
//! here.

/// The part of places that a record is in.
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

/// The scopes of user $1 within what $2 to $4 name.
macro_rules! covered {
    () => {
        "SELECT no FROM #memory_scope WHERE user_id = $1 AND $2::bytea IN ('', project)
           AND $3::bytea IN ('', agent) AND $4::bytea IN ('', session)"
    };
}

/// A page of the shelves of kinds $5 of the scopes.
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

/// The words of a record, how many they are, and its shelf. Of many only those are said that are
/// among these.
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

/// The places of records that have some of the words of shelves, by parts $5: newest first, as many
/// as there may be.
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

/// Records worth scoring, and their words as far as they are among $2. First those in shelves $6
/// that have the first few of words $3: how many, and in which part, is said by $4 and $10 one
/// after the other, until $11 were found; the shelves have these words from part $7 to $8, and so
/// many of the first of them as $9 says. Then those that have one of the words $12 to $15; then the
/// newest $20 of those with one of $16 to $19.
///
/// What is in front is looked at first, because nothing here sorts what a loop has found, and the
/// loop ends where there is enough.
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
    /// The same where there may be none. Every call takes a number, so the first is asked first.
    ADD_MEMORY_USER = "INSERT INTO #memory_user AS u (user_id, written) VALUES ($1, 0)
        ON CONFLICT (user_id) DO UPDATE SET written = u.written RETURNING no, written";
    /// The scopes that are there.
    MEMORY_SCOPES = concat!("SELECT c.n, s.no FROM ", scopes!());
    ADD_MEMORY_SCOPES = "INSERT INTO #memory_scope (user_id, project, agent, session, key, marks)
        SELECT $1, i.*, 0 FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[]) i RETURNING no, key";
    /// What there is of records $2 in scopes $1, and of marks $3; the body where $4 asks for it.
    MEMORIES_TO_WRITE = "SELECT i.n, m.place, m.version, m.shelf, CASE WHEN i.exact THEN m.body END, k.known
        FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::boolean[]) WITH ORDINALITY i (scope, id, mark, exact, n)
        LEFT JOIN LATERAL (SELECT * FROM #memory m WHERE m.scope = i.scope AND m.id = i.id OFFSET 0) m ON true
        LEFT JOIN LATERAL (
          SELECT true AS known FROM #memory_mark k WHERE k.scope = i.scope AND k.mark = i.mark OFFSET 0) k ON true
        WHERE m.place IS NOT NULL OR k.known";
    /// Counts new records of shelves, which are made if they are not there.
    ADD_TO_SHELVES = "INSERT INTO #memory_shelf AS h (scope, kind, records, words, vectors, bytes, first, last)
        SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
          $8::bigint[])
        ON CONFLICT (scope, kind) DO UPDATE SET records = h.records + excluded.records, words = h.words + excluded.words,
          vectors = h.vectors + excluded.vectors, bytes = h.bytes + excluded.bytes,
          first = least(h.first, excluded.first), last = greatest(h.last, excluded.last)
        RETURNING no, scope, kind";
    /// New records $3 to $13 with words $14 to $16 and vectors $17 to $21, without marks $22 and
    /// $23; user $1 has written $2.
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
    /// Removes the records at places $1 with all that is counted of them.
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
    /// The shelves of the next $3 scopes behind $2.
    MEMORY_STATS = "SELECT s.project, s.agent, s.session, h.kind, h.records, h.vectors, h.bytes
        FROM (
          SELECT no, project, agent, session, key FROM #memory_scope s WHERE user_id = $1 AND key > $2
            AND EXISTS (SELECT FROM #memory_shelf h WHERE h.scope = s.no)
          ORDER BY key LIMIT $3) s
        JOIN #memory_shelf h ON h.scope = s.no ORDER BY s.key";

    // Finding.
    /// What is known of each shelf, and in how many of its records each of the words $5 is.
    SHELVES = concat!("SELECT h.no, h.kind, h.records, h.words, h.first, h.last, ARRAY(
          SELECT coalesce((SELECT c.records FROM #memory_word c WHERE c.shelf = h.no AND c.word = w.word), 0)
          FROM unnest($5::bigint[]) WITH ORDINALITY w (word, n) ORDER BY w.n)
        FROM ", scopes!(), " JOIN #memory_shelf h ON h.scope = s.no");
    CANDIDATES = candidates!("");
    /// The same under row-level security, where an index of words is not asked before a policy:
    /// every part is read whole. $21 is where the places of the user begin.
    CANDIDATES_OF_POLICY = candidates!("m.shelf = ANY($1::bigint[]) AND m.place BETWEEN $21 + (l.part << 13) AND $21 + (l.part << 13) + 8191 AND");
    /// The records at places $1, their words as far as they are among $2, their vectors of model $3
    /// and length $4.
    WINNERS = concat!("SELECT m.place, ", words!("$2"), ", m.version, m.body, v.data FROM unnest($1::bigint[]) i (place)
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
    /// Removes all that is filed under scopes $1 but for the scopes, and says how many records they
    /// had.
    EMPTY_SCOPES = "WITH shelves AS (DELETE FROM #memory_shelf WHERE scope = ANY($1::bigint[]) RETURNING no),
        marks AS (DELETE FROM #memory_mark WHERE scope = ANY($1::bigint[])),
        scopes AS (UPDATE #memory_scope SET marks = 0 WHERE no = ANY($1::bigint[])),
        words AS (DELETE FROM #memory_word c USING shelves h WHERE c.shelf = h.no),
        vectors AS (DELETE FROM #memory_vector v USING shelves h WHERE v.shelf = h.no),
        gone AS (DELETE FROM #memory m USING shelves h WHERE m.shelf = h.no RETURNING 1)
        SELECT count(*) FROM gone";
    /// What is left of scopes $1, which are empty.
    LEFT_OF_SCOPES = "SELECT (SELECT count(*) FROM #memory WHERE scope = ANY($1::bigint[]))
        + (SELECT count(*) FROM #memory_shelf WHERE scope = ANY($1::bigint[]))
        + (SELECT count(*) FROM #memory_mark WHERE scope = ANY($1::bigint[]))";
    /// What is empty is removed: shelves, then scopes, then the user.
    REMOVE_EMPTY_SHELVES = "DELETE FROM #memory_shelf WHERE records = 0
        AND scope IN (SELECT no FROM #memory_scope WHERE user_id = $1)";
    REMOVE_EMPTY_SCOPES = "DELETE FROM #memory_scope s WHERE user_id = $1
        AND NOT EXISTS (SELECT FROM #memory_shelf h WHERE h.scope = s.no)
        AND NOT EXISTS (SELECT FROM #memory_mark k WHERE k.scope = s.no)";
    REMOVE_EMPTY_MEMORY_USER = "DELETE FROM #memory_user WHERE user_id = $1
        AND NOT EXISTS (SELECT FROM #memory_scope WHERE user_id = $1)";
    /// What is left of the records at places $1, which are gone.
    LEFT_AT_PLACES = "SELECT (SELECT count(*) FROM #memory WHERE place = ANY($1::bigint[]))
        + (SELECT count(*) FROM #memory_vector WHERE place = ANY($1::bigint[]))";

    // Maintenance.
    /// Rows of a user, and rows that belong to nobody.
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
    /// Scopes of nobody, and those without anything, by their keys.
    STRAY_SCOPES = "SELECT key FROM #memory_scope s WHERE NOT EXISTS (SELECT FROM #memory_user u WHERE u.user_id = s.user_id)
        OR NOT EXISTS (SELECT FROM #memory_shelf h WHERE h.scope = s.no) AND NOT EXISTS (
          SELECT FROM #memory_mark k WHERE k.scope = s.no)";
    /// Scopes that are not there, of shelves and marks.
    LOST_SCOPES = "SELECT DISTINCT t.scope FROM (SELECT scope FROM #memory_shelf UNION ALL SELECT scope FROM #memory_mark) t
        WHERE NOT EXISTS (SELECT FROM #memory_scope s WHERE s.no = t.scope)";
    /// The next scopes, how many marks they count and have, and how many of these are not what was
    /// written.
    SCOPES_AFTER = "SELECT s.no, s.user_id, s.project, s.agent, s.session, s.key, s.marks, k.marks, k.wrong
        FROM #memory_scope s CROSS JOIN LATERAL (
          SELECT count(*) AS marks, count(*) FILTER (WHERE sum <> substring(sha256(mark) FOR 4)) AS wrong
          FROM #memory_mark WHERE scope = s.no) k
        WHERE s.no > $1 ORDER BY s.no LIMIT $2";
    /// The next shelf with what it says and what there is, and how many words are in another number
    /// of records than is counted.
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
    /// The next records of a shelf, their rows and their vectors.
    MEMORIES_AFTER = "SELECT m.place, m.version, m.body, m.id, m.key, m.session, m.message, m.size, v.model, v.length, v.data
        FROM #memory m LEFT JOIN #memory_vector v ON v.place = m.place
        WHERE m.shelf = $1 AND m.place > $2 ORDER BY m.place LIMIT $3";
}
