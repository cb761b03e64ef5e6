//! Statements that look whether what was not found is really not there.

/// The entries of an index before and behind the place where something that is not there would
/// stand.
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

/// Whether they are what the rows say that they lead to.
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

/// Whether there are no more than $found of what was looked for, and its neighbours agree. An entry
/// that is not in order leads a search past what is there, so the first 4096 are looked at one by
/// one.
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

/// The first entries, to be looked at one by one.
macro_rules! among {
    ($columns:expr, $table:expr, $of:expr) => {
        concat!("(SELECT ", $columns, " FROM ", $table, " WHERE ", $of, " LIMIT 4096)")
    };
}
