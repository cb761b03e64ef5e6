//! The versions of persisted fragments.

statements! {
    FRAGMENT_VERSIONS = "SELECT chat, number, place, id, kind, version, metadata, body, at, message, sum
        FROM fragment_version WHERE chat = ?1 ORDER BY number";
    NEWEST_FRAGMENT_VERSION = "SELECT max(number) FROM fragment_version WHERE chat = ?1";
    ADD_FRAGMENT_VERSION = "INSERT INTO fragment_version
        (chat, number, place, id, kind, version, metadata, body, at, message, sum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    /// Deletes what no state from version ?2 on shows.
    TRIM_FRAGMENT_VERSIONS = "DELETE FROM fragment_version WHERE chat = ?1 AND number <= ?2
        AND (kind IS NULL OR EXISTS (SELECT 1 FROM fragment_version n WHERE n.chat = ?1 AND n.number <= ?2
          AND n.number > fragment_version.number AND n.place = fragment_version.place))";
    CLEAR_FRAGMENT_VERSIONS = "DELETE FROM fragment_version WHERE chat = ?1";
}
