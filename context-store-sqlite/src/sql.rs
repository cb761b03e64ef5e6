//! Every statement of this store, and how one is run. A test prepares each of them against
//! the schema.
//!
//! A statement is named after its answer or its effect. Access control is part of the statement: it
//! begins with the user and the chat, or with a number that was found that way in the same
//! transaction.

#[macro_use]
mod absence;
#[macro_use]
mod shapes;
#[macro_use]
mod chains;

pub(crate) const MIGRATIONS_TABLE: &str = "context_migrations";

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub(crate) const $name: &str = $text;)*

        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

pub(crate) mod durability;
pub(crate) mod fragment_versions;
pub(crate) mod leases;
pub(crate) mod memories;
pub(crate) mod ref_log;
pub(crate) mod rounds;
mod run;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub(crate) use self::run::{Statement, run, run_each};

/// The number of values of a row of `append_row`.
pub(crate) const ROW_VALUES: usize = 14;
/// The number of tables that `OUR_TABLES` counts in a store.
pub(crate) const OUR_TABLES_COUNT: i64 = 6;

statements! {
    BEGIN = "BEGIN IMMEDIATE";
    APPLICATION = "PRAGMA application_id";
    /// The letters `ctxl`.
    SET_APPLICATION = "PRAGMA application_id = 0x6374786c";
    /// Counts the tables that every version of the store has.
    OUR_TABLES = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'
        AND name IN ('context_migrations', 'chat', 'branch', 'run', 'node', 'boundary')";
    USE_WAL = "PRAGMA journal_mode = WAL";
    /// Tables, indexes, views and triggers, without those that SQLite creates by itself.
    SCHEMA = "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    /// The same as one text, and whether each table and index has pages of its own.
    SCHEMA_TEXT = "SELECT (SELECT group_concat(line, ';') FROM (
          SELECT type || ' ' || name || ' ' || tbl_name || ' ' || sql AS line FROM sqlite_schema
          WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name)),
        (SELECT count(DISTINCT rootpage) = count(*) FROM sqlite_schema WHERE rootpage > 0)";
    SEALED_SCHEMA = "SELECT schema FROM store_tally WHERE one = 1";
    SEAL_SCHEMA = "UPDATE store_tally SET schema = ?1";
    MIGRATED = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'context_migrations'";
    VERSION = "SELECT max(version) FROM context_migrations";
    FACTS = "SELECT sqlite_version(), page_count * page_size, freelist_count * page_size
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size";

    // Chats.
    CHAT_NO = "SELECT no, name_sum FROM chat WHERE user = ?1 AND id = ?2";
    CHAT = concat!("SELECT c.no, c.id, c.title, c.metadata, c.active, c.created_at, ",
        checked_updated!(),
        ", 0, 0, c.name_sum, c.sum FROM chat c WHERE c.user = ?1 AND c.id = ?2");
    CREATE_CHAT = "INSERT INTO chat (user, id, title, metadata, active, created_at, updated_at, time_sum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6 % 4294967291)";
    /// The users after ?1 who have a chat, a round of a trajectory, or a memory, and whether the
    /// counts agree with their checksum.
    USERS = concat!("SELECT user, ", user_tally_agrees!(), "
          AND (chats = 0 OR EXISTS (SELECT 1 FROM chat c WHERE c.user = t.user))
          AND (rounds = 0 OR EXISTS (SELECT 1 FROM trajectory_round r WHERE r.user = t.user))
          AND scopes = (SELECT count(*) FROM memory_scope s WHERE s.user = t.user)
        FROM user_tally t WHERE user > ?1 AND (chats > 0 OR rounds > 0
          OR EXISTS (SELECT 1 FROM memory_scope s WHERE s.user = t.user AND s.records > 0)
          OR scopes <> (SELECT count(*) FROM memory_scope s WHERE s.user = t.user)) ORDER BY user LIMIT ?2");
    /// The next chats whose row has the time of their last write, in the order of an index.
    LIST_SETTLED = concat!(summary!(concat!("iif(c.updated_at = f.updated_at AND c.moved = 0 AND ", time_agrees!(),
        ", f.updated_at, NULL)")), " FROM (
          SELECT no, updated_at FROM chat WHERE user = ?1 AND moved = 0 AND updated_at = ?2 AND no < ?3
          UNION ALL
          SELECT no, updated_at FROM chat WHERE user = ?1 AND moved = 0 AND updated_at < ?2
          ORDER BY updated_at DESC, no DESC LIMIT ?4) f
        LEFT JOIN chat c ON c.no = f.no");
    /// The next of all other chats: by minute first, which is an index, and within a minute by the
    /// exact time.
    LIST_MOVED = concat!(summary!(concat!("iif(", time_agrees!(), ", f.updated, NULL)")), " FROM (
          SELECT * FROM (
            SELECT c.no, c.updated_at / 60000000 AS minute, ", updated!(), " AS updated FROM chat c
            WHERE c.user = ?1 AND c.moved = 1 AND c.updated_at / 60000000 <= ?2 / 60000000)
          WHERE (updated, no) < (?2, ?3) ORDER BY minute DESC, updated DESC, no DESC LIMIT ?4) f
        LEFT JOIN chat c ON c.no = f.no ORDER BY f.updated DESC, f.no DESC");
    UPDATE_CHAT = "UPDATE chat SET title = ?2, metadata = ?3, sum = NULL WHERE no = ?1";
    ACTIVATE = "UPDATE chat SET active = ?2, sum = NULL WHERE no = ?1";
    CHANGE_EDITION = "UPDATE chat SET amended = amended + 1, amended_sum = amended_sum + 1000003 WHERE no = ?1";
    /// Records a write at ?2, and the later writes that only branches know.
    TOUCH_CHAT = concat!("UPDATE chat AS c SET moved = 0, updated_at = max(?2, ", updated!(), "),
          time_sum = max(?2, ", updated!(), ") % 4294967291 WHERE no = ?1");
    DELETE_CHAT = "DELETE FROM chat WHERE no = ?1";
    CHAT_SIZE = concat!("SELECT
        (SELECT iif(min(", own_agrees!(), "), sum(own), NULL) FROM branch WHERE chat = ?1),
        (SELECT total(length(r.data)) FROM branch b
          CROSS JOIN run r ON r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own WHERE b.chat = ?1)
          + (SELECT total(length(tail)) FROM branch WHERE chat = ?1),
        (SELECT total(length(record)) FROM revision WHERE chat = ?1)");

    // Branches and checkpoints.
    BRANCH = "SELECT no, own, head, chat, name, parent, base, created_at, sum, octet_length(tail),
          octet_length(tail_ids), octet_length(pad) FROM branch
        WHERE chat = ?1 AND name = ?2";
    /// All pieces of a chat, named or not, and whether the head of a named one is its last message
    /// or the message after which it forks.
    BRANCHES = concat!(piece!(), ", CASE WHEN name IS NULL THEN head IS NULL
          ELSE coalesce((SELECT pos FROM node WHERE node.chat = branch.chat AND id = head),
              (SELECT (no << 32) + tail_from + key FROM json_each('[' || tail_ids || ']') WHERE value = head))
            IS iif(own > 0, (no << 32) + own, parent) END
        FROM branch WHERE chat = ?1 ORDER BY no");
    /// The end of a branch, found by the names of its user, its chat and itself.
    BRANCH_END = "SELECT b.chat, b.no, b.own, b.head, octet_length(b.tail), octet_length(b.tail_ids),
          octet_length(b.pad), c.user, c.id, c.name_sum, b.name, b.parent, b.base, b.created_at, b.sum
        FROM chat c CROSS JOIN branch b ON b.chat = c.no AND b.name = ?3 WHERE c.user = ?1 AND c.id = ?2";
    RENAME_BRANCH = "UPDATE branch SET name = ?2, sum = NULL WHERE no = ?1";
    /// Renames the active branch of chat ?1 from ?2 to ?3.
    RENAME_ACTIVE = "UPDATE chat SET active = ?3, sum = NULL WHERE no = ?1 AND active = ?2";
    UNNAME_BRANCH = "UPDATE branch SET name = NULL, head = NULL, sum = NULL WHERE no = ?1";
    CREATE_BRANCH = "INSERT INTO branch (chat, name, parent, base, own, head, touched, created_at, own_sum)
        VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?6, ?6 % 4294967291)";
    MOVE_BRANCH = concat!("UPDATE branch SET own = ?2, head = ?3, touched = max(touched, ?4), ",
        own_sum!("?2", "max(touched, ?4)"), " WHERE no = ?1");
    /// All pieces of a chat, named or not.
    PIECES = concat!(piece!(), " FROM branch WHERE chat = ?1 ORDER BY no");
    PIECE = concat!(piece!(), " FROM branch WHERE no = ?1");
    /// The newest place of branch ?1 that a fork or a checkpoint of chat ?2 needs.
    NEEDED = "SELECT max(
        coalesce((SELECT max(parent) FROM branch WHERE parent BETWEEN ?1 << 32 AND (?1 << 32) + 0xffffffff), 0),
        coalesce((SELECT max(n.pos) FROM checkpoint c CROSS JOIN node n ON n.chat = c.chat AND n.id = c.message
          WHERE c.chat = ?2 AND n.pos >> 32 = ?1), 0))";
    CUT_BRANCH = concat!("UPDATE branch SET own = ?2, ", own_sum!("?2", "touched"), " WHERE no = ?1");
    DELETE_BRANCH = "DELETE FROM branch WHERE no = ?1";
    CHECKPOINT = "SELECT n.pos, c.message FROM checkpoint c JOIN node n ON n.chat = c.chat AND n.id = c.message
        WHERE c.chat = ?1 AND c.name = ?2";
    CHECKPOINTS = "SELECT chat, name, message, created_at, sum FROM checkpoint WHERE chat = ?1 ORDER BY name";
    SET_CHECKPOINT = "INSERT INTO checkpoint (chat, name, message, created_at) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (chat, name) DO UPDATE SET message = excluded.message, created_at = excluded.created_at,
          sum = NULL";
    DELETE_CHECKPOINT = "DELETE FROM checkpoint WHERE chat = ?1 AND name = ?2";

    // Messages.
    APPEND_ROW = concat!("INSERT INTO append_row VALUES ", row!());
    APPEND_4 = concat!("INSERT INTO append_row VALUES ", times_4!(row!()));
    APPEND_16 = concat!("INSERT INTO append_row VALUES ", times_4!(times_4!(row!())));
    APPEND_64 = concat!("INSERT INTO append_row VALUES ", times_4!(times_4!(times_4!(row!()))));
    /// Folds the tails of a chat, so that all of its messages are in runs.
    FOLD_CHAT = "INSERT INTO fold SELECT no FROM branch WHERE chat = ?1 AND tail_from IS NOT NULL";
    /// The tails of a chat: how many messages the row states, their ids, and the messages.
    TAILS = "SELECT own - tail_from + 1, tail_ids, tail FROM branch WHERE chat = ?1 AND tail_from IS NOT NULL";
    MERGE = "INSERT INTO merge VALUES (?1, ?2)";
    ADD_RUN = "INSERT INTO run (pos, data) VALUES (?1, ?2)";
    ADD_NODE = "INSERT INTO node (chat, id, pos) VALUES (?1, ?2, ?3)";
    ADD_NODES = "INSERT INTO node (chat, id, pos) SELECT ?1, value, ?3 + key FROM json_each(?2)";
    ADD_BOUNDARY = "INSERT OR IGNORE INTO boundary (pos) VALUES (?1)";
    REMOVE_BOUNDARY = "DELETE FROM boundary WHERE pos = ?1";
    SPOT = concat!("SELECT n.id, n.pos, ", spotted!(), " FROM (SELECT id, pos FROM spot WHERE chat = ?1 AND id = ?2) n
        LEFT JOIN branch b ON b.no = n.pos >> 32");
    SPOTS = concat!("SELECT n.id, n.pos, ", spotted!(), " FROM json_each(?2) j
        CROSS JOIN node n ON n.chat = ?1 AND n.id = j.value LEFT JOIN branch b ON b.no = n.pos >> 32
        UNION ALL
        SELECT k.value, (b.no << 32) + b.tail_from + k.key, ", spotted!(), " FROM branch b
        CROSS JOIN json_each('[' || b.tail_ids || ']') k
        WHERE b.chat = ?1 AND b.tail_from IS NOT NULL AND k.value IN (SELECT value FROM json_each(?2))");
    /// The run that holds a place.
    RUN_AT = "SELECT pos, data FROM run WHERE pos <= ?1 ORDER BY pos DESC LIMIT 1";
    /// The runs and tails that hold the places of a JSON list, and maybe a run before a tail.
    RUNS_AT = "SELECT pos, data FROM run WHERE pos IN (
        SELECT (SELECT max(r.pos) FROM run r WHERE r.pos <= j.value) FROM json_each(?1) j)
        UNION ALL
        SELECT (no << 32) + tail_from, tail FROM branch
        WHERE no IN (SELECT j.value >> 32 FROM json_each(?1) j) AND EXISTS (
          SELECT 1 FROM json_each(?1) j WHERE j.value >> 32 = no AND j.value >= (no << 32) + tail_from)";
    /// A few runs, from the one that holds ?1 up to place ?2, and the tail behind them.
    RUNS_FROM = "SELECT pos, data FROM run
        WHERE pos >= coalesce((SELECT max(pos) FROM run WHERE pos <= ?1), ?1) AND pos <= ?2
        UNION ALL
        SELECT (no << 32) + tail_from, tail FROM branch
        WHERE no = ?2 >> 32 AND (no << 32) + tail_from <= ?2 ORDER BY pos LIMIT 16";
    REWRITE_RUN = "UPDATE run SET data = ?2 WHERE pos = ?1";
    ADD_REVISION = "INSERT INTO revision (chat, id, record, replaced_at) VALUES (?1, ?2, ?3, ?4)";
    /// Deletes runs, then boundaries, at places from ?1 to ?2.
    FORGET_RUNS = "DELETE FROM run WHERE pos BETWEEN ?1 AND ?2";
    FORGET_BOUNDARIES = "DELETE FROM boundary WHERE pos BETWEEN ?1 AND ?2";
    FORGET_NODE = "DELETE FROM node WHERE chat = ?1 AND id = ?2";
    FORGET_NODES = "DELETE FROM node WHERE chat = ?1 AND id IN (SELECT value FROM json_each(?2))";
    FORGET_REVISIONS = "DELETE FROM revision WHERE chat = ?1 AND id = ?2";
    FORGET_REVISIONS_OF = "DELETE FROM revision WHERE chat = ?1 AND id IN (SELECT value FROM json_each(?2))";
    REVISIONS = "SELECT no, chat, id, record, replaced_at, sum FROM revision WHERE chat = ?1 AND id = ?2 ORDER BY no";
    /// The pieces of a chain: the first and the last place of each.
    LINEAGE = "WITH RECURSIVE piece (lo, cut, parent) AS (
        SELECT no << 32, (no << 32) + own, parent FROM branch WHERE chat = ?1 AND name = ?2
        UNION ALL
        SELECT b.no << 32, p.parent, b.parent FROM piece p JOIN branch b ON b.no = p.parent >> 32)
        SELECT lo, cut FROM piece";

    // Chains.
    /// The whole chain of branch ?3 if the branch is not a fork, as most are not. The statement
    /// avoids the tables of a recursion, which cost more than reading a hundred messages.
    OWN = concat!("SELECT (b.no << 32) + b.own, r.pos, r.data, ",
          facts!("(b.no << 32) + 1", "(c.no << 32) + c.amended", "NULL", "b", "c.name_sum"), "
        FROM chat c CROSS JOIN branch b ON b.chat = c.no AND b.name = ?3 AND b.parent IS NULL
        LEFT JOIN run r ON r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own
        WHERE c.user = ?1 AND c.id = ?2");
    /// The tail of branch ?3 if message ?4 is in it and ?5 is the generation. The id needs no
    /// escape. No run is at 0.
    OWN_TAIL = concat!("SELECT (b.no << 32) + b.own, r.pos, r.data, ",
          facts!("0", "(c.no << 32) + c.amended", "NULL", "b", "c.name_sum"), "
        FROM chat c CROSS JOIN branch b ON b.chat = c.no AND b.name = ?3 LEFT JOIN run r ON r.pos = 0
        WHERE c.user = ?1 AND c.id = ?2 AND (c.no << 32) + c.amended = ?5
          AND instr(b.tail_ids, '\"' || ?4 || '\"')");
    /// The messages after message ?4 if branch ?3 owns it and ?5 is the generation.
    OWN_AFTER = concat!("SELECT (b.no << 32) + b.own, r.pos, r.data, ",
          facts!("a.pos + 1", "(c.no << 32) + c.amended", "a.pos + 1", "b", "c.name_sum"), "
        FROM chat c CROSS JOIN branch b ON b.chat = c.no AND b.name = ?3
        CROSS JOIN node a ON a.chat = c.no AND a.id = ?4 AND a.pos > b.no << 32 AND a.pos <= (b.no << 32) + b.own
        LEFT JOIN run r ON r.pos <= (b.no << 32) + b.own AND r.pos >= (SELECT max(pos) FROM run WHERE pos <= a.pos)
        WHERE c.user = ?1 AND c.id = ?2 AND (c.no << 32) + c.amended = ?5");
    WHOLE = of_branch!(whole);
    WHOLE_OF = of_message!(whole);
    LAST = of_branch!(window, { "?4", from_depth, at });
    LAST_OF = of_message!(window, { "?4", from_depth, at });
    BOUNDARY = of_branch!(window, { "0", from_boundary, at });
    BOUNDARY_OF = of_message!(window, { "0", from_boundary, at });
    AFTER = of_branch!(window, { "0", from_message, behind });
    AFTER_OF = of_message!(window, { "0", from_message, behind });

    // The counts of listed rows.
    CHAT_TALLY = concat!("SELECT branches, checkpoints, fragments, blobs, streams, revisions, refs, ",
        chat_tally_agrees!(), " FROM chat_tally WHERE chat = ?1");
    USER_TALLY = concat!("SELECT chats, rounds, links, scopes, ", user_tally_agrees!(),
        " FROM user_tally WHERE user = ?1");
    STORE_TALLY = "SELECT users, sum = 999983 + users * 1000003 FROM store_tally WHERE one = 1";
    /// Rows of other tables on the same page do not count.
    COUNT_USERS = concat!("SELECT count(*) FROM user_tally WHERE ", user_tally_agrees!());
    // If another index that also begins with users took the place of the right one, it would have
    // entries of the user too, but hardly any with values of these types after the user.
    COUNT_CHATS = "SELECT count(*) FROM chat WHERE user = ?1 AND typeof(id) = 'text'";
    /// The number of chats that a listing finds.
    COUNT_LISTED_CHATS = "SELECT (SELECT count(*) FROM chat WHERE user = ?1 AND moved = 0)
        + (SELECT count(*) FROM chat WHERE user = ?1 AND moved = 1)";
    COUNT_ROUNDS = "SELECT count(*) FROM trajectory_round WHERE user = ?1
        AND typeof(session) = 'text' AND typeof(agent) = 'integer' AND typeof(round) = 'integer'";
    COUNT_LINKS = "SELECT count(*) FROM trajectory_message WHERE user = ?1
        AND typeof(chat) = 'text' AND typeof(message) = 'text'";
    COUNT_SCOPES = "SELECT count(*) FROM memory_scope WHERE user = ?1";
    COUNT_BRANCHES = "SELECT count(*) FROM branch WHERE chat = ?1";
    COUNT_CHECKPOINTS = "SELECT count(*) FROM checkpoint WHERE chat = ?1";
    COUNT_FRAGMENTS = "SELECT count(*) FROM fragment WHERE chat = ?1";
    COUNT_BLOBS = "SELECT count(*) FROM blob_ref WHERE chat = ?1";
    COUNT_STREAMS = "SELECT count(*) FROM stream WHERE chat = ?1";
    COUNT_REVISIONS = "SELECT count(*) FROM revision WHERE chat = ?1";
    CHATS_BESIDE = absent!("0", "t.id = f.id AND t.user = ?1", "no, id", "chat", "user = ?1", "id", "?2", "t.no = f.no");
    STREAMS_BESIDE = absent!("0", "t.id = f.id AND t.chat = ?1", "no, id", "stream", "chat = ?1", "id", "?2",
        "t.no = f.no");
    REVISIONS_BESIDE = absent!("?3", "t.id = f.id AND t.chat = ?1", "no, id", "revision", "chat = ?1", "id", "?2",
        "t.no = f.no");
    LINKS_BESIDE = absent!("?4", "t.message = f.message AND t.chat = ?2 AND t.user = ?1",
        "round, ordinal, position, message", "trajectory_message", "user = ?1 AND chat = ?2", "message", "?3",
        "t.round = f.round AND t.ordinal = f.ordinal AND t.position = f.position");
    BLOBS_BESIDE = neighbours!("chat, hash, blob, media_type, created_at, used_at, sum", "blob_ref",
        "chat = ?1", "hash", "?2");
    /// Whether no entry of the index is hidden.
    BLOB_HIDDEN = concat!("SELECT count(*) = 0 FROM ", among!("hash", "blob_ref", "chat = ?1"), " WHERE hash = ?2");
    NODES_BESIDE = neighbours!("id, pos", "node", "chat = ?1", "id", "?2");
    NODE_HIDDEN = concat!("SELECT count(*) = 0 FROM ", among!("id", "node", "chat = ?1"), " WHERE id = ?2");
    COUNT_NODES = "SELECT count(*) FROM spot WHERE chat = ?1";

    // Commits with a key.
    APPLIED = "SELECT chat, key, digest, branch, head, sum FROM applied WHERE chat = ?1 AND key = ?2";
    REMEMBER = "INSERT INTO applied (chat, key, digest, branch, head, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

    // Fragments.
    FRAGMENTS = "SELECT no, chat, id, kind, version, metadata, body, sum FROM fragment WHERE chat = ?1 ORDER BY no";
    /// The same with the chat's name and the number of its fragments, one row if it has none.
    FRAGMENTS_OF = concat!("SELECT f.no, f.chat, f.id, f.kind, f.version, f.metadata, f.body, f.sum, c.no, c.name_sum,
        (SELECT fragments FROM chat_tally WHERE chat = c.no AND ", chat_tally_agrees!(), ")
        FROM chat c LEFT JOIN fragment f ON f.chat = c.no WHERE c.user = ?1 AND c.id = ?2 ORDER BY f.no");
    ADD_FRAGMENT = "INSERT INTO fragment (chat, id, kind, version, metadata, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    REPLACE_FRAGMENT = "UPDATE fragment SET kind = ?2, version = ?3, metadata = ?4, body = ?5, sum = NULL WHERE no = ?1";
    REMOVE_FRAGMENT = "DELETE FROM fragment WHERE chat = ?1 AND id = ?2";

    // Blobs.
    BLOB_NO = "SELECT no FROM blob WHERE user = ?1 AND hash = ?2";
    ADD_BLOB = "INSERT INTO blob (user, hash, size) VALUES (?1, ?2, ?3)";
    ADD_BLOB_PIECE = "INSERT INTO blob_piece (pos, data, sum) VALUES (?1, ?2, ?3)";
    REFER_TO_BLOB = "INSERT INTO blob_ref (chat, hash, blob, media_type, created_at, used_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5)
        ON CONFLICT (chat, hash) DO UPDATE SET sum = NULL, used_at = max(used_at, excluded.used_at),
          media_type = coalesce(media_type, excluded.media_type)";
    BLOB = concat!(blob!(), " WHERE r.chat = ?1 AND r.hash = ?2");
    /// The next blobs after a hash. The first page begins after the empty hash.
    BLOBS = concat!(blob!(), " WHERE r.chat = ?1 AND r.hash > ?2 ORDER BY r.hash LIMIT ?3");
    BLOB_PIECES = "SELECT pos, data, sum FROM blob_piece WHERE pos BETWEEN ?1 AND ?2 ORDER BY pos";
    TOUCH_BLOB = "UPDATE blob_ref SET used_at = ?4, sum = NULL
        WHERE chat = (SELECT no FROM chat WHERE user = ?1 AND id = ?2) AND hash = ?3 AND used_at < ?4";
    FORGET_BLOB = "DELETE FROM blob_ref WHERE chat = ?1 AND hash = ?2";
    /// Removes the references of the user, or of chat ?2 if it is set.
    PRUNE_BLOBS = "DELETE FROM blob_ref WHERE used_at <= ?3
        AND chat IN (SELECT no FROM chat WHERE user = ?1 AND (?2 IS NULL OR no = ?2))";
    BLOBS_KEPT = "SELECT count(*), coalesce(sum(size), 0) FROM blob WHERE user = ?1";

    // Streams.
    /// Returns no row if the chat does not exist, and a row of NULLs if the chat has no such
    /// stream.
    STREAM = concat!("SELECT ", stream!(), " FROM chat c LEFT JOIN stream s ON s.chat = c.no AND s.id = ?3
        WHERE c.user = ?1 AND c.id = ?2");
    /// The number of a state of the file, as this connection sees it.
    FILE_VERSION = "PRAGMA data_version";
    /// The fields that change with every write, of the streams in a list of users, chats and ids.
    STREAM_MARKS = "SELECT s.state, s.run, s.chunks, s.updated_at, s.cancel_requested_at
        FROM json_each(?1) w LEFT JOIN chat c ON c.user = w.value ->> 0 AND c.id = w.value ->> 1
        LEFT JOIN stream s ON s.chat = c.no AND s.id = w.value ->> 2 ORDER BY w.key";
    /// The next streams after an id. The first page begins after the empty id.
    STREAMS = concat!("SELECT ", stream!(), " FROM stream s WHERE s.chat = ?1 AND s.id > ?2 ORDER BY s.id LIMIT ?3");
    CREATE_STREAM = "INSERT INTO stream (chat, id, state, run, chunks, bytes, created_at, updated_at)
        VALUES ((SELECT no FROM chat WHERE user = ?1 AND id = ?2), ?3, ?4, 0, 0, 0, ?5, ?5)";
    WRITE_STREAM = "UPDATE stream SET state = ?2, run = ?3, writer = ?4, chunks = ?5, bytes = ?6, error = ?7,
        started_at = ?8, cancel_requested_at = ?9, finished_at = ?10, updated_at = ?11, sum = ?12 WHERE no = ?1";
    /// Adds the pieces of ?2 from place ?1 on. ?3 is a list of the start of each piece, from 1, its
    /// length and its checksum. `substr` returns NULL for an empty piece.
    ADD_STREAM_CHUNKS = "INSERT INTO stream_chunk (pos, data, sum)
        SELECT ?1 + key, coalesce(substr(?2, value ->> 0, value ->> 1), x''), value ->> 2 FROM json_each(?3)";
    STORED_STREAM_CHUNKS = "SELECT data, pos, sum FROM stream_chunk WHERE pos BETWEEN ?1 AND ?2 ORDER BY pos";
    /// At most ?3 chunks from place ?1 up to ?2, with at most ?4 bytes together, but at least one.
    /// Only lengths are read before the chunks are selected.
    STREAM_CHUNKS = "SELECT pos, data, sum FROM stream_chunk WHERE pos >= ?1 AND pos <= (
        SELECT max(pos) FROM (
          SELECT pos, sum(size) OVER (ORDER BY pos) AS total FROM (
            SELECT pos, length(data) AS size FROM stream_chunk WHERE pos BETWEEN ?1 AND ?2 ORDER BY pos LIMIT ?3))
        WHERE pos = ?1 OR total <= ?4) ORDER BY pos";
    REMOVE_STREAM = "DELETE FROM stream WHERE chat = ?1 AND id = ?2";
    PRUNED_STREAMS = concat!("SELECT count(*), coalesce(sum(chunks), 0), coalesce(sum(bytes), 0)",
        pruned_streams!());
    PRUNE_STREAMS = concat!("DELETE", pruned_streams!());
    STREAMS_KEPT = "SELECT count(*) FROM stream s JOIN chat c ON c.no = s.chat WHERE c.user = ?1";

    // Maintenance.
    SHRED = "PRAGMA secure_delete = ON";
    SHRED_NO_MORE = "PRAGMA secure_delete = OFF";
    CHECKPOINT_LOG = "PRAGMA wal_checkpoint(TRUNCATE)";
    VACUUM = "VACUUM";
    VACUUM_INTO = "VACUUM INTO ?1";
    /// A few chats of a user, each with its number of messages.
    CHATS_OF = "SELECT c.no, (SELECT sum(own) FROM branch WHERE chat = c.no) FROM chat c WHERE c.user = ?1 LIMIT 100";
    /// Counts the rows of a user and the rows that belong to no user.
    REMAINING = "SELECT (SELECT count(*) FROM chat WHERE user = ?1)
        + (SELECT count(*) FROM user_tally WHERE user = ?1)
        + (SELECT count(*) FROM chat_tally WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM branch b JOIN chat c ON c.no = b.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM node n JOIN chat c ON c.no = n.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM revision r JOIN chat c ON c.no = r.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM checkpoint k JOIN chat c ON c.no = k.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM lease l JOIN chat c ON c.no = l.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM applied a JOIN chat c ON c.no = a.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM fragment f JOIN chat c ON c.no = f.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM fragment_version f JOIN chat c ON c.no = f.chat WHERE c.user = ?1) + (SELECT count(*) FROM ref_change r JOIN chat c ON c.no = r.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM blob WHERE user = ?1)
        + (SELECT count(*) FROM blob_ref r JOIN chat c ON c.no = r.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM stream s JOIN chat c ON c.no = s.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM run r JOIN branch b ON b.no = r.pos >> 32 JOIN chat c ON c.no = b.chat WHERE c.user = ?1)
        + (SELECT count(*) FROM boundary r JOIN branch b ON b.no = r.pos >> 32 JOIN chat c ON c.no = b.chat
            WHERE c.user = ?1)
        + (SELECT count(*) FROM branch WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM node WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM revision WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM checkpoint WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM lease WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM applied WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM fragment WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM fragment_version WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM ref_change WHERE chat NOT IN (SELECT no FROM chat)) + (SELECT count(*) FROM blob_ref WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM blob WHERE no NOT IN (SELECT blob FROM blob_ref))
        + (SELECT count(*) FROM blob_piece WHERE pos >> 16 NOT IN (SELECT no FROM blob))
        + (SELECT count(*) FROM stream WHERE chat NOT IN (SELECT no FROM chat))
        + (SELECT count(*) FROM stream_chunk WHERE pos >> 24 NOT IN (SELECT no FROM stream))
        + (SELECT count(*) FROM run WHERE pos >> 32 NOT IN (SELECT no FROM branch))
        + (SELECT count(*) FROM boundary WHERE pos >> 32 NOT IN (SELECT no FROM branch))";
    /// Rows that disagree with their checksum, and counters that disagree with the rows they count:
    /// each table with its number of such rows.
    MISCOUNTED = concat!("SELECT 'chat', count(*) FROM chat c
          WHERE NOT (", time_agrees!(), " AND c.amended_sum = c.amended * 1000003)
        UNION ALL SELECT 'branch', count(*) FROM branch WHERE NOT (", own_agrees!(), ")
        UNION ALL SELECT 'chat_tally', count(*) FROM chat_tally t WHERE NOT (", chat_tally_agrees!(), ")
          OR NOT EXISTS (SELECT 1 FROM chat WHERE no = t.chat)
          OR branches <> (SELECT count(*) FROM branch r WHERE r.chat = t.chat)
          OR checkpoints <> (SELECT count(*) FROM checkpoint r WHERE r.chat = t.chat)
          OR fragments <> (SELECT count(*) FROM fragment r WHERE r.chat = t.chat)
          OR blobs <> (SELECT count(*) FROM blob_ref r WHERE r.chat = t.chat)
          OR streams <> (SELECT count(*) FROM stream r WHERE r.chat = t.chat)
          OR revisions <> (SELECT count(*) FROM revision r WHERE r.chat = t.chat) OR refs <> (SELECT count(*) FROM ref_change r WHERE r.chat = t.chat)
        UNION ALL SELECT 'chat_tally', count(*) FROM chat WHERE no NOT IN (SELECT chat FROM chat_tally)
        UNION ALL SELECT 'user_tally', count(*) FROM user_tally t WHERE NOT (", user_tally_agrees!(), ")
          OR chats <> (SELECT count(*) FROM chat r WHERE r.user = t.user)
          OR rounds <> (SELECT count(*) FROM trajectory_round r WHERE r.user = t.user)
          OR links <> (SELECT count(*) FROM trajectory_message r WHERE r.user = t.user)
          OR scopes <> (SELECT count(*) FROM memory_scope r WHERE r.user = t.user)
        UNION ALL SELECT 'user_tally', count(*) FROM (SELECT user FROM chat UNION SELECT user FROM trajectory_round
          UNION SELECT user FROM trajectory_message UNION SELECT user FROM memory_scope)
          WHERE user NOT IN (SELECT user FROM user_tally)
        UNION ALL SELECT 'chat', (SELECT count(*) FROM chat INDEXED BY chat_moved WHERE moved = 1)
            + (SELECT count(*) FROM chat INDEXED BY chat_settled WHERE moved = 0)
          <> (SELECT count(*) FROM chat NOT INDEXED)
        UNION ALL SELECT 'branch', count(*) FROM branch WHERE NOT (pad IS NULL OR pad = zeroblob(octet_length(pad)))
          OR (tail_from IS NULL) <> (tail IS NULL) OR (tail_from IS NULL) <> (tail_ids IS NULL)
          OR tail_from NOT BETWEEN 1 AND own
        UNION ALL SELECT 'branch', (SELECT count(*) FROM branch INDEXED BY branch_tail WHERE tail_from IS NOT NULL)
          <> (SELECT count(*) FROM branch NOT INDEXED WHERE tail_from IS NOT NULL)
        UNION ALL SELECT 'branch', (SELECT count(*) FROM branch INDEXED BY branch_parent WHERE parent IS NOT NULL)
          <> (SELECT count(*) FROM branch NOT INDEXED WHERE parent IS NOT NULL)
        UNION ALL SELECT 'store_tally', count(*) <> 1 FROM store_tally
          WHERE users = (SELECT count(*) FROM user_tally) AND sum = 999983 + users * 1000003");
    INTEGRITY = "PRAGMA integrity_check";
    FOREIGN_KEYS = "PRAGMA foreign_key_check";
    CHAT_AFTER = "SELECT no, user, id FROM chat WHERE no > ?1 ORDER BY no LIMIT 1";
    NODES = "SELECT id, pos FROM spot WHERE chat = ?1";
    BOUNDARIES = "SELECT pos FROM boundary WHERE pos BETWEEN ?1 AND ?2 ORDER BY pos";
    STRAY_RUNS = "SELECT pos FROM run r WHERE NOT EXISTS (
        SELECT 1 FROM branch b WHERE b.no = r.pos >> 32 AND r.pos & 0xffffffff BETWEEN 1 AND b.own)";
    STRAY_BOUNDARIES = "SELECT pos FROM boundary r WHERE NOT EXISTS (
        SELECT 1 FROM branch b WHERE b.no = r.pos >> 32 AND r.pos & 0xffffffff BETWEEN 1 AND b.own)";
    /// The revisions of a chat, and the place of the message of each, if it exists.
    ALL_REVISIONS = "SELECT r.id, r.record, n.pos FROM revision r LEFT JOIN node n ON n.chat = r.chat AND n.id = r.id
        WHERE r.chat = ?1";
    /// Whether a chat's row misses a write that it must know of.
    UNSETTLED = "SELECT 1 FROM chat c WHERE c.no = ?1 AND EXISTS (SELECT 1 FROM branch b WHERE b.chat = c.no
        AND (CASE c.moved WHEN 0 THEN b.touched > c.updated_at ELSE b.touched / 60000000 > c.updated_at / 60000000 END))";
    /// The next blob, and a chat that refers to it.
    BLOB_AFTER = "SELECT b.no, b.hash, b.size, c.user, c.id, (SELECT count(*) FROM blob_piece p
          WHERE p.pos BETWEEN b.no << 16 AND (b.no << 16) + 0xffff)
        FROM blob b LEFT JOIN chat c ON c.no = (SELECT chat FROM blob_ref WHERE blob = b.no LIMIT 1)
        WHERE b.no > ?1 ORDER BY b.no LIMIT 1";
    STRAY_PIECES = "SELECT pos >> 16 FROM blob_piece p WHERE NOT EXISTS (
        SELECT 1 FROM blob b WHERE b.no = p.pos >> 16) GROUP BY pos >> 16";
    /// References to a blob of another user or with another hash.
    WRONG_BLOB_REFS = "SELECT c.user, c.id, r.hash FROM blob_ref r JOIN chat c ON c.no = r.chat
        JOIN blob b ON b.no = r.blob WHERE b.user <> c.user OR b.hash <> r.hash";
    /// The next stream, and the chat it belongs to.
    STREAM_AFTER = concat!("SELECT ", stream!(), ", c.user, c.id FROM stream s LEFT JOIN chat c ON c.no = s.chat
        WHERE s.no > ?1 ORDER BY s.no LIMIT 1");
    /// The number of chunks of a stream, their number of bytes, and the number expected from the
    /// last chunk's number.
    STREAM_COUNTS = "SELECT count(*), coalesce(sum(length(data)), 0), coalesce((max(pos) & 0xffffff) + 1, 0)
        FROM stream_chunk WHERE pos BETWEEN ?1 << 24 AND (?1 << 24) + 0xffffff";
    STRAY_STREAM_CHUNKS = "SELECT pos >> 24 FROM stream_chunk k WHERE NOT EXISTS (
        SELECT 1 FROM stream s WHERE s.no = k.pos >> 24) GROUP BY pos >> 24";
    STRAY_NODES = "SELECT pos FROM node n WHERE NOT EXISTS (SELECT 1 FROM chat c WHERE c.no = n.chat)";
}
