//! The JSON line of a record.
//!
//! Each line is an object with a `type`. Timestamps are microseconds since 1970. A body is stored
//! as `json` if its bytes are one-line JSON as the library writes it, so that other programs can
//! read it. Otherwise it is stored as `text`, or as `base64` if it is not text. Each form restores
//! the body byte for byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use context_core::base::{BlobId, CheckpointName, FragmentId, limits};
use context_core::message::NodeKind;
use context_core::store::{Branch, Chat, Checkpoint, NewBlob, NewChat, Revision, StoredFragment};
use context_core::{
    BranchName, ChatId, ChatRef, Encoded, Error, ErrorKind, Json, Message, MessageId, Metadata,
    Node, Retry, Role, Timestamp, UserId,
};
use serde::{Deserialize, Serialize};

use super::record::{BlobRecord, ChatMessageRecord, ChatRecord};
use crate::workspace::without_records;

/// The operation that errors of an import name.
pub(super) const OPERATION: &str = "import_jsonl";

/// The format version that is written. Older versions can be read.
pub(super) const VERSION: u32 = 1;

/// The longest line that is written and read, in bytes: enough for several revisions of the largest
/// body.
pub(super) const MAX_LINE: u64 = 256 << 20;

/// The reason why a line is not a record.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("{}", .0.to_string().split(" at line ").next().unwrap_or_default())]
    Json(#[from] serde_json::Error),
    #[error("it is longer than {MAX_LINE} bytes")]
    TooLong,
    #[error("its type is not known to this version")]
    Type,
    #[error("version {0} is newer than this program, which knows up to {VERSION}")]
    Newer(u32),
    #[error("a body is neither json, text nor base64")]
    Body,
    #[error("the bytes of a blob do not match its id")]
    Blob,
    #[error("a message is of no known kind")]
    Kind,
    /// A record that no store would accept.
    #[error("{0}")]
    Limit(#[from] Error),
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    tag: String,
}

/// A line: its type first, then the fields of its record.
#[derive(Serialize)]
struct Tagged<'a, T> {
    #[serde(rename = "type")]
    tag: &'static str,
    #[serde(flatten)]
    fields: &'a T,
}

#[derive(Serialize, Deserialize)]
struct ChatLine {
    v: u32,
    chat: ChatId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    active: BranchName,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct BranchLine {
    name: BranchName,
    #[serde(default)]
    head: Option<MessageId>,
    created_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct CheckpointLine {
    name: CheckpointName,
    message: MessageId,
    created_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct FragmentLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<FragmentId>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    body: Body,
}

#[derive(Serialize, Deserialize)]
struct MessageLine {
    id: MessageId,
    #[serde(default)]
    parent: Option<MessageId>,
    created_at: Timestamp,
    /// A role, or `boundary`.
    role: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    revision: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    body: Body,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    revisions: Vec<RevisionLine>,
}

/// An earlier revision of the message. It has the id and time of the message.
#[derive(Serialize, Deserialize)]
struct RevisionLine {
    replaced_at: Timestamp,
    role: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    revision: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    body: Body,
}

#[derive(Serialize, Deserialize)]
struct BlobLine {
    id: BlobId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    created_at: Timestamp,
    used_at: Timestamp,
    base64: String,
}

#[derive(Serialize, Deserialize)]
struct EndLine {
    messages: u64,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[derive(Serialize, Deserialize)]
struct Body {
    kind: String,
    v: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Body {
    fn of(encoded: &Encoded) -> Self {
        let (kind, v) = (encoded.kind().to_owned(), encoded.version());
        let body = Self { kind, v, json: None, text: None, base64: None };
        match std::str::from_utf8(encoded.bytes()) {
            Err(_) => Self { base64: Some(BASE64.encode(encoded.bytes())), ..body },
            Ok(text) => match Json::from_text(text) {
                // White space around a value, and line breaks within it, would be lost.
                Ok(json) if json.as_str() == text && !text.contains(['\n', '\r']) => {
                    Self { json: Some(json), ..body }
                }
                _ => Self { text: Some(text.to_owned()), ..body },
            },
        }
    }

    fn read(self) -> Result<Encoded, LineError> {
        let bytes = match (self.json, self.text, self.base64) {
            (Some(json), None, None) => json.as_str().as_bytes().to_vec(),
            (None, Some(text), None) => text.into_bytes(),
            (None, None, Some(base64)) => BASE64.decode(base64).map_err(|_| LineError::Body)?,
            _ => return Err(LineError::Body),
        };
        Ok(match self.kind.as_str() {
            // Shares one copy of the kind that nearly every message has.
            Message::KIND => Encoded::new(Message::KIND, self.v, bytes),
            _ => Encoded::new(self.kind, self.v, bytes),
        })
    }
}

fn role_of(node: &Node) -> String {
    node.role().map_or("boundary", Role::as_str).to_owned()
}

fn kind_of(role: &str) -> Result<NodeKind, LineError> {
    const ROLES: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];
    match ROLES.into_iter().find(|known| known.as_str() == role) {
        Some(role) => Ok(NodeKind::Message(role)),
        None if role == "boundary" => Ok(NodeKind::Boundary),
        None => Err(LineError::Kind),
    }
}

impl RevisionLine {
    fn of(revision: &Revision) -> Self {
        let node = &revision.node;
        Self {
            replaced_at: revision.replaced_at,
            role: role_of(node),
            revision: node.revision,
            tokens: node.tokens,
            body: Body::of(node.body()),
        }
    }

    fn read(self, id: &MessageId, created_at: Timestamp) -> Result<Revision, LineError> {
        let mut node =
            Node::from_encoded(id.clone(), kind_of(&self.role)?, created_at, self.body.read()?);
        (node.revision, node.tokens) = (self.revision, self.tokens);
        Ok(Revision::new(node, self.replaced_at))
    }
}

/// Writes a record as JSON on one line, without the line ending.
pub(super) fn write(record: &ChatRecord) -> Result<Vec<u8>, serde_json::Error> {
    fn line(tag: &'static str, fields: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Tagged { tag, fields })
    }
    match record {
        ChatRecord::Chat(chat) => {
            let fields = ChatLine {
                v: VERSION,
                chat: chat.chat.chat.clone(),
                title: chat.title.clone(),
                metadata: without_records(&chat.metadata)
                    .iter()
                    .map(|(key, value)| (key.to_owned(), value.compact()))
                    .collect(),
                active: chat.active.clone(),
                created_at: chat.created_at,
                updated_at: chat.updated_at,
            };
            line("chat", &fields)
        }
        ChatRecord::Branch(branch) => {
            let (name, head) = (branch.name.clone(), branch.head.clone());
            line("branch", &BranchLine { name, head, created_at: branch.created_at })
        }
        ChatRecord::Checkpoint(point) => {
            let (name, message) = (point.name.clone(), point.message.clone());
            line("checkpoint", &CheckpointLine { name, message, created_at: point.created_at })
        }
        ChatRecord::Fragment(fragment) => {
            let metadata = fragment
                .metadata
                .iter()
                .map(|(key, value)| (key.to_owned(), value.compact()))
                .collect();
            line(
                "fragment",
                &FragmentLine { id: fragment.id.clone(), metadata, body: Body::of(&fragment.body) },
            )
        }
        ChatRecord::Message(message) => {
            let node = &message.node;
            let fields = MessageLine {
                id: node.id.clone(),
                parent: message.parent.clone(),
                created_at: node.created_at,
                role: role_of(node),
                revision: node.revision,
                tokens: node.tokens,
                body: Body::of(node.body()),
                revisions: message.revisions.iter().map(RevisionLine::of).collect(),
            };
            line("message", &fields)
        }
        ChatRecord::Blob(blob) => {
            let fields = BlobLine {
                id: BlobId::of(&blob.bytes),
                media_type: blob.media_type.clone(),
                created_at: blob.created_at,
                used_at: blob.used_at,
                base64: BASE64.encode(&blob.bytes),
            };
            line("blob", &fields)
        }
        ChatRecord::End { messages } => line("end", &EndLine { messages: *messages }),
    }
}

/// Refuses what no store would accept, so that it is reported for its line and does not fail the
/// whole chat.
fn check(record: &ChatRecord) -> Result<(), Error> {
    match record {
        ChatRecord::Chat(chat) => {
            limits::check_id(OPERATION, "chat", chat.chat.chat.as_str())?;
            limits::check_id(OPERATION, "branch", chat.active.as_str())?;
            limits::check_title(OPERATION, chat.title.as_deref())?;
            limits::check_metadata(OPERATION, &chat.metadata)
        }
        ChatRecord::Branch(branch) => limits::check_id(OPERATION, "branch", branch.name.as_str()),
        ChatRecord::Checkpoint(point) => {
            limits::check_id(OPERATION, "checkpoint", point.name.as_str())
        }
        ChatRecord::Fragment(fragment) => fragment.check(OPERATION),
        ChatRecord::Message(message) => {
            let past = message.revisions.iter().map(|revision| &revision.node);
            past.chain([&message.node]).try_for_each(|node| node.check(OPERATION))
        }
        ChatRecord::Blob(blob) => {
            let mut new = NewBlob::new(blob.bytes.clone(), blob.created_at);
            new.media_type.clone_from(&blob.media_type);
            // The target chat is checked with its first record.
            new.check(&ChatRef::new("user", "chat"))
        }
        ChatRecord::End { .. } => Ok(()),
    }
}

/// Reads a line. The chat is assigned to `user`.
pub(super) fn read(line: &[u8], user: &UserId) -> Result<ChatRecord, LineError> {
    let line = line.trim_ascii();
    let Tag { tag } = serde_json::from_slice(line)?;
    let record = match tag.as_str() {
        "chat" => {
            let line: ChatLine = serde_json::from_slice(line)?;
            if line.v > VERSION {
                return Err(LineError::Newer(line.v));
            }
            let mut new = NewChat::new(ChatRef::new(user.clone(), line.chat), line.created_at);
            (new.title, new.metadata) = (line.title, without_records(&line.metadata));
            let mut chat = Chat::new(new);
            (chat.active, chat.updated_at) = (line.active, line.updated_at);
            ChatRecord::Chat(chat)
        }
        "branch" => {
            let BranchLine { name, head, created_at } = serde_json::from_slice(line)?;
            ChatRecord::Branch(Branch::new(name, head, 0, false, created_at))
        }
        "checkpoint" => {
            let CheckpointLine { name, message, created_at } = serde_json::from_slice(line)?;
            ChatRecord::Checkpoint(Checkpoint::new(name, message, created_at))
        }
        "fragment" => {
            let FragmentLine { id, metadata, body } = serde_json::from_slice(line)?;
            ChatRecord::Fragment(StoredFragment { id, metadata, body: body.read()? })
        }
        "message" => {
            let line: MessageLine = serde_json::from_slice(line)?;
            let mut node = Node::from_encoded(
                line.id.clone(),
                kind_of(&line.role)?,
                line.created_at,
                line.body.read()?,
            );
            (node.revision, node.tokens) = (line.revision, line.tokens);
            let revisions =
                line.revisions.into_iter().map(|revision| revision.read(&line.id, line.created_at));
            ChatRecord::Message(ChatMessageRecord::new(
                node,
                line.parent,
                revisions.collect::<Result<_, _>>()?,
            ))
        }
        "blob" => {
            let BlobLine { id, media_type, created_at, used_at, base64 } =
                serde_json::from_slice(line)?;
            let bytes = BASE64.decode(base64).map_err(|_| LineError::Body)?;
            if BlobId::of(&bytes) != id {
                return Err(LineError::Blob);
            }
            ChatRecord::Blob(BlobRecord::new(bytes, media_type, created_at, used_at))
        }
        "end" => {
            let EndLine { messages } = serde_json::from_slice(line)?;
            ChatRecord::End { messages }
        }
        _ => return Err(LineError::Type),
    };
    check(&record)?;
    Ok(record)
}

/// Returns the error for a file that cannot be read or written.
pub(super) fn unavailable(
    operation: &'static str,
    text: &'static str,
    error: std::io::Error,
) -> Error {
    Error::new(ErrorKind::Unavailable, operation, text)
        .with_retry(Retry::of_io(&error))
        .with_source(error)
}
