//! Statements for streams.

/// The columns of a stream.
macro_rules! stream {
    () => {
        "s.no, s.id, s.state, s.run, s.writer, s.chunks, s.bytes, s.error, s.created_at, s.started_at,
           s.cancel_requested_at, s.finished_at, s.updated_at, s.sum, s.time_sum"
    };
}

/// Locks streams, always in the same order, so that writers cannot deadlock.
macro_rules! lock {
    ($picked:expr) => {
        concat!(
            "SELECT s.no, s.chunks, s.bytes FROM #stream s WHERE ",
            $picked,
            " ORDER BY s.no FOR UPDATE"
        )
    };
}

statements! {
    /// Returns no row if the chat does not exist, and a row of NULLs if the chat has no such
    /// stream.
    STREAM = concat!("SELECT ", stream!(), " FROM #chat c LEFT JOIN #stream s ON s.chat = c.no AND s.id = $3
        WHERE c.user_id = $1 AND c.id = $2");
    /// Locks the stream until the transaction ends. Returns no row if the chat or the stream does
    /// not exist.
    LOCK_STREAM = concat!("SELECT ", stream!(), " FROM #chat c JOIN #stream s ON s.chat = c.no AND s.id = $3
        WHERE c.user_id = $1 AND c.id = $2 FOR NO KEY UPDATE OF s");
    /// The next streams after an id. The first page begins after the empty id.
    STREAMS = concat!("SELECT ", stream!(), " FROM #stream s WHERE s.chat = $1 AND s.id > $2 ORDER BY s.id LIMIT $3");
    CREATE_STREAM = "INSERT INTO #stream (chat, id, state, run, chunks, bytes, created_at, updated_at, sum, time_sum)
        VALUES ($1, $2, $3, 0, 0, 0, $4, $4, $5, ~$4::bigint) RETURNING no";
    /// Stores the number of a stream's chat before its chunks. It is a separate statement, because
    /// the policy of chunks does not see a stream that the same statement creates.
    ADD_STREAM_MARK = "INSERT INTO #stream_chunk (stream, n, data) VALUES ($1, -1, $2)";
    WRITE_STREAM = "UPDATE #stream SET state = $2, run = $3, writer = $4, chunks = $5, bytes = $6, error = $7,
        started_at = $8, cancel_requested_at = $9, finished_at = $10, updated_at = $11, sum = $12,
        time_sum = int8xor(int8xor(time_sum, updated_at), $11) WHERE no = $1";
    /// Appends chunks $5 of $6 bytes at offset $4, if the stream is running under writer $7 and $4
    /// is its end. $8 is the state if the append ends the stream, and $13 the checksum of the end.
    /// It is one statement, which returns a row if it has written.
    APPEND_STREAM = concat!("WITH s AS (
          UPDATE #stream s SET chunks = s.chunks + cardinality($5::bytea[]), bytes = s.bytes + $6,
            state = coalesce($8, s.state), error = $9, updated_at = greatest(s.updated_at, $10),
            time_sum = int8xor(int8xor(s.time_sum, s.updated_at), greatest(s.updated_at, $10)),
            finished_at = CASE WHEN $8 IS NOT NULL THEN $10 END,
            sum = CASE WHEN $8 IS NOT NULL THEN substring(s.sum FOR 4) || $13 ELSE s.sum END
          FROM #chat c WHERE c.user_id = $1 AND c.id = $2 AND s.chat = c.no AND s.id = $3
            AND s.state = 'running' AND s.writer = $7 AND s.chunks = $4
            AND s.chunks + cardinality($5::bytea[]) <= $11 AND s.bytes + $6 <= $12
          RETURNING s.*),
        k AS (
          INSERT INTO #stream_chunk (stream, n, data)
          SELECT s.no, $4 + i.n - 1, i.data FROM s CROSS JOIN unnest($5::bytea[]) WITH ORDINALITY i (data, n))
        SELECT ", stream!(), " FROM s");
    /// Sends texts $2 to a channel. Whoever listens reads what was committed before, so that the
    /// notification need not survive a crash.
    NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, text)
        FROM unnest($2::text[]) text";
    STORED_STREAM_CHUNKS = "SELECT data FROM #stream_chunk WHERE stream = $1 AND n >= $2 AND n < $3 ORDER BY n";
    FORGET_STREAM_CHUNKS = "DELETE FROM #stream_chunk WHERE stream = $1 AND n >= 0";
    /// A stream, and at most $5 of its chunks from $4 on, of at most $6 bytes together, but at
    /// least one. Everything is of one state. Only lengths are read before the chunks are selected.
    READ_STREAM = concat!("SELECT ", stream!(), ", k.n, k.data
        FROM #chat c LEFT JOIN #stream s ON s.chat = c.no AND s.id = $3
        LEFT JOIN LATERAL (
          SELECT q.n, q.data FROM (
            SELECT p.n, p.data, sum(octet_length(p.data) - 4) OVER (ORDER BY p.n) AS total FROM (
              SELECT n, data FROM #stream_chunk WHERE stream = s.no AND n >= $4 ORDER BY n LIMIT $5) p) q
          WHERE q.n = $4 OR q.total <= $6) k ON true
        WHERE c.user_id = $1 AND c.id = $2 ORDER BY k.n");
    LOCK_ONE = lock!("s.chat = $1 AND s.id = $2");
    LOCK_STREAMS_OF = lock!("s.chat = $1");
    /// The streams of user $1, and of chat $2 if it is set, that ended at $3 or before, or were
    /// last written to at $4 or before.
    LOCK_PRUNED = lock!("s.chat IN (SELECT no FROM #chat WHERE user_id = $1 AND ($2::bigint IS NULL OR no = $2))
        AND CASE WHEN s.finished_at IS NULL THEN s.updated_at <= $4::bigint ELSE s.finished_at <= $3::bigint END");
    /// Removes locked streams. This must be a separate statement after the one that locked them,
    /// because a statement sees the chunks that existed at its own start.
    REMOVE_STREAMS = "WITH gone AS (DELETE FROM #stream_chunk WHERE stream = ANY($1::bigint[]))
        DELETE FROM #stream WHERE no = ANY($1::bigint[])";

    // Maintenance.
    COUNT_STREAMS = "SELECT count(*) FROM #stream s JOIN #chat c ON c.no = s.chat WHERE c.user_id = $1";
    /// Counts the rows of a user and the rows that belong to no user.
    REMAINING_STREAMS = "SELECT
        (SELECT count(*) FROM #stream s WHERE NOT EXISTS (
          SELECT FROM #chat c WHERE c.no = s.chat AND c.user_id <> $1))
        + (SELECT count(*) FROM #stream_chunk k WHERE NOT EXISTS (
            SELECT FROM #stream s JOIN #chat c ON c.no = s.chat WHERE s.no = k.stream AND c.user_id <> $1))";
    /// The next stream, its chat, its number of chunks and bytes, the number expected from the last
    /// chunk's number, the number of its chat, and the mark stored before its chunks.
    STREAM_AFTER = concat!("SELECT ", stream!(), ", c.user_id, c.id, k.chunks, k.bytes, k.last, s.chat,
          (SELECT data FROM #stream_chunk WHERE stream = s.no AND n = -1)
        FROM #stream s LEFT JOIN #chat c ON c.no = s.chat CROSS JOIN LATERAL (
          SELECT count(*) AS chunks, coalesce(sum(octet_length(data) - 4), 0)::bigint AS bytes, coalesce(max(n) + 1, 0) AS last
          FROM #stream_chunk WHERE stream = s.no AND n >= 0) k
        WHERE s.no > $1 ORDER BY s.no LIMIT 1");
    STRAY_STREAM_CHUNKS = "SELECT DISTINCT stream FROM #stream_chunk k WHERE NOT EXISTS (
        SELECT FROM #stream s WHERE s.no = k.stream)";
}
