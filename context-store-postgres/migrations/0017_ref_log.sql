-- The log of references: changes of branches and checkpoints in the order of writing, each as JSON with the checksum of the row at its
-- end. A chat without a row here has no recorded change.
CREATE TABLE ref_change (
  chat bigint NOT NULL REFERENCES chat (no) ON DELETE CASCADE,
  number bigint NOT NULL,
  at bigint NOT NULL,
  change bytea NOT NULL,
  PRIMARY KEY (chat, number)
);
