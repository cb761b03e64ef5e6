//! The building blocks of statements over chains and windows.

/// The chain that ends at the head of branch $3: the pieces of branches that it consists of, newest
/// first, and the runs of each. The recursion takes one step per fork, none per message.
macro_rules! of_branch {
    ($piece:ident $(, $window:tt)?) => {
        $piece!("FROM c JOIN #branch b ON b.chat = c.no AND b.name = $3", "((b.no << 32) + b.own)" $(, $window)?)
    };
}

/// The chain that ends at message $3.
macro_rules! of_message {
    ($piece:ident $(, $window:tt)?) => {
        $piece!(
            "FROM c JOIN #node n ON n.chat = c.no AND n.id = $3 JOIN #branch b ON b.no = n.pos >> 32",
            "n.pos" $(, $window)?
        )
    };
}

/// The chat, and the generation of its messages. Its first value differs for every chat that ever
/// existed.
macro_rules! chat {
    () => {
        "WITH RECURSIVE c AS (SELECT no, (no << 32) + amended AS generation FROM #chat WHERE user_id = $1 AND id = $2),"
    };
}

macro_rules! pieces {
    ($tip:expr, $cut:literal) => {
        concat!(
            chat!(),
            " piece (lo, cut, base, parent) AS (
               SELECT b.no << 32, ",
            $cut,
            ", b.base, b.parent ",
            $tip,
            "
               UNION ALL
               SELECT b.no << 32, p.parent, b.base, b.parent FROM piece p JOIN #branch b ON b.no = p.parent >> 32
             )"
        )
    };
}

/// `OFFSET 0` keeps the planner from joining pieces with the table of all runs.
macro_rules! whole {
    ($tip:expr, $cut:literal) => {
        concat!(
            pieces!($tip, $cut),
            " SELECT p.cut, r.pos, r.data, c.generation FROM c CROSS JOIN piece p LEFT JOIN LATERAL (
               SELECT pos, data FROM #run WHERE pos BETWEEN p.lo AND p.cut ORDER BY pos OFFSET 0) r ON true"
        )
    };
}

/// The last runs that weigh at most $4 together, and the run before them.
macro_rules! tokens {
    ($tip:expr, $cut:literal) => {
        concat!(
            pieces!($tip, $cut),
            ", weighed AS (
               SELECT p.lo, p.cut, p.base, r.pos,
                 sum(r.weight) OVER (ORDER BY r.pos DESC) - r.weight AS behind
               FROM piece p CROSS JOIN LATERAL (
                 SELECT pos, weight FROM #run WHERE pos BETWEEN p.lo AND p.cut ORDER BY pos OFFSET 0) r),
             start AS (SELECT min(pos) AS pos FROM weighed WHERE behind <= $4)
             SELECT p.cut, r.pos, r.data, c.generation, CASE WHEN s.pos > p.lo THEN s.pos END, p.base
             FROM c CROSS JOIN piece p CROSS JOIN start s LEFT JOIN LATERAL (
               SELECT pos, data FROM #run WHERE pos BETWEEN greatest(p.lo, s.pos) AND p.cut ORDER BY pos OFFSET 0) r ON true
             WHERE s.pos IS NULL OR p.cut >= s.pos"
        )
    };
}

/// A part of a chain. `start` is the place of the first requested message. The recursion ends at
/// the piece that holds it. The run that holds the place of `start` may begin before it.
macro_rules! window {
    ($tip:expr, $cut:literal, { $want:literal, $($start:ident)* }) => {
        concat!(
            chat!(),
            window_pieces!($tip, $cut, { $want, $($start)* }),
            " SELECT ",
            window_runs!("")
        )
    };
}

macro_rules! window_pieces {
    ($tip:expr, $cut:literal, { $want:literal, $($start:ident)* }) => {
        concat!(
            " piece (lo, cut, base, parent, want, start) AS (
               SELECT b.no << 32, ", $cut, ", b.base, b.parent, b.base + (", $cut, " & 4294967295) - ", $want, ", ",
               $($start)*!($cut, concat!("(b.base + (", $cut, " & 4294967295) - ", $want, ")")), " ", $tip, "
               UNION ALL
               SELECT b.no << 32, p.parent, b.base, b.parent, p.want, ", $($start)*!("p.parent", "p.want"), "
               FROM piece p JOIN #branch b ON b.no = p.parent >> 32 WHERE p.start IS NULL
             )"
        )
    };
}

macro_rules! window_runs {
    ($more:literal) => {
        concat!(
            "p.cut, r.pos, r.data, c.generation, p.start, p.base",
            $more,
            " FROM c CROSS JOIN piece p LEFT JOIN LATERAL (
               SELECT pos, data FROM #run WHERE pos <= p.cut AND pos >= CASE
                 WHEN p.start IS NULL THEN p.lo
                 WHEN p.start > p.cut THEN 9223372036854775807
                 ELSE (SELECT max(pos) FROM #run WHERE pos <= p.start) END
               ORDER BY pos OFFSET 0) r ON true"
        )
    };
}

/// A window of branch $3, or of the active one, with the chat before it and its fragments. The
/// seventh column tells what a row is: 0 the chat, 1 a fragment, 2 a run.
macro_rules! opening {
    ($start:ident) => {
        concat!(
            "WITH RECURSIVE c AS (SELECT *, (no << 32) + amended AS generation FROM #chat WHERE user_id = $1 AND id = $2),",
            window_pieces!(
                "FROM c JOIN #branch b ON b.chat = c.no AND b.name = coalesce($3, c.active)",
                "((b.no << 32) + b.own)",
                { "0", $start }
            ),
            " SELECT no, created_at, metadata, updated_at, time_sum, amended, 0, title, active, active_sum FROM c
             UNION ALL
             SELECT f.no, f.version, f.body, NULL, NULL, NULL, 1, f.id, f.kind, f.metadata
             FROM c JOIN #fragment f ON f.chat = c.no
             UNION ALL
             SELECT ", window_runs!(", 2, NULL, NULL, NULL")
        )
    };
}

macro_rules! from_depth {
    ($cut:expr, $want:expr) => {
        concat!(
            "CASE WHEN ",
            $want,
            " > 0 AND ",
            $want,
            " >= b.base THEN (b.no << 32) + ",
            $want,
            " - b.base + 1 END"
        )
    };
}

macro_rules! from_boundary {
    ($cut:expr, $want:expr) => {
        concat!("(SELECT max(pos) FROM #boundary WHERE pos > (b.no << 32) AND pos <= ", $cut, ")")
    };
}

macro_rules! from_message {
    ($cut:expr, $want:expr) => {
        concat!(
            "(SELECT a.pos + 1 FROM #node a JOIN #chat e ON e.no = a.chat WHERE a.chat = b.chat AND a.id = $4
               AND a.pos > (b.no << 32) AND a.pos <= ",
            $cut,
            " AND $5 = (e.no << 32) + e.amended)"
        )
    };
}

/// Returns the number of messages of a branch's chain, if it still ends with a message, in a chat
/// whose generation still is the same. No row otherwise.
macro_rules! still_ends {
    ($user:literal, $chat:literal, $branch:literal, $message:literal, $generation:literal) => {
        concat!(
            "SELECT b.base + b.own AS length FROM #chat c JOIN #branch b ON b.chat = c.no AND b.name = ",
            $branch,
            " WHERE c.user_id = ",
            $user,
            " AND c.id = ",
            $chat,
            " AND (c.no << 32) + c.amended = ",
            $generation,
            " AND b.head = ",
            $message
        )
    };
}
