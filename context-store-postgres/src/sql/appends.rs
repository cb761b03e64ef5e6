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
                     SELECT n.pos >> 32 FROM #node n WHERE n.chat = t.no AND n.id = $4) = b.no)))
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
