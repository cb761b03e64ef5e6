-- A branch owns the messages that were written through it, numbered 1..own without a gap. The place of a
-- message is one number, branch.no << 32 | its number, so places of one chain sort from the root to the head:
-- a branch is always created after the one it forks from.

CREATE TABLE chat (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  user TEXT NOT NULL,
  id TEXT NOT NULL,
  title TEXT,
  metadata TEXT NOT NULL,
  active TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- The newest write to the chat itself; writes to a branch are in branch.touched.
  updated_at INTEGER NOT NULL,
  -- The minute of the newest write of all: the coarse order of listings, seldom rewritten.
  recency INTEGER NOT NULL,
  -- How many commits amended a message.
  amended INTEGER NOT NULL DEFAULT 0,
  UNIQUE (user, id)
) STRICT;
CREATE INDEX chat_recency ON chat (user, recency);

CREATE TABLE branch (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  chat INTEGER NOT NULL REFERENCES chat (no),
  name TEXT NOT NULL,
  -- The place it forks behind; nothing if it begins with a root.
  parent INTEGER,
  -- How many messages its chain has up to the parent.
  base INTEGER NOT NULL,
  own INTEGER NOT NULL,
  head TEXT,
  touched INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (chat, name)
) STRICT;

-- Packed messages; pos is the place of the first one.
CREATE TABLE run (
  pos INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

-- The places of boundaries.
CREATE TABLE boundary (
  pos INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE node (
  chat INTEGER NOT NULL,
  id TEXT NOT NULL,
  pos INTEGER NOT NULL,
  PRIMARY KEY (chat, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE revision (
  no INTEGER PRIMARY KEY,
  chat INTEGER NOT NULL REFERENCES chat (no),
  id TEXT NOT NULL,
  record BLOB NOT NULL,
  replaced_at INTEGER NOT NULL
) STRICT;
CREATE INDEX revision_id ON revision (chat, id);

CREATE TABLE checkpoint (
  chat INTEGER NOT NULL REFERENCES chat (no),
  name TEXT NOT NULL,
  message TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (chat, name)
) STRICT, WITHOUT ROWID;

-- Commits with a key, and what they were answered.
CREATE TABLE applied (
  chat INTEGER NOT NULL REFERENCES chat (no),
  key TEXT NOT NULL,
  digest BLOB NOT NULL,
  branch TEXT,
  head TEXT,
  PRIMARY KEY (chat, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE fragment (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  chat INTEGER NOT NULL REFERENCES chat (no),
  id TEXT,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX fragment_chat ON fragment (chat);

-- INSERT INTO merge VALUES (a, b): the runs that begin at places from a to b become one, unless that is large.
CREATE VIEW merge (first, last) AS SELECT 0, 0;
CREATE TRIGGER merge_runs INSTEAD OF INSERT ON merge BEGIN
  INSERT OR REPLACE INTO run (pos, data)
    SELECT min(pos), CAST(group_concat(data, '') AS BLOB)
    FROM (SELECT pos, data FROM run WHERE pos BETWEEN NEW.first AND NEW.last ORDER BY pos)
    WHERE (SELECT sum(length(data)) FROM run WHERE pos BETWEEN NEW.first AND NEW.last) <= 262144
    HAVING count(*) > 1;
  DELETE FROM run
    WHERE changes() = 1
      AND pos > (SELECT min(pos) FROM run WHERE pos BETWEEN NEW.first AND NEW.last) AND pos <= NEW.last;
END;

-- INSERT INTO append_one: a message at the end of a branch as one statement, hence one transaction and one
-- journey to the connection's thread. Refuses if the branch does not have exactly `expected` messages of its own.
CREATE VIEW append_one (branch, chat, expected, head, at, data) AS SELECT 0, 0, 0, '', 0, x'';
CREATE TRIGGER append_one_run INSTEAD OF INSERT ON append_one BEGIN
  UPDATE branch SET own = NEW.expected + 1, head = NEW.head, touched = max(touched, NEW.at)
    WHERE no = NEW.branch AND own = NEW.expected;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) VALUES (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 1);
  UPDATE chat SET recency = NEW.at / 60000000 WHERE no = NEW.chat AND recency < NEW.at / 60000000;
END;

-- The same for two: what a turn usually is.
CREATE VIEW append_two (branch, chat, expected, first, head, at, data) AS SELECT 0, 0, 0, '', '', 0, x'';
CREATE TRIGGER append_two_run INSTEAD OF INSERT ON append_two BEGIN
  UPDATE branch SET own = NEW.expected + 2, head = NEW.head, touched = max(touched, NEW.at)
    WHERE no = NEW.branch AND own = NEW.expected;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) VALUES
    (NEW.chat, NEW.first, (NEW.branch << 32) + NEW.expected + 1),
    (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 2);
  UPDATE chat SET recency = NEW.at / 60000000 WHERE no = NEW.chat AND recency < NEW.at / 60000000;
END;

-- The same for any number, whose ids are a JSON list, and for those that fill a block of runs. Apart, because an INSERT ... SELECT into a view costs a temporary table even if nothing is selected.
CREATE VIEW append (branch, chat, expected, own, head, at, ids, data, merge_small, merge_large)
  AS SELECT 0, 0, 0, 0, '', 0, '', x'', 0, 0;
CREATE TRIGGER append_run INSTEAD OF INSERT ON append BEGIN
  UPDATE branch SET own = NEW.own, head = NEW.head, touched = max(touched, NEW.at)
    WHERE no = NEW.branch AND own = NEW.expected;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos)
    SELECT NEW.chat, value, (NEW.branch << 32) + NEW.expected + 1 + key FROM json_each(NEW.ids);
  UPDATE chat SET recency = NEW.at / 60000000 WHERE no = NEW.chat AND recency < NEW.at / 60000000;
  INSERT INTO merge SELECT (NEW.branch << 32) + NEW.merge_small, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.merge_small IS NOT NULL;
  INSERT INTO merge SELECT (NEW.branch << 32) + NEW.merge_large, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.merge_large IS NOT NULL;
END;

CREATE TRIGGER delete_chat BEFORE DELETE ON chat BEGIN
  DELETE FROM run WHERE pos IN (
    SELECT r.pos FROM branch b JOIN run r ON r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own WHERE b.chat = OLD.no);
  DELETE FROM boundary WHERE pos IN (
    SELECT r.pos FROM branch b JOIN boundary r ON r.pos BETWEEN b.no << 32 AND (b.no << 32) + b.own
    WHERE b.chat = OLD.no);
  DELETE FROM node WHERE chat = OLD.no;
  DELETE FROM revision WHERE chat = OLD.no;
  DELETE FROM checkpoint WHERE chat = OLD.no;
  DELETE FROM applied WHERE chat = OLD.no;
  DELETE FROM fragment WHERE chat = OLD.no;
  DELETE FROM branch WHERE chat = OLD.no;
END;
