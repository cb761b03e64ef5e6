-- Bytes too large to stand in a message: once for each user, under the hash of what they are.
CREATE TABLE blob (
  no INTEGER PRIMARY KEY,
  user TEXT NOT NULL,
  hash BLOB NOT NULL,
  size INTEGER NOT NULL,
  UNIQUE (user, hash)
) STRICT;

-- The bytes, in pieces that all have 256 KiB but the last, so that a range is read without the rest. pos is
-- blob.no << 16 | the number of the piece, from 0; no bytes are no piece.
CREATE TABLE blob_piece (
  pos INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

-- Which chats refer to a blob. It is there as long as one does; how many do is counted, not kept.
CREATE TABLE blob_ref (
  chat INTEGER NOT NULL REFERENCES chat (no),
  hash BLOB NOT NULL,
  blob INTEGER NOT NULL REFERENCES blob (no),
  media_type TEXT,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (chat, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_ref_blob ON blob_ref (blob);

CREATE TRIGGER release_blob AFTER DELETE ON blob_ref
WHEN NOT EXISTS (SELECT 1 FROM blob_ref WHERE blob = OLD.blob) BEGIN
  DELETE FROM blob_piece WHERE pos BETWEEN OLD.blob << 16 AND (OLD.blob << 16) + 0xffff;
  DELETE FROM blob WHERE no = OLD.blob;
END;

CREATE TRIGGER delete_chat_blobs BEFORE DELETE ON chat BEGIN
  DELETE FROM blob_ref WHERE chat = OLD.no;
END;
