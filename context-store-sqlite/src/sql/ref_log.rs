//! The log of references.

statements! {
    REF_CHANGES = "SELECT chat, number, at, change, sum FROM ref_change WHERE chat = ?1 ORDER BY number";
    NEWEST_REF_CHANGE = "SELECT coalesce(max(number), 0) FROM ref_change WHERE chat = ?1";
    COUNT_REF_CHANGES = "SELECT count(*) FROM ref_change WHERE chat = ?1";
    ADD_REF_CHANGE = "INSERT INTO ref_change (chat, number, at, change, sum) VALUES (?1, ?2, ?3, ?4, ?5)";
    CLEAR_REF_CHANGES = "DELETE FROM ref_change WHERE chat = ?1";
    TRIM_REF_CHANGES = "DELETE FROM ref_change WHERE chat = ?1 AND number <= ?2";
}
