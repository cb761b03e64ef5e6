//! The records of a log, as the messages that are stored for them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_runtime::{Message, Role, Timestamp};
use rig_core::message::Message as RigMessage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::convert::from_rig;

/// The metadata key of what a stored message holds of a log.
pub(crate) const LOG: &str = "rig_log";

/// The part of a log that a stored message holds besides a message of rig.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    /// One entry of a record that is rebuilt from its messages.
    Entry(Place),
    /// Text of the log, as it was written.
    Text(String),
    /// Bytes that are no text, in Base64.
    Bytes(String),
    /// The message is in the text that was kept before it.
    InText,
    /// The log begins anew after this.
    Restart,
}

/// The record of an entry, and what the entry has besides its message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The beginning of the record.
    pub(crate) record: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) author: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made: Option<u64>,
}

/// The fields that a record begins with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) seq: u64,
    pub(crate) n: u64,
    pub(crate) t: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Value>,
}

/// A record that adds messages, in the order in which rig writes the fields.
#[derive(Serialize, Deserialize)]
pub(crate) struct Push {
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
    #[serde(rename = "type")]
    kind: PushKind,
    pub(crate) entries: Vec<Entry>,
}

/// The type of the record, which no other one has.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PushKind {
    Push,
}

/// A message in a record.
#[derive(Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) message: RigMessage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) author: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made: Option<u64>,
}

impl Push {
    pub(crate) fn new(stamp: Stamp, entries: Vec<Entry>) -> Self {
        Self { stamp, kind: PushKind::Push, entries }
    }

    /// Returns the record as a line.
    pub(crate) fn line(&self) -> Option<Vec<u8>> {
        let mut line = serde_json::to_vec(self).ok()?;
        line.push(b'\n');
        Some(line)
    }
}

/// Returns the messages to store for bytes that are appended to a log, with their times.
pub(crate) fn messages(bytes: &[u8], now: Timestamp) -> Vec<(Message, Timestamp)> {
    bytes.split_inclusive(|byte| *byte == b'\n').flat_map(|line| of_line(line, now)).collect()
}

/// Returns the message that begins the log anew.
pub(crate) fn restart(now: Timestamp) -> (Message, Timestamp) {
    (keeping(Message::new(Role::System, []), &Kept::Restart), now)
}

fn of_line(line: &[u8], now: Timestamp) -> Vec<(Message, Timestamp)> {
    let text = || match std::str::from_utf8(line) {
        Ok(text) => Kept::Text(text.to_owned()),
        Err(_) => Kept::Bytes(STANDARD.encode(line)),
    };
    let alone = |kept| vec![(keeping(Message::new(Role::System, []), &kept), now)];
    let Ok(push) = serde_json::from_slice::<Push>(line) else { return alone(text()) };
    let converted: Result<Vec<Message>, _> =
        push.entries.iter().map(|entry| from_rig(&entry.message)).collect();
    let Ok(converted) = converted else { return alone(text()) };
    let at = i64::try_from(push.stamp.t.saturating_mul(1000)).map_or(now, Timestamp::from_micros);
    let is_rebuilt = !converted.is_empty() && rebuilt(&push, &converted) == Some(line.to_vec());
    let mut stored = Vec::with_capacity(converted.len() + 1);
    if !is_rebuilt {
        stored.extend(alone(text()));
    }
    for (message, entry) in converted.into_iter().zip(push.entries) {
        let Entry { author, id, made, .. } = entry;
        let kept = match is_rebuilt {
            true => Kept::Entry(Place { record: push.stamp.clone(), author, id, made }),
            false => Kept::InText,
        };
        stored.push((keeping(message, &kept), at));
    }
    stored
}

/// Returns the line that reading the log would make of the messages.
fn rebuilt(push: &Push, messages: &[Message]) -> Option<Vec<u8>> {
    let entries = push.entries.iter().zip(messages).map(|(entry, message)| {
        let message = crate::convert::to_rig(message).ok()?;
        Some(Entry { message, author: entry.author.clone(), id: entry.id, made: entry.made })
    });
    Push::new(push.stamp.clone(), entries.collect::<Option<_>>()?).line()
}

fn keeping(mut message: Message, kept: &Kept) -> Message {
    // A stamp and texts are always JSON; without them the message would be one of another program.
    if let Ok(kept) = serde_json::to_value(kept) {
        message.metadata.insert(LOG, kept);
    }
    message
}
