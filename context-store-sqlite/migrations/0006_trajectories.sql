-- What happened in runs of agents: the rounds of each agent of each session.
CREATE TABLE trajectory_round (
  no INTEGER PRIMARY KEY,
  user TEXT NOT NULL,
  session TEXT NOT NULL,
  agent INTEGER NOT NULL,
  round INTEGER NOT NULL,
  -- How many commits it has had, and the key of the last one.
  revision INTEGER NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,
  title TEXT NOT NULL,
  -- How many nodes there are.
  nodes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- The whole head as JSON. The columns above are what is asked for.
  head TEXT NOT NULL
) STRICT;
-- In the order of the listing.
CREATE UNIQUE INDEX trajectory_round_of ON trajectory_round (user, session, agent, round DESC);

-- The nodes, a table for each kind. round is trajectory_round.no, ordinal the number of the node in its round, which no other
-- node of the round has, of any kind. Times are in microseconds since 1970. Fields that hold JSON have the text as it was written.
CREATE TABLE trajectory_query (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "query" TEXT NOT NULL,
  "additional_files" TEXT NOT NULL,
  "raw_user_query" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_state (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "content" TEXT NOT NULL,
  "reasoning_content" TEXT NOT NULL,
  "goal" TEXT NOT NULL,
  "belief" TEXT NOT NULL,
  "action_history" TEXT NOT NULL,
  "current_status" TEXT NOT NULL,
  "available_actions" TEXT NOT NULL,
  "feedback" TEXT NOT NULL,
  "uncertainty" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_action (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "action" TEXT NOT NULL,
  "params" TEXT NOT NULL,
  "output" TEXT NOT NULL,
  "success" INTEGER NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_response (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "response" TEXT NOT NULL,
  "reasoning_content" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_knowledge (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "knowledge_type" TEXT NOT NULL,
  "knowledge_content" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_tool (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "tool_params" TEXT NOT NULL,
  "tool_returns" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_table (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "path" TEXT NOT NULL,
  "path_backup" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_column (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "from_table" TEXT NOT NULL,
  "values" TEXT NOT NULL,
  "supplementary_schemas" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_file (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "path" TEXT NOT NULL,
  "source" TEXT NOT NULL,
  "path_backup" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_script (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "script_content" TEXT NOT NULL,
  "script_type" TEXT NOT NULL,
  "path" TEXT NOT NULL,
  "related_data_list" TEXT NOT NULL,
  "path_backup" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory_skill (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  label TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  author TEXT,
  measures TEXT,
  "path" TEXT NOT NULL,
  PRIMARY KEY (round, ordinal),
  UNIQUE (round, label)
) STRICT, WITHOUT ROWID;

-- What leads to what, in the order of position. source and target are ordinals; the source is of the round itself.
CREATE TABLE trajectory_edge (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  source INTEGER NOT NULL,
  target_round INTEGER NOT NULL,
  target INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (round, position),
  UNIQUE (round, source, target_round, target, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX trajectory_edge_target ON trajectory_edge (round, target_round, target);

-- What nodes were before each change: was is a JSON object of the fields that were changed. Rows are only ever added.
CREATE TABLE trajectory_version (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  author TEXT,
  was TEXT NOT NULL,
  PRIMARY KEY (round, ordinal, number)
) STRICT, WITHOUT ROWID;

-- The messages that nodes stand for, in the order of position. user is that of the round.
CREATE TABLE trajectory_message (
  round INTEGER NOT NULL REFERENCES trajectory_round (no) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  position INTEGER NOT NULL,
  user TEXT NOT NULL,
  chat TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (round, ordinal, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX trajectory_message_of ON trajectory_message (user, chat, message);

-- For people: each table with the user, session, agent and round it belongs to. node is how a node is written, such as 0.3.
CREATE VIEW trajectory_queries AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."query",
    n."additional_files", n."raw_user_query"
  FROM trajectory_round r JOIN trajectory_query n ON n.round = r.no;

CREATE VIEW trajectory_states AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."content",
    n."reasoning_content", n."goal", n."belief", n."action_history", n."current_status",
    n."available_actions", n."feedback", n."uncertainty"
  FROM trajectory_round r JOIN trajectory_state n ON n.round = r.no;

CREATE VIEW trajectory_actions AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."action", n."params",
    n."output", n."success"
  FROM trajectory_round r JOIN trajectory_action n ON n.round = r.no;

CREATE VIEW trajectory_responses AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."response",
    n."reasoning_content"
  FROM trajectory_round r JOIN trajectory_response n ON n.round = r.no;

CREATE VIEW trajectory_knowledge_items AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."knowledge_type",
    n."knowledge_content"
  FROM trajectory_round r JOIN trajectory_knowledge n ON n.round = r.no;

CREATE VIEW trajectory_tools AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."tool_params",
    n."tool_returns"
  FROM trajectory_round r JOIN trajectory_tool n ON n.round = r.no;

CREATE VIEW trajectory_tables AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."path", n."path_backup"
  FROM trajectory_round r JOIN trajectory_table n ON n.round = r.no;

CREATE VIEW trajectory_columns AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."from_table",
    n."values", n."supplementary_schemas"
  FROM trajectory_round r JOIN trajectory_column n ON n.round = r.no;

CREATE VIEW trajectory_files AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."path", n."source",
    n."path_backup"
  FROM trajectory_round r JOIN trajectory_file n ON n.round = r.no;

CREATE VIEW trajectory_scripts AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."script_content",
    n."script_type", n."path", n."related_data_list", n."path_backup"
  FROM trajectory_round r JOIN trajectory_script n ON n.round = r.no;

CREATE VIEW trajectory_skills AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.label, n.description, n.created_at, n.author, n.measures, n."path"
  FROM trajectory_round r JOIN trajectory_skill n ON n.round = r.no;

-- All nodes, whatever they are.
CREATE VIEW trajectory_nodes AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || n.ordinal AS node,
    n.ordinal, n.kind, n.label, n.description, n.created_at, n.author, n.measures
  FROM trajectory_round r JOIN (
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
  SELECT r.user, r.session, r.agent, r.round, e.position,
    r.round || '.' || e.source AS from_node, e.target_round || '.' || e.target AS to_node, e.name
  FROM trajectory_round r JOIN trajectory_edge e ON e.round = r.no;

CREATE VIEW trajectory_versions AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || v.ordinal AS node, v.number, v.at, v.author, v.was
  FROM trajectory_round r JOIN trajectory_version v ON v.round = r.no;

CREATE VIEW trajectory_messages AS
  SELECT r.user, r.session, r.agent, r.round, r.round || '.' || m.ordinal AS node, m.position, m.chat, m.message
  FROM trajectory_round r JOIN trajectory_message m ON m.round = r.no;
