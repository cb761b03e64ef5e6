//! Statements that check whether a row that was not found really does not exist.

/// The index entries before and after the place that a missing row would have.
macro_rules! neighbours {
    ($columns:expr, $table:expr, $of:expr, $key:expr, $value:expr) => {
        concat!(
            "SELECT * FROM (SELECT ",
            $columns,
            " FROM ",
            $table,
            " WHERE ",
            $of,
            " AND ",
            $key,
            " < ",
            $value,
            " ORDER BY ",
            $key,
            " DESC LIMIT 1)
            UNION ALL SELECT * FROM (SELECT ",
            $columns,
            " FROM ",
            $table,
            " WHERE ",
            $of,
            " AND ",
            $key,
            " > ",
            $value,
            " ORDER BY ",
            $key,
            " LIMIT 1)"
        )
    };
}

/// Whether these entries agree with the rows that they lead to.
macro_rules! neighbours_agree {
    ($agree:expr, $columns:expr, $table:expr, $of:expr, $key:expr, $value:expr, $row:expr) => {
        concat!(
            "SELECT ",
            $agree,
            " FROM (",
            neighbours!($columns, $table, $of, $key, $value),
            ") f LEFT JOIN ",
            $table,
            " t ON ",
            $row
        )
    };
}

/// Whether there are at most $found rows with the value, and whether the neighbours agree. An entry
/// out of order can hide a row from a search, so the first 4096 entries are compared one by one.
macro_rules! absent {
    ($found:expr, $agree:expr, $columns:expr, $table:expr, $of:expr, $key:expr, $value:expr,
        $row:expr) => {
        concat!(
            neighbours_agree!($agree, $columns, $table, $of, $key, $value, $row),
            " UNION ALL SELECT count(*) <= ",
            $found,
            " FROM ",
            among!($key, $table, $of),
            " WHERE ",
            $key,
            " = ",
            $value
        )
    };
}

/// The first entries of an index, to be compared one by one.
macro_rules! among {
    ($columns:expr, $table:expr, $of:expr) => {
        concat!("(SELECT ", $columns, " FROM ", $table, " WHERE ", $of, " LIMIT 4096)")
    };
}
