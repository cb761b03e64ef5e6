-- A message is one row, packed. A parent always has a smaller number than its children.
CREATE TABLE IF NOT EXISTS chat (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    id TEXT NOT NULL,
    updated INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (user, id)
);
CREATE TABLE IF NOT EXISTS message (
    no INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,
    id TEXT NOT NULL,
    parent INTEGER,
    depth INTEGER NOT NULL,
    node BLOB NOT NULL,
    UNIQUE (chat, id)
);
CREATE TABLE IF NOT EXISTS revision (
    no INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    replaced INTEGER NOT NULL,
    node BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS revision_of ON revision (message);
CREATE TABLE IF NOT EXISTS branch (
    no INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,
    name TEXT NOT NULL,
    head INTEGER,
    created INTEGER NOT NULL,
    UNIQUE (chat, name)
);
CREATE TABLE IF NOT EXISTS checkpoint (
    chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,
    name TEXT NOT NULL,
    message INTEGER NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (chat, name)
);
CREATE TABLE IF NOT EXISTS fragment (
    no INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,
    id TEXT,
    metadata TEXT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS fragment_of ON fragment (chat);
CREATE TABLE IF NOT EXISTS applied (
    chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    branch TEXT,
    head TEXT,
    PRIMARY KEY (chat, key)
);
