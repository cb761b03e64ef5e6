-- The last lease of a chat, in force or ended. Triggers on the views `append…` make the appends respect it.
CREATE TABLE lease (
  chat INTEGER PRIMARY KEY REFERENCES chat (no),
  owner TEXT NOT NULL,
  number INTEGER NOT NULL,
  until INTEGER NOT NULL,
  sum INTEGER
) STRICT;

CREATE TRIGGER delete_chat_lease BEFORE DELETE ON chat BEGIN
  DELETE FROM lease WHERE chat = OLD.no;
END;
