-- What happened in runs of agents: the rounds of each agent of each session, for programs in tables and for people in views.
--
-- Ids are bytes as everywhere. Other texts are text, and JSON is json as it was written. PostgreSQL's text holds no NUL, and its
-- json not every escape nor any depth; where that matters, the column shows something near to it (U+2400 for a NUL), and exact
-- has the whole row as the program's JSON, in UTF-8. Times are in microseconds since 1970.

-- Bytes of an id as text for people.
CREATE FUNCTION trajectory_text(bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN position('\x00'::bytea IN $1) = 0 THEN convert_from($1, 'UTF8')
    ELSE convert_from(decode(replace(regexp_replace(encode($1, 'hex'), '(..)', '\1 ', 'g'), '00 ', 'e29080 '), 'hex'), 'UTF8') END
$$;

-- Microseconds as a time for people; nothing for years that have not four digits.
CREATE FUNCTION trajectory_time(bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN $1 BETWEEN -62135596800000000 AND 253402300799999999
    THEN '1970-01-01 00:00:00+00'::timestamptz + $1 * '1 microsecond'::interval END
$$;

CREATE TABLE trajectory_round (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bytea NOT NULL,
  session bytea NOT NULL,
  agent integer NOT NULL,
  round integer NOT NULL,
  -- How many commits it has had, and the key of the last one.
  revision bigint NOT NULL,
  key bytea NOT NULL,
  state text NOT NULL,
  title text NOT NULL,
  -- How many nodes there are.
  nodes bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- The whole head. The columns above are what is asked for.
  head json NOT NULL,
  exact bytea
) WITH (fillfactor = 70);
-- In the order of the listing.
CREATE UNIQUE INDEX trajectory_round_of ON trajectory_round (user_id, session, agent, round DESC);
-- What people ask the views for.
CREATE INDEX trajectory_round_text ON trajectory_round (trajectory_text(user_id), trajectory_text(session));

-- The nodes, a table for each kind. round is trajectory_round.no, ordinal the number of the node in its round, which no other
-- node of the round has, of any kind. A label that shows U+2400 may be another one, so only the others are known to be unique.
CREATE TABLE trajectory_query (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "query" text NOT NULL,
  "additional_files" json NOT NULL,
  "raw_user_query" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_query_label ON trajectory_query (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_state (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "content" text NOT NULL,
  "reasoning_content" text NOT NULL,
  "goal" text NOT NULL,
  "belief" text NOT NULL,
  "action_history" text NOT NULL,
  "current_status" text NOT NULL,
  "available_actions" text NOT NULL,
  "feedback" text NOT NULL,
  "uncertainty" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_state_label ON trajectory_state (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_action (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "action" text NOT NULL,
  "params" json NOT NULL,
  "output" json NOT NULL,
  "success" boolean NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_action_label ON trajectory_action (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_response (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "response" text NOT NULL,
  "reasoning_content" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_response_label ON trajectory_response (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_knowledge (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "knowledge_type" text NOT NULL,
  "knowledge_content" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_knowledge_label ON trajectory_knowledge (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_tool (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "tool_params" json NOT NULL,
  "tool_returns" json NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_tool_label ON trajectory_tool (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_table (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "path" text NOT NULL,
  "path_backup" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_table_label ON trajectory_table (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_column (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "from_table" text NOT NULL,
  "values" json NOT NULL,
  "supplementary_schemas" json NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_column_label ON trajectory_column (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_file (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "path" text NOT NULL,
  "source" text NOT NULL,
  "path_backup" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_file_label ON trajectory_file (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_script (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "script_content" text NOT NULL,
  "script_type" text NOT NULL,
  "path" text NOT NULL,
  "related_data_list" json NOT NULL,
  "path_backup" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_script_label ON trajectory_script (round, label) WHERE strpos(label, U&'\2400') = 0;

CREATE TABLE trajectory_skill (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  label text NOT NULL,
  description text NOT NULL,
  created_at bigint NOT NULL,
  author text,
  measures json,
  "path" text NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal)
);
CREATE UNIQUE INDEX trajectory_skill_label ON trajectory_skill (round, label) WHERE strpos(label, U&'\2400') = 0;

-- What leads to what, in the order of position. source and target are ordinals; the source is of the round itself.
CREATE TABLE trajectory_edge (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  position bigint NOT NULL,
  source bigint NOT NULL,
  target_round bigint NOT NULL,
  target bigint NOT NULL,
  name text NOT NULL,
  -- The bytes of the name, if it holds a NUL.
  exact bytea,
  PRIMARY KEY (round, position)
);
CREATE UNIQUE INDEX trajectory_edge_of ON trajectory_edge
  (round, source, target_round, target, name, coalesce(exact, ''::bytea));
CREATE INDEX trajectory_edge_target ON trajectory_edge (round, target_round, target);

-- What nodes were before each change: was is a JSON object of the fields that were changed. Rows are only ever added.
CREATE TABLE trajectory_version (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  number bigint NOT NULL,
  at bigint NOT NULL,
  author text,
  was json NOT NULL,
  exact bytea,
  PRIMARY KEY (round, ordinal, number)
);

-- The messages that nodes stand for, in the order of position. user_id is that of the round.
CREATE TABLE trajectory_message (
  round bigint NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal bigint NOT NULL,
  position bigint NOT NULL,
  user_id bytea NOT NULL,
  chat bytea NOT NULL,
  message bytea NOT NULL,
  PRIMARY KEY (round, ordinal, position)
);
CREATE INDEX trajectory_message_of ON trajectory_message (user_id, chat, message);

-- For people: each table with the user, session, agent and round it belongs to. node is how a node is written, such as 0.3.
-- A view reads with the rights of its owner, whom no policy of row-level security binds, so it asks itself whose rows there are
-- for whoever reads it.
CREATE VIEW trajectory_rounds AS
  SELECT no, trajectory_text(user_id) AS user_id, trajectory_text(session) AS session, agent, round, revision, state, title, nodes,
    trajectory_time(created_at) AS created_at, trajectory_time(updated_at) AS updated_at, head
  FROM trajectory_round
  WHERE (SELECT NOT row_security_active('trajectory_round'::regclass))
    OR user_id = decode(current_setting('context.user_id', true), 'hex');

CREATE VIEW trajectory_queries AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."query", n."additional_files", n."raw_user_query"
  FROM trajectory_rounds r JOIN trajectory_query n ON n.round = r.no;

CREATE VIEW trajectory_states AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."content", n."reasoning_content", n."goal", n."belief", n."action_history",
    n."current_status", n."available_actions", n."feedback", n."uncertainty"
  FROM trajectory_rounds r JOIN trajectory_state n ON n.round = r.no;

CREATE VIEW trajectory_actions AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."action", n."params", n."output", n."success"
  FROM trajectory_rounds r JOIN trajectory_action n ON n.round = r.no;

CREATE VIEW trajectory_responses AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."response", n."reasoning_content"
  FROM trajectory_rounds r JOIN trajectory_response n ON n.round = r.no;

CREATE VIEW trajectory_knowledge_items AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."knowledge_type", n."knowledge_content"
  FROM trajectory_rounds r JOIN trajectory_knowledge n ON n.round = r.no;

CREATE VIEW trajectory_tools AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."tool_params", n."tool_returns"
  FROM trajectory_rounds r JOIN trajectory_tool n ON n.round = r.no;

CREATE VIEW trajectory_tables AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."path", n."path_backup"
  FROM trajectory_rounds r JOIN trajectory_table n ON n.round = r.no;

CREATE VIEW trajectory_columns AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."from_table", n."values", n."supplementary_schemas"
  FROM trajectory_rounds r JOIN trajectory_column n ON n.round = r.no;

CREATE VIEW trajectory_files AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."path", n."source", n."path_backup"
  FROM trajectory_rounds r JOIN trajectory_file n ON n.round = r.no;

CREATE VIEW trajectory_scripts AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."script_content", n."script_type", n."path", n."related_data_list",
    n."path_backup"
  FROM trajectory_rounds r JOIN trajectory_script n ON n.round = r.no;

CREATE VIEW trajectory_skills AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures, n."path"
  FROM trajectory_rounds r JOIN trajectory_skill n ON n.round = r.no;

-- All nodes, whatever they are.
CREATE VIEW trajectory_nodes AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || n.ordinal AS node, n.ordinal, n.kind, n.label, n.description, trajectory_time(n.created_at) AS
    created_at, n.author, n.measures
  FROM trajectory_rounds r JOIN (
    SELECT round, ordinal, 'Query' AS kind, label, description, created_at, author, measures
      FROM trajectory_query
    UNION ALL
    SELECT round, ordinal, 'State' AS kind, label, description, created_at, author, measures
      FROM trajectory_state
    UNION ALL
    SELECT round, ordinal, 'Action' AS kind, label, description, created_at, author, measures
      FROM trajectory_action
    UNION ALL
    SELECT round, ordinal, 'Response' AS kind, label, description, created_at, author, measures
      FROM trajectory_response
    UNION ALL
    SELECT round, ordinal, 'Knowledge' AS kind, label, description, created_at, author, measures
      FROM trajectory_knowledge
    UNION ALL
    SELECT round, ordinal, 'Tool' AS kind, label, description, created_at, author, measures
      FROM trajectory_tool
    UNION ALL
    SELECT round, ordinal, 'Table' AS kind, label, description, created_at, author, measures
      FROM trajectory_table
    UNION ALL
    SELECT round, ordinal, 'Column' AS kind, label, description, created_at, author, measures
      FROM trajectory_column
    UNION ALL
    SELECT round, ordinal, 'File' AS kind, label, description, created_at, author, measures
      FROM trajectory_file
    UNION ALL
    SELECT round, ordinal, 'Script' AS kind, label, description, created_at, author, measures
      FROM trajectory_script
    UNION ALL
    SELECT round, ordinal, 'Skill' AS kind, label, description, created_at, author, measures
      FROM trajectory_skill
  ) n ON n.round = r.no;

CREATE VIEW trajectory_edges AS
  SELECT r.user_id, r.session, r.agent, r.round,
    e.position, r.round || '.' || e.source AS from_node, e.target_round || '.' || e.target AS to_node, e.name
  FROM trajectory_rounds r JOIN trajectory_edge e ON e.round = r.no;

CREATE VIEW trajectory_versions AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || v.ordinal AS node, v.number, trajectory_time(v.at) AS at, v.author, v.was
  FROM trajectory_rounds r JOIN trajectory_version v ON v.round = r.no;

CREATE VIEW trajectory_messages AS
  SELECT r.user_id, r.session, r.agent, r.round,
    r.round || '.' || m.ordinal AS node, m.position, trajectory_text(m.chat) AS chat, trajectory_text(m.message) AS
    message
  FROM trajectory_rounds r JOIN trajectory_message m ON m.round = r.no;
