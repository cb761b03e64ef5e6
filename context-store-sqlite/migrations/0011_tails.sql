-- The newest messages of a branch are in its own row, so that an append rewrites one page: the tail. When a tail is full
-- it is folded: it becomes a run, and its ids go into `node`.
--
-- Everything that something else names by its place or its id (forks, checkpoints, boundaries, revisions) is in a run.
DROP VIEW IF EXISTS append_one;
DROP VIEW IF EXISTS append_two;
DROP VIEW append;
DROP VIEW append_row;

-- The number of the first message in the tail within its branch; nothing if there is no tail.
ALTER TABLE branch ADD COLUMN tail_from INTEGER;
-- The messages, packed as in a run, and their ids: JSON texts with commas between them. No such id needs an escape.
ALTER TABLE branch ADD COLUMN tail BLOB;
ALTER TABLE branch ADD COLUMN tail_ids TEXT;
-- Zeros. They shrink as the tail grows, so that the row keeps its size and SQLite overwrites it in place. This is the last
-- column, because zeros at the end of a row take no memory.
ALTER TABLE branch ADD COLUMN pad BLOB;
-- Appends do not change `tail_from`, so they do not touch this index.
CREATE INDEX branch_tail ON branch (chat) WHERE tail_from IS NOT NULL;

-- Where every message is.
CREATE VIEW spot (chat, id, pos) AS
  SELECT chat, id, pos FROM node
  UNION ALL
  SELECT b.chat, j.value, (b.no << 32) + b.tail_from + j.key
    FROM branch b CROSS JOIN json_each('[' || b.tail_ids || ']') j WHERE b.tail_from IS NOT NULL;

-- INSERT INTO fold VALUES (branch): its tail, if there is one, becomes a run.
CREATE VIEW fold (branch) AS SELECT 0;
CREATE TRIGGER fold_tail INSTEAD OF INSERT ON fold BEGIN
  INSERT INTO node (chat, id, pos)
    SELECT b.chat, j.value, (b.no << 32) + b.tail_from + j.key
    FROM branch b CROSS JOIN json_each('[' || b.tail_ids || ']') j
    WHERE b.no = NEW.branch AND b.tail_from IS NOT NULL;
  INSERT INTO run (pos, data)
    SELECT (no << 32) + tail_from, tail FROM branch WHERE no = NEW.branch AND tail_from IS NOT NULL;
  -- Runs that begin in a block of 64 messages that is now full become one.
  INSERT INTO merge VALUES (
    (SELECT (no << 32) + (tail_from - 1) / 64 * 64 + 1 FROM branch
      WHERE no = NEW.branch AND own / 64 > (tail_from - 1) / 64),
    (SELECT (no << 32) + tail_from FROM branch WHERE no = NEW.branch));
  UPDATE branch SET tail_from = NULL, tail = NULL, tail_ids = NULL,
      pad = zeroblob(octet_length(pad) + octet_length(tail) + octet_length(tail_ids))
    WHERE no = NEW.branch AND tail_from IS NOT NULL;
END;
