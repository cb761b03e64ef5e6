-- Answers in flight, without their chunks.
CREATE TABLE stream (
  no INTEGER PRIMARY KEY,
  chat INTEGER NOT NULL REFERENCES chat (no),
  id TEXT NOT NULL,
  state TEXT NOT NULL,
  run INTEGER NOT NULL,
  writer TEXT,
  chunks INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  error TEXT,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  cancel_requested_at INTEGER,
  finished_at INTEGER,
  updated_at INTEGER NOT NULL,
  UNIQUE (chat, id)
) STRICT;

-- A row for each chunk, in their order. pos is stream.no << 24 | the number of the chunk, from 0.
CREATE TABLE stream_chunk (
  pos INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

CREATE TRIGGER delete_stream_chunks AFTER DELETE ON stream BEGIN
  DELETE FROM stream_chunk WHERE pos BETWEEN OLD.no << 24 AND (OLD.no << 24) + 0xffffff;
END;

-- Chunks of another run are others.
CREATE TRIGGER begin_stream_anew AFTER UPDATE OF run ON stream WHEN NEW.run <> OLD.run BEGIN
  DELETE FROM stream_chunk WHERE pos BETWEEN OLD.no << 24 AND (OLD.no << 24) + 0xffffff;
END;

CREATE TRIGGER delete_chat_streams BEFORE DELETE ON chat BEGIN
  DELETE FROM stream WHERE chat = OLD.no;
END;
