-- What a file with full text has beside the rest. Whether `words` is there says whether it has full text.

-- The words of each message that has some, by its place, in the column of its role. Every word begins with the
-- tag of the user, so nobody's search reads what others have written.
CREATE VIRTUAL TABLE words USING fts5 (
  assistant, user, tool, system, content = '', contentless_delete = 1, tokenize = 'ascii');

-- INSERT INTO index_words VALUES (pos, role, text): nothing if there is no text. Roles are numbered as the columns.
CREATE VIEW index_words (pos, role, text) AS SELECT 0, 0, '';
CREATE TRIGGER index_words_run INSTEAD OF INSERT ON index_words WHEN NEW.text IS NOT NULL BEGIN
  INSERT INTO words (rowid, assistant, user, tool, system) VALUES (
    NEW.pos, iif(NEW.role = 0, NEW.text, NULL), iif(NEW.role = 1, NEW.text, NULL),
    iif(NEW.role = 2, NEW.text, NULL), iif(NEW.role = 3, NEW.text, NULL));
END;

-- Nothing is appended without its words.
DROP VIEW append_one;
DROP VIEW append_two;
DROP VIEW append;
DROP VIEW append_row;

CREATE VIEW append_row
  (branch, chat, expected, first, head, at, data, small, large, name, first_role, first_text, role, text)
  AS SELECT 0, 0, 0, '', '', 0, x'', 0, 0, '', 0, '', 0, '';
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
  INSERT INTO index_words VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.first_role, NEW.first_text);
  INSERT INTO index_words
    VALUES ((NEW.branch << 32) + NEW.expected + 1 + (NEW.first IS NOT NULL), NEW.role, NEW.text);
END;

-- The same for any number: `ids` is a JSON list, `texts` one of pairs of a role and a text, null where there is no text.
CREATE VIEW append (branch, chat, expected, own, head, at, ids, data, small, large, name, texts)
  AS SELECT 0, 0, 0, 0, '', 0, '', x'', 0, 0, '', '';
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
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.small, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.large, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO index_words SELECT (NEW.branch << 32) + NEW.expected + 1 + key, value ->> 0, value ->> 1
    FROM json_each(NEW.texts) WHERE type = 'array';
END;

-- Messages that go take their words along: with their branch, or cut off its end.
CREATE TRIGGER delete_branch_words BEFORE DELETE ON branch BEGIN
  DELETE FROM words WHERE rowid BETWEEN OLD.no << 32 AND (OLD.no << 32) + OLD.own;
END;
CREATE TRIGGER cut_branch_words AFTER UPDATE OF own ON branch WHEN NEW.own < OLD.own BEGIN
  DELETE FROM words WHERE rowid BETWEEN (OLD.no << 32) + NEW.own + 1 AND (OLD.no << 32) + OLD.own;
END;
