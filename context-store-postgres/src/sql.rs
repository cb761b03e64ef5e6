//! Every statement of this store. A test prepares each of them against the schema.
//!
//! A statement is named after its answer or its effect. Access control is part of the statement: it
//! begins with the user and the chat, or with a number that was found that way in the same
//! transaction. A `#` before a table stands for the schema, whose name is known only when the store
//! is opened.
//!
//! Writers lock the row of the chat first, so writers of one chat run one after another and cannot
//! deadlock.

#[macro_use]
mod appends;
#[macro_use]
mod chains;
#[macro_use]
mod counts;

pub(crate) const MIGRATIONS_TABLE: &str = "context_migrations";

// Statements outside of the schema.
pub(crate) const BEGIN: &str = "BEGIN";
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// For statements whose cost estimate would trigger JIT compilation, which does not pay off.
pub(crate) const BEGIN_SNAPSHOT_UNCOMPILED: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit TO off";
pub(crate) const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// For a commit that waits until the server has flushed its log, whatever the settings.
pub(crate) const BEGIN_FLUSHED: &str =
    concat!("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT ", flushed_setting!());
/// For a commit that does not wait for the log.
pub(crate) const BEGIN_UNFLUSHED: &str =
    concat!("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT ", unflushed_setting!());
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";
/// Followed by a table.
pub(crate) const VACUUM: &str = "VACUUM";
pub(crate) const VACUUM_FULL: &str = "VACUUM FULL";
// Run with the schema as the search path, during an upgrade.
pub(crate) const MIGRATED_HERE: &str =
    "SELECT to_regclass(quote_ident(current_schema()) || '.context_migrations') IS NOT NULL";
/// The applied versions. A migration that did not complete leaves no row.
pub(crate) const VERSIONS_HERE: &str =
    "SELECT version, checksum FROM context_migrations ORDER BY version";
/// Whether row-level security is enabled, in a schema that may be empty.
pub(crate) const POLICIES_HERE: &str = "SELECT coalesce((SELECT relrowsecurity FROM pg_class
    WHERE oid = to_regclass(quote_ident(current_schema()) || '.chat')), false)";
pub(crate) const CREATE_MIGRATIONS: &str = "CREATE TABLE context_migrations (version bigint PRIMARY KEY,
    description text NOT NULL, installed_on timestamptz NOT NULL DEFAULT now(), success boolean NOT NULL,
    checksum bytea NOT NULL, execution_time bigint NOT NULL);\n";
/// Followed by the values.
pub(crate) const NOTE_MIGRATION: &str = "INSERT INTO context_migrations (version, description, success, checksum, execution_time) VALUES ";
pub(crate) const ADD_SETTINGS: &str =
    "INSERT INTO store (full_text) VALUES ($1) ON CONFLICT DO NOTHING";

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub(crate) const $name: &str = $text;)*

        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

pub(crate) mod blobs;
pub(crate) mod fragment_versions;
pub(crate) mod memories;
pub(crate) mod pgvector;
pub(crate) mod ref_log;
pub(crate) mod rounds;
pub(crate) mod streams;

macro_rules! summary {
    () => {
        "SELECT c.no, c.id, c.title, c.metadata, c.active, c.created_at, c.updated_at, c.amended, c.time_sum, c.active_sum,
           (SELECT coalesce(sum(own), 0)::bigint FROM #branch WHERE chat = c.no),
           (SELECT count(name) FROM #branch WHERE chat = c.no)"
    };
}

/// The first user after another one.
macro_rules! next_user {
    ($after:literal) => {
        concat!(
            "least((SELECT user_id FROM #chat WHERE user_id > ",
            $after,
            " ORDER BY user_id LIMIT 1), (SELECT user_id FROM #trajectory_round WHERE user_id > ",
            $after,
            " ORDER BY user_id LIMIT 1), (SELECT s.user_id FROM #memory_scope s WHERE s.user_id > ",
            $after,
            " AND EXISTS (SELECT FROM #memory_shelf h WHERE h.scope = s.no) ORDER BY s.user_id LIMIT 1))"
        )
    };
}

/// The best hits, after the hit with score $6 at place $7. Phrase i has the text $2[i] and is found
/// in the index by $3[i], and $1 finds all phrases together. Hits are ranked by BM25 with
/// statistics of the user: the frequency of a phrase among an assumed million messages of a hundred
/// words.
macro_rules! hits {
    ($with:expr, $from:expr) => {
        concat!(
            "WITH RECURSIVE phrase AS MATERIALIZED (
               SELECT p.text, ln(1 + 1e6 / (0.5 + (
                 SELECT count(*) FROM #words w JOIN #branch b ON b.no = w.pos >> 32 JOIN #chat c ON c.no = b.chat
                 WHERE w.lexemes @@ p.query::tsquery AND c.user_id = $4)))::float8 AS rarity
               FROM unnest($2::text[], $3::text[]) p (text, query))",
            $with,
            ", hit AS (
               SELECT w.pos, c.id, c.user_id, (
                 SELECT CASE WHEN bool_and(n.times > 0) THEN
                   sum(p.rarity * n.times * 2.2 / (n.times + 0.3 + 0.009 * w.length)) END
                 FROM phrase p CROSS JOIN LATERAL (
                   SELECT ((length(w.body) - length(replace(w.body, p.text, ''))) / length(p.text))::float8 AS times
                   OFFSET 0) n) AS score
               FROM ",
            $from,
            " JOIN #chat c ON c.no = b.chat
               WHERE w.lexemes @@ $1::text::tsquery AND c.user_id = $4 AND w.role = ANY($5::smallint[])
               OFFSET 0)
             SELECT pos, score, id, user_id FROM hit
             WHERE score IS NOT NULL AND ($6::float8 IS NULL OR score < $6 OR score = $6 AND pos < $7)
             ORDER BY score DESC, pos DESC LIMIT $8"
        )
    };
}

statements! {
    // The store.
    VERSIONS = "SELECT version, checksum FROM #context_migrations ORDER BY version";
    /// The settings fixed at creation, whether the tables have policies, whether these apply to
    /// this role, and the number of partitions of table $2, which is 1 if it is not divided.
    STORE = "SELECT s.full_text, c.relrowsecurity, row_security_active(c.oid),
          greatest(1, (SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass($2)))
        FROM #store s, pg_class c WHERE c.oid = to_regclass($1)";
    /// The settings that durability depends on, whether the schema has the table of migrations $1,
    /// and whether the schema $2 has any table other than those of extensions.
    SERVER = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
        current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'),
        to_regclass($1) IS NOT NULL,
        EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = to_regnamespace($2) AND NOT EXISTS (
          SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))";
    /// Names the user of the transaction, which the policies of row-level security read.
    SET_USER = "SELECT set_config('context.user_id', encode($1, 'hex'), true)";

    // Chats.
    CHAT_NO = "SELECT no FROM #chat WHERE user_id = $1 AND id = $2";
    /// Locks a chat for writing. Everything that is read afterwards is unchanged until the
    /// transaction ends.
    LOCK_CHAT = "SELECT no FROM #chat WHERE user_id = $1 AND id = $2 FOR NO KEY UPDATE";
    CHAT = "SELECT no, id, title, metadata, active, created_at, updated_at, amended, time_sum, active_sum FROM #chat WHERE user_id = $1 AND id = $2";
    /// The number of the new chat, or no row if the name exists.
    CREATE_CHAT = "INSERT INTO #chat (user_id, id, title, metadata, active, created_at, updated_at, minute, active_sum, time_sum, beside)
        VALUES ($1, $2, $3, $4, $5, $6, $6, $6::bigint / 60000000, $7, ~$6::bigint, 0) ON CONFLICT (user_id, id) DO NOTHING RETURNING no";
    LIST = concat!(summary!(), " FROM (
          SELECT * FROM #chat WHERE user_id = $1 AND minute <= $2::bigint / 60000000 AND (updated_at, no) < ($2, $3)
          ORDER BY minute DESC, updated_at DESC, no DESC LIMIT $4) c
        ORDER BY c.updated_at DESC, c.no DESC");
    /// The next $2 users after $1 who have a chat, a round of a trajectory or a memory. Each user
    /// costs one lookup per index, however many rows they have.
    USERS = concat!("WITH RECURSIVE u (id) AS (SELECT ", next_user!("$1"), "
          UNION ALL SELECT ", next_user!("u.id"), " FROM u WHERE u.id IS NOT NULL)
        SELECT id FROM u WHERE id IS NOT NULL LIMIT $2");
    UPDATE_CHAT = "UPDATE #chat SET title = $2, metadata = $3 WHERE no = $1";
    ACTIVATE = "UPDATE #chat SET active = $2, active_sum = $3 WHERE no = $1";
    CHANGE_GENERATION = "UPDATE #chat SET amended = amended + 1,
        time_sum = int8xor(int8xor(time_sum, amended << 32), (amended + 1) << 32) WHERE no = $1";
    /// Records a write at $2.
    TOUCH_CHAT = "UPDATE #chat SET updated_at = greatest(updated_at, $2), minute = greatest(updated_at, $2) / 60000000,
        time_sum = int8xor(int8xor(time_sum, updated_at), greatest(updated_at, $2)) WHERE no = $1";
    CHAT_SIZE = "SELECT
        (SELECT coalesce(sum(own), 0)::bigint FROM #branch WHERE chat = c.no),
        (SELECT coalesce(sum(octet_length(r.data)), 0)::bigint FROM #branch b
          JOIN #run r ON r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own WHERE b.chat = c.no),
        (SELECT coalesce(sum(octet_length(record)), 0)::bigint FROM #revision WHERE chat = c.no)
        FROM #chat c WHERE c.user_id = $1 AND c.id = $2";

    // Deletes the rows of a chat, in this order. The other rows are deleted by cascade.
    FORGET_RUNS_OF = "DELETE FROM #run r USING #branch b
        WHERE b.chat = $1 AND r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own";
    FORGET_BOUNDARIES_OF = "DELETE FROM #boundary r USING #branch b
        WHERE b.chat = $1 AND r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own";
    FORGET_WORDS_OF = "DELETE FROM #words r USING #branch b
        WHERE b.chat = $1 AND r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own";
    FORGET_NODES_OF = "DELETE FROM #node WHERE chat = $1";
    FORGET_BRANCHES_OF = "DELETE FROM #branch WHERE chat = $1";
    DELETE_CHAT = "DELETE FROM #chat WHERE no = $1";

    // Branches and checkpoints.
    BRANCH = "SELECT no, own, head FROM #branch WHERE chat = $1 AND name = $2";
    BRANCHES = "SELECT no, name, head, base, own, parent, created_at, chat, sum FROM #branch
        WHERE chat = $1 AND name IS NOT NULL ORDER BY no";
    /// The branches of a chat with its active branch, or no row if the chat does not exist.
    BRANCHES_OF = "SELECT b.no, b.name, b.head, b.base, b.own, b.parent, b.created_at, b.chat, b.sum, c.active, c.active_sum
        FROM #chat c JOIN #branch b ON b.chat = c.no AND b.name IS NOT NULL
        WHERE c.user_id = $1 AND c.id = $2 ORDER BY b.no";
    RENAME_BRANCH = "UPDATE #branch SET name = $2, sum = $3 || substring(sum FROM 5) WHERE no = $1";
    /// Renames the active branch of chat $1 from $2 to $3.
    RENAME_ACTIVE = "UPDATE #chat SET active = $3, active_sum = $4 WHERE no = $1 AND active = $2";
    UNNAME_BRANCH = "UPDATE #branch SET name = NULL, head = NULL, sum = $2 || substring(sum FROM 5) WHERE no = $1";
    /// Returns the number of the new row, like all statements that add a numbered row.
    CREATE_BRANCH = counted!("INSERT INTO #branch (chat, name, parent, base, own, head, created_at, sum)
        VALUES ($1, $2, $3, $4, 0, $5, $6, $7) RETURNING chat, no AS n");
    MOVE_BRANCH = "UPDATE #branch SET own = $2, head = $3 WHERE no = $1";
    /// All segments of a chat: the branches, and the deleted ones that are still needed.
    SEGMENTS = "SELECT no, name, head, base, own, parent, created_at, chat, sum FROM #branch WHERE chat = $1 ORDER BY no";
    SEGMENT = "SELECT no, name, head, base, own, parent, created_at, chat, sum FROM #branch WHERE no = $1";
    /// The newest place of branch $1 that a fork or a checkpoint of chat $2 needs.
    NEEDED = "SELECT greatest(
        coalesce((SELECT max(parent) FROM #branch WHERE parent BETWEEN $1 << 32 AND ($1 << 32) + 4294967295), 0),
        coalesce((SELECT max(n.pos) FROM #checkpoint c JOIN #node n ON n.chat = c.chat AND n.id = c.message
          WHERE c.chat = $2 AND n.pos >> 32 = $1), 0))";
    CUT_BRANCH = "UPDATE #branch SET own = $2 WHERE no = $1";
    DELETE_BRANCH = counted!("DELETE FROM #branch WHERE no = $1 RETURNING chat, -no AS n");
    CHECKPOINT = "SELECT n.pos, c.message FROM #checkpoint c JOIN #node n ON n.chat = c.chat AND n.id = c.message
        WHERE c.chat = $1 AND c.name = $2";
    /// Returns a row of NULLs if the chat has no checkpoint.
    CHECKPOINTS = "SELECT k.name, k.message, k.created_at, k.sum FROM #chat c LEFT JOIN #checkpoint k ON k.chat = c.no
        WHERE c.user_id = $1 AND c.id = $2 ORDER BY k.name";
    SET_CHECKPOINT = counted!("INSERT INTO #checkpoint (chat, name, message, created_at, sum) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (chat, name) DO UPDATE SET message = excluded.message, created_at = excluded.created_at, sum = excluded.sum
        RETURNING chat, CASE WHEN EXISTS (SELECT FROM #checkpoint WHERE chat = $1 AND name = $2) THEN 0 ELSE 1 END AS n");
    DELETE_CHECKPOINT = counted!("DELETE FROM #checkpoint WHERE chat = $1 AND name = $2 RETURNING chat, -1 AS n");

    // Leases.
    LEASE = "SELECT lease_until, lease FROM #chat WHERE no = $1";
    SET_LEASE = "UPDATE #chat SET lease_until = $2, lease = $3 WHERE no = $1";

    // Messages.
    APPEND = append!(one_run!(), "");
    APPEND_WORDS = append!(one_run!(), words_of_append!());
    APPEND_MERGING = append!(merged_run!(), "");
    APPEND_MERGING_WORDS = append!(merged_run!(), words_of_append!());
    APPEND_FLUSHED = flushed!(append!(one_run!(), ""));
    APPEND_WORDS_FLUSHED = flushed!(append!(one_run!(), words_of_append!()));
    APPEND_MERGING_FLUSHED = flushed!(append!(merged_run!(), ""));
    APPEND_MERGING_WORDS_FLUSHED = flushed!(append!(merged_run!(), words_of_append!()));
    APPEND_UNFLUSHED = unflushed!(append!(one_run!(), ""));
    APPEND_WORDS_UNFLUSHED = unflushed!(append!(one_run!(), words_of_append!()));
    APPEND_MERGING_UNFLUSHED = unflushed!(append!(merged_run!(), ""));
    APPEND_MERGING_WORDS_UNFLUSHED = unflushed!(append!(merged_run!(), words_of_append!()));
    APPEND_GROUP = append_group!("");
    APPEND_GROUP_WORDS = append_group!(words_of_group!());
    APPEND_GROUP_FLUSHED = flushed!(append_group!(""));
    APPEND_GROUP_WORDS_FLUSHED = flushed!(append_group!(words_of_group!()));
    APPEND_GROUP_UNFLUSHED = unflushed!(append_group!(""));
    APPEND_GROUP_WORDS_UNFLUSHED = unflushed!(append_group!(words_of_group!()));
    /// Returns the number of messages of a branch's chain, if it still ends with message $4, in a
    /// chat whose generation still is $5.
    STILL_ENDS_ONE = still_ends!("$1", "$2", "$3", "$4", "$5");
    /// The same for several branches. Each is looked up in a subquery of its own, as in the append
    /// to several.
    STILL_ENDS = concat!("SELECT i.n, s.length
        FROM unnest((SELECT $1::bytea[]), $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[]) WITH ORDINALITY
          i (user_id, chat_id, name, head, generation, n)
        CROSS JOIN LATERAL (", still_ends!("i.user_id", "i.chat_id", "i.name", "i.head", "i.generation"), " OFFSET 0) s");
    ADD_RUNS = "INSERT INTO #run (pos, weight, data)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])";
    /// Merges the runs that begin at places from $1 to $2, unless the merged run would be too
    /// large.
    MERGE = concat!("WITH gone AS (
          DELETE FROM #run WHERE pos BETWEEN $1 AND $2 AND (
            SELECT sum(octet_length(data)) FROM #run WHERE pos BETWEEN $1 AND $2) <= ", merged_bytes!(), "
          RETURNING pos, weight, data)
        INSERT INTO #run (pos, weight, data)
          SELECT min(pos), sum(weight)::bigint, string_agg(data, ''::bytea ORDER BY pos) FROM gone
          HAVING count(*) > 0");
    ADD_NODES = "INSERT INTO #node (chat, id, pos)
        SELECT $1, i.id, $3 + i.n - 1 FROM unnest($2::bytea[]) WITH ORDINALITY i (id, n)";
    ADD_BOUNDARIES = "INSERT INTO #boundary (pos) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING";
    REMOVE_BOUNDARY = "DELETE FROM #boundary WHERE pos = $1";
    LOCATIONS = "SELECT n.id, n.pos, b.base, b.parent FROM unnest($2::bytea[]) i (id)
        JOIN #node n ON n.chat = $1 AND n.id = i.id JOIN #branch b ON b.no = n.pos >> 32";
    /// The run that holds a place.
    RUN_AT = "SELECT pos, data FROM #run WHERE pos <= $1 ORDER BY pos DESC LIMIT 1";
    /// Returns the runs that hold these places.
    RUNS_AT = "SELECT pos, data FROM #run WHERE pos IN (
        SELECT (SELECT max(r.pos) FROM #run r WHERE r.pos <= i.pos) FROM unnest($1::bigint[]) i (pos))";
    /// A few runs, from the one that holds $1 up to place $2.
    RUNS_FROM = "SELECT pos, data FROM #run
        WHERE pos >= coalesce((SELECT max(pos) FROM #run WHERE pos <= $1), $1) AND pos <= $2 ORDER BY pos LIMIT 16";
    REWRITE_RUN = "UPDATE #run SET data = $2, weight = $3 WHERE pos = $1";
    ADD_REVISION = counted!("INSERT INTO #revision (chat, id, record, replaced_at) VALUES ($1, $2, $3, $4)
        RETURNING chat, no AS n");
    /// Deletes runs, boundaries and words at places from $1 to $2.
    FORGET_RUNS = "DELETE FROM #run WHERE pos BETWEEN $1 AND $2";
    FORGET_BOUNDARIES = "DELETE FROM #boundary WHERE pos BETWEEN $1 AND $2";
    FORGET_WORDS = "DELETE FROM #words WHERE pos BETWEEN $1 AND $2";
    FORGET_NODES = "DELETE FROM #node WHERE chat = $1 AND id = ANY($2::bytea[])";
    FORGET_REVISIONS = counted!("DELETE FROM #revision WHERE chat = $1 AND id = ANY($2::bytea[])
        RETURNING chat, -no AS n");
    REVISIONS = "SELECT r.record, r.replaced_at, r.no FROM #chat c LEFT JOIN #revision r ON r.chat = c.no AND r.id = $3
        WHERE c.user_id = $1 AND c.id = $2 ORDER BY r.no";
    /// The segments of a chain: the first and the last place of each.
    LINEAGE = "WITH RECURSIVE piece (lo, cut, parent) AS (
        SELECT no << 32, (no << 32) + own, parent FROM #branch WHERE chat = $1 AND name = $2
        UNION ALL
        SELECT b.no << 32, p.parent, b.parent FROM piece p JOIN #branch b ON b.no = p.parent >> 32)
        SELECT lo, cut FROM piece";

    // Full text.
    ADD_WORDS = "INSERT INTO #words (pos, role, length, body, lexemes)
        SELECT i.pos, i.role, i.length, i.body, i.lexemes::tsvector
        FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[], $5::text[])
          i (pos, role, length, body, lexemes)";
    HITS_OF_USER = hits!("", "#words w JOIN #branch b ON b.no = w.pos >> 32");
    HITS_OF_CHAT = hits!("", "#words w JOIN #branch b ON b.no = w.pos >> 32 AND b.chat = $9");
    HITS_OF_BRANCH = hits!(
        ", piece (no, lo, cut, parent) AS (
           SELECT no, no << 32, (no << 32) + own, parent FROM #branch WHERE chat = $9 AND name = $10
           UNION ALL
           SELECT b.no, b.no << 32, p.parent, b.parent FROM piece p JOIN #branch b ON b.no = p.parent >> 32)",
        "#words w JOIN piece p ON p.no = w.pos >> 32 AND w.pos <= p.cut JOIN #branch b ON b.no = p.no AND b.chat = $9"
    );
    /// The number of messages at places $1 whose indexed words differ from $2.
    OTHER_LEXEMES = "SELECT count(*) FROM unnest($1::bigint[], $2::text[]) i (pos, lexemes)
        JOIN #words w ON w.pos = i.pos WHERE w.lexemes <> i.lexemes::tsvector";
    WORDS_OF = "SELECT pos, role, length, body FROM #words WHERE pos BETWEEN $1 AND $2";

    // Chains.
    WHOLE = of_branch!(whole);
    WHOLE_OF = of_message!(whole);
    LAST = of_branch!(window, { "$4", from_depth });
    LAST_OF = of_message!(window, { "$4", from_depth });
    BOUNDARY = of_branch!(window, { "0", from_boundary });
    BOUNDARY_OF = of_message!(window, { "0", from_boundary });
    AFTER = of_branch!(window, { "0", from_message });
    AFTER_OF = of_message!(window, { "0", from_message });
    OPEN = opening!(from_boundary);
    OPEN_AFTER = opening!(from_message);
    TOKENS = of_branch!(tokens);
    TOKENS_OF = of_message!(tokens);

    // Commits with a key.
    APPLIED = concat!("SELECT digest, branch, head, sum = ", applied_sum!("key", "digest", "branch", "head"), "
        FROM #applied WHERE chat = $1 AND key = $2");
    REMEMBER = counted!(concat!("INSERT INTO #applied (chat, key, digest, branch, head, sum) VALUES ($1, $2, $3, $4, $5, ",
        applied_sum!("$2::bytea", "$3::bytea", "$4::bytea", "$5::bytea"), ") RETURNING chat, 1 AS n"));

    // Fragments.
    FRAGMENTS_OF = "SELECT f.no, f.id, f.kind, f.version, f.metadata, f.body
        FROM #chat c LEFT JOIN #fragment f ON f.chat = c.no WHERE c.user_id = $1 AND c.id = $2 ORDER BY f.no";
    FRAGMENTS = "SELECT no, id, kind, version, metadata, body FROM #fragment WHERE chat = $1 ORDER BY no";
    ADD_FRAGMENT = counted!("INSERT INTO #fragment (chat, id, kind, version, metadata, body)
        VALUES ($1, $2, $3, $4, $5, $6) RETURNING chat, no AS n");
    REPLACE_FRAGMENT = "UPDATE #fragment SET kind = $2, version = $3, metadata = $4, body = $5 WHERE no = $1";
    REMOVE_FRAGMENT = counted!("DELETE FROM #fragment WHERE chat = $1 AND id = $2 RETURNING chat, -no AS n");

    // Maintenance.
    /// The next chat of a user, with its number of messages.
    CHAT_OF = "SELECT c.id, (SELECT coalesce(sum(own), 0)::bigint FROM #branch WHERE chat = c.no)
        FROM #chat c WHERE c.user_id = $1 ORDER BY c.no LIMIT 1";
    /// Counts the rows of a user and the rows that belong to no user.
    REMAINING = "SELECT (SELECT count(*) FROM #chat WHERE user_id = $1)
        + (SELECT count(*) FROM #node n WHERE NOT EXISTS (SELECT FROM #chat c WHERE c.no = n.chat AND c.user_id <> $1))
        + (SELECT count(*) FROM #run r WHERE NOT EXISTS (SELECT FROM #branch b JOIN #chat c ON c.no = b.chat
            WHERE b.no = r.pos >> 32 AND c.user_id <> $1))
        + (SELECT count(*) FROM #boundary r WHERE NOT EXISTS (SELECT FROM #branch b JOIN #chat c ON c.no = b.chat
            WHERE b.no = r.pos >> 32 AND c.user_id <> $1))
        + (SELECT count(*) FROM #words r WHERE NOT EXISTS (SELECT FROM #branch b JOIN #chat c ON c.no = b.chat
            WHERE b.no = r.pos >> 32 AND c.user_id <> $1))";
    TABLES = "SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'";
    SERVER_FACTS = "SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    SIZE = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'";
    CHAT_AFTER = "SELECT no, user_id, id FROM #chat WHERE no > $1 ORDER BY no LIMIT 1";
    /// The setting fixed when the schema was created. NULL if the row was lost.
    FULL_TEXT_SETTING = "SELECT bool_or(full_text) FROM #store";
    /// Rows of chats that do not exist: their tables, and the numbers of the chats.
    STRAYS_OF_CHATS = concat!(of_no_chat!("branch"), " UNION ALL ", of_no_chat!("revision"), " UNION ALL ",
        of_no_chat!("checkpoint"), " UNION ALL ", of_no_chat!("applied"), " UNION ALL ",
            of_no_chat!("fragment"), " UNION ALL ", of_no_chat!("fragment_version"), " UNION ALL ",
        of_no_chat!("ref_change"), " UNION ALL ",
        of_no_chat!("blob_ref"), " UNION ALL ", of_no_chat!("stream"));
    /// The stored and the actual sum of a chat's rows other than messages, whether the chat is
    /// listed at the time of its last write, and the number of commit keys that disagree with their
    /// checksum.
    CHAT_COUNTS = concat!("SELECT c.beside, (SELECT coalesce(sum(no), 0)::bigint FROM #branch WHERE chat = c.no)
          + (SELECT coalesce(sum(no), 0)::bigint FROM #fragment WHERE chat = c.no)
          + (SELECT coalesce(sum(number), 0)::bigint FROM #fragment_version WHERE chat = c.no)
          + (SELECT coalesce(sum(number), 0)::bigint FROM #ref_change WHERE chat = c.no)
          + (SELECT coalesce(sum(no), 0)::bigint FROM #revision WHERE chat = c.no)
          + (SELECT count(*) FROM #checkpoint WHERE chat = c.no) + (SELECT count(*) FROM #applied WHERE chat = c.no),
          c.minute = c.updated_at / 60000000,
          (SELECT count(*) FROM #applied WHERE chat = c.no AND sum <> ", applied_sum!("key", "digest", "branch", "head"), ")
        FROM #chat c WHERE c.no = $1");
    NODES = "SELECT id, pos FROM #node WHERE chat = $1";
    BOUNDARIES = "SELECT pos FROM #boundary WHERE pos BETWEEN $1 AND $2 ORDER BY pos";
    WEIGHTS = "SELECT pos, weight FROM #run WHERE pos BETWEEN $1 AND $2";
    STRAY_RUNS = "SELECT pos FROM #run r WHERE NOT EXISTS (
        SELECT FROM #branch b WHERE b.no = r.pos >> 32 AND r.pos & 4294967295 BETWEEN 1 AND b.own)";
    STRAY_BOUNDARIES = "SELECT pos FROM #boundary r WHERE NOT EXISTS (
        SELECT FROM #branch b WHERE b.no = r.pos >> 32 AND r.pos & 4294967295 BETWEEN 1 AND b.own)";
    STRAY_WORDS = "SELECT pos FROM #words r WHERE NOT EXISTS (
        SELECT FROM #branch b WHERE b.no = r.pos >> 32 AND r.pos & 4294967295 BETWEEN 1 AND b.own)";
    STRAY_NODES = "SELECT pos FROM #node n WHERE NOT EXISTS (SELECT FROM #chat c WHERE c.no = n.chat)";
    /// The revisions of a chat, and the place of the message of each, if it exists.
    ALL_REVISIONS = "SELECT r.record, r.id, n.pos, r.replaced_at FROM #revision r LEFT JOIN #node n ON n.chat = r.chat AND n.id = r.id
        WHERE r.chat = $1";
}

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Executor, SqlSafeStr};

    use super::*;
    use crate::connections::{Pool, Work};
    use crate::{PostgresConfig, schema};

    #[tokio::test]
    #[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
    async fn every_statement_fits_the_schema() {
        let url = context_conformance::server_url("CONTEXT_TEST_POSTGRES_URL");
        let name = format!("statements \"{}\"", std::process::id());
        let config = PostgresConfig::from_url(&url).unwrap().schema(name).connections(1);
        let pool = Pool::new(&config);
        let mut session = pool.begin(Work::Maintain, None).await.unwrap();
        schema::open(&mut session, &config).await.unwrap_or_else(|fault| panic!("{fault:?}"));
        let mut wrong = Vec::new();
        let load = [("LOAD", rounds::LOAD.as_str()), ("STRAY_ROWS", rounds::STRAY_ROWS.as_str())];
        let others = blobs::ALL
            .iter()
            .chain(fragment_versions::ALL)
            .chain(ref_log::ALL)
            .chain(streams::ALL)
            .chain(rounds::ALL)
            .chain(memories::ALL)
            .chain(&load);
        for (name, text) in ALL.iter().chain(others) {
            let statement = AssertSqlSafe(text.replace('#', session.prefix()));
            if let Err(error) = session.connection().prepare(statement.into_sql_str()).await {
                wrong.push(format!("{name}: {error}"));
            }
        }
        let drop = format!("DROP SCHEMA {} CASCADE", session.prefix().trim_end_matches('.'));
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(session.connection()).await.unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
