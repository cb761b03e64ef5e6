-- What is remembered of users, apart from their chats. Ids and names are bytes as everywhere; a name that a scope does not have is
-- empty, which no name is.

-- Whoever writes locks the row of the user first, so writers of one user come one after another. A record's place is
-- memory_user.no << 32 | how many were written before it, and itself.
CREATE TABLE memory_user (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bytea NOT NULL UNIQUE,
  -- How many records were ever written first.
  written bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE memory_scope (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bytea NOT NULL,
  project bytea NOT NULL,
  agent bytea NOT NULL,
  session bytea NOT NULL,
  -- What scopes are listed by: a JSON array of the four.
  key bytea NOT NULL,
  UNIQUE (user_id, project, agent, session)
);

-- The records of one kind of a scope, counted. There is none without records.
CREATE TABLE memory_shelf (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope bigint NOT NULL REFERENCES memory_scope (no),
  kind bytea NOT NULL,
  -- How many records there are, of how many words, how many of them have a vector, and how many bytes their texts have.
  records bigint NOT NULL,
  words bigint NOT NULL,
  vectors bigint NOT NULL,
  bytes bigint NOT NULL,
  -- No record has a place outside of these.
  first bigint NOT NULL,
  last bigint NOT NULL,
  UNIQUE (scope, kind)
) WITH (fillfactor = 50);

-- In how many records of a shelf a word is. A word is 64 bits of its hash.
CREATE TABLE memory_word (
  shelf bigint NOT NULL,
  word bigint NOT NULL,
  records bigint NOT NULL,
  PRIMARY KEY (shelf, word)
) WITH (fillfactor = 70);

CREATE TABLE memory (
  place bigint PRIMARY KEY,
  scope bigint NOT NULL,
  shelf bigint NOT NULL,
  id bytea NOT NULL,
  version bigint NOT NULL,
  key bytea,
  -- Where it comes from.
  session bytea,
  message bytea,
  -- How many bytes its text has.
  size bigint NOT NULL,
  -- Every word as often as it is there: its hash, in which the number of the shelf and the part of the user's places that the record
  -- is in are mixed. So the index has lists of a few thousand records, and finds the newest without reading the others.
  words bigint[] NOT NULL,
  -- The record as JSON.
  body bytea NOT NULL,
  UNIQUE (scope, id)
);
ALTER TABLE memory ALTER COLUMN words SET STORAGE MAIN;
CREATE INDEX memory_shelf_place ON memory (shelf, place);
CREATE INDEX memory_key ON memory (shelf, key, place) WHERE key IS NOT NULL;
CREATE INDEX memory_source ON memory (shelf, session, message) WHERE session IS NOT NULL;
CREATE INDEX memory_beside ON memory (shelf, session, place) WHERE session IS NOT NULL;
-- What waits for its place in the index would be read by every search.
CREATE INDEX memory_words ON memory USING gin (words) WITH (fastupdate = off);

-- What a record means, as numbers of four bytes, little-endian.
CREATE TABLE memory_vector (
  place bigint PRIMARY KEY,
  shelf bigint NOT NULL,
  model bytea NOT NULL,
  length bigint NOT NULL,
  data bytea NOT NULL
);
-- Numbers that do not become smaller.
ALTER TABLE memory_vector ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX memory_vector_newest ON memory_vector (shelf, model, length, place);

-- What stays of records that were forgotten: a hash.
CREATE TABLE memory_mark (
  scope bigint NOT NULL REFERENCES memory_scope (no),
  mark bytea NOT NULL,
  PRIMARY KEY (scope, mark)
);
