-- How messages are appended as one statement, hence one transaction and one journey to the connection's thread. What is
-- marked with `words` is for files with full text alone.
/*words
-- Messages whose words are not in the index yet: the place of the first of some that follow each other, and how many. They
-- are indexed many at a time, and always before a search.
CREATE TABLE unindexed (
  pos INTEGER PRIMARY KEY,
  added INTEGER NOT NULL
) STRICT;
DROP VIEW IF EXISTS index_words;
CREATE TRIGGER delete_branch_unindexed BEFORE DELETE ON branch BEGIN
  DELETE FROM unindexed WHERE pos BETWEEN OLD.no << 32 AND (OLD.no << 32) + OLD.own;
END;
*/
-- INSERT INTO append_row VALUES (...): messages at the end of a branch; several such rows are one statement. A row without
-- a branch is none, because statements have a fixed number of rows. Nothing is written if the branch does not end where
-- the row expects, or if an id is in use.
--
-- expected, tail: how many messages the branch has, and how many bytes are in its tail
-- way: 0 adds the messages to the tail, 1 folds the tail and begins another one, 2 writes a run of its own
-- ids: of the new messages, JSON texts with commas between them
-- pad: how many zeros follow the new tail
-- small, large: where the blocks of runs begin that are now full, for way 2
CREATE VIEW append_row (branch, chat, expected, tail, way, added, ids, head, at, data, pad, small, large, name)
  AS SELECT 0, 0, 0, 0, 0, 0, '', '', 0, x'', 0, 0, 0, '';

CREATE TRIGGER append_row_lease INSTEAD OF INSERT ON append_row
WHEN EXISTS (SELECT 1 FROM lease WHERE chat = NEW.chat AND until > NEW.at) BEGIN
  SELECT raise(ABORT, 'the chat has a lease');
END;

CREATE TRIGGER append_to_tail INSTEAD OF INSERT ON append_row WHEN NEW.way = 0 BEGIN
  SELECT raise(ABORT, 'an id is in use') WHERE EXISTS (
    SELECT 1 FROM json_each('[' || NEW.ids || ']') j
    WHERE EXISTS (SELECT 1 FROM node WHERE chat = NEW.chat AND id = j.value)
      OR EXISTS (SELECT 1 FROM branch t WHERE t.chat = NEW.chat AND t.tail_from IS NOT NULL
        AND instr(t.tail_ids, '"' || j.value || '"')));
  UPDATE branch SET own = NEW.expected + NEW.added, head = NEW.head, touched = max(touched, NEW.at),
      own_sum = (NEW.expected + NEW.added) * 1000003 + max(touched, NEW.at) % 4294967291,
      tail = CAST(tail || NEW.data AS BLOB),
      tail_ids = iif(NEW.tail = 0, NEW.ids, tail_ids || ',' || NEW.ids),
      pad = zeroblob(NEW.pad)
    WHERE no = NEW.branch AND own = NEW.expected AND octet_length(tail) = NEW.tail AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  /*words INSERT INTO unindexed (pos, added) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.added);*/
END;

CREATE TRIGGER append_new_tail INSTEAD OF INSERT ON append_row WHEN NEW.way = 1 BEGIN
  INSERT INTO fold VALUES (NEW.branch);
  UPDATE branch SET tail_from = NEW.expected + 1, tail = x'', tail_ids = '' WHERE no = NEW.branch AND own = NEW.expected;
  INSERT INTO append_row VALUES (NEW.branch, NEW.chat, NEW.expected, 0, 0, NEW.added, NEW.ids, NEW.head, NEW.at, NEW.data,
    NEW.pad, NULL, NULL, NEW.name);
END;

CREATE TRIGGER append_run INSTEAD OF INSERT ON append_row WHEN NEW.way = 2 BEGIN
  INSERT INTO fold VALUES (NEW.branch);
  SELECT raise(ABORT, 'an id is in use') WHERE EXISTS (
    SELECT 1 FROM json_each('[' || NEW.ids || ']') j CROSS JOIN branch t
    WHERE t.chat = NEW.chat AND t.tail_from IS NOT NULL AND instr(t.tail_ids, '"' || j.value || '"'));
  INSERT INTO node (chat, id, pos)
    SELECT NEW.chat, value, (NEW.branch << 32) + NEW.expected + 1 + key FROM json_each('[' || NEW.ids || ']');
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  UPDATE branch SET own = NEW.expected + NEW.added, head = NEW.head, touched = max(touched, NEW.at),
      own_sum = (NEW.expected + NEW.added) * 1000003 + max(touched, NEW.at) % 4294967291
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.small, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.large, (NEW.branch << 32) + NEW.expected + 1);
  /*words INSERT INTO unindexed (pos, added) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.added);*/
END;
