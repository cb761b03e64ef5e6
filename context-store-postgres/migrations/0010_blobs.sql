-- Bytes too large to stand in a message: once for each user, under the hash of what they are.
CREATE TABLE blob (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bytea NOT NULL,
  hash bytea NOT NULL,
  size bigint NOT NULL,
  UNIQUE (user_id, hash)
);

-- The bytes, in pieces that all have 256 KiB but the last, so that a range is read without the rest; n is the number of
-- the piece, from 0. No bytes are no piece.
CREATE TABLE blob_piece (
  blob bigint NOT NULL,
  n bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (blob, n)
);
-- What is that large is mostly packed already.
ALTER TABLE blob_piece ALTER COLUMN data SET STORAGE EXTERNAL;

-- Which chats refer to a blob. It is there as long as one does; how many do is counted, not kept. Whoever adds or takes
-- away a reference locks the blob's row first.
CREATE TABLE blob_ref (
  chat bigint NOT NULL REFERENCES chat (no),
  hash bytea NOT NULL,
  blob bigint NOT NULL REFERENCES blob (no),
  media_type bytea,
  created_at bigint NOT NULL,
  used_at bigint NOT NULL,
  PRIMARY KEY (chat, hash)
);
CREATE INDEX blob_ref_blob ON blob_ref (blob);
