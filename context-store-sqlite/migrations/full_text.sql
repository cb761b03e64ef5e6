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

-- Messages that go take their words along: with their branch, or cut off its end.
CREATE TRIGGER delete_branch_words BEFORE DELETE ON branch BEGIN
  DELETE FROM words WHERE rowid BETWEEN OLD.no << 32 AND (OLD.no << 32) + OLD.own;
END;
CREATE TRIGGER cut_branch_words AFTER UPDATE OF own ON branch WHEN NEW.own < OLD.own BEGIN
  DELETE FROM words WHERE rowid BETWEEN (OLD.no << 32) + NEW.own + 1 AND (OLD.no << 32) + OLD.own;
END;
