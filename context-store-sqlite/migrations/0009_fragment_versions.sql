-- Versions of persisted fragments, in the order of writing: content that was stored, or a removal, which has no kind.
-- A chat without a row here has fragments of which no version was recorded. `place` is the number of the fragment.
CREATE TABLE fragment_version (
  chat INTEGER NOT NULL REFERENCES chat (no),
  number INTEGER NOT NULL,
  place INTEGER NOT NULL,
  id TEXT,
  kind TEXT,
  version INTEGER,
  metadata TEXT,
  body BLOB,
  at INTEGER,
  message TEXT,
  sum INTEGER,
  PRIMARY KEY (chat, number)
) STRICT;

CREATE TRIGGER delete_chat_versions BEFORE DELETE ON chat BEGIN
  DELETE FROM fragment_version WHERE chat = OLD.no;
END;
