//! The versions of persisted fragments.

statements! {
    FRAGMENT_VERSIONS = "SELECT number, place, id, kind, version, metadata, body, at, message
        FROM #fragment_version WHERE chat = $1 ORDER BY number";
    NEWEST_FRAGMENT_VERSION = "SELECT max(number) FROM #fragment_version WHERE chat = $1";
    ADD_FRAGMENT_VERSION = counted!("INSERT INTO #fragment_version
        (chat, number, place, id, kind, version, metadata, body, at, message)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING chat, number AS n");
    /// Deletes what no state from version $2 on shows.
    TRIM_FRAGMENT_VERSIONS = counted!("DELETE FROM #fragment_version v WHERE chat = $1 AND number <= $2
        AND (kind IS NULL OR EXISTS (SELECT FROM #fragment_version n WHERE n.chat = $1 AND n.number <= $2
          AND n.number > v.number AND n.place = v.place)) RETURNING chat, -number AS n");
    CLEAR_FRAGMENT_VERSIONS = counted!("DELETE FROM #fragment_version WHERE chat = $1 RETURNING chat, -number AS n");
}
