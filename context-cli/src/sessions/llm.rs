//! The database of the `llm` command, `logs.db`. It is read as what
//! `llm logs list --json -n 0 --expand` writes, oldest first, with the content of attachments and
//! of fragments where a model saw them.
//!
//! Up to version 0.31 each response is a row with its prompt. Since 0.32 messages are a tree, and a
//! turn names the end of what was sent and of what came back. A file may have both.
//!
//! Source: simonw/llm, `docs/logging.md` and `llm/logs.py` at 671fc6cc.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::database::{Database, Record, key_of, parsed, text_of};
use crate::error::Failure;

/// Tables and columns of the database.
pub(super) const COLUMNS: [(&str, &str); 2] =
    [("responses", "conversation_id"), ("conversations", "id")];
/// Its tables and columns since version 0.32.
pub(super) const TREE_COLUMNS: [(&str, &str); 4] = [
    ("turns", "tip_message_hash"),
    ("threads", "id"),
    ("messages", "parent_hash"),
    ("parts", "message_hash"),
];

/// The number of turns that may have the same message on average, as after forks.
const MOST_USES: usize = 16;
/// The number of messages that turns may have together in any file.
const SHORT: usize = 100_000;

/// Columns that contain JSON.
const JSON: [&str; 5] =
    ["prompt_json", "options_json", "response_json", "token_details", "arguments"];

/// Returns the responses, oldest first.
pub(super) fn responses(database: &Database) -> Result<Vec<Value>, Failure> {
    let mut responses = Vec::new();
    if database.has(&COLUMNS)? {
        responses = of_rows(database)?;
    }
    if database.has(&TREE_COLUMNS)? {
        let known: HashSet<String> = responses.iter().map(|row| key_of(row, "id")).collect();
        responses.extend(of_turns(database, &known)?);
    }
    responses.sort_by_cached_key(|row| (key_of(row, "datetime_utc"), key_of(row, "id")));
    Ok(responses.into_iter().map(Value::from).collect())
}

/// Returns the responses that are rows.
fn of_rows(database: &Database) -> Result<Vec<Record>, Failure> {
    let of = |table: &str, sql: &str| database.grouped(table, sql, "response_id");
    let fragments = |kind: &str| {
        let table = format!("{kind}_fragments");
        let sql = format!(
            "SELECT uses.response_id, fragments.hash, fragments.content FROM {table} AS uses \
             JOIN fragments ON fragments.id = uses.fragment_id ORDER BY uses.\"order\""
        );
        of(&table, &sql)
    };
    let (mut prompts, mut systems) = (fragments("prompt")?, fragments("system")?);
    let mut calls = of("tool_calls", "SELECT * FROM tool_calls ORDER BY id")?;
    let mut results = of("tool_results", "SELECT * FROM tool_results ORDER BY id")?;
    let mut attachments = attachments_by(database, "prompt_attachments", "response_id")?;
    let mut shown = attachments_by(database, "tool_results_attachments", "tool_result_id")?;
    let mut responses = database.rows(
        "SELECT responses.*, conversations.name AS conversation_name, \
         conversations.model AS conversation_model FROM responses \
         LEFT JOIN conversations ON conversations.id = responses.conversation_id",
        [],
    )?;
    for response in &mut responses {
        let id = key_of(response, "id");
        // The model saw the fragments in front of the prompt.
        for (column, fragments, between) in
            [("prompt", prompts.remove(&id), "\n"), ("system", systems.remove(&id), "\n\n")]
        {
            if let Some(fragments) = fragments {
                let own = text_of(response, column).filter(|text| !text.is_empty());
                let contents = fragments.iter().filter_map(|row| text_of(row, "content"));
                let whole = contents.chain(own).collect::<Vec<_>>().join(between);
                response.insert(column.to_owned(), whole.into());
            }
        }
        for result in results.get_mut(&id).into_iter().flatten() {
            if let Some(files) = shown.remove(&key_of(result, "id")) {
                result.insert("attachments".to_owned(), records(files, "tool_result_id"));
            }
        }
        for (name, rows) in [
            ("tool_calls", calls.remove(&id)),
            ("tool_results", results.remove(&id)),
            ("attachments", attachments.remove(&id)),
        ] {
            response.insert(name.to_owned(), records(rows.unwrap_or_default(), "response_id"));
        }
        parse_json(response);
    }
    Ok(responses)
}

/// Returns the attachments that a table names, by the column of what they belong to.
fn attachments_by(
    database: &Database,
    table: &str,
    owner: &str,
) -> Result<HashMap<String, Vec<Record>>, Failure> {
    let sql = format!(
        "SELECT uses.{owner}, attachments.* FROM {table} AS uses \
         JOIN attachments ON attachments.id = uses.attachment_id ORDER BY uses.\"order\""
    );
    database.grouped(table, &sql, owner)
}

/// Returns rows without the column that named what they belong to.
fn records(rows: Vec<Record>, owner: &str) -> Value {
    let rows = rows.into_iter().map(|mut row| {
        row.remove(owner);
        parse_json(&mut row);
        Value::from(row)
    });
    rows.collect()
}

fn parse_json(row: &mut Record) {
    for column in JSON {
        if let Some(value) = row.get_mut(column) {
            *value = parsed(value.take());
        }
    }
}

/// The messages of the tree, with their parts in the form of `llm`.
struct Tree {
    messages: HashMap<String, Record>,
    parts: HashMap<String, Vec<Record>>,
    /// The number of messages that the turns may still have together.
    left: Cell<usize>,
}

impl Tree {
    fn of(database: &Database) -> Result<Self, Failure> {
        let contents = database.grouped("fragments", "SELECT id, content FROM fragments", "id")?;
        let mut files = attachments_by(database, "part_attachments", "part_id")?;
        let mut parts: HashMap<String, Vec<Record>> = HashMap::new();
        let sql = "SELECT id, message_hash, type, text, payload FROM parts ORDER BY position";
        for mut row in database.rows(sql, [])? {
            let mut part = match row.remove("payload").map(parsed) {
                Some(Value::Object(payload)) => payload,
                _ => Record::new(),
            };
            if let Some(pieces) = part.remove("text_ref") {
                part.insert("text".to_owned(), referred(&pieces, &contents).into());
            }
            for column in ["type", "text"] {
                part.extend(row.remove(column).map(|value| (column.to_owned(), value)));
            }
            if let Some(files) = files.remove(&key_of(&row, "id")) {
                part.insert("attachments".to_owned(), records(files, "part_id"));
            }
            parts.entry(key_of(&row, "message_hash")).or_default().push(part);
        }
        let messages = database.rows("SELECT hash, parent_hash, role FROM messages", [])?;
        let messages: HashMap<_, _> =
            messages.into_iter().map(|row| (key_of(&row, "hash"), row)).collect();
        let left = Cell::new(messages.len().saturating_mul(MOST_USES) + SHORT);
        Ok(Self { messages, parts, left })
    }

    /// Returns the messages that end with this one and begin behind another one, newest first.
    fn back<'a>(&'a self, from: &str, to: &'a str) -> impl Iterator<Item = &'a Record> {
        let first = self.messages.get(from).filter(|_| from != to);
        let before = move |row: &&'a Record| {
            let parent = text_of(row, "parent_hash").filter(|parent| *parent != to)?;
            self.messages.get(parent)
        };
        // A damaged file may have a cycle, or turns that all begin at the root.
        let may_go_on = |_: &&Record| {
            let left = self.left.get().checked_sub(1);
            self.left.set(left.unwrap_or_default());
            left.is_some()
        };
        std::iter::successors(first, before).take_while(may_go_on)
    }

    fn parts_of(&self, message: &Record) -> &[Record] {
        self.parts.get(&key_of(message, "hash")).map_or(&[], Vec::as_slice)
    }
}

/// Returns the text of pieces, each a literal or the number of a fragment.
fn referred(pieces: &Value, contents: &HashMap<String, Vec<Record>>) -> String {
    let text = |piece: &Value| match piece.get("literal") {
        Some(literal) => literal.as_str().map(str::to_owned),
        None => {
            let fragment = contents.get(&piece.get("fragment")?.to_string())?.first()?;
            text_of(fragment, "content").map(str::to_owned)
        }
    };
    pieces.as_array().into_iter().flatten().filter_map(text).collect()
}

/// Returns the responses that are turns, but for those that are known.
fn of_turns(database: &Database, known: &HashSet<String>) -> Result<Vec<Record>, Failure> {
    let tree = Tree::of(database)?;
    let turns = database.rows(
        "SELECT turns.*, turns.thread_id AS conversation_id, threads.name AS conversation_name \
         FROM turns LEFT JOIN threads ON threads.id = turns.thread_id",
        [],
    )?;
    let turns = turns.into_iter().filter(|turn| !known.contains(&key_of(turn, "id")));
    let responses = turns.map(|turn| response(turn, &tree)).collect();
    match tree.left.get() {
        0 => Err(database.damaged("its turns overlap, or its messages have a cycle")),
        _ => Ok(responses),
    }
}

/// Returns a turn as a response: its input is what was sent behind the last answer.
fn response(mut turn: Record, tree: &Tree) -> Record {
    let (sent, end) = (key_of(&turn, "parent_message_hash"), key_of(&turn, "tip_message_hash"));
    // Only the newest part of a long thread belongs to the turn.
    let (mut input, mut system) = (Vec::new(), None);
    for row in tree.back(&sent, "") {
        if !matches!(text_of(row, "role"), Some("user" | "tool")) {
            system = Some(row).filter(|row| text_of(row, "role") == Some("system"));
            break;
        }
        input.push(row);
    }
    let mut output: Vec<_> = tree.back(&end, &sent).collect();
    input.reverse();
    output.reverse();

    let parts = |messages: &[&Record], kind: &'static str| -> Vec<Record> {
        let parts = messages.iter().flat_map(|message| tree.parts_of(message));
        parts.filter(|part| text_of(part, "type") == Some(kind)).cloned().collect()
    };
    let texts = |messages: &[&Record], kind| -> String {
        parts(messages, kind).iter().filter_map(|part| text_of(part, "text")).collect()
    };
    let values = |messages: &[&Record], kind| -> Value {
        let parts = parts(messages, kind).into_iter().map(|mut part| {
            part.remove("type");
            Value::from(part)
        });
        parts.collect()
    };
    let files: Vec<Value> = parts(&input, "attachment")
        .into_iter()
        .filter_map(|mut part| part.remove("attachments"))
        .flat_map(|files| files.as_array().cloned().unwrap_or_default())
        .collect();
    let asked: Vec<_> =
        input.iter().copied().filter(|row| text_of(row, "role") == Some("user")).collect();
    let system = system.map(|system| texts(&[system], "text"));
    let fields = [
        ("prompt", texts(&asked, "text").into()),
        ("system", json!(system.filter(|text| !text.is_empty()))),
        ("response", texts(&output, "text").into()),
        ("reasoning", json!(Some(texts(&output, "reasoning")).filter(|text| !text.is_empty()))),
        ("tool_calls", values(&output, "tool_call")),
        ("tool_results", values(&input, "tool_result")),
        ("attachments", files.into()),
    ];
    for column in ["thread_id", "parent_message_hash", "tip_message_hash"] {
        turn.remove(column);
    }
    turn.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    parse_json(&mut turn);
    turn
}
