//! Sessions of goose, as newer versions store them: in `sessions.db`. They are read as what
//! `goose session export --format json` writes.
//!
//! Source: aaif-goose/goose, `crates/goose/src/session/session_manager.rs` at 017176d0.

use serde_json::{Value, json};

use super::database::{Database, Record, key_of, parsed};
use crate::error::Failure;

/// Tables and columns of the database.
pub(super) const COLUMNS: [(&str, &str); 2] =
    [("sessions", "working_dir"), ("messages", "content_json")];

/// The query for the ids of the sessions that have messages, oldest first.
pub(super) const IDS: &str = "SELECT id FROM sessions \
     WHERE EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id) ORDER BY created_at, id";

/// Returns the sessions that have messages, or only one of them, oldest first.
pub(super) fn sessions(database: &Database, only: Option<&str>) -> Result<Vec<Value>, Failure> {
    let sql = "SELECT * FROM sessions WHERE ?1 IS NULL OR id = ?1 ORDER BY created_at, id";
    let sessions = database.rows(sql, [only])?;
    let mut exported = Vec::with_capacity(sessions.len());
    for mut session in sessions {
        let messages = "SELECT * FROM messages WHERE session_id = ?1 ORDER BY id";
        let messages = database.rows(messages, [key_of(&session, "id")])?;
        if messages.is_empty() {
            continue;
        }
        let messages: Vec<_> = messages.into_iter().map(message).collect();
        for column in
            ["extension_data", "recipe_json", "user_recipe_values_json", "model_config_json"]
        {
            if let Some(value) = session.remove(column) {
                session.insert(column.trim_end_matches("_json").to_owned(), parsed(value));
            }
        }
        session.insert("conversation".to_owned(), messages.into());
        exported.push(session.into());
    }
    Ok(exported)
}

/// Returns a message in the form of its export.
fn message(mut row: Record) -> Value {
    let mut take = |column| row.remove(column).map_or(Value::Null, parsed);
    let (content, metadata) = (take("content_json"), take("metadata_json"));
    let created = take("created_timestamp");
    let id = row.remove("message_id").unwrap_or_default();
    let role = row.remove("role").unwrap_or_default();
    let mut message = json!({"role": role, "created": created, "content": content});
    for (key, value) in [("id", id), ("metadata", metadata)] {
        if !value.is_null() {
            message[key] = value;
        }
    }
    message
}
