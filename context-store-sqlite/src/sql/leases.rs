//! The statements of leases.

statements! {
    LEASE = "SELECT chat, owner, number, until, sum FROM lease WHERE chat = ?1";
    SET_LEASE = "INSERT INTO lease (chat, owner, number, until, sum) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (chat) DO UPDATE SET owner = excluded.owner, number = excluded.number,
          until = excluded.until, sum = excluded.sum";
}
