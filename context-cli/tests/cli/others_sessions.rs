//! Sessions that other programs keep in a database or in many files.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::Bench;
use crate::watching::{change, changes};

/// Writes a database.
fn database(bench: &Bench, name: &str, sql: &str) -> Connection {
    let connection = Connection::open(bench.path().join(name)).expect("a file");
    connection.execute_batch(sql).expect("it can be written to");
    connection
}

/// Returns role and beginning of the messages of a chat.
fn messages(bench: &Bench, chat: &str) -> Vec<(String, String)> {
    let records = bench.records(&format!("log {chat}"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    records.iter().map(|record| (text(&record["role"]), text(&record["preview"]))).collect()
}

fn said(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

/// Returns the values of the file that a chat is exported to.
fn exported(bench: &Bench, chats: &str) -> Value {
    serde_json::from_str(&bench.ok(&format!("export {chats} --to source"))).expect("JSON")
}

const LLM: &str = r#"
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT,
    options_json TEXT, response TEXT, response_json TEXT, conversation_id TEXT, duration_ms INTEGER,
    datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, token_details TEXT);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
    arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
    output TEXT, tool_call_id TEXT, instance_id INTEGER, exception TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, source TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
INSERT INTO conversations VALUES ('c1', 'Sums', 'gpt'), ('c2', 'Cats', 'gpt');
INSERT INTO responses VALUES
    ('r3', 'gpt', '', NULL, NULL, '{}', 'Three.', NULL, 'c1', 9, '2026-01-05T09:00:03', 9, 1, NULL),
    ('r1', 'gpt', 'Add 1 and 2.', 'You add.', NULL, '{"n": 1}', '', NULL, 'c1', 9, '2026-01-05T09:00:01', 3, 5, NULL),
    ('r2', 'gpt', 'What is it?', '', NULL, '{}', 'A cat.', NULL, 'c2', 9, '2026-01-05T09:00:02', 3, 5, NULL);
INSERT INTO tool_calls VALUES (1, 'r1', 1, 'add', '{"a": 1, "b": 2}', 't1');
INSERT INTO tool_results VALUES (1, 'r3', 1, 'add', '3', 't1', NULL, NULL);
INSERT INTO attachments VALUES ('i1', 'image/png', NULL, NULL, x'89504e47');
INSERT INTO prompt_attachments VALUES ('r2', 'i1', 0);
INSERT INTO fragments VALUES (1, 'h1', 'Second.', NULL), (2, 'h2', 'First.', NULL), (3, 'h3', 'Be kind.', NULL);
INSERT INTO prompt_fragments VALUES ('r2', 1, 1), ('r2', 2, 0);
INSERT INTO system_fragments VALUES ('r1', 3, 0);
"#;

#[test]
fn the_database_of_llm_is_imported_and_grows() {
    let bench = Bench::new();
    let log = database(&bench, "logs.db", LLM);
    // The newest changes of a file in use are in a second one.
    log.execute_batch("PRAGMA journal_mode = WAL").expect("it has a log");
    let ended = bench.ok("import logs.db");
    assert!(ended.contains("imported 2 chats"), "{ended}");
    let sums = [
        ("system", "Be kind. You add."),
        ("user", "Add 1 and 2."),
        ("assistant", "→ add {\"a\":1,\"b\":2}"),
        ("tool", "← add 3"),
        ("assistant", "Three."),
    ];
    assert_eq!(messages(&bench, "logs-0001"), said(&sums));
    let cats = [("user", "First. Second. What is it? [image]"), ("assistant", "A cat.")];
    assert_eq!(messages(&bench, "logs-0002"), said(&cats));
    let file = exported(&bench, "logs-0001 logs-0002");
    assert_eq!(file[0]["tool_calls"][0]["arguments"], json!({"a": 1, "b": 2}));
    assert_eq!(file[1]["attachments"][0]["content"], "iVBORw==");
    assert_eq!(file[2]["tool_results"][0]["output"], "3");
    // What is exported is what was read.
    bench.file("again.json", file.to_string());
    bench.ok("import again.json");
    assert_eq!(messages(&bench, "again-0002"), said(&cats));

    let more = "INSERT INTO responses VALUES ('r4', 'gpt', 'And 4?', NULL, NULL, '{}', 'Seven.', NULL, 'c1', 9,
        '2026-01-05T09:00:04', 9, 1, NULL)";
    log.execute_batch(more).expect("it can be written to");
    let records = bench.records("watch . --once");
    let found: Vec<_> = changes(&records);
    assert!(found.contains(&change("extended", "logs-0001", 2)), "{found:?}");
    assert_eq!(messages(&bench, "logs-0001").len(), 7);
    assert_eq!(bench.records("watch . --once"), Vec::<Value>::new());
}

const LLM_TREE: &str = r#"
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
    resolved_model TEXT, options_json TEXT, schema_id TEXT, input_tokens INTEGER, output_tokens INTEGER,
    token_details TEXT, duration_ms INTEGER, datetime_utc TEXT, response_json TEXT);
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
    payload TEXT);
CREATE TABLE part_attachments (part_id INTEGER, attachment_id TEXT, "order" INTEGER);
INSERT INTO threads VALUES ('t1', 'Sums again', 'm6', NULL, '2026-08-01T00:00:00');
INSERT INTO turns VALUES
    ('r1', 't1', 'm2', 'm3', 'gpt', NULL, NULL, NULL, 1, 1, NULL, 5, '2026-01-05T09:00:01', NULL),
    ('u1', 't1', 'm2', 'm3', 'gpt', NULL, NULL, NULL, 1, 1, NULL, 5, '2026-08-01T09:00:00', NULL),
    ('u2', 't1', 'm5', 'm6', 'gpt', NULL, NULL, NULL, 2, 2, NULL, 5, '2026-08-01T09:00:01', '{}');
INSERT INTO messages VALUES ('m1', NULL, 'system', NULL), ('m2', 'm1', 'user', NULL), ('m3', 'm2', 'assistant', NULL),
    ('m4', 'm3', 'tool', NULL), ('m5', 'm4', 'user', NULL), ('m6', 'm5', 'assistant', NULL),
    ('loop', 'loop', 'user', NULL);
INSERT INTO parts VALUES
    (1, 'm1', 0, 'text', NULL, 'You add.', NULL),
    (2, 'm2', 0, 'text', NULL, NULL, '{"text_ref": [{"fragment": 2}, {"literal": " Add it."}]}'),
    (3, 'm2', 1, 'attachment', NULL, NULL, '{"attachment": {"id": "i1"}}'),
    (4, 'm3', 1, 'tool_call', 'add', NULL, '{"name": "add", "arguments": {"a": 1}, "tool_call_id": "k1"}'),
    (5, 'm3', 0, 'reasoning', NULL, 'Hm.', NULL),
    (6, 'm4', 0, 'tool_result', 'add', NULL, '{"name": "add", "output": "5", "tool_call_id": "k1"}'),
    (7, 'm5', 0, 'text', NULL, 'Quick!', NULL),
    (8, 'm6', 0, 'text', NULL, 'Five.', NULL);
INSERT INTO part_attachments VALUES (3, 'i1', 0);
"#;

/// Since version 0.32 messages are a tree, and older responses stay where they were.
#[test]
fn newer_databases_of_llm_have_both_forms() {
    let bench = Bench::new();
    let log = database(&bench, "logs.db", &(LLM.to_owned() + LLM_TREE));
    assert!(bench.ok("import logs.db").contains("imported 3 chats"));
    let turns = [
        ("system", "You add."),
        ("user", "First. Add it. [image]"),
        ("assistant", "(thought) Hm. → add {\"a\":1}"),
        ("tool", "← add 5"),
        ("user", "Quick!"),
        ("assistant", "Five."),
    ];
    assert_eq!(messages(&bench, "logs-0003"), said(&turns));
    let file = exported(&bench, "logs-0003");
    assert_eq!(file[0]["tool_calls"][0]["arguments"], json!({"a": 1}));
    assert_eq!(file[0]["attachments"][0]["content"], "iVBORw==");
    assert_eq!(file[0]["conversation_name"], "Sums again");
    // A chain without an end is refused, before anything of the file is written.
    let endless =
        "INSERT INTO turns (id, thread_id, parent_message_hash, tip_message_hash, datetime_utc)
        VALUES ('u3', 't2', NULL, 'loop', '2026-08-02')";
    log.execute_batch(endless).expect("it can be written to");
    let ran = bench.run("import logs.db --chat endless");
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("its messages have a cycle"), "{}", ran.err);
}

const OPENCODE: &str = r#"
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
    version TEXT, share_url TEXT, summary_files INTEGER, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
    data TEXT);
INSERT INTO session VALUES ('ses_1', 'global', NULL, 'tidy', '/work', 'Tidy up', '1.2.0', NULL, 2, 1767603601000, 0);
INSERT INTO message VALUES
    ('msg_2', 'ses_1', 1767603602000, 0, '{"role": "assistant", "time": {"created": 1767603602000}, "modelID": "gpt"}'),
    ('msg_1', 'ses_1', 1767603601000, 0, '{"role": "user", "time": {"created": 1767603601000}}');
INSERT INTO part VALUES
    ('prt_1', 'msg_1', 'ses_1', 0, 0, '{"type": "text", "text": "Tidy up."}'),
    ('prt_3', 'msg_2', 'ses_1', 0, 0, '{"type": "text", "text": "Done."}'),
    ('prt_2', 'msg_2', 'ses_1', 0, 0, '{"type": "tool", "callID": "k1", "tool": "ls",
        "state": {"status": "completed", "input": {}, "output": "a b"}}'),
    ('prt_4', 'gone', 'ses_1', 0, 0, '{"type": "text", "text": "Of no message."}');
"#;

const TIDY: [(&str, &str); 4] =
    [("user", "Tidy up."), ("assistant", "→ ls {}"), ("tool", "← ls a b"), ("assistant", "Done.")];

#[test]
fn the_database_of_opencode_is_imported() {
    let bench = Bench::new();
    let sessions = database(&bench, "opencode.db", OPENCODE);
    bench.ok("import opencode.db");
    assert_eq!(messages(&bench, "opencode/ses_1"), said(&TIDY));
    assert_eq!(bench.records("chats")[0]["title"], "Tidy up");
    let file = exported(&bench, "opencode/ses_1");
    assert_eq!(file["info"]["projectID"], "global");
    assert_eq!(bench.records("watch . --once"), Vec::<Value>::new());

    // Another session is deleted and the file has become larger: the chats keep their names.
    let more = "INSERT INTO session (id, project_id, title, time_created) VALUES ('ses_0', 'global', 'Cats', 5);
        INSERT INTO message VALUES ('msg_0', 'ses_0', 5, 0, '{\"role\": \"user\"}');
        INSERT INTO part VALUES ('prt_0', 'msg_0', 'ses_0', 0, 0, '{\"type\": \"text\", \"text\": \"Cats.\"}');";
    sessions.execute_batch(more).expect("it can be written to");
    let found = changes(&bench.records("watch . --once"));
    assert_eq!(found, [change("imported", "opencode/ses_0", 1)]);
    sessions.execute_batch("DELETE FROM session WHERE id = 'ses_0'").expect("it can be written to");
    assert_eq!(bench.records("watch . --once"), Vec::<Value>::new());
    let prepared = bench.run("prepare opencode.db --provider openai --model gpt-5");
    assert!(prepared.out.contains("Tidy up."), "{}", prepared.err);
    assert_eq!(file["info"]["time"]["created"], 1_767_603_601_000_i64);
    assert_eq!(file["messages"][1]["parts"][0]["messageID"], "msg_2");
}

/// Writes the files of a session of opencode, each part in its own.
fn opencode_files(folder: &Path) {
    for (name, value) in [
        (
            "session/global/ses_1.json",
            json!({"id": "ses_1", "title": "Tidy up", "time": {"created": 1}}),
        ),
        (
            "message/ses_1/msg_1.json",
            json!({"id": "msg_1", "role": "user", "time": {"created": 1}}),
        ),
        (
            "message/ses_1/msg_0.json",
            json!({"id": "msg_0", "role": "assistant", "time": {"created": 2}}),
        ),
        ("part/msg_1/prt_1.json", json!({"type": "text", "text": "Tidy up."})),
        (
            "part/msg_0/prt_1.json",
            json!({"type": "tool", "callID": "k", "tool": "ls",
            "state": {"status": "completed", "input": {}, "output": "a b"}}),
        ),
        ("part/msg_0/prt_2.json", json!({"type": "text", "text": "Done."})),
    ] {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("the folder can be written to");
        fs::write(file, format!("{value:#}")).expect("the folder can be written to");
    }
}

#[test]
fn the_folder_of_opencode_has_one_chat_for_each_session() {
    let bench = Bench::new();
    let storage = bench.path().join("storage");
    opencode_files(&storage);
    bench.ok("import storage");
    assert_eq!(messages(&bench, "session/global/ses_1"), said(&TIDY));
    // A file of a session stands for all of it.
    bench.ok("import storage/session/global/ses_1.json");
    assert_eq!(messages(&bench, "ses_1"), said(&TIDY));

    assert_eq!(bench.records("watch storage --once"), Vec::<Value>::new());
    let (info, part) =
        (json!({"role": "user", "time": {"created": 3}}), json!({"type": "text", "text": "More."}));
    fs::create_dir_all(storage.join("part/msg_2")).expect("the folder can be written to");
    bench.file("storage/message/ses_1/msg_2.json", info.to_string());
    bench.file("storage/part/msg_2/prt_9.json", part.to_string());
    let found = changes(&bench.records("watch storage --once"));
    assert_eq!(found, [change("extended", "session/global/ses_1", 1)]);

    // The part is being written.
    bench.file("storage/part/msg_2/prt_9.json", "{\"type\": \"te");
    let ran = bench.run("import storage");
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("ses_1.json: not imported: line 1 is not JSON: EOF"), "{}", ran.err);
}

/// OpenHands has a file for each event of a conversation.
#[test]
fn a_folder_of_events_is_one_chat() {
    let bench = Bench::new();
    let events = bench.path().join("conversations/7f3a/events");
    fs::create_dir_all(&events).expect("the folder can be written to");
    let event = |number: u32, text: &str| {
        let source = if number.is_multiple_of(2) { "user" } else { "agent" };
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        let event = json!({"id": format!("e{number}"), "timestamp": "2026-01-05T09:00:00", "source": source,
            "kind": "MessageEvent", "llm_message": {"role": role, "content": [{"type": "text", "text": text}]}});
        fs::write(events.join(format!("event-{number:05}-e{number}.json")), format!("{event:#}"))
            .expect("the folder can be written to");
    };
    event(0, "Tidy up.");
    event(1, "Done.");
    #[cfg(unix)]
    assert!(
        std::process::Command::new("mkfifo")
            .arg(events.join("event-00009-pipe.json"))
            .status()
            .is_ok_and(|status| status.success())
    );
    bench.file("conversations/7f3a/base_state.json", "{\"id\": \"7f3a\", \"agent\": {}}");
    let imported = bench.ok("import conversations");
    assert!(imported.contains("imported 1 chat"), "{imported}");
    let said_so_far = said(&[("user", "Tidy up."), ("assistant", "Done.")]);
    assert_eq!(messages(&bench, "7f3a"), said_so_far);

    event(2, "Thanks.");
    bench.file("conversations/7f3a/events/event-00003-e3.json", "{\"id\": \"e3\", ");
    let found = changes(&bench.records("watch conversations --once"));
    assert_eq!(found, [change("extended", "7f3a", 1)]);
    // Alone, it is named by the folder around it. An event that is being written is left out.
    let ran = bench.run("import conversations/7f3a/events");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("1 broken line left out; it is line 4"), "{}", ran.err);
    assert_eq!(bench.records("chats").len(), 1);
}

/// Older versions number the files, and repeat the events in a folder of pages.
#[test]
fn a_folder_of_older_events_is_one_chat() {
    let bench = Bench::new();
    let events = bench.path().join("sessions/9b/events");
    for folder in ["events", "event_cache"] {
        let folder = bench.path().join("sessions/9b").join(folder);
        fs::create_dir_all(folder).expect("the folder can be written to");
    }
    let event = |id: u32, source: &str| {
        let text = format!("m{id}");
        json!({"id": id, "timestamp": "2025-06-14T10:00:00", "source": source, "message": text,
            "action": "message", "args": {"content": text}})
    };
    for (id, source) in [(0, "user"), (2, "agent"), (10, "user")] {
        let file = events.join(format!("{id}.json"));
        fs::write(file, event(id, source).to_string()).expect("the folder can be written to");
    }
    let page = json!([event(0, "user"), event(2, "agent")]).to_string();
    bench.file("sessions/9b/event_cache/0-25.json", page);
    // A folder with this name need not be of OpenHands.
    fs::create_dir_all(bench.path().join("sessions/events")).expect("the folder can be written to");
    bench.file("sessions/events/1.json", r#"[{"role": "user", "content": "Alone."}]"#);
    bench.ok("import sessions");
    assert_eq!(messages(&bench, "events/1"), said(&[("user", "Alone.")]));
    assert_eq!(bench.records("chats").len(), 2);
    assert_eq!(
        messages(&bench, "9b"),
        said(&[("user", "m0"), ("assistant", "m2"), ("user", "m10")])
    );
}

const GOOSE: &str = r#"
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT, created_at TIMESTAMP,
    extension_data TEXT, recipe_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,
    created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
INSERT INTO sessions VALUES ('20260105_1', 'Tidy up', '', '/work', '2026-01-05 09:00:01', '{}', NULL),
    ('20260105_2', 'Empty', '', '/work', '2026-01-05 09:00:02', '{}', NULL);
INSERT INTO messages VALUES
    (1, 'g1', '20260105_1', 'user', '[{"type": "text", "text": "Tidy up."}]', 1767603601, NULL, NULL,
        '{"userVisible": true, "agentVisible": true}'),
    (2, NULL, '20260105_1', 'assistant', '[{"type": "text", "text": "Done."}]', 1767603602, NULL, NULL, NULL);
"#;

#[test]
fn the_database_of_goose_is_imported() {
    let bench = Bench::new();
    drop(database(&bench, "sessions.db", GOOSE));
    bench.ok("import sessions.db");
    let expected = said(&[("user", "Tidy up."), ("assistant", "Done.")]);
    assert_eq!(messages(&bench, "sessions/20260105_1"), expected);
    let file = exported(&bench, "sessions/20260105_1");
    assert_eq!(file["conversation"][0]["metadata"]["agentVisible"], true);
    assert_eq!(bench.records("chats")[0]["title"], "Tidy up");
}

#[test]
fn a_database_is_not_written_to_and_others_are_left_alone() {
    let bench = Bench::new();
    fs::create_dir(bench.path().join("in")).expect("the folder can be written to");
    let log = database(&bench, "in/logs.db", LLM);
    log.execute_batch("PRAGMA journal_mode = WAL; PRAGMA user_version = 1").expect("it has a log");
    drop(log);
    drop(database(&bench, "in/other.db", "CREATE TABLE messages (id TEXT)"));
    bench.file("in/thumbs.db", [0xff, 0xfe]);
    let names = || {
        let files = fs::read_dir(bench.path().join("in")).expect("a folder");
        let mut names: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
        names.sort();
        names
    };
    let (before, bytes) = (names(), fs::read(bench.path().join("in/logs.db")).expect("a file"));
    let ran = bench.run("import in -v");
    assert_eq!(ran.status, 0, "{}", ran.err);
    for other in ["in/other.db: passed over", "in/thumbs.db: passed over"] {
        assert!(ran.err.contains(other), "{}", ran.err);
    }
    assert_eq!(names(), before);
    assert!(fs::read(bench.path().join("in/logs.db")).expect("a file") == bytes);

    let ran = bench.run("import in/other.db");
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("of no program whose sessions are read"), "{}", ran.err);
    // The first bytes are right, the others are not.
    bench.file("in/torn.db", &bytes[..5000]);
    assert!(bench.run("import in/torn.db").err.contains("cannot read in/torn.db"));
}
