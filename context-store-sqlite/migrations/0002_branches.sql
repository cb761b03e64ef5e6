-- Branches are renamed and deleted. A branch without a name was deleted and is kept, cut down to the messages that
-- forks and checkpoints still reach.

DROP TRIGGER delete_chat;
DROP VIEW append_one;
DROP VIEW append_two;
DROP VIEW append;

CREATE TABLE branch_2 (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  chat INTEGER NOT NULL REFERENCES chat (no),
  name TEXT,
  -- The place it forks behind; nothing if it begins with a root.
  parent INTEGER,
  -- How many messages its chain has up to the parent.
  base INTEGER NOT NULL,
  own INTEGER NOT NULL,
  -- Nothing as well if it has no name.
  head TEXT,
  touched INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (chat, name)
) STRICT;
INSERT INTO branch_2 (no, chat, name, parent, base, own, head, touched, created_at)
  SELECT no, chat, name, parent, base, own, head, touched, created_at FROM branch ORDER BY no;
-- Numbers of deleted branches are not used again.
DELETE FROM sqlite_sequence WHERE name = 'branch_2';
INSERT INTO sqlite_sequence (name, seq) SELECT 'branch_2', seq FROM sqlite_sequence WHERE name = 'branch';
DROP TABLE branch;
ALTER TABLE branch_2 RENAME TO branch;
-- What forks behind a place.
CREATE INDEX branch_parent ON branch (parent) WHERE parent IS NOT NULL;

-- chat.updated_at is the newest write of all, unless `moved` is 1: then messages were appended later in the same
-- minute, and branch.touched says when. So a chat is seldom rewritten, and a listing looks closely at few.
DROP INDEX chat_recency;
ALTER TABLE chat DROP COLUMN recency;
ALTER TABLE chat ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
UPDATE chat SET updated_at = max(updated_at, (SELECT max(touched) FROM branch WHERE branch.chat = chat.no));
CREATE INDEX chat_settled ON chat (user, updated_at, no) WHERE moved = 0;
CREATE INDEX chat_moved ON chat (user, updated_at / 60000000, updated_at) WHERE moved = 1;

-- Every new branch, and so every new chat, settles a few moved chats of its user: so there are never many, however many
-- are written at once.
CREATE TRIGGER settle_chats AFTER INSERT ON branch BEGIN
  UPDATE chat SET moved = 0, updated_at = max(updated_at, (SELECT max(touched) FROM branch WHERE branch.chat = chat.no))
    WHERE no IN (
      SELECT m.no FROM chat m WHERE m.user = (SELECT user FROM chat WHERE no = NEW.chat) AND m.moved = 1
      ORDER BY m.updated_at / 60000000, m.updated_at LIMIT 4);
END;

-- As before, and a branch must still have its name: who appends knows it by its number and may not have heard.
CREATE VIEW append_one (branch, chat, expected, head, at, data, name) AS SELECT 0, 0, 0, '', 0, x'', '';
CREATE TRIGGER append_one_run INSTEAD OF INSERT ON append_one BEGIN
  UPDATE branch SET own = NEW.expected + 1, head = NEW.head, touched = max(touched, NEW.at)
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) VALUES (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 1);
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
END;

CREATE VIEW append_two (branch, chat, expected, first, head, at, data, name)
  AS SELECT 0, 0, 0, '', '', 0, x'', '';
CREATE TRIGGER append_two_run INSTEAD OF INSERT ON append_two BEGIN
  UPDATE branch SET own = NEW.expected + 2, head = NEW.head, touched = max(touched, NEW.at)
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) VALUES
    (NEW.chat, NEW.first, (NEW.branch << 32) + NEW.expected + 1),
    (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 2);
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
END;

CREATE VIEW append (branch, chat, expected, own, head, at, ids, data, merge_small, merge_large, name)
  AS SELECT 0, 0, 0, 0, '', 0, '', x'', 0, 0, '';
CREATE TRIGGER append_run INSTEAD OF INSERT ON append BEGIN
  UPDATE branch SET own = NEW.own, head = NEW.head, touched = max(touched, NEW.at)
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos)
    SELECT NEW.chat, value, (NEW.branch << 32) + NEW.expected + 1 + key FROM json_each(NEW.ids);
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  INSERT INTO merge SELECT (NEW.branch << 32) + NEW.merge_small, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.merge_small IS NOT NULL;
  INSERT INTO merge SELECT (NEW.branch << 32) + NEW.merge_large, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.merge_large IS NOT NULL;
END;

CREATE TRIGGER delete_chat BEFORE DELETE ON chat BEGIN
  DELETE FROM run WHERE pos IN (
    SELECT r.pos FROM branch b CROSS JOIN run r ON r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own
    WHERE b.chat = OLD.no);
  DELETE FROM boundary WHERE pos IN (
    SELECT r.pos FROM branch b CROSS JOIN boundary r ON r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own
    WHERE b.chat = OLD.no);
  DELETE FROM node WHERE chat = OLD.no;
  DELETE FROM revision WHERE chat = OLD.no;
  DELETE FROM checkpoint WHERE chat = OLD.no;
  DELETE FROM applied WHERE chat = OLD.no;
  DELETE FROM fragment WHERE chat = OLD.no;
  DELETE FROM branch WHERE chat = OLD.no;
END;
