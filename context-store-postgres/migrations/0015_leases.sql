-- The last lease of a chat, in force or ended: its end, which the statement for appends compares, and its number and owner with a
-- checksum of all three.
ALTER TABLE chat ADD COLUMN lease_until bigint, ADD COLUMN lease bytea;
