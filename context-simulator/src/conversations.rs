//! Recorded conversations of agents as messages, for tests that want real or long ones.
//!
//! They are read from the folder of test data ([`recordings::folder`](crate::recordings::folder))
//! as far as the folder has them: chats with tools (`tau-bench`), sessions that work on
//! repositories (`swe-agent`, `claude-code`), calls of many APIs (`toolbench`). Only the content is
//! read, not its encoding. The same file read through a codec has more metadata.

mod read;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_core::model::TokenCounter;
use context_core::{Message, Part, Role};
use serde_json::Value;

/// The folders that hold conversations.
const FOLDERS: [&str; 4] = ["tau-bench", "swe-agent", "toolbench", "claude-code"];

/// A recorded conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conversation {
    /// The file, with its folder, and the index in the file.
    pub name: String,
    /// The messages, oldest first.
    pub messages: Vec<Arc<Message>>,
}

/// Returns all conversations below `data` in this folder, ordered by file. Missing folders are
/// skipped.
///
/// # Panics
///
/// If a file cannot be read or parsed: this function is for tests.
pub fn conversations(folder: &Path) -> Vec<Conversation> {
    FOLDERS.iter().flat_map(|source| of_source(&folder.join("data"), source)).collect()
}

fn of_source(data: &Path, source: &str) -> Vec<Conversation> {
    let entries = fs::read_dir(data.join(source)).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| {
        file.extension().is_some_and(|end| end == "json" || end == "jsonl" || end == "traj")
    });
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let fault = |error: &dyn std::fmt::Display| -> ! { panic!("{}: {error}", file.display()) };
        let text = fs::read_to_string(&file).unwrap_or_else(|error| fault(&error));
        let is_lines = file.extension().is_some_and(|end| end == "jsonl");
        let value = match is_lines {
            true => text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .map(serde_json::from_str::<Value>)
                .collect(),
            false => serde_json::from_str(&text),
        };
        let value: Value = value.unwrap_or_else(|error| fault(&error));
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        for (i, list) in lists(&value, is_lines).into_iter().enumerate() {
            let messages = read::messages(&list).into_iter().map(Arc::new).collect();
            found.push(Conversation { name: format!("{source}/{stem}[{i}]"), messages });
        }
    }
    found
}

/// Returns the lists of messages in a file.
fn lists(value: &Value, is_lines: bool) -> Vec<Vec<Value>> {
    let list = |value: &Value| value.as_array().cloned();
    if is_lines {
        let entries = value.as_array().into_iter().flatten();
        return vec![entries.filter_map(|entry| entry.get("message")).cloned().collect()];
    }
    match value {
        Value::Array(runs) => runs.iter().filter_map(|run| list(run.get("traj")?)).collect(),
        run => {
            let trained =
                run.pointer("/answer_generation/train_messages").and_then(Value::as_array);
            let history = run.get("history").and_then(list);
            history.into_iter().chain(trained.into_iter().flatten().filter_map(list)).collect()
        }
    }
}

/// Builds one conversation of at most `tokens` tokens from the turns of these conversations, in
/// order and repeated from the beginning. The result has the system messages of the first
/// conversation, then whole turns, each with all its calls and results. Calls get new, unique ids.
pub fn joined(
    conversations: &[Conversation],
    tokens: u64,
    counter: &dyn TokenCounter,
) -> Vec<Arc<Message>> {
    let count = |messages: &[Arc<Message>]| -> u64 {
        messages.iter().map(|message| counter.count_message(message).tokens()).sum()
    };
    let chats: Vec<Chat<'_>> = conversations.iter().map(|chat| Chat::of(chat, count)).collect();
    let mut out: Vec<Arc<Message>> =
        chats.first().map(|chat| chat.system.to_vec()).unwrap_or_default();
    let mut total = count(&out);
    let mut calls = 0;
    loop {
        let before = total;
        for chat in &chats {
            let mut ids = HashMap::new();
            for (turn, tokens_of_turn) in &chat.turns {
                if total.saturating_add(*tokens_of_turn) > tokens {
                    return out;
                }
                total += tokens_of_turn;
                out.extend(turn.iter().map(|message| renamed(message, &mut ids, &mut calls)));
            }
        }
        // No conversations, or messages of zero tokens, never reach the limit.
        if total == before {
            return out;
        }
    }
}

/// A conversation split into system messages and turns.
struct Chat<'a> {
    system: &'a [Arc<Message>],
    /// The turns with their token counts. Each begins with the user.
    turns: Vec<(&'a [Arc<Message>], u64)>,
}

impl<'a> Chat<'a> {
    fn of(chat: &'a Conversation, count: impl Fn(&[Arc<Message>]) -> u64) -> Self {
        let messages = chat.messages.as_slice();
        let begin = messages.iter().take_while(|message| message.role == Role::System).count();
        let (system, mut rest) = messages.split_at(begin);
        let mut turns = Vec::new();
        while !rest.is_empty() {
            let is_user = |message: &Arc<Message>| message.role == Role::User;
            let begun = rest.iter().take_while(|message| is_user(message)).count();
            let end = rest[begun..].iter().position(is_user).map_or(rest.len(), |at| begun + at);
            let (turn, behind) = rest.split_at(end.max(1));
            turns.push((turn, count(turn)));
            rest = behind;
        }
        Self { system, turns }
    }
}

/// Returns a message whose calls have ids that are unique in the conversation.
fn renamed(
    message: &Arc<Message>,
    ids: &mut HashMap<String, String>,
    calls: &mut usize,
) -> Arc<Message> {
    let has_ids = |part: &Part| matches!(part, Part::ToolCall(_) | Part::ToolResult(_));
    if !message.parts.iter().any(has_ids) {
        return Arc::clone(message);
    }
    let mut message = Message::clone(message);
    for part in &mut message.parts {
        match part {
            Part::ToolCall(call) => {
                *calls += 1;
                let id = format!("call_{calls}");
                ids.insert(std::mem::replace(&mut call.id, id.clone()), id);
            }
            Part::ToolResult(result) => {
                if let Some(id) = ids.get(&result.call_id) {
                    result.call_id.clone_from(id);
                }
            }
            _ => {}
        }
    }
    Arc::new(message)
}
