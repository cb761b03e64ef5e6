//! The parts of statements that maintain the sum of a chat's rows other than messages.

/// Wraps a statement that adds or removes such rows of a chat, and updates the sum of the chat. The
/// statement must return the chat and, as `n`, the change of the sum.
macro_rules! counted {
    ($change:expr) => {
        concat!(
            "WITH k AS (",
            $change,
            "), c AS (
               UPDATE #chat c SET beside = c.beside + k.n FROM (
                 SELECT chat, sum(n)::bigint AS n FROM k GROUP BY chat) k
               WHERE c.no = k.chat)
             SELECT n FROM k"
        )
    };
}

/// The checksum of a commit's key and of its answer. Byte 255 separates the parts, as no name
/// contains it.
macro_rules! applied_sum {
    ($key:literal, $digest:literal, $branch:literal, $head:literal) => {
        concat!(
            "substring(sha256(",
            $key,
            " || ",
            $digest,
            " || coalesce(",
            $branch,
            ", '\\xff'::bytea) || '\\x00'::bytea || coalesce(",
            $head,
            ", '\\xff'::bytea)) FOR 4)"
        )
    };
}

/// Rows of a table that belong to no chat.
macro_rules! of_no_chat {
    ($table:literal) => {
        concat!(
            "SELECT DISTINCT '",
            $table,
            "', t.chat FROM #",
            $table,
            " t WHERE NOT EXISTS (SELECT FROM #chat c WHERE c.no = t.chat)"
        )
    };
}
