-- A branch owns the messages that were written through it, numbered 1..own without a gap. The place of a
-- message is one number, branch.no << 32 | its number, so places of one chain sort from the root to the head:
-- a branch is always created after the one it forks from.
--
-- Ids, names and titles are bytes: they may hold any character, NUL too, and sort the same in every database.
-- Who looks by hand reads them with convert_from(id, 'UTF8').

-- One row: what was decided when the schema was made.
CREATE TABLE store (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  full_text boolean NOT NULL
);

CREATE TABLE chat (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bytea NOT NULL,
  id bytea NOT NULL,
  title bytea,
  metadata bytea NOT NULL,
  active bytea NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- updated_at in minutes: the coarse order of listings. In an index, so a chat that is written to twice within
  -- a minute changes none.
  minute bigint NOT NULL,
  -- How many commits changed or removed messages.
  amended bigint NOT NULL DEFAULT 0,
  UNIQUE (user_id, id)
) WITH (fillfactor = 70);
CREATE INDEX chat_minute ON chat (user_id, minute);

CREATE TABLE branch (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chat bigint NOT NULL REFERENCES chat (no),
  -- Nothing if the branch was deleted and is kept for what forks and checkpoints need of it.
  name bytea,
  -- The place it forks behind; nothing if it begins with a root.
  parent bigint,
  -- How many messages its chain has up to the parent.
  base bigint NOT NULL,
  own bigint NOT NULL,
  -- Nothing as well if it has no name.
  head bytea,
  created_at bigint NOT NULL,
  UNIQUE (chat, name)
) WITH (fillfactor = 50);
-- What forks behind a place.
CREATE INDEX branch_parent ON branch (parent) WHERE parent IS NOT NULL;

-- Packed messages; pos is the place of the first one, weight what all of them weigh.
CREATE TABLE run (
  pos bigint PRIMARY KEY,
  weight bigint NOT NULL,
  data bytea NOT NULL
);
-- Read far more often than written, and unpacking costs more than reading.
ALTER TABLE run ALTER COLUMN data SET STORAGE EXTERNAL;

-- The places of boundaries.
CREATE TABLE boundary (
  pos bigint PRIMARY KEY
);

CREATE TABLE node (
  chat bigint NOT NULL,
  id bytea NOT NULL,
  pos bigint NOT NULL,
  PRIMARY KEY (chat, id)
);

CREATE TABLE revision (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chat bigint NOT NULL REFERENCES chat (no) ON DELETE CASCADE,
  id bytea NOT NULL,
  record bytea NOT NULL,
  replaced_at bigint NOT NULL
);
CREATE INDEX revision_id ON revision (chat, id);

CREATE TABLE checkpoint (
  chat bigint NOT NULL REFERENCES chat (no) ON DELETE CASCADE,
  name bytea NOT NULL,
  message bytea NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (chat, name)
);

-- Commits with a key, and what they were answered.
CREATE TABLE applied (
  chat bigint NOT NULL REFERENCES chat (no) ON DELETE CASCADE,
  key bytea NOT NULL,
  digest bytea NOT NULL,
  branch bytea,
  head bytea,
  PRIMARY KEY (chat, key)
);

CREATE TABLE fragment (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chat bigint NOT NULL REFERENCES chat (no) ON DELETE CASCADE,
  id bytea,
  kind bytea NOT NULL,
  version bigint NOT NULL,
  metadata bytea NOT NULL,
  body bytea NOT NULL
);
CREATE INDEX fragment_chat ON fragment (chat);
