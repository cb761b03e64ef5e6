-- Answers in flight, without their chunks. Written to with every append, in place if there is room in the page.
CREATE TABLE stream (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chat bigint NOT NULL REFERENCES chat (no),
  id bytea NOT NULL,
  state text NOT NULL,
  run bigint NOT NULL,
  writer bytea,
  chunks bigint NOT NULL,
  bytes bigint NOT NULL,
  error bytea,
  created_at bigint NOT NULL,
  started_at bigint,
  cancel_requested_at bigint,
  finished_at bigint,
  updated_at bigint NOT NULL,
  UNIQUE (chat, id)
) WITH (fillfactor = 50);

-- A row for each chunk; n is its number, from 0.
CREATE TABLE stream_chunk (
  stream bigint NOT NULL,
  n bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (stream, n)
);
