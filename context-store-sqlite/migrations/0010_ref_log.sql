-- The log of references: changes of branches and checkpoints in the order of writing, each as JSON. A chat without a row here has no
-- recorded change.
CREATE TABLE ref_change (
  chat INTEGER NOT NULL REFERENCES chat (no),
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  change TEXT NOT NULL,
  sum INTEGER,
  PRIMARY KEY (chat, number)
) STRICT;

CREATE TRIGGER delete_chat_refs BEFORE DELETE ON chat BEGIN
  DELETE FROM ref_change WHERE chat = OLD.no;
END;

ALTER TABLE chat_tally ADD COLUMN refs INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER tally_ref_change AFTER INSERT ON ref_change BEGIN
  UPDATE chat_tally SET refs = refs + 1, sum = sum + 1000117 WHERE chat = NEW.chat;
END;
CREATE TRIGGER untally_ref_change AFTER DELETE ON ref_change BEGIN
  UPDATE chat_tally SET refs = refs - 1, sum = sum - 1000117 WHERE chat = OLD.chat;
END;
