-- Versions of persisted fragments, in the order of writing: content that was stored, or a removal, which has no kind. A chat without a
-- row here has fragments of which no version was recorded. place is the number of the fragment. The checksum at the end of the body
-- covers the row.
CREATE TABLE fragment_version (
  chat bigint NOT NULL REFERENCES chat (no) ON DELETE CASCADE,
  number bigint NOT NULL,
  place bigint NOT NULL,
  id bytea,
  kind bytea,
  version bigint,
  metadata bytea,
  body bytea NOT NULL,
  at bigint,
  message bytea,
  PRIMARY KEY (chat, number)
);
