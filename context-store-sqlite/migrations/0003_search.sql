-- Merging nothing is nothing, so that a trigger need not ask first.
DROP VIEW merge;
CREATE VIEW merge (first, last) AS SELECT 0, 0;
CREATE TRIGGER merge_runs INSTEAD OF INSERT ON merge WHEN NEW.first IS NOT NULL BEGIN
  INSERT OR REPLACE INTO run (pos, data)
    SELECT min(pos), CAST(group_concat(data, '') AS BLOB)
    FROM (SELECT pos, data FROM run WHERE pos BETWEEN NEW.first AND NEW.last ORDER BY pos)
    WHERE (SELECT sum(length(data)) FROM run WHERE pos BETWEEN NEW.first AND NEW.last) <= 262144
    HAVING count(*) > 1;
  DELETE FROM run
    WHERE changes() = 1
      AND pos > (SELECT min(pos) FROM run WHERE pos BETWEEN NEW.first AND NEW.last) AND pos <= NEW.last;
END;

-- INSERT INTO append_row: one or two messages at the end of a branch, several such rows as one statement. A row
-- without a branch is none: statements have a fixed number of rows. `first` is the message before the head, if
-- there are two; `small` and `large` are where blocks of runs begin that are now full.
CREATE VIEW append_row (branch, chat, expected, first, head, at, data, small, large, name)
  AS SELECT 0, 0, 0, '', '', 0, x'', 0, 0, '';
CREATE TRIGGER append_row_run INSTEAD OF INSERT ON append_row WHEN NEW.branch IS NOT NULL BEGIN
  UPDATE branch SET own = NEW.expected + 1 + (NEW.first IS NOT NULL), head = NEW.head, touched = max(touched, NEW.at)
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) SELECT NEW.chat, NEW.first, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.first IS NOT NULL;
  INSERT INTO node (chat, id, pos)
    VALUES (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 1 + (NEW.first IS NOT NULL));
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.small, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.large, (NEW.branch << 32) + NEW.expected + 1);
END;
