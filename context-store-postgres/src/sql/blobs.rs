//! Statements for blobs.

/// A chat's view of a blob.
macro_rules! blob {
    () => {
        "SELECT r.hash, b.size, r.media_type, r.created_at, r.used_at,
           (SELECT count(*) FROM #blob_ref o WHERE o.blob = b.no), b.no, r.sum, r.chat, r.time_sum
         FROM #blob_ref r JOIN #blob b ON b.no = r.blob"
    };
}

/// Wraps a statement that adds or removes references, and updates the reference counts of the
/// blobs. The statement must return the blob and the change of its count.
macro_rules! counted {
    ($change:expr) => {
        concat!(
            "WITH k AS (",
            $change,
            "), b AS (
               UPDATE #blob b SET refs = b.refs + k.n FROM (SELECT blob, sum(n)::bigint AS n FROM k GROUP BY blob) k
               WHERE b.no = k.blob)
             SELECT n FROM k"
        )
    };
}

statements! {
    /// Locks the row of a user's blob and returns its number. No row means that the blob must be
    /// written.
    LOCK_BLOB = "SELECT no FROM #blob WHERE user_id = $1 AND hash = $2 FOR UPDATE";
    /// The number of a new blob, or no row if the blob exists.
    ADD_BLOB = "INSERT INTO #blob (user_id, hash, size, refs) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING RETURNING no";
    /// Adds the pieces $3, from number $2 on.
    ADD_BLOB_PIECES = "INSERT INTO #blob_piece (blob, n, data)
        SELECT $1, $2 + i.n - 1, i.data FROM unnest($3::bytea[]) WITH ORDINALITY i (data, n)";
    /// The first media type is kept, and so is its checksum.
    REFER_TO_BLOB = counted!("INSERT INTO #blob_ref AS r (chat, hash, blob, media_type, created_at, used_at, sum, time_sum)
        VALUES ($1, $2, $3, $4, $5, $5, $6, ~$5::bigint)
        ON CONFLICT (chat, hash) DO UPDATE SET used_at = greatest(r.used_at, excluded.used_at),
          media_type = coalesce(r.media_type, excluded.media_type),
          sum = CASE WHEN r.media_type IS NULL THEN substring(r.sum FOR 4) || substring(excluded.sum FROM 5)
            ELSE r.sum END,
          time_sum = int8xor(int8xor(r.time_sum, r.used_at), greatest(r.used_at, excluded.used_at))
        RETURNING blob, CASE WHEN EXISTS (SELECT FROM #blob_ref WHERE chat = $1 AND hash = $2) THEN 0 ELSE 1 END AS n");
    BLOB = concat!(blob!(), " WHERE r.chat = $1 AND r.hash = $2");
    /// The next blobs after a hash. The first page begins after the empty hash.
    BLOBS = concat!(blob!(), " WHERE r.chat = $1 AND r.hash > $2 ORDER BY r.hash LIMIT $3");
    BLOB_PIECES = "SELECT n, data FROM #blob_piece WHERE blob = $1 AND n BETWEEN $2 AND $3 ORDER BY n";
    TOUCH_BLOB = "UPDATE #blob_ref SET used_at = $4, time_sum = int8xor(int8xor(time_sum, used_at), $4)
        WHERE chat = (SELECT no FROM #chat WHERE user_id = $1 AND id = $2) AND hash = $3 AND used_at < $4";
    FORGET_BLOB_REF = counted!("DELETE FROM #blob_ref WHERE chat = $1 AND blob = $2 RETURNING blob, -1 AS n");
    /// Locks the blobs that user $1 refers to in chat $2, or in all chats if it is NULL, and last
    /// used at $3 or before. The order is always the same, so writers cannot deadlock.
    LOCK_BLOBS_OF = "SELECT no FROM #blob WHERE no IN (
          SELECT r.blob FROM #blob_ref r JOIN #chat c ON c.no = r.chat
          WHERE c.user_id = $1 AND ($2::bigint IS NULL OR c.no = $2) AND r.used_at <= $3)
        ORDER BY no FOR UPDATE";
    /// Removes those of these references that are to the locked blobs $4.
    FORGET_BLOB_REFS = counted!("DELETE FROM #blob_ref r USING #chat c WHERE c.no = r.chat
        AND c.user_id = $1 AND ($2::bigint IS NULL OR c.no = $2) AND r.used_at <= $3 AND r.blob = ANY($4::bigint[])
        RETURNING r.blob, -1 AS n");
    /// Removes blobs without references and returns their number and their bytes. This must be a
    /// separate statement after the one that removed the references, because a statement sees the
    /// state at its own start.
    RELEASE_BLOBS = "WITH gone AS (
          DELETE FROM #blob b WHERE b.no = ANY($1::bigint[]) AND NOT EXISTS (
            SELECT FROM #blob_ref r WHERE r.blob = b.no)
          RETURNING b.no, b.size),
        pieces AS (DELETE FROM #blob_piece p USING gone g WHERE p.blob = g.no)
        SELECT count(*), coalesce(sum(size), 0)::bigint FROM gone";

    // Maintenance.
    COUNT_BLOBS = "SELECT count(*) FROM #blob WHERE user_id = $1";
    /// Counts the rows of a user and the rows that belong to no user.
    REMAINING_BLOBS = "SELECT
        (SELECT count(*) FROM #blob b WHERE user_id = $1 OR NOT EXISTS (SELECT FROM #blob_ref r WHERE r.blob = b.no))
        + (SELECT count(*) FROM #blob_ref r WHERE NOT EXISTS (
            SELECT FROM #chat c WHERE c.no = r.chat AND c.user_id <> $1))
        + (SELECT count(*) FROM #blob_piece p WHERE NOT EXISTS (
            SELECT FROM #blob b WHERE b.no = p.blob AND b.user_id <> $1))";
    /// The next blob, a chat that refers to it, its number of pieces, and its stored and actual
    /// number of references.
    BLOB_AFTER = "SELECT b.no, b.hash, b.size, c.user_id, c.id,
          (SELECT count(*) FROM #blob_piece p WHERE p.blob = b.no), b.refs, (SELECT count(*) FROM #blob_ref r WHERE r.blob = b.no)
        FROM #blob b LEFT JOIN #chat c ON c.no = (SELECT chat FROM #blob_ref WHERE blob = b.no LIMIT 1)
        WHERE b.no > $1 ORDER BY b.no LIMIT 1";
    /// The references to a blob.
    BLOB_REFS = "SELECT c.user_id, c.id, r.hash, r.media_type, r.created_at, r.sum, r.chat, r.used_at, r.time_sum
        FROM #blob_ref r JOIN #chat c ON c.no = r.chat WHERE r.blob = $1";
    STRAY_PIECES = "SELECT DISTINCT blob FROM #blob_piece p WHERE NOT EXISTS (
        SELECT FROM #blob b WHERE b.no = p.blob)";
    /// References to a blob that does not exist, belongs to another user, or has another hash.
    WRONG_BLOB_REFS = "SELECT c.user_id, c.id, r.hash FROM #blob_ref r JOIN #chat c ON c.no = r.chat
        LEFT JOIN #blob b ON b.no = r.blob WHERE b.no IS NULL OR b.user_id <> c.user_id OR b.hash <> r.hash";
}
