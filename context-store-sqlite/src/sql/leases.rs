//! The statements of leases.

statements! {
    /// The views of the statements that append without a transaction.
    APPEND_VIEWS = "SELECT name FROM sqlite_schema WHERE type = 'view'
        AND name IN ('append_one', 'append_two', 'append', 'append_row') ORDER BY name";
    LEASE = "SELECT chat, owner, number, until, sum FROM lease WHERE chat = ?1";
    SET_LEASE = "INSERT INTO lease (chat, owner, number, until, sum) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (chat) DO UPDATE SET owner = excluded.owner, number = excluded.number,
          until = excluded.until, sum = excluded.sum";
}
