-- Whom rows belong to, as PostgreSQL sees to it itself: for every role but the owner of the tables, there are only rows
-- of the user that the transaction has named. Run when it is asked for; it may be run again.

ALTER TABLE chat ENABLE ROW LEVEL SECURITY;
ALTER TABLE branch ENABLE ROW LEVEL SECURITY;
ALTER TABLE run ENABLE ROW LEVEL SECURITY;
ALTER TABLE boundary ENABLE ROW LEVEL SECURITY;
ALTER TABLE node ENABLE ROW LEVEL SECURITY;
ALTER TABLE revision ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoint ENABLE ROW LEVEL SECURITY;
ALTER TABLE applied ENABLE ROW LEVEL SECURITY;
ALTER TABLE fragment ENABLE ROW LEVEL SECURITY;
ALTER TABLE fragment_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE ref_change ENABLE ROW LEVEL SECURITY;
ALTER TABLE words ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob_piece ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob_ref ENABLE ROW LEVEL SECURITY;
ALTER TABLE stream ENABLE ROW LEVEL SECURITY;
ALTER TABLE stream_chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_round ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_query ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_action ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_response ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_knowledge ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_tool ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_table ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_column ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_file ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_script ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_skill ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_edge ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE trajectory_message ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_user ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_scope ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_shelf ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_word ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_vector ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_mark ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS context_user ON chat;
DROP POLICY IF EXISTS context_user ON branch;
DROP POLICY IF EXISTS context_user ON run;
DROP POLICY IF EXISTS context_user ON boundary;
DROP POLICY IF EXISTS context_user ON node;
DROP POLICY IF EXISTS context_user ON revision;
DROP POLICY IF EXISTS context_user ON checkpoint;
DROP POLICY IF EXISTS context_user ON applied;
DROP POLICY IF EXISTS context_user ON fragment;
DROP POLICY IF EXISTS context_user ON fragment_version;
DROP POLICY IF EXISTS context_user ON ref_change;
DROP POLICY IF EXISTS context_user ON words;
DROP POLICY IF EXISTS context_user ON blob;
DROP POLICY IF EXISTS context_user ON blob_piece;
DROP POLICY IF EXISTS context_user ON blob_ref;
DROP POLICY IF EXISTS context_user ON stream;
DROP POLICY IF EXISTS context_user ON stream_chunk;
DROP POLICY IF EXISTS context_user ON trajectory_round;
DROP POLICY IF EXISTS context_user ON trajectory_query;
DROP POLICY IF EXISTS context_user ON trajectory_state;
DROP POLICY IF EXISTS context_user ON trajectory_action;
DROP POLICY IF EXISTS context_user ON trajectory_response;
DROP POLICY IF EXISTS context_user ON trajectory_knowledge;
DROP POLICY IF EXISTS context_user ON trajectory_tool;
DROP POLICY IF EXISTS context_user ON trajectory_table;
DROP POLICY IF EXISTS context_user ON trajectory_column;
DROP POLICY IF EXISTS context_user ON trajectory_file;
DROP POLICY IF EXISTS context_user ON trajectory_script;
DROP POLICY IF EXISTS context_user ON trajectory_skill;
DROP POLICY IF EXISTS context_user ON trajectory_edge;
DROP POLICY IF EXISTS context_user ON trajectory_version;
DROP POLICY IF EXISTS context_user ON trajectory_message;
DROP POLICY IF EXISTS context_user ON memory_user;
DROP POLICY IF EXISTS context_user ON memory_scope;
DROP POLICY IF EXISTS context_user ON memory_shelf;
DROP POLICY IF EXISTS context_user ON memory_word;
DROP POLICY IF EXISTS context_user ON memory;
DROP POLICY IF EXISTS context_user ON memory_vector;
DROP POLICY IF EXISTS context_user ON memory_mark;

-- Without a setting there is nobody, and nothing to see.
CREATE POLICY context_user ON chat
  USING (user_id = decode(current_setting('context.user_id', true), 'hex'));
-- A look at another table is under that table's policy.
CREATE POLICY context_user ON branch USING (EXISTS (SELECT FROM chat c WHERE c.no = branch.chat));
CREATE POLICY context_user ON node USING (EXISTS (SELECT FROM chat c WHERE c.no = node.chat));
CREATE POLICY context_user ON revision USING (EXISTS (SELECT FROM chat c WHERE c.no = revision.chat));
CREATE POLICY context_user ON checkpoint USING (EXISTS (SELECT FROM chat c WHERE c.no = checkpoint.chat));
CREATE POLICY context_user ON applied USING (EXISTS (SELECT FROM chat c WHERE c.no = applied.chat));
CREATE POLICY context_user ON fragment USING (EXISTS (SELECT FROM chat c WHERE c.no = fragment.chat));
CREATE POLICY context_user ON fragment_version USING (EXISTS (SELECT FROM chat c WHERE c.no = fragment_version.chat));
CREATE POLICY context_user ON ref_change USING (EXISTS (SELECT FROM chat c WHERE c.no = ref_change.chat));
CREATE POLICY context_user ON run USING (EXISTS (SELECT FROM branch b WHERE b.no = run.pos >> 32));
CREATE POLICY context_user ON boundary USING (EXISTS (SELECT FROM branch b WHERE b.no = boundary.pos >> 32));
CREATE POLICY context_user ON words USING (EXISTS (SELECT FROM branch b WHERE b.no = words.pos >> 32));
CREATE POLICY context_user ON blob
  USING (user_id = decode(current_setting('context.user_id', true), 'hex'));
CREATE POLICY context_user ON blob_piece USING (EXISTS (SELECT FROM blob b WHERE b.no = blob_piece.blob));
CREATE POLICY context_user ON blob_ref USING (EXISTS (SELECT FROM chat c WHERE c.no = blob_ref.chat));
CREATE POLICY context_user ON stream USING (EXISTS (SELECT FROM chat c WHERE c.no = stream.chat));
CREATE POLICY context_user ON stream_chunk USING (EXISTS (SELECT FROM stream s WHERE s.no = stream_chunk.stream));
CREATE POLICY context_user ON trajectory_round
  USING (user_id = decode(current_setting('context.user_id', true), 'hex'));
CREATE POLICY context_user ON trajectory_query
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_query.round));
CREATE POLICY context_user ON trajectory_state
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_state.round));
CREATE POLICY context_user ON trajectory_action
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_action.round));
CREATE POLICY context_user ON trajectory_response
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_response.round));
CREATE POLICY context_user ON trajectory_knowledge
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_knowledge.round));
CREATE POLICY context_user ON trajectory_tool
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_tool.round));
CREATE POLICY context_user ON trajectory_table
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_table.round));
CREATE POLICY context_user ON trajectory_column
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_column.round));
CREATE POLICY context_user ON trajectory_file
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_file.round));
CREATE POLICY context_user ON trajectory_script
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_script.round));
CREATE POLICY context_user ON trajectory_skill
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_skill.round));
CREATE POLICY context_user ON trajectory_edge
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_edge.round));
CREATE POLICY context_user ON trajectory_version
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_version.round));
CREATE POLICY context_user ON trajectory_message
  USING (EXISTS (SELECT FROM trajectory_round r WHERE r.no = trajectory_message.round));
CREATE POLICY context_user ON memory_user
  USING (user_id = decode(current_setting('context.user_id', true), 'hex'));
CREATE POLICY context_user ON memory_scope
  USING (user_id = decode(current_setting('context.user_id', true), 'hex'));
CREATE POLICY context_user ON memory_shelf USING (EXISTS (SELECT FROM memory_scope s WHERE s.no = memory_shelf.scope));
CREATE POLICY context_user ON memory_word USING (EXISTS (SELECT FROM memory_shelf s WHERE s.no = memory_word.shelf));
CREATE POLICY context_user ON memory USING (EXISTS (SELECT FROM memory_scope s WHERE s.no = memory.scope));
CREATE POLICY context_user ON memory_vector USING (EXISTS (SELECT FROM memory_shelf s WHERE s.no = memory_vector.shelf));
CREATE POLICY context_user ON memory_mark USING (EXISTS (SELECT FROM memory_scope s WHERE s.no = memory_mark.scope));

-- What asks for rows through a view sees none before the view has asked whose they are.
ALTER VIEW trajectory_rounds SET (security_barrier = true);
ALTER VIEW trajectory_queries SET (security_barrier = true);
ALTER VIEW trajectory_states SET (security_barrier = true);
ALTER VIEW trajectory_actions SET (security_barrier = true);
ALTER VIEW trajectory_responses SET (security_barrier = true);
ALTER VIEW trajectory_knowledge_items SET (security_barrier = true);
ALTER VIEW trajectory_tools SET (security_barrier = true);
ALTER VIEW trajectory_tables SET (security_barrier = true);
ALTER VIEW trajectory_columns SET (security_barrier = true);
ALTER VIEW trajectory_files SET (security_barrier = true);
ALTER VIEW trajectory_scripts SET (security_barrier = true);
ALTER VIEW trajectory_skills SET (security_barrier = true);
ALTER VIEW trajectory_nodes SET (security_barrier = true);
ALTER VIEW trajectory_edges SET (security_barrier = true);
ALTER VIEW trajectory_versions SET (security_barrier = true);
ALTER VIEW trajectory_messages SET (security_barrier = true);

-- A table that there is only with an extension.
DO $$ BEGIN
  IF to_regclass(quote_ident(current_schema()) || '.memory_pgvector') IS NOT NULL THEN
    ALTER TABLE memory_pgvector ENABLE ROW LEVEL SECURITY;
    DROP POLICY IF EXISTS context_user ON memory_pgvector;
    CREATE POLICY context_user ON memory_pgvector
      USING (EXISTS (SELECT FROM memory_vector v WHERE v.place = memory_pgvector.place));
  END IF;
END $$;

-- A partition has no policy: there are only rows of it through its table, under that table's policy.
DO $$ DECLARE partition regclass; BEGIN
  FOR partition IN SELECT inhrelid FROM pg_inherits JOIN pg_class p ON p.oid = inhparent
      WHERE p.relkind = 'p' AND p.relnamespace = to_regnamespace(quote_ident(current_schema())) LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', partition);
  END LOOP;
END $$;
