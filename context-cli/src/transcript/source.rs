//! The file that a chat was imported from, stored in the chat's metadata.

use context_runtime::{Json, JsonMap, Metadata};
use serde::{Deserialize, Serialize};

use super::Codec;
use super::kept::Kept;
use crate::error::Failure;

/// The arrangement of conversations in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// One conversation.
    One,
    /// A list of conversations.
    List,
    /// One conversation per line.
    Lines,
    /// One conversation, with one message per line.
    MessageLines,
    /// Several conversations with interleaved lines. Each line names its conversation.
    MixedLines,
}

/// The source of a chat. JSON form, version 1: these fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    v: u32,
    /// The codec that read the messages.
    pub(crate) codec: Codec,
    /// The file name without folders.
    pub(crate) file: String,
    /// The arrangement of conversations in the file.
    pub(crate) form: Form,
    /// The index of the conversation in the file, from 0.
    pub(crate) index: usize,
    /// The number of conversations in the file.
    pub(crate) of: usize,
    /// The envelope's key for the messages. `None` for a bare list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// The envelope. The messages are replaced by null, to keep the position of their key.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub(super) envelope: JsonMap,
    /// Other content of the file, with its positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) kept: Vec<Kept>,
}

impl Source {
    /// The metadata key under which a chat stores its source.
    pub(crate) const KEY: &'static str = "source";
    const VERSION: u32 = 1;

    pub(super) fn new(file: &str, codec: Codec, form: Form, (index, of): (usize, usize)) -> Self {
        let (key, envelope, kept) = (None, JsonMap::default(), Vec::new());
        Self {
            v: Self::VERSION,
            codec,
            file: file.to_owned(),
            form,
            index,
            of,
            key,
            envelope,
            kept,
        }
    }

    /// Sets the envelope and the key of the messages in it.
    pub(super) fn in_envelope(mut self, envelope: Option<(&str, JsonMap)>) -> Self {
        let Some((key, mut envelope)) = envelope else { return self };
        for (name, value) in &mut envelope {
            *value = if name == key { serde_json::Value::Null.into() } else { value.compact() };
        }
        (self.key, self.envelope) = (Some(key.to_owned()), envelope);
        self
    }

    /// Returns the request body without its messages and its codec, if the file may have been a
    /// request body.
    pub(crate) fn body_without_messages(&self) -> Option<(&'static str, Json)> {
        let (codec, key) = (self.codec.body()?, self.key.as_deref()?);
        let mut body = self.envelope.clone();
        body.insert(key.to_owned(), context_runtime::wire::array(&[]));
        Some((codec, context_runtime::wire::from_map(&body)))
    }

    /// Returns the other lines of a file of lines, with their numbers.
    pub(super) fn kept_lines(&self) -> impl Iterator<Item = (usize, &Json)> {
        self.kept.iter().map(|kept| (kept.at, &kept.value))
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::from_serialize(self).expect("text keys and JSON values")
    }

    pub(crate) fn from_json(chat: &str, json: &Json) -> Result<Self, Failure> {
        let broken = |source| Failure::Source { chat: chat.to_owned(), source };
        // A newer version may have other fields, so the version is read first.
        let Version { v } = json.parse().map_err(broken)?;
        if v > Self::VERSION {
            return Err(Failure::NewerSource { chat: chat.to_owned(), version: v });
        }
        json.parse().map_err(broken)
    }

    /// Returns the source of a chat, if it was imported.
    pub(crate) fn of(chat: &str, metadata: &Metadata) -> Result<Option<Self>, Failure> {
        metadata.get(Self::KEY).map(|json| Self::from_json(chat, json)).transpose()
    }
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(json: serde_json::Value, kind: &str) {
        assert_eq!(Source::from_json("c", &json.into()).unwrap_err().kind(), kind);
    }

    #[test]
    fn a_source_of_another_program_is_refused_by_kind() {
        let source = |v: u32, codec: &str| json!({"v": v, "codec": codec, "file": "a", "form": "one", "index": 0, "of": 1});
        assert!(Source::from_json("c", &source(1, "openai-chat").into()).is_ok());
        refused(source(2, "openai-chat"), "unsupported");
        refused(json!({"v": 2}), "unsupported");
        refused(source(1, "x"), "corrupt");
        refused(json!({"v": 1}), "corrupt");
        refused(json!("elsewhere"), "corrupt");
    }
}
