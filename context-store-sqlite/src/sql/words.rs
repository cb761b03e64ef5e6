//! The statements of the full-text index of messages.

statements! {
    HAS_WORDS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'words'";
    /// The next messages that are not indexed, and their chats.
    UNINDEXED = "SELECT u.pos, u.added, b.chat, c.user, c.id FROM unindexed u
        LEFT JOIN branch b ON b.no = u.pos >> 32 LEFT JOIN chat c ON c.no = b.chat ORDER BY u.pos LIMIT ?1";
    HAS_UNINDEXED = "SELECT 1 FROM unindexed LIMIT 1";
    COUNT_UNINDEXED = "SELECT coalesce(sum(added), 0) FROM unindexed";
    ADD_UNINDEXED = "INSERT INTO unindexed (pos, added) VALUES (?1, ?2)";
    INDEXED = "DELETE FROM unindexed WHERE pos BETWEEN ?1 AND ?2";
    /// Pieces that are not indexed and begin in a range of places.
    UNINDEXED_OF = "SELECT pos, added FROM unindexed WHERE pos BETWEEN ?1 AND ?2";
    STRAY_UNINDEXED = "SELECT pos FROM unindexed r WHERE NOT EXISTS (SELECT 1 FROM branch b
        WHERE b.no = r.pos >> 32 AND r.pos & 0xffffffff BETWEEN 1 AND b.own - r.added + 1)";
    /// How many rows the index has, and how many words in each column, as FTS5 keeps them.
    WORD_TOTALS = "SELECT block FROM words_data WHERE id = 1";
    COUNT_MATCHES = "SELECT count(*) FROM words WHERE words MATCH ?1";
    RUNS_OF_USERS = "SELECT r.pos, c.user, r.data FROM run r
        CROSS JOIN branch b ON b.no = r.pos >> 32 CROSS JOIN chat c ON c.no = b.chat
        WHERE r.pos > ?1 ORDER BY r.pos LIMIT 64";
    LOOK_AT_WORDS = "SELECT rowid FROM words LIMIT 1";
    MAY_WRITE = "PRAGMA query_only = OFF";
    MAY_NOT_WRITE = "PRAGMA query_only = ON";
    LIST_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_there USING fts5vocab (main, words, row)";
    /// Ranks all messages by each word, which reads everything that a search may read.
    RANK_WORDS = "SELECT sum((SELECT sum(rank) FROM words WHERE words MATCH '\"' || replace(v.term, '\"', '\"\"') || '\"'))
        FROM temp.word_there v";
    /// Until this statement runs, deleted entries are only marked as deleted.
    TIDY_WORDS = "INSERT INTO words (words) VALUES ('optimize')";
    /// Counts rows that have words with the tag ?1 and belong to user ?2 or to no user.
    REMAINING_WORDS = "SELECT count(*) FROM words LEFT JOIN branch b ON b.no = words.rowid >> 32
        LEFT JOIN chat c ON c.no = b.chat WHERE words MATCH ?1 AND coalesce(c.user = ?2, true)";
    FORGET_WORDS = "DELETE FROM words WHERE rowid = ?1";
    /// The places in a range that have words, and how many words. FTS5 keeps these numbers for
    /// ranking.
    WITH_WORDS = "SELECT id, sz FROM words_docsize WHERE id BETWEEN ?1 AND ?2";
    HAS_WORD = "SELECT 1 FROM words WHERE words MATCH ?1 AND rowid = ?2";
    HITS_OF_USER = hits!("", "", "");
    HITS_OF_CHAT = hits!("", "", "AND b.chat = ?6
        AND words.rowid >= (SELECT min(no) FROM branch WHERE chat = ?6) << 32
        AND words.rowid < ((SELECT max(no) FROM branch WHERE chat = ?6) + 1) << 32");
    HITS_OF_BRANCH = hits!(
        "WITH RECURSIVE piece (lo, cut, parent) AS (
           SELECT no << 32, (no << 32) + own, parent FROM branch WHERE chat = ?6 AND name = ?7
           UNION ALL
           SELECT b.no << 32, p.parent, b.parent FROM piece p JOIN branch b ON b.no = p.parent >> 32)",
        "CROSS JOIN piece p ON p.lo >> 32 = words.rowid >> 32 AND words.rowid <= p.cut",
        "AND b.chat = ?6 AND words.rowid BETWEEN (SELECT min(lo) FROM piece) AND (SELECT max(cut) FROM piece)"
    );
    STRAY_WORDS = "SELECT rowid FROM words r WHERE NOT EXISTS (
        SELECT 1 FROM branch b WHERE b.no = r.rowid >> 32 AND r.rowid & 0xffffffff BETWEEN 1 AND b.own)";
}
