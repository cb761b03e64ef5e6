-- Records of memories, by what they are found by.

-- A scope somebody has filed something under, or has forgotten something of.
CREATE TABLE memory_scope (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  user TEXT NOT NULL,
  -- All four names of the scope in one text, in the order of the listing.
  key TEXT NOT NULL,
  project TEXT,
  agent TEXT,
  session TEXT,
  -- How many records there are, and how many words they have together: what ranking counts by.
  records INTEGER NOT NULL DEFAULT 0,
  words INTEGER NOT NULL DEFAULT 0,
  UNIQUE (user, key)
) STRICT;

-- The records of one kind in one scope: what a search looks through, so that it meets none of another kind.
CREATE TABLE memory_kind (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  scope INTEGER NOT NULL REFERENCES memory_scope (no),
  kind TEXT NOT NULL,
  records INTEGER NOT NULL DEFAULT 0,
  -- Bytes of their texts.
  bytes INTEGER NOT NULL DEFAULT 0,
  vectors INTEGER NOT NULL DEFAULT 0,
  UNIQUE (scope, kind)
) STRICT;

-- The sessions that records come from, numbered, since many come from one.
CREATE TABLE memory_session (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  user TEXT NOT NULL,
  session TEXT NOT NULL,
  UNIQUE (user, session)
) STRICT;

-- Places are given in the order of first writes and never twice.
CREATE TABLE memory (
  place INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL,
  kind INTEGER NOT NULL REFERENCES memory_kind (no),
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  key TEXT,
  -- Where it comes from, if it does.
  session INTEGER REFERENCES memory_session (no),
  message TEXT,
  -- Bytes of its text.
  bytes INTEGER NOT NULL,
  -- The record as JSON. The columns above are what is asked for.
  body BLOB NOT NULL,
  UNIQUE (scope, id)
) STRICT;
CREATE INDEX memory_of_kind ON memory (kind);
CREATE INDEX memory_of_key ON memory (scope, key) WHERE key IS NOT NULL;
-- What is beside a record, and what comes from a session.
CREATE INDEX memory_of_session ON memory (session, kind) WHERE session IS NOT NULL;
CREATE INDEX memory_of_message ON memory (session, message) WHERE message IS NOT NULL;

-- A number for each word of a kind, and in how many of its records the word is.
CREATE TABLE memory_word (
  scope INTEGER NOT NULL,
  word TEXT NOT NULL,
  kind INTEGER NOT NULL,
  no INTEGER NOT NULL,
  found INTEGER NOT NULL,
  PRIMARY KEY (scope, word, kind)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX memory_word_no ON memory_word (no);

-- The words of each record as numbers, with how often each is there. Apart from the records, so that many are on one page.
CREATE TABLE memory_words (
  place INTEGER PRIMARY KEY,
  list BLOB NOT NULL
) STRICT;

-- Which records have a word. A word is its number, in hexadecimal digits, so the index itself says nothing of what is in it.
CREATE VIRTUAL TABLE memory_index USING fts5 (
  words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_index, row);

CREATE TABLE memory_vector (
  place INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  model TEXT NOT NULL,
  -- Little-endian numbers of four bytes.
  data BLOB NOT NULL
) STRICT;
CREATE INDEX memory_vector_of ON memory_vector (kind, model);

-- What was forgotten and is to stay so: hashes of names.
CREATE TABLE memory_mark (
  scope INTEGER NOT NULL,
  mark BLOB NOT NULL,
  PRIMARY KEY (scope, mark)
) STRICT, WITHOUT ROWID;

-- The last place, and the last number of a word, that were given.
CREATE TABLE memory_last (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  place INTEGER NOT NULL,
  word INTEGER NOT NULL
) STRICT;
INSERT INTO memory_last (one, place, word) VALUES (1, 0, 0);
