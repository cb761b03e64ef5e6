-- Packed messages begin with a checksum each; chat.metadata, fragment.body, revision.record, blob_piece.data, stream_chunk.data,
-- memory.body and memory_vector.data end with one of four bytes. The program writes them for the rows that are there, in the same transaction.
ALTER TABLE checkpoint ADD COLUMN sum bigint NOT NULL DEFAULT 0;
ALTER TABLE checkpoint ALTER COLUMN sum DROP DEFAULT;

-- Two of four bytes each: of what is written together. Counts of chunks have none, since they are compared with the chunks.
ALTER TABLE stream ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE stream ALTER COLUMN sum DROP DEFAULT;
ALTER TABLE blob_ref ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE blob_ref ALTER COLUMN sum DROP DEFAULT;

-- The name of the active branch, and of branches what they are called and where they fork: four bytes each.
ALTER TABLE chat ADD COLUMN active_sum bytea NOT NULL DEFAULT '';
ALTER TABLE chat ALTER COLUMN active_sum DROP DEFAULT;
ALTER TABLE branch ADD COLUMN sum bytea NOT NULL DEFAULT '';
ALTER TABLE branch ALTER COLUMN sum DROP DEFAULT;

-- What SQL changes has a sum that it changes by the difference, so that what was damaged is not made good by the next write.
ALTER TABLE chat ADD COLUMN time_sum bigint NOT NULL DEFAULT 0;
UPDATE chat SET time_sum = ~(updated_at # (amended << 32));
ALTER TABLE chat ALTER COLUMN time_sum DROP DEFAULT;

-- What a chat has beside its messages: the numbers of its branches, fragments and revisions, added up, and how many checkpoints and
-- keys of commits there are. So a row that is lost is noticed, and one that took another place in their order.
ALTER TABLE chat ADD COLUMN beside bigint NOT NULL DEFAULT 0;
UPDATE chat c SET beside = (SELECT coalesce(sum(no), 0) FROM branch WHERE chat = c.no)
  + (SELECT coalesce(sum(no), 0) FROM fragment WHERE chat = c.no) + (SELECT coalesce(sum(no), 0) FROM revision WHERE chat = c.no)
  + (SELECT count(*) FROM checkpoint WHERE chat = c.no) + (SELECT count(*) FROM applied WHERE chat = c.no);
ALTER TABLE chat ALTER COLUMN beside DROP DEFAULT;

-- Keys of commits are written once, so the server makes their checksums from what it is given.
ALTER TABLE applied ADD COLUMN sum bytea NOT NULL DEFAULT '';
UPDATE applied SET sum = substring(sha256(key || digest || coalesce(branch, '\xff'::bytea) || '\x00'::bytea || coalesce(head, '\xff'::bytea)) FOR 4);
ALTER TABLE applied ALTER COLUMN sum DROP DEFAULT;

ALTER TABLE stream ADD COLUMN time_sum bigint NOT NULL DEFAULT 0;
UPDATE stream SET time_sum = ~updated_at;
ALTER TABLE stream ALTER COLUMN time_sum DROP DEFAULT;
ALTER TABLE blob_ref ADD COLUMN time_sum bigint NOT NULL DEFAULT 0;
UPDATE blob_ref SET time_sum = ~used_at;
ALTER TABLE blob_ref ALTER COLUMN time_sum DROP DEFAULT;

-- In front of its chunks a stream has one of number -1 that names its chat, so that a stream that is lost or moved is noticed.
INSERT INTO stream_chunk (stream, n, data) SELECT no, -1, int8send(chat) FROM stream;

-- How many chats refer to a blob, so that a reference that is lost is noticed. The row is locked whenever it changes.
ALTER TABLE blob ADD COLUMN refs bigint NOT NULL DEFAULT 0;
UPDATE blob b SET refs = (SELECT count(*) FROM blob_ref r WHERE r.blob = b.no);
ALTER TABLE blob ALTER COLUMN refs DROP DEFAULT;

-- How many marks a scope has, and a checksum of each, which is written once.
ALTER TABLE memory_scope ADD COLUMN marks bigint NOT NULL DEFAULT 0;
UPDATE memory_scope s SET marks = (SELECT count(*) FROM memory_mark k WHERE k.scope = s.no);
ALTER TABLE memory_scope ALTER COLUMN marks DROP DEFAULT;
ALTER TABLE memory_mark ADD COLUMN sum bytea NOT NULL DEFAULT '';
UPDATE memory_mark SET sum = substring(sha256(mark) FOR 4);
ALTER TABLE memory_mark ALTER COLUMN sum DROP DEFAULT;

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
