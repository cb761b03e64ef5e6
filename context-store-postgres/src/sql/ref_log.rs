//! The log of references.

statements! {
    REF_CHANGES = "SELECT number, at, change FROM #ref_change WHERE chat = $1 ORDER BY number";
    NEWEST_REF_CHANGE = "SELECT coalesce(max(number), 0) FROM #ref_change WHERE chat = $1";
    ADD_REF_CHANGE = counted!("INSERT INTO #ref_change (chat, number, at, change)
        VALUES ($1, $2, $3, $4) RETURNING chat, number AS n");
    CLEAR_REF_CHANGES = counted!("DELETE FROM #ref_change WHERE chat = $1 RETURNING chat, -number AS n");
    TRIM_REF_CHANGES = counted!("DELETE FROM #ref_change WHERE chat = $1 AND number <= $2
        RETURNING chat, -number AS n");
}
