-- The words of each message that has some, by its place.
CREATE TABLE words (
  pos bigint PRIMARY KEY,
  -- 0 assistant, 1 user, 2 tool, 3 system.
  role smallint NOT NULL,
  -- How many there are.
  length bigint NOT NULL,
  -- The words in order, each with a space before and behind it: what phrases are looked for and counted in.
  body text NOT NULL,
  -- Each word once, behind the tag of the user, so nobody's search reads what others have written.
  lexemes tsvector NOT NULL
);
CREATE INDEX words_lexemes ON words USING gin (lexemes);
