//! The parts of statements that keep count of the rows that a chat has beside its messages.

/// A statement that adds rows to what is beside the messages of a chat, or takes them away. It
/// must return the chat and, as `n`, what is to be added to the sum that the chat keeps of them.
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

/// The checksum of a commit's key and of what was answered. No name has a byte 255.
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

/// Rows of a table that are of no chat.
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
