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
ALTER TABLE words ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob_piece ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob_ref ENABLE ROW LEVEL SECURITY;
ALTER TABLE stream ENABLE ROW LEVEL SECURITY;
ALTER TABLE stream_chunk ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS context_user ON chat;
DROP POLICY IF EXISTS context_user ON branch;
DROP POLICY IF EXISTS context_user ON run;
DROP POLICY IF EXISTS context_user ON boundary;
DROP POLICY IF EXISTS context_user ON node;
DROP POLICY IF EXISTS context_user ON revision;
DROP POLICY IF EXISTS context_user ON checkpoint;
DROP POLICY IF EXISTS context_user ON applied;
DROP POLICY IF EXISTS context_user ON fragment;
DROP POLICY IF EXISTS context_user ON words;
DROP POLICY IF EXISTS context_user ON blob;
DROP POLICY IF EXISTS context_user ON blob_piece;
DROP POLICY IF EXISTS context_user ON blob_ref;
DROP POLICY IF EXISTS context_user ON stream;
DROP POLICY IF EXISTS context_user ON stream_chunk;

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
CREATE POLICY context_user ON run USING (EXISTS (SELECT FROM branch b WHERE b.no = run.pos >> 32));
CREATE POLICY context_user ON boundary USING (EXISTS (SELECT FROM branch b WHERE b.no = boundary.pos >> 32));
CREATE POLICY context_user ON words USING (EXISTS (SELECT FROM branch b WHERE b.no = words.pos >> 32));
CREATE POLICY context_user ON blob
  USING (user_id = decode(current_setting('context.user_id', true), 'hex'));
CREATE POLICY context_user ON blob_piece USING (EXISTS (SELECT FROM blob b WHERE b.no = blob_piece.blob));
CREATE POLICY context_user ON blob_ref USING (EXISTS (SELECT FROM chat c WHERE c.no = blob_ref.chat));
CREATE POLICY context_user ON stream USING (EXISTS (SELECT FROM chat c WHERE c.no = stream.chat));
CREATE POLICY context_user ON stream_chunk USING (EXISTS (SELECT FROM stream s WHERE s.no = stream_chunk.stream));
