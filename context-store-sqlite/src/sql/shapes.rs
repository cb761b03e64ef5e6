//! Parts that several statements share.

/// A row of `append_row`.
macro_rules! row {
    () => {
        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    };
}

macro_rules! times_4 {
    ($rows:expr) => {
        concat!($rows, ", ", $rows, ", ", $rows, ", ", $rows)
    };
}

/// The best hits of the words ?1 in a range of places, after the hit with score ?2 at place ?3. A
/// lower score is better. User ?4 is compared with the chat's row, whatever the index finds.
macro_rules! hits {
    ($with:expr, $join:expr, $range:expr) => {
        concat!(
            $with,
            " SELECT words.rowid AS place, bm25(words) AS score, c.id, c.user
              FROM words ",
            $join,
            " CROSS JOIN branch b ON b.no = words.rowid >> 32 CROSS JOIN chat c ON c.no = b.chat
              WHERE words MATCH ?1 AND c.user = ?4 ",
            $range,
            " AND (?2 IS NULL OR bm25(words) > ?2 OR bm25(words) = ?2 AND words.rowid < ?3)
              ORDER BY score, place DESC LIMIT ?5"
        )
    };
}

/// The time of the last write to chat `c`.
macro_rules! updated {
    () => {
        "CASE c.moved WHEN 0 THEN c.updated_at
           ELSE max(c.updated_at, (SELECT max(touched) FROM branch WHERE chat = c.no)) END"
    };
}

/// Whether a branch's end and its time agree with their checksum, as appends compute it
/// (`migrations/0008_checksums.sql`).
macro_rules! own_agrees {
    () => {
        "own_sum IS own * 1000003 + touched % 4294967291"
    };
}

/// The checksum of a branch's end and time, for a branch that is written.
macro_rules! own_sum {
    ($own:expr, $touched:expr) => {
        concat!("own_sum = ", $own, " * 1000003 + ", $touched, " % 4294967291")
    };
}

/// Whether the time of chat `c` agrees with its checksum.
macro_rules! time_agrees {
    () => {
        "c.time_sum IS c.updated_at % 4294967291 + c.moved * 1000003"
    };
}

/// Whether the numbers of a chat's tally agree with their checksum.
macro_rules! chat_tally_agrees {
    () => {
        "sum = chat * 999983 + branches * 1000003 + checkpoints * 1000033 + fragments * 1000037
           + blobs * 1000039 + streams * 1000081 + revisions * 1000099 + refs * 1000117"
    };
}

/// A value over all branches of chat `c`. It is NULL if a branch is missing, the active one is
/// missing, or an end disagrees with its checksum.
macro_rules! of_branches {
    ($value:expr) => {
        concat!(
            "(SELECT iif(count(*) = (SELECT branches FROM chat_tally WHERE chat = c.no AND ",
            chat_tally_agrees!(),
            ") AND min(",
            own_agrees!(),
            ") AND max(name IS c.active), ",
            $value,
            ", NULL) FROM branch WHERE chat = c.no)"
        )
    };
}

/// Like `updated`, but NULL if the time disagrees with its checksum.
macro_rules! checked_updated {
    () => {
        concat!(
            "CASE WHEN NOT (",
            time_agrees!(),
            ") THEN NULL WHEN c.moved = 0 THEN c.updated_at ELSE max(c.updated_at, ",
            of_branches!("max(touched)"),
            ") END"
        )
    };
}

/// Whether the numbers of a user's tally agree with their checksum.
macro_rules! user_tally_agrees {
    () => {
        "sum = chats * 1000003 + rounds * 1000033 + links * 1000037 + scopes * 1000039"
    };
}

macro_rules! summary {
    ($updated:expr) => {
        concat!(
            "SELECT f.no, c.id, c.title, c.metadata, c.active, c.created_at, ",
            $updated,
            ", ",
            of_branches!("sum(own)"),
            ", ",
            of_branches!("count(name)"),
            ", c.name_sum, c.sum"
        )
    };
}

/// The columns of a branch.
macro_rules! piece {
    () => {
        concat!("SELECT no, chat, name, parent, base, created_at, sum, own, head, ", own_agrees!())
    };
}

/// The branch of a message that was found by its id.
macro_rules! spotted {
    () => {
        "b.no, b.chat, b.name, b.parent, b.base, b.created_at, b.sum"
    };
}

/// The columns of a blob in a chat. The number of references is NULL if the index names a reference
/// that does not exist.
macro_rules! blob {
    () => {
        "SELECT r.hash, b.size, r.media_type, r.created_at, r.used_at,
           (SELECT iif(count(*) = count(p.blob), count(*), 0) FROM blob_ref o
              LEFT JOIN blob_ref p ON p.chat = o.chat AND p.hash = o.hash AND +p.blob = o.blob
            WHERE o.blob = b.no), b.no, r.chat, r.sum, b.user, b.hash, b.sum
         FROM blob_ref r LEFT JOIN blob b ON b.no = r.blob"
    };
}

/// The columns of a stream.
macro_rules! stream {
    () => {
        "s.no, s.id, s.state, s.run, s.writer, s.chunks, s.bytes, s.error, s.created_at, s.started_at,
           s.cancel_requested_at, s.finished_at, s.updated_at, s.chat, s.sum"
    };
}

/// The streams of user ?1, and of chat ?2 if it is set, that ended at ?3 or before, or were last
/// written to at ?4 or before.
macro_rules! pruned_streams {
    () => {
        " FROM stream WHERE chat IN (SELECT no FROM chat WHERE user = ?1 AND (?2 IS NULL OR no = ?2))
           AND CASE WHEN finished_at IS NULL THEN updated_at <= ?4 ELSE finished_at <= ?3 END"
    };
}
