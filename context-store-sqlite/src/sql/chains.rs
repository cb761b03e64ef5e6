//! The building blocks of statements over chains and windows.

macro_rules! chat_no {
    () => {
        "(SELECT no FROM chat WHERE user = ?1 AND id = ?2)"
    };
}

/// The generation of the chat's messages. Its first value differs for every chat that ever existed.
macro_rules! generation {
    () => {
        "(SELECT (no << 32) + amended FROM chat WHERE user = ?1 AND id = ?2)"
    };
}

/// The chain that ends at the head of branch ?3: the pieces of branches that it consists of, newest
/// first, and the runs of each. The recursion takes one step per fork, none per message.
macro_rules! of_branch {
    ($piece:ident $(, $window:tt)?) => {
        $piece!(
            concat!("FROM branch b WHERE b.chat = ", chat_no!(), " AND b.name = ?3"),
            "((b.no << 32) + b.own)" $(, $window)?
        )
    };
}

/// The chain that ends at message ?3.
macro_rules! of_message {
    ($piece:ident $(, $window:tt)?) => {
        $piece!(
            concat!("FROM (SELECT pos FROM spot WHERE chat = ", chat_no!(), " AND id = ?3) n
               CROSS JOIN branch b ON b.no = n.pos >> 32"),
            "n.pos" $(, $window)?
        )
    };
}

/// All facts about a piece, returned only with its first run. Numbers are one text, because every
/// column of a row is copied. Head and name are separate columns, because SQLite's JSON would end
/// them at a NUL.
macro_rules! facts {
    ($first:expr, $generation:expr, $start:expr, $piece:literal, $name_sum:expr) => {
        concat!(
            "CASE WHEN r.pos IS NULL OR r.pos <= ",
            $first,
            " THEN json_array(",
            $generation,
            ", ",
            $start,
            ", CAST(",
            $piece,
            ".base AS INTEGER), CAST(",
            $piece,
            ".parent AS INTEGER), CAST(",
            $piece,
            ".created_at AS INTEGER), CAST(",
            $piece,
            ".sum AS INTEGER), CAST(",
            $name_sum,
            " AS INTEGER), CAST(",
            $piece,
            ".tail_from AS INTEGER)) END,
             CASE WHEN r.pos IS NULL OR r.pos <= ",
            $first,
            " THEN ",
            $piece,
            ".head END,
             CASE WHEN r.pos IS NULL OR r.pos <= ",
            $first,
            " THEN ",
            $piece,
            ".name END,
             CASE WHEN r.pos IS NULL OR r.pos <= ",
            $first,
            " THEN ",
            $piece,
            ".tail END"
        )
    };
}

macro_rules! whole {
    ($tip:expr, $cut:literal) => {
        concat!(
            "WITH RECURSIVE piece (lo, cut, base, parent, head, name, created_at, sum, tail_from, tail) AS (
               SELECT b.no << 32, ",
            $cut,
            ", b.base, b.parent, b.head, b.name, b.created_at, b.sum, b.tail_from, b.tail ",
            $tip,
            "
               UNION ALL
               SELECT b.no << 32, p.parent, b.base, b.parent, b.head, b.name, b.created_at, b.sum, b.tail_from, b.tail
               FROM piece p JOIN branch b ON b.no = p.parent >> 32
             )
             SELECT p.cut, r.pos, r.data, ",
            facts!("p.lo + 1", generation!(), "NULL", "p", name_sum!()),
            " FROM piece p LEFT JOIN run r ON r.pos BETWEEN p.lo AND p.cut"
        )
    };
}

/// The checksum of the chat's names.
macro_rules! name_sum {
    () => {
        "(SELECT name_sum FROM chat WHERE user = ?1 AND id = ?2)"
    };
}

/// A part of a chain. `start` is the place of the first requested message. The recursion ends at
/// the piece that holds it. The run that holds the place of `start` may begin before it.
macro_rules! window {
    ($tip:expr, $cut:literal, { $want:literal, $start:ident, $first:ident }) => {
        concat!(
            "WITH RECURSIVE piece (lo, cut, base, parent, want, start, head, name, created_at, sum, tail_from, tail) AS (
               SELECT b.no << 32, ",
            $cut,
            ", b.base, b.parent, b.base + (",
            $cut,
            " & 0xffffffff) - ",
            $want,
            ", ",
            $start!($cut, concat!("(b.base + (", $cut, " & 0xffffffff) - ", $want, ")")),
            ", b.head, b.name, b.created_at, b.sum, b.tail_from, b.tail ",
            $tip,
            "
               UNION ALL
               SELECT b.no << 32, p.parent, b.base, b.parent, p.want, ",
            $start!("p.parent", "p.want"),
            ",
                 b.head, b.name, b.created_at, b.sum, b.tail_from, b.tail
               FROM piece p JOIN branch b ON b.no = p.parent >> 32 WHERE p.start IS NULL
             )
             SELECT p.cut, r.pos, r.data, ",
            facts!("coalesce(p.start, p.lo + 1)", generation!(), "p.start", "p", name_sum!()),
            " FROM piece p
             LEFT JOIN run r ON r.pos <= p.cut AND r.pos >= CASE
               WHEN p.start IS NULL THEN p.lo
               ",
            $first!(),
            " END"
        )
    };
}

/// Reads from the run that holds `start`, or only the tail.
macro_rules! at {
    () => {
        "WHEN p.start > p.cut OR p.start >= p.lo + p.tail_from THEN 0x7fffffffffffffff
               ELSE (SELECT max(pos) FROM run WHERE pos <= p.start)"
    };
}

/// Reads from the run that holds the message before `start`, to check that it is the named message.
macro_rules! behind {
    () => {
        "WHEN p.start > p.lo + p.tail_from THEN 0x7fffffffffffffff
               ELSE (SELECT max(pos) FROM run WHERE pos < p.start)"
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
        concat!("(SELECT max(pos) FROM boundary WHERE pos > (b.no << 32) AND pos <= ", $cut, ")")
    };
}

macro_rules! from_message {
    ($cut:expr, $want:expr) => {
        concat!(
            "(SELECT a.pos + 1 FROM spot a WHERE a.chat = ",
            chat_no!(),
            " AND a.id = ?4 AND a.pos > (b.no << 32)
               AND a.pos <= ",
            $cut,
            " AND ?5 = ",
            generation!(),
            ")"
        )
    };
}
