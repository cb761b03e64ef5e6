-- Packed messages begin with a checksum each; chat.metadata, fragment.body, revision.record, blob_piece.data, stream_chunk.data and
-- memory.body end with one of four bytes. The program writes them for the rows that are there, in the same transaction.
ALTER TABLE checkpoint ADD COLUMN sum bigint NOT NULL DEFAULT 0;
ALTER TABLE checkpoint ALTER COLUMN sum DROP DEFAULT;
