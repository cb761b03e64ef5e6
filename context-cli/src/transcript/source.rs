//! What a chat was in its file, kept in the chat's metadata.

use context_runtime::{Json, JsonMap, Metadata};
use serde::{Deserialize, Serialize};

use super::Codec;
use super::kept::Kept;
use crate::error::Failure;

/// How a file holds its conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// One, and nothing else.
    One,
    /// A list of several.
    List,
    /// One on each line.
    Lines,
    /// One, with a message on each line.
    MessageLines,
    /// Several, whose lines may be mixed; each line says which it belongs to.
    MixedLines,
}

/// Where a chat came from. JSON form, version 1: the fields here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    v: u32,
    /// Which codec read the messages.
    pub(crate) codec: Codec,
    /// The file's name, without folders.
    pub(crate) file: String,
    /// How the file holds its conversations.
    pub(crate) form: Form,
    /// Which conversation of the file it is, from 0.
    pub(crate) index: usize,
    /// How many there are.
    pub(crate) of: usize,
    /// Which key of the envelope held the messages; none for a bare list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// The other keys; the one of the messages is there with null, to keep its place.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub(super) envelope: JsonMap,
    /// What the file holds beside the messages, each with its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) kept: Vec<Kept>,
}

impl Source {
    /// The metadata key of a chat that holds it.
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

    /// The same, in an object whose messages are under this key.
    pub(super) fn in_envelope(mut self, envelope: Option<(&str, JsonMap)>) -> Self {
        let Some((key, mut envelope)) = envelope else { return self };
        for (name, value) in &mut envelope {
            *value = if name == key { serde_json::Value::Null.into() } else { value.compact() };
        }
        (self.key, self.envelope) = (Some(key.to_owned()), envelope);
        self
    }

    /// What it was beside its messages, if it may have been the body of a request, and whose.
    pub(crate) fn body_without_messages(&self) -> Option<(&'static str, Json)> {
        let (codec, key) = (self.codec.body()?, self.key.as_deref()?);
        let mut body = self.envelope.clone();
        body.insert(key.to_owned(), context_runtime::wire::array(&[]));
        Some((codec, context_runtime::wire::from_map(&body)))
    }

    /// What of a file of lines is no message, with the number of its line.
    pub(super) fn kept_lines(&self) -> impl Iterator<Item = (usize, &Json)> {
        self.kept.iter().map(|kept| (kept.at, &kept.value))
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::from_serialize(self).expect("text keys and JSON values")
    }

    pub(crate) fn from_json(chat: &str, json: &Json) -> Result<Self, Failure> {
        let broken = |source| Failure::Source { chat: chat.to_owned(), source };
        // A newer version may have other fields, so it is looked at first.
        let Version { v } = json.parse().map_err(broken)?;
        if v > Self::VERSION {
            return Err(Failure::NewerSource { chat: chat.to_owned(), version: v });
        }
        json.parse().map_err(broken)
    }

    /// The source of a chat, if it was imported.
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
