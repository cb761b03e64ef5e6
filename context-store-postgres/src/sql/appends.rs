//! The parts of the statement for the common commit.

/// The maximum size of a merged run, in bytes.
macro_rules! merged_bytes {
    () => {
        "262144"
    };
}

/// Appends the new messages with ids $5 to branch $3 of a chat if its head is still $4. One
/// statement, which returns how many messages the branch then owns, or no row if it has not
/// written. $6 are the packed messages, $7 is their weight, $8 the time.
///
/// The head is compared twice: before the chat's row is locked, and again after, because another
/// writer may have written in between. If only the first comparison succeeds, the statement fails
/// with a division by zero, and nothing is written. The end of the lease is in the chat's row, so
/// it is compared again once that row is locked.
macro_rules! append {
    ($runs:expr, $words:expr) => {
        concat!(
            "WITH c AS (
               UPDATE #chat t SET updated_at = greatest(t.updated_at, $8::bigint),
                 minute = greatest(t.updated_at, $8::bigint) / 60000000,
                 time_sum = int8xor(int8xor(t.time_sum, t.updated_at), greatest(t.updated_at, $8::bigint))
               WHERE t.user_id = $1 AND t.id = $2 AND coalesce(t.lease_until <= $8::bigint, true) AND EXISTS (
                 SELECT FROM #branch b WHERE b.chat = t.no AND b.name = $3 AND b.head IS NOT DISTINCT FROM $4)
               RETURNING t.no),
             b AS (
               UPDATE #branch b SET own = b.own + cardinality($5::bytea[]), head = ($5::bytea[])[cardinality($5::bytea[])]
               FROM c WHERE b.chat = c.no AND b.name = $3 AND b.head IS NOT DISTINCT FROM $4
               RETURNING b.chat, b.no << 32 AS lo, b.own - cardinality($5::bytea[]) AS before, b.own),",
            $runs,
            ", n AS (
               INSERT INTO #node (chat, id, pos)
               SELECT b.chat, i.id, b.lo + b.before + i.n
               FROM b CROSS JOIN unnest($5::bytea[]) WITH ORDINALITY i (id, n))",
            $words,
            " SELECT b.own, 1 / (SELECT count(*) FROM b) FROM c LEFT JOIN b ON true"
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

/// Adds the words $9 to $13 of those messages that have words.
macro_rules! words_of_append {
    () => {
        ", w AS (
           INSERT INTO #words (pos, role, length, body, lexemes)
           SELECT b.lo + b.before + i.n, i.role, i.length, i.body, i.lexemes::tsvector
           FROM b CROSS JOIN unnest($9::bigint[], $10::smallint[], $11::bigint[], $12::text[], $13::text[])
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
