//! Group `replay`: what remains of a conversation after its process dies.
//!
//! The entries of a transcript are applied to an engine as they were written, each saved by itself.
//! A boundary with the messages after it is a compaction. Then the engine is dropped, and another
//! one resolves the chat. The recorded system forgets turns without an end and ours keeps every
//! saved step, so a plain case is equal except for those.

use context_runtime::Origin;
use std::sync::Arc;

use context_runtime::{
    ContextEngine, Fragment, FragmentData, Message, Role, Store, compaction::HistoryRewrite,
};

use super::Case;
use super::history::shown;
use super::messages::{Inexpressible, decode};
use super::snips::line;
use crate::encoding::{entry, items, text};
use crate::judge::{BoxError, Difference, Outcome};

type MessageList = Vec<Arc<Message>>;

/// An entry of a transcript.
enum Entry {
    /// New messages.
    Messages(MessageList),
    /// The history after a compaction.
    Compacted(MessageList),
}

pub(super) fn judge(case: &Case) -> Outcome {
    let entries = match read(items(case.input(), "entries")) {
        Ok(entries) => entries,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let ours = match case.wait(replayed(&entries)) {
        Ok(ours) => ours,
        Err(error) => {
            return Outcome::Failed(Difference::new("is replayed", shown(case.output()), error));
        }
    };
    let mut whole: Vec<String> = Vec::new();
    for entry in &entries {
        match entry {
            Entry::Messages(messages) => whole.extend(messages.iter().map(|message| line(message))),
            Entry::Compacted(messages) => {
                whole = messages.iter().map(|message| line(message)).collect()
            }
        }
    }
    if ours != whole {
        return Outcome::Failed(Difference::new(
            "sound: nothing that was saved is lost",
            whole.join("\n"),
            ours.join("\n"),
        ));
    }
    let recorded = items(case.output(), "messages").iter().filter_map(FragmentData::as_text);
    let recorded: Vec<&str> = recorded.collect();
    let mut left = ours.iter();
    let within = recorded.iter().all(|line| left.any(|ours| ours == line));
    match (case.is_suspect(), within) {
        (true, _) => {
            Outcome::Passed("sound: the newest context, with every step that was saved".to_owned())
        }
        (false, true) => {
            Outcome::Passed("equal but for turns without an end, which stay".to_owned())
        }
        (false, false) => {
            Outcome::Failed(Difference::new("equal", recorded.join("\n"), ours.join("\n")))
        }
    }
}

fn read(entries: &[FragmentData]) -> Result<Vec<Entry>, Inexpressible> {
    let mut read: Vec<Entry> = Vec::new();
    let mut compacting: Option<String> = None;
    for entry_data in entries {
        let turn = text(entry_data, "turnId").unwrap_or_default();
        let kind = text(entry_data, "type").unwrap_or_default();
        let is_boundary =
            entry(entry_data, "boundary").and_then(|of| text(of, "kind")) == Some("compact");
        if kind == "control_boundary" && is_boundary {
            compacting = Some(turn.to_owned());
            read.push(Entry::Compacted(Vec::new()));
            continue;
        }
        let one = entry(entry_data, "message").map(std::slice::from_ref).unwrap_or_default();
        let said = decode(&[one, items(entry_data, "messages")].concat())?.messages;
        let replaces = kind == "durable_message" && compacting.as_deref() == Some(turn);
        match read.last_mut() {
            _ if said.is_empty() => {}
            Some(Entry::Compacted(messages)) if replaces => messages.extend(said),
            _ => {
                compacting = None;
                read.push(Entry::Messages(said));
            }
        }
    }
    Ok(read)
}

/// Returns what another engine shows of a chat after the engine that wrote these entries is
/// dropped.
async fn replayed(entries: &[Entry]) -> Result<Vec<String>, BoxError> {
    let store = context_runtime::open("mem:").await?;
    let mut engine = open(&store).await?;
    for entry in entries {
        match entry {
            Entry::Messages(messages) => {
                for message in messages {
                    engine.set([Fragment::from(Message::clone(message))]);
                    let _saved = engine.save().await?;
                }
            }
            Entry::Compacted(messages) => {
                let before = engine.resolve().await?;
                let compacted = compacted(&before.request().messages, messages);
                engine.compact(&before, &compacted, &[]).await?;
                let _saved = engine.save().await?;
            }
        }
    }
    drop(engine);
    let resolved = open(&store).await?.resolve().await?;
    Ok(resolved.request().messages.iter().map(|message| line(message)).collect())
}

async fn open(store: &Arc<dyn Store>) -> context_runtime::Result<ContextEngine> {
    ContextEngine::builder(Arc::clone(store)).user("ada").chat("replayed").open().await
}

/// Returns the remaining history, with the positions of messages that existed before.
fn compacted(before: &[Arc<Message>], left: &[Arc<Message>]) -> HistoryRewrite {
    let mut compacted = HistoryRewrite::default();
    let mut from = 0;
    for message in left {
        let said =
            |known: &Arc<Message>| known.role == message.role && known.parts == message.parts;
        let origin = before[from..].iter().position(said).map(|at| from + at);
        from = origin.map_or(from, |at| at + 1);
        compacted.messages.push(match origin {
            Some(at) => Arc::clone(&before[at]),
            None if message.role == Role::User => {
                Arc::new(Message::clone(message).with_origin(Origin::Synthetic))
            }
            None => Arc::clone(message),
        });
        compacted.origins.push(origin);
    }
    compacted
}
