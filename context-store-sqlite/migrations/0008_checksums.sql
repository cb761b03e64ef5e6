-- Every row that content is kept in has a checksum, which reading compares. They are computed by the program, as are
-- those within runs and revisions, in the same transaction: none is left NULL.
ALTER TABLE chat ADD COLUMN sum INTEGER;
-- Of how often it was amended.
ALTER TABLE chat ADD COLUMN amended_sum INTEGER NOT NULL DEFAULT 0;
UPDATE chat SET amended_sum = amended * 1000003;
-- Of the names, which never change.
ALTER TABLE chat ADD COLUMN name_sum INTEGER;
ALTER TABLE branch ADD COLUMN sum INTEGER;
ALTER TABLE revision ADD COLUMN sum INTEGER;
ALTER TABLE checkpoint ADD COLUMN sum INTEGER;
ALTER TABLE applied ADD COLUMN sum INTEGER;
ALTER TABLE fragment ADD COLUMN sum INTEGER;
ALTER TABLE blob ADD COLUMN sum INTEGER;
ALTER TABLE blob_piece ADD COLUMN sum INTEGER;
ALTER TABLE blob_ref ADD COLUMN sum INTEGER;
ALTER TABLE stream ADD COLUMN sum INTEGER;
ALTER TABLE stream_chunk ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_round ADD COLUMN sum INTEGER;
-- How many edges it has, and how many versions and messages its nodes have, each with a weight of its own.
ALTER TABLE trajectory_round ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trajectory_query ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_state ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_action ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_response ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_knowledge ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_tool ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_table ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_column ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_file ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_script ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_skill ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_edge ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_version ADD COLUMN sum INTEGER;
ALTER TABLE trajectory_message ADD COLUMN sum INTEGER;
ALTER TABLE memory_scope ADD COLUMN sum INTEGER;
ALTER TABLE memory_kind ADD COLUMN sum INTEGER;
ALTER TABLE memory_session ADD COLUMN sum INTEGER;
ALTER TABLE memory ADD COLUMN sum INTEGER;
ALTER TABLE memory_word ADD COLUMN sum INTEGER;
ALTER TABLE memory_vector ADD COLUMN sum INTEGER;

-- What is counted or changes with every append has a checksum that SQL can compute: each number times a prime of its own.
-- Times are taken modulo a prime, so that nothing overflows.
ALTER TABLE chat ADD COLUMN time_sum INTEGER;
UPDATE chat SET time_sum = updated_at % 4294967291 + moved * 1000003;
DROP TRIGGER settle_chats;
CREATE TRIGGER settle_chats AFTER INSERT ON branch BEGIN
  UPDATE chat SET moved = 0,
      updated_at = max(updated_at, (SELECT max(touched) FROM branch WHERE branch.chat = chat.no)),
      time_sum = max(updated_at, (SELECT max(touched) FROM branch WHERE branch.chat = chat.no)) % 4294967291
    WHERE no IN (
      SELECT m.no FROM chat m WHERE m.user = (SELECT user FROM chat WHERE no = NEW.chat) AND m.moved = 1
      ORDER BY m.updated_at / 60000000, m.updated_at LIMIT 4);
END;
ALTER TABLE branch ADD COLUMN own_sum INTEGER;
UPDATE branch SET own_sum = own * 1000003 + touched % 4294967291;
ALTER TABLE memory_scope ADD COLUMN count_sum INTEGER;
UPDATE memory_scope SET count_sum = records * 1000003 + words * 1000033;
ALTER TABLE memory_kind ADD COLUMN count_sum INTEGER;
UPDATE memory_kind SET count_sum = records * 1000003 + bytes * 1000033 + vectors * 1000037;
ALTER TABLE memory_last ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE memory_last SET sum = place * 1000003 + word * 1000033;

-- How much there is of what is listed. A page that is lost leaves a shorter list, which is compared with these. Rows that
-- are added or removed change them; an append adds and removes none of these. Sums change as the numbers do, so that a
-- damaged one stays so.
CREATE TABLE chat_tally (
  chat INTEGER PRIMARY KEY,
  branches INTEGER NOT NULL DEFAULT 0,
  checkpoints INTEGER NOT NULL DEFAULT 0,
  fragments INTEGER NOT NULL DEFAULT 0,
  blobs INTEGER NOT NULL DEFAULT 0,
  streams INTEGER NOT NULL DEFAULT 0,
  revisions INTEGER NOT NULL DEFAULT 0,
  sum INTEGER NOT NULL
) STRICT;
-- Whoever has something: a row goes with the last of it.
CREATE TABLE user_tally (
  user TEXT PRIMARY KEY,
  chats INTEGER NOT NULL DEFAULT 0,
  rounds INTEGER NOT NULL DEFAULT 0,
  -- Links of nodes to messages.
  links INTEGER NOT NULL DEFAULT 0,
  -- Scopes of memories.
  scopes INTEGER NOT NULL DEFAULT 0,
  sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE store_tally (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  users INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  -- The checksum of what the file is made of: tables, indexes, views, triggers.
  schema INTEGER
) STRICT;
INSERT INTO store_tally (one, users, sum) VALUES (1, 0, 999983);
-- How many records come from a session.
ALTER TABLE memory_session ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory_session ADD COLUMN count_sum INTEGER;
UPDATE memory_session SET records = (SELECT count(*) FROM memory m WHERE m.session = memory_session.no);
UPDATE memory_session SET count_sum = records * 1000003;

INSERT INTO chat_tally (chat, branches, checkpoints, fragments, blobs, streams, revisions, sum) SELECT no,
    (SELECT count(*) FROM branch r WHERE r.chat = c.no),
    (SELECT count(*) FROM checkpoint r WHERE r.chat = c.no),
    (SELECT count(*) FROM fragment r WHERE r.chat = c.no),
    (SELECT count(*) FROM blob_ref r WHERE r.chat = c.no),
    (SELECT count(*) FROM stream r WHERE r.chat = c.no),
    (SELECT count(*) FROM revision r WHERE r.chat = c.no), 0
  FROM chat c;
UPDATE chat_tally SET sum = chat * 999983 + branches * 1000003 + checkpoints * 1000033 + fragments * 1000037
  + blobs * 1000039 + streams * 1000081 + revisions * 1000099;

CREATE TRIGGER tally_user AFTER INSERT ON user_tally BEGIN
  UPDATE store_tally SET users = users + 1, sum = sum + 1000003;
END;
CREATE TRIGGER untally_user AFTER DELETE ON user_tally BEGIN
  UPDATE store_tally SET users = users - 1, sum = sum - 1000003;
END;
CREATE TRIGGER forget_user AFTER UPDATE ON user_tally
WHEN NEW.chats = 0 AND NEW.rounds = 0 AND NEW.links = 0 AND NEW.scopes = 0 BEGIN
  DELETE FROM user_tally WHERE user = NEW.user;
END;
INSERT INTO user_tally (user, chats, rounds, links, scopes, sum)
  SELECT user, sum(chats), sum(rounds), sum(links), sum(scopes), 0 FROM (
    SELECT user, count(*) AS chats, 0 AS rounds, 0 AS links, 0 AS scopes FROM chat GROUP BY user
    UNION ALL SELECT user, 0, count(*), 0, 0 FROM trajectory_round GROUP BY user
    UNION ALL SELECT user, 0, 0, count(*), 0 FROM trajectory_message GROUP BY user
    UNION ALL SELECT user, 0, 0, 0, count(*) FROM memory_scope GROUP BY user) GROUP BY user;
UPDATE user_tally SET sum = chats * 1000003 + rounds * 1000033 + links * 1000037 + scopes * 1000039;

CREATE TRIGGER tally_chat AFTER INSERT ON chat BEGIN
  INSERT INTO chat_tally (chat, sum) VALUES (NEW.no, NEW.no * 999983);
  INSERT INTO user_tally (user, chats, sum) VALUES (NEW.user, 1, 1000003)
    ON CONFLICT (user) DO UPDATE SET chats = chats + 1, sum = sum + 1000003;
END;
CREATE TRIGGER untally_chat AFTER DELETE ON chat BEGIN
  DELETE FROM chat_tally WHERE chat = OLD.no;
  UPDATE user_tally SET chats = chats - 1, sum = sum - 1000003 WHERE user = OLD.user;
END;

CREATE TRIGGER tally_trajectory_round AFTER INSERT ON trajectory_round BEGIN
  INSERT INTO user_tally (user, rounds, sum) VALUES (NEW.user, 1, 1000033)
    ON CONFLICT (user) DO UPDATE SET rounds = rounds + 1, sum = sum + 1000033;
END;
CREATE TRIGGER untally_trajectory_round AFTER DELETE ON trajectory_round BEGIN
  UPDATE user_tally SET rounds = rounds - 1, sum = sum - 1000033 WHERE user = OLD.user;
END;

UPDATE trajectory_round SET beside =
  1000003 * (SELECT count(*) FROM trajectory_version WHERE round = no)
  + 1000033 * (SELECT count(*) FROM trajectory_message WHERE round = no)
  + 1000037 * (SELECT count(*) FROM trajectory_edge WHERE round = no);
-- Edges are counted by the statement that writes the round.
CREATE TRIGGER untally_trajectory_edge AFTER DELETE ON trajectory_edge BEGIN
  UPDATE trajectory_round SET beside = beside - 1000037 WHERE no = OLD.round;
END;
CREATE TRIGGER tally_trajectory_version AFTER INSERT ON trajectory_version BEGIN
  UPDATE trajectory_round SET beside = beside + 1000003 WHERE no = NEW.round;
END;
CREATE TRIGGER untally_trajectory_version AFTER DELETE ON trajectory_version BEGIN
  UPDATE trajectory_round SET beside = beside - 1000003 WHERE no = OLD.round;
END;

CREATE TRIGGER tally_trajectory_message AFTER INSERT ON trajectory_message BEGIN
  UPDATE trajectory_round SET beside = beside + 1000033 WHERE no = NEW.round;
  INSERT INTO user_tally (user, links, sum) VALUES (NEW.user, 1, 1000037)
    ON CONFLICT (user) DO UPDATE SET links = links + 1, sum = sum + 1000037;
END;
CREATE TRIGGER untally_trajectory_message AFTER DELETE ON trajectory_message BEGIN
  UPDATE trajectory_round SET beside = beside - 1000033 WHERE no = OLD.round;
  UPDATE user_tally SET links = links - 1, sum = sum - 1000037 WHERE user = OLD.user;
END;

CREATE TRIGGER tally_memory_scope AFTER INSERT ON memory_scope BEGIN
  INSERT INTO user_tally (user, scopes, sum) VALUES (NEW.user, 1, 1000039)
    ON CONFLICT (user) DO UPDATE SET scopes = scopes + 1, sum = sum + 1000039;
END;
CREATE TRIGGER untally_memory_scope AFTER DELETE ON memory_scope BEGIN
  UPDATE user_tally SET scopes = scopes - 1, sum = sum - 1000039 WHERE user = OLD.user;
END;

CREATE TRIGGER tally_branch AFTER INSERT ON branch BEGIN
  UPDATE chat_tally SET branches = branches + 1, sum = sum + 1000003 WHERE chat = NEW.chat;
END;
CREATE TRIGGER untally_branch AFTER DELETE ON branch BEGIN
  UPDATE chat_tally SET branches = branches - 1, sum = sum - 1000003 WHERE chat = OLD.chat;
END;

CREATE TRIGGER tally_checkpoint AFTER INSERT ON checkpoint BEGIN
  UPDATE chat_tally SET checkpoints = checkpoints + 1, sum = sum + 1000033 WHERE chat = NEW.chat;
END;
CREATE TRIGGER untally_checkpoint AFTER DELETE ON checkpoint BEGIN
  UPDATE chat_tally SET checkpoints = checkpoints - 1, sum = sum - 1000033 WHERE chat = OLD.chat;
END;

CREATE TRIGGER tally_fragment AFTER INSERT ON fragment BEGIN
  UPDATE chat_tally SET fragments = fragments + 1, sum = sum + 1000037 WHERE chat = NEW.chat;
END;
CREATE TRIGGER untally_fragment AFTER DELETE ON fragment BEGIN
  UPDATE chat_tally SET fragments = fragments - 1, sum = sum - 1000037 WHERE chat = OLD.chat;
END;

CREATE TRIGGER tally_blob_ref AFTER INSERT ON blob_ref BEGIN
  UPDATE chat_tally SET blobs = blobs + 1, sum = sum + 1000039 WHERE chat = NEW.chat;
END;
CREATE TRIGGER untally_blob_ref AFTER DELETE ON blob_ref BEGIN
  UPDATE chat_tally SET blobs = blobs - 1, sum = sum - 1000039 WHERE chat = OLD.chat;
END;

CREATE TRIGGER tally_stream AFTER INSERT ON stream BEGIN
  UPDATE chat_tally SET streams = streams + 1, sum = sum + 1000081 WHERE chat = NEW.chat;
END;
CREATE TRIGGER untally_stream AFTER DELETE ON stream BEGIN
  UPDATE chat_tally SET streams = streams - 1, sum = sum - 1000081 WHERE chat = OLD.chat;
END;

CREATE TRIGGER tally_revision AFTER INSERT ON revision BEGIN
  UPDATE chat_tally SET revisions = revisions + 1, sum = sum + 1000099 WHERE chat = NEW.chat;
END;
CREATE TRIGGER untally_revision AFTER DELETE ON revision BEGIN
  UPDATE chat_tally SET revisions = revisions - 1, sum = sum - 1000099 WHERE chat = OLD.chat;
END;

CREATE TRIGGER tally_memory AFTER INSERT ON memory WHEN NEW.session IS NOT NULL BEGIN
  UPDATE memory_session SET records = records + 1, count_sum = count_sum + 1000003 WHERE no = NEW.session;
END;
CREATE TRIGGER untally_memory AFTER DELETE ON memory WHEN OLD.session IS NOT NULL BEGIN
  UPDATE memory_session SET records = records - 1, count_sum = count_sum - 1000003 WHERE no = OLD.session;
END;

-- As before, and the end of the branch gets its checksum. A file with full text gets `append_words.sql` instead.
DROP VIEW IF EXISTS append_one;
DROP VIEW IF EXISTS append_two;
DROP VIEW append;
DROP VIEW append_row;

CREATE VIEW append_one (branch, chat, expected, head, at, data, name) AS SELECT 0, 0, 0, '', 0, x'', '';
CREATE TRIGGER append_one_run INSTEAD OF INSERT ON append_one BEGIN
  UPDATE branch SET own = NEW.expected + 1, head = NEW.head, touched = max(touched, NEW.at),
      own_sum = (NEW.expected + 1) * 1000003 + max(touched, NEW.at) % 4294967291
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) VALUES (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 1);
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
END;

CREATE VIEW append_two (branch, chat, expected, first, head, at, data, name)
  AS SELECT 0, 0, 0, '', '', 0, x'', '';
CREATE TRIGGER append_two_run INSTEAD OF INSERT ON append_two BEGIN
  UPDATE branch SET own = NEW.expected + 2, head = NEW.head, touched = max(touched, NEW.at),
      own_sum = (NEW.expected + 2) * 1000003 + max(touched, NEW.at) % 4294967291
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) VALUES
    (NEW.chat, NEW.first, (NEW.branch << 32) + NEW.expected + 1),
    (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 2);
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
END;

CREATE VIEW append (branch, chat, expected, own, head, at, ids, data, merge_small, merge_large, name)
  AS SELECT 0, 0, 0, 0, '', 0, '', x'', 0, 0, '';
CREATE TRIGGER append_run INSTEAD OF INSERT ON append BEGIN
  UPDATE branch SET own = NEW.own, head = NEW.head, touched = max(touched, NEW.at),
      own_sum = NEW.own * 1000003 + max(touched, NEW.at) % 4294967291
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos)
    SELECT NEW.chat, value, (NEW.branch << 32) + NEW.expected + 1 + key FROM json_each(NEW.ids);
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  INSERT INTO merge SELECT (NEW.branch << 32) + NEW.merge_small, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.merge_small IS NOT NULL;
  INSERT INTO merge SELECT (NEW.branch << 32) + NEW.merge_large, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.merge_large IS NOT NULL;
END;

CREATE VIEW append_row (branch, chat, expected, first, head, at, data, small, large, name)
  AS SELECT 0, 0, 0, '', '', 0, x'', 0, 0, '';
CREATE TRIGGER append_row_run INSTEAD OF INSERT ON append_row WHEN NEW.branch IS NOT NULL BEGIN
  UPDATE branch SET own = NEW.expected + 1 + (NEW.first IS NOT NULL), head = NEW.head, touched = max(touched, NEW.at),
      own_sum = (NEW.expected + 1 + (NEW.first IS NOT NULL)) * 1000003 + max(touched, NEW.at) % 4294967291
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) SELECT NEW.chat, NEW.first, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.first IS NOT NULL;
  INSERT INTO node (chat, id, pos)
    VALUES (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 1 + (NEW.first IS NOT NULL));
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.small, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.large, (NEW.branch << 32) + NEW.expected + 1);
END;
