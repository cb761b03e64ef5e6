-- What a file with full text has beside the rest. Whether `words` is there says whether it has full text.

-- The words of each message that has some, by its place, in the column of its role. Every word begins with the
-- tag of the user, so nobody's search reads what others have written.
CREATE VIRTUAL TABLE words USING fts5 (
  assistant, user, tool, system, content = '', contentless_delete = 1, tokenize = 'ascii');

-- Messages that go take their words along: with their branch, or cut off its end.
CREATE TRIGGER delete_branch_words BEFORE DELETE ON branch BEGIN
  DELETE FROM words WHERE rowid BETWEEN OLD.no << 32 AND (OLD.no << 32) + OLD.own;
END;
CREATE TRIGGER cut_branch_words AFTER UPDATE OF own ON branch WHEN NEW.own < OLD.own BEGIN
  DELETE FROM words WHERE rowid BETWEEN (OLD.no << 32) + NEW.own + 1 AND (OLD.no << 32) + OLD.own;
END;
