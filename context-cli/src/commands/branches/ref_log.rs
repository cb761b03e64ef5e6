//! `branches --log`: prints what became of the branches and checkpoints of a chat, oldest first.

use std::collections::BTreeMap;

use context_runtime::store::{RefChange, RefLog};
use context_runtime::{Error, ErrorKind, MessageId, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::table::{Column, Table};
use crate::text::{clean, count, short_id, time};

/// JSON record of `branches --log`: one change of a branch or a checkpoint.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct RefChangeRecord<'a> {
    v: u32,
    /// The number of the change among all changes of the chat, from 1.
    number: u64,
    at: String,
    /// The kind of the change, and the names, message ids and counts that it has.
    #[serde(flatten)]
    #[schemars(with = "serde_json::Value")]
    change: &'a RefChange,
}

pub(super) async fn list(app: &mut App, chat: &str) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let Some(log) = store.ref_log() else {
        let text = "this store keeps no log of branches and checkpoints";
        return Err(Error::new(ErrorKind::Unsupported, "ref_log", text).into());
    };
    let log = log.ref_log(&app.chat(chat)).await?;
    let mut table = Table::new([Column::text("CHANGE"), Column::time("MADE")]);
    for entry in log.entries() {
        if app.out.is_json() {
            app.out.record(&RefChangeRecord {
                v: 1,
                number: entry.number,
                at: time(entry.at),
                change: &entry.change,
            })?;
            continue;
        }
        table.row([sentence(&entry.change).into(), app.out.when(entry.at).into()]);
    }
    table.write(&mut app.out)?;
    if log.is_empty() {
        app.out.note("no branch and no checkpoint has changed yet");
    }
    for command in ways_back(&*store, app, chat, &log).await? {
        app.out.note(format_args!("back again: `{command}`"));
    }
    Ok(Outcome::Success)
}

fn sentence(change: &RefChange) -> String {
    let at = |head: &Option<MessageId>| match head {
        Some(head) => format!("at {}", short_id(head)),
        None => "without messages".to_owned(),
    };
    let gone = |messages: u64| match messages {
        0 => String::new(),
        n => format!("; {} went with it", count(n as usize, "message")),
    };
    match change {
        RefChange::BranchCreated { branch, from } => {
            let from = from.as_ref().map(|from| format!(" after {}", short_id(from)));
            format!("created branch {}{}", clean(branch.as_str()), from.unwrap_or_default())
        }
        RefChange::BranchActivated { from, to } => {
            format!("switched from {} to {}", clean(from.as_str()), clean(to.as_str()))
        }
        RefChange::BranchRenamed { from, to } => {
            format!("renamed branch {} to {}", clean(from.as_str()), clean(to.as_str()))
        }
        RefChange::BranchDeleted { branch, head, messages } => {
            let (branch, gone) = (clean(branch.as_str()), gone(*messages));
            format!("deleted branch {branch}, {}{gone}", at(head))
        }
        RefChange::CheckpointSet { checkpoint, from: None, to, .. } => {
            format!("set checkpoint {} to {}", clean(checkpoint.as_str()), short_id(to))
        }
        RefChange::CheckpointSet { checkpoint, from: Some(from), to, messages } => {
            let (checkpoint, gone) = (clean(checkpoint.as_str()), gone(*messages));
            let (from, to) = (short_id(from), short_id(to));
            format!("moved checkpoint {checkpoint} from {from} to {to}{gone}")
        }
        RefChange::CheckpointDeleted { checkpoint, from, messages } => {
            let (checkpoint, gone) = (clean(checkpoint.as_str()), gone(*messages));
            format!("deleted checkpoint {checkpoint}, at {}{gone}", short_id(from))
        }
        RefChange::MessagesRedacted { messages } => {
            format!("redacted {}", count(*messages as usize, "message"))
        }
        other => format!("{other:?}"),
    }
}

/// Returns the commands that bring back the deleted branches and checkpoints whose message is still
/// stored and whose name is free.
async fn ways_back(
    store: &dyn Store,
    app: &App,
    chat: &str,
    log: &RefLog,
) -> Result<Vec<String>, Failure> {
    if app.out.is_json() {
        return Ok(Vec::new());
    }
    let (history, chat_ref) = (store.history(), app.chat(chat));
    let branches = history.branches(&chat_ref).await?;
    let checkpoints = history.checkpoints(&chat_ref).await?;
    let mut deleted = BTreeMap::new();
    for entry in log.entries() {
        match &entry.change {
            RefChange::BranchDeleted { branch, head: Some(head), .. } => {
                deleted.insert((true, branch.as_str()), head.clone());
            }
            RefChange::CheckpointDeleted { checkpoint, from, .. } => {
                deleted.insert((false, checkpoint.as_str()), from.clone());
            }
            _ => {}
        }
    }
    for branch in &branches {
        deleted.remove(&(true, branch.name.as_str()));
    }
    for checkpoint in &checkpoints {
        deleted.remove(&(false, checkpoint.name.as_str()));
    }
    let messages: Vec<_> = deleted.values().cloned().collect();
    let stored = history.messages(&chat_ref, &messages).await?;
    let kept = deleted.into_iter().zip(stored).filter(|(_, stored)| stored.is_some());
    let command = |(((is_branch, name), message), _): (((bool, &str), MessageId), _)| {
        let [chat, name, message] = [chat, name, message.as_str()].map(shell_word);
        let (chat, name, message) = (chat?, name?, message?);
        Some(match is_branch {
            true => format!("context fork {chat} --at {message} --name {name}"),
            false => format!("context checkpoint {chat} {name} --at {message}"),
        })
    };
    Ok(kept.filter_map(command).collect())
}

/// Returns a name as a word of a command line. `None` for a name that cannot be shown as it is, or
/// that would be read as an option.
fn shell_word(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
    if clean(name) != name || name.starts_with('-') {
        return None;
    }
    Some(match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    })
}
