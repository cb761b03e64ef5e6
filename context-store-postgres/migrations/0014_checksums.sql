-- Packed messages begin with a checksum each; chat.metadata, fragment.body, revision.record, blob_piece.data, stream_chunk.data and
-- memory.body end with one of four bytes. The program writes them for the rows that are there, in the same transaction.
ALTER TABLE checkpoint ADD COLUMN sum bigint NOT NULL DEFAULT 0;
ALTER TABLE checkpoint ALTER COLUMN sum DROP DEFAULT;

-- Two of four bytes each: of what is written together. Counts of chunks and the last use of a blob have none, since SQL changes them.
ALTER TABLE stream ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE stream ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE blob_ref ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE blob_ref ALTER COLUMN sum DROP DEFAULT;

-- Rows of trajectories have theirs in a column, of four bytes; those of a node are one for all that stays and one for each column that
-- changes alone: description, measures, and the fields in their order.
ALTER TABLE trajectory_query ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_query ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_state ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_state ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_action ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_action ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_response ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_response ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_knowledge ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_knowledge ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_tool ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_tool ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_table ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_table ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_column ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_column ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_file ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_file ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_script ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_script ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_skill ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_skill ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_round ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_round ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_edge ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_edge ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_version ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_version ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE trajectory_message ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE trajectory_message ALTER COLUMN sum DROP DEFAULT;

-- How many edges, versions and messages of nodes a round has, so that one that is lost is noticed. Its head says how many nodes.
ALTER TABLE trajectory_round ADD COLUMN beside bigint NOT NULL DEFAULT 0;
UPDATE trajectory_round r SET beside = (SELECT count(*) FROM trajectory_edge t WHERE t.round = r.no)
  + (SELECT count(*) FROM trajectory_version t WHERE t.round = r.no)
  + (SELECT count(*) FROM trajectory_message t WHERE t.round = r.no);
ALTER TABLE trajectory_round ALTER COLUMN beside DROP DEFAULT;
