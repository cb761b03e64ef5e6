//! Sessions of opencode, as it stores them: in `opencode.db`, or in older versions as a file for
//! each session, message and part. They are read as what `opencode export` writes.
//!
//! Source: anomalyco/opencode, `packages/opencode/src/session/session.sql.ts` at 063e8306.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::database::{Database, Record, key_of, parsed};
use super::folder;
use crate::error::Failure;

/// Tables and columns of the database.
pub(super) const COLUMNS: [(&str, &str); 3] =
    [("session", "project_id"), ("message", "data"), ("part", "data")];

/// The query for the ids of all sessions, oldest first.
pub(super) const IDS: &str = "SELECT id FROM session ORDER BY time_created, id";

/// Columns of a session whose names differ in its export.
const NAMES: [(&str, &str); 3] =
    [("project_id", "projectID"), ("workspace_id", "workspaceID"), ("parent_id", "parentID")];
/// Columns of a session that are grouped in its export: the beginning of the column is the name of
/// the group, the rest is the name in the group.
const GROUPS: [&str; 4] = ["time_", "summary_", "share_", "tokens_"];

/// Returns the sessions of a database, or only one of them, oldest first.
pub(super) fn sessions(database: &Database, only: Option<&str>) -> Result<Vec<Value>, Failure> {
    let sql = "SELECT * FROM session WHERE ?1 IS NULL OR id = ?1 ORDER BY time_created, id";
    let sessions = database.rows(sql, [only])?;
    let mut exported = Vec::with_capacity(sessions.len());
    for session in sessions {
        let id = key_of(&session, "id");
        let messages =
            "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id";
        let parts = "SELECT id, message_id, data FROM part WHERE session_id = ?1 ORDER BY id";
        let mut messages: Vec<(String, Value, Vec<Value>)> = database
            .rows(messages, [&id])?
            .into_iter()
            .map(|row| {
                let own = [("id", key_of(&row, "id")), ("sessionID", id.clone())];
                (key_of(&row, "id"), with(&row, &own), Vec::new())
            })
            .collect();
        let places: std::collections::HashMap<_, _> =
            messages.iter().enumerate().map(|(at, (id, ..))| (id.clone(), at)).collect();
        for row in database.rows(parts, [&id])? {
            let message = key_of(&row, "message_id");
            let own = [
                ("id", key_of(&row, "id")),
                ("sessionID", id.clone()),
                ("messageID", message.clone()),
            ];
            if let Some(at) = places.get(&message) {
                messages[*at].2.push(with(&row, &own));
            }
        }
        let messages =
            messages.into_iter().map(|(_, info, parts)| json!({"info": info, "parts": parts}));
        let messages: Vec<_> = messages.collect();
        exported.push(json!({"info": info(session), "messages": messages}));
    }
    Ok(exported)
}

/// Returns the object in the column `data`, with what has columns of its own.
fn with(row: &Record, own: &[(&str, String)]) -> Value {
    let mut fields = match row.get("data").cloned().map(parsed) {
        Some(Value::Object(fields)) => fields,
        _ => Record::new(),
    };
    fields.extend(own.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())));
    fields.into()
}

/// Returns a session in the form of its export.
fn info(session: Record) -> Value {
    let mut info = Record::new();
    for (column, value) in session {
        let value = if column == "title" { value } else { parsed(value) };
        if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == column) {
            info.insert((*name).to_owned(), value);
        } else if let Some((group, rest)) =
            GROUPS.iter().find_map(|group| Some((group, column.strip_prefix(group)?)))
        {
            let group = info.entry(group.trim_end_matches('_')).or_insert_with(|| json!({}));
            match (group, rest.strip_prefix("cache_")) {
                (Value::Object(group), Some(rest)) => {
                    let cache = group.entry("cache").or_insert_with(|| json!({}));
                    cache[rest] = value;
                }
                (group, _) => group[rest] = value,
            }
        } else {
            info.insert(column, value);
        }
    }
    info.into()
}

/// The files of a session in the folder of older versions.
pub(crate) struct SessionFiles {
    /// The file of the session: `session/PROJECT/ID.json`.
    session: PathBuf,
    /// The folder with `message/SESSION/ID.json` and `part/MESSAGE/ID.json`.
    storage: PathBuf,
}

impl SessionFiles {
    /// Returns the files of the session with this file, if it is in such a folder.
    pub(super) fn of(session: &Path) -> Option<Self> {
        let sessions = session.parent()?.parent()?;
        let storage = sessions.parent()?;
        let is_json = session.extension().is_some_and(|ending| ending == "json");
        let messages = storage.join("message").join(session.file_stem()?);
        (is_json && sessions.ends_with("session") && messages.is_dir())
            .then(|| Self { session: session.to_owned(), storage: storage.to_owned() })
    }

    /// Returns every file of the session, the session's own first, each message before its parts.
    fn files(&self) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, Failure> {
        let id = self.session.file_stem().unwrap_or_default();
        let messages = folder::json_files(&self.storage.join("message").join(id))?;
        let with_parts = |message: PathBuf| {
            let parts = self.storage.join("part").join(message.file_stem().unwrap_or_default());
            let parts = if parts.is_dir() { folder::json_files(&parts)? } else { Vec::new() };
            Ok((message, parts))
        };
        messages.into_iter().map(with_parts).collect()
    }

    /// Returns the paths of every file of the session.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        let files = self.files()?.into_iter();
        let files = files.flat_map(|(message, parts)| std::iter::once(message).chain(parts));
        Ok(std::iter::once(self.session.clone()).chain(files).collect())
    }

    /// Returns the text of the session's export.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let mut reader = folder::Reader::default();
        let mut text = format!("{{\"info\":{},\"messages\":[", reader.json(&self.session)?);
        let mut messages = Vec::new();
        for (message, parts) in self.files()? {
            let info = reader.json(&message)?;
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| reader.json(part)).collect();
            let message = format!("{{\"info\":{info},\"parts\":[{}]}}", parts?.join(","));
            messages.push((created(&info), message));
        }
        // The ids of messages ascend with time, but the names of files need not.
        messages.sort_by_key(|(created, _)| *created);
        let messages: Vec<_> = messages.into_iter().map(|(_, message)| message).collect();
        text.push_str(&messages.join(","));
        text.push_str("]}");
        Ok(text)
    }
}

/// Returns the time of a message in milliseconds.
fn created(info: &str) -> u64 {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Info<'a> {
        #[serde(borrow)]
        time: Option<&'a RawValue>,
    }
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Time {
        created: u64,
    }
    let info: Info<'_> = serde_json::from_str(info).unwrap_or_default();
    let time = info.time.and_then(|time| serde_json::from_str::<Time>(time.get()).ok());
    time.unwrap_or_default().created
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_session_are_named_as_in_its_export() {
        let row = json!({"id": "ses_1", "project_id": "p", "title": "2", "share_url": "u", "time_created": 5,
            "summary_files": 1, "summary_diffs": "[{\"file\":\"a\"}]", "tokens_input": 3, "tokens_cache_read": 4, "cost": 0.5});
        let Value::Object(row) = row else { panic!("an object") };
        let expected = json!({"id": "ses_1", "projectID": "p", "title": "2", "share": {"url": "u"}, "time": {"created": 5},
            "summary": {"files": 1, "diffs": [{"file": "a"}]}, "tokens": {"input": 3, "cache": {"read": 4}}, "cost": 0.5});
        assert_eq!(info(row), expected);
    }
}
