//! The parts of the statement for the common commit.

/// The maximum size of a merged run, in bytes.
macro_rules! merged_bytes {
    () => {
        "262144"
    };
}

/// Appends the new messages with ids $5 to branch $3 of a chat if its head is still $4, or, if $9
/// says that this is a graft, if message $4 is one of those that the branch owns. One statement,
/// which returns how many messages the branch then owns and the head before, or no row if it has
/// not written. $6 are the packed messages, $7 is their weight, $8 the time.
///
/// The head is compared twice: before the chat's row is locked, and again after, because another
/// writer may have written in between. If only the first comparison succeeds, the statement fails
/// with a division by zero, and nothing is written. The end of the lease is in the chat's row, so
/// it is compared again once that row is locked. A graft follows the head that the branch's row has
/// once it is locked: writers of a chat wait for its row in the server, in order. The messages
/// before the end of a branch stay the same ones, so the first look at what was seen is enough.
///
/// A statement does not see the runs of those that it has waited for, so then it merges none. It
/// fails in the same way if it fills a block of 64 messages: the transaction merges that.
macro_rules! append {
    ($runs:expr, $words:expr) => {
        concat!(
            "WITH c AS (
               UPDATE #chat t SET updated_at = greatest(t.updated_at, $8::bigint),
                 minute = greatest(t.updated_at, $8::bigint) / 60000000,
                 time_sum = int8xor(int8xor(t.time_sum, t.updated_at), greatest(t.updated_at, $8::bigint))
               WHERE t.user_id = $1 AND t.id = $2 AND coalesce(t.lease_until <= $8::bigint, true) AND EXISTS (
                 SELECT FROM #branch b WHERE b.chat = t.no AND b.name = $3 AND (b.head IS NOT DISTINCT FROM $4
                   OR $9::boolean AND ($4 IS NULL OR (
                     SELECT n.pos >> 32 FROM #node n WHERE n.chat = t.no AND n.id = $4) = b.no)) OFFSET 0)
               RETURNING t.no),
             o AS (
               SELECT b.no, b.head FROM c JOIN #branch b ON b.chat = c.no
               WHERE b.name = $3 AND ($9::boolean OR b.head IS NOT DISTINCT FROM $4) FOR UPDATE OF b),
             b AS (
               UPDATE #branch b SET own = b.own + cardinality($5::bytea[]), head = ($5::bytea[])[cardinality($5::bytea[])]
               FROM o WHERE b.no = o.no
               RETURNING b.chat, b.no << 32 AS lo, b.own - cardinality($5::bytea[]) AS before, b.own, o.head AS onto,
                 b.own - cardinality($5::bytea[]) = (SELECT s.own FROM #branch s WHERE s.no = b.no) AS waited_for_none),",
            $runs,
            ", n AS (
               INSERT INTO #node (chat, id, pos)
               SELECT b.chat, i.id, b.lo + b.before + i.n
               FROM b CROSS JOIN unnest($5::bytea[]) WITH ORDINALITY i (id, n))",
            $words,
            " SELECT b.own, b.onto,
               1 / (SELECT count(*) FROM b WHERE waited_for_none OR own / 64 = before / 64)
             FROM c LEFT JOIN b ON true"
        )
    };
}

/// Stores the messages as a run of their own.
macro_rules! one_run {
    () => {
        " r AS (
           INSERT INTO #run (pos, weight, data) SELECT b.lo + b.before + 1, $7::bigint, $6::bytea FROM b)"
    };
}

/// Stores the messages as a run of their own or, if they fill a block of 16 or 64 messages, as one
/// run with the other messages of the block.
macro_rules! merged_run {
    () => {
        concat!(
            " m AS (
               SELECT lo + before + 1 AS pos, lo + CASE
                 WHEN NOT waited_for_none THEN NULL
                 WHEN own / 64 > before / 64 THEN before / 64 * 64 + 1
                 WHEN own / 16 > before / 16 THEN before / 16 * 16 + 1 END AS first FROM b),
             gone AS (
               DELETE FROM #run r USING m WHERE r.pos >= m.first AND r.pos < m.pos
                 AND octet_length($6::bytea) + (SELECT coalesce(sum(octet_length(s.data)), 0) FROM #run s
                   WHERE s.pos >= m.first AND s.pos < m.pos) <= ",
            merged_bytes!(),
            "  RETURNING r.pos, r.weight, r.data),
             r AS (
               INSERT INTO #run (pos, weight, data)
               SELECT coalesce(g.pos, m.pos), coalesce(g.weight, 0) + $7::bigint, coalesce(g.data, ''::bytea) || $6::bytea
               FROM m CROSS JOIN (
                 SELECT min(pos) AS pos, sum(weight)::bigint AS weight, string_agg(data, ''::bytea ORDER BY pos) AS data
                 FROM gone) g)"
        )
    };
}

/// Adds the words $10 to $14 of those messages that have words.
macro_rules! words_of_append {
    () => {
        ", w AS (
           INSERT INTO #words (pos, role, length, body, lexemes)
           SELECT b.lo + b.before + i.n, i.role, i.length, i.body, i.lexemes::tsvector
           FROM b CROSS JOIN unnest($10::bigint[], $11::smallint[], $12::bigint[], $13::text[], $14::text[])
             i (n, role, length, body, lexemes))"
    };
}

/// Appends to branches of several chats, each chat once. $1 to $9 have a value for each append, $10
/// to $12 one for each message: its id, the number of its append, and its number in it, from 1.
/// Returns a row for each append that was written: its number and how many messages the branch then
/// owns.
///
/// Chats that another transaction has locked are passed over, so a group waits for nobody and
/// cannot deadlock. A branch that has changed since the statement began is passed over too, because
/// the statement does not see its newest runs.
///
/// The subqueries around arrays hide their lengths, so that the server keeps one plan instead of
/// planning for each length. Each chat is looked up in a subquery of its own, because the server
/// joins the arrays with a scan of all chats while it believes that there are few.
macro_rules! append_group {
    ($words:expr) => {
        concat!(
            "WITH l AS (
               SELECT i.*, s.*
               FROM unnest((SELECT $1::bytea[]), $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[],
                 $8::bigint[], $9::bigint[]) WITH ORDINALITY i (user_id, chat_id, name, seen, head, data, weight, added, at, n)
               CROSS JOIN LATERAL (
                 SELECT t.no AS chat, b.no AS branch, b.own AS before
                 FROM #chat t JOIN #branch b ON b.chat = t.no AND b.name = i.name
                 WHERE t.user_id = i.user_id AND t.id = i.chat_id AND coalesce(t.lease_until <= i.at, true)
                   AND b.head IS NOT DISTINCT FROM i.seen
                 FOR NO KEY UPDATE OF t SKIP LOCKED) s),
             b AS (
               UPDATE #branch b SET own = l.before + l.added, head = l.head
               FROM l WHERE b.no = l.branch AND b.own = l.before AND b.head IS NOT DISTINCT FROM l.seen
               RETURNING l.n, l.chat, l.at, l.weight, l.data, l.before, b.own, l.branch << 32 AS lo),
             c AS (
               UPDATE #chat t SET updated_at = greatest(t.updated_at, b.at),
                 minute = greatest(t.updated_at, b.at) / 60000000,
                 time_sum = int8xor(int8xor(t.time_sum, t.updated_at), greatest(t.updated_at, b.at))
               FROM b WHERE t.no = b.chat),
             m AS (
               SELECT n, weight, data, lo + before + 1 AS pos, lo + CASE
                 WHEN own / 64 > before / 64 THEN before / 64 * 64 + 1
                 WHEN own / 16 > before / 16 THEN before / 16 * 16 + 1 END AS first FROM b),
             gone AS (
               DELETE FROM #run r USING m WHERE r.pos >= m.first AND r.pos < m.pos
                 AND octet_length(m.data) + (SELECT coalesce(sum(octet_length(s.data)), 0) FROM #run s
                   WHERE s.pos >= m.first AND s.pos < m.pos) <= ",
            merged_bytes!(),
            "  RETURNING m.n, r.pos, r.weight, r.data),
             r AS (
               INSERT INTO #run (pos, weight, data)
               SELECT coalesce(g.pos, m.pos), coalesce(g.weight, 0) + m.weight, coalesce(g.data, ''::bytea) || m.data
               FROM m LEFT JOIN (
                 SELECT n, min(pos) AS pos, sum(weight)::bigint AS weight, string_agg(data, ''::bytea ORDER BY pos) AS data
                 FROM gone GROUP BY n) g ON g.n = m.n),
             n AS (
               INSERT INTO #node (chat, id, pos)
               SELECT b.chat, i.id, b.lo + b.before + i.k
               FROM unnest((SELECT $10::bytea[]), $11::bigint[], $12::bigint[]) i (id, n, k) JOIN b ON b.n = i.n)",
            $words,
            " SELECT b.n, b.own FROM b"
        )
    };
}

/// Adds the words $14 to $18 of those messages that have words, each of append $13.
macro_rules! words_of_group {
    () => {
        ", w AS (
           INSERT INTO #words (pos, role, length, body, lexemes)
           SELECT b.lo + b.before + i.k, i.role, i.length, i.body, i.lexemes::tsvector
           FROM unnest((SELECT $13::bigint[]), $14::bigint[], $15::smallint[], $16::bigint[], $17::text[], $18::text[])
             i (n, k, role, length, body, lexemes) JOIN b ON b.n = i.n)"
    };
}

/// Makes the commit of the transaction wait until the server has flushed its log. Settings that
/// wait for more than that stay as they are.
macro_rules! flushed_setting {
    () => {
        "set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)"
    };
}

/// Makes the commit of the transaction not wait for the server's log.
macro_rules! unflushed_setting {
    () => {
        "set_config('synchronous_commit', 'off', true)"
    };
}

/// An append whose transaction, that of the statement, waits for the server's log.
macro_rules! flushed {
    ($append:expr) => {
        concat!($append, " CROSS JOIN ", flushed_setting!())
    };
}

/// An append whose transaction, that of the statement, does not wait for the server's log.
macro_rules! unflushed {
    ($append:expr) => {
        concat!($append, " CROSS JOIN ", unflushed_setting!())
    };
}
