//! The file that a chat was imported from, stored in the chat's metadata.

use context_codec_kit::wire::{array, from_map};
use context_core::base::JsonMap;
use context_core::{Json, Metadata};
use serde::{Deserialize, Serialize};

use crate::sidecar::SidecarEntry;
use crate::{Format, SourceError};

/// The arrangement of conversations in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileLayout {
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
    /// A list with interleaved records of several conversations. Each names its conversation.
    MixedList,
}

/// The file that a chat was read from, and what the file holds besides the messages. JSON form,
/// version 1: these fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TranscriptSource {
    v: u32,
    /// The format of the messages.
    #[serde(rename = "codec")]
    pub format: Format,
    /// The file name without folders.
    pub file: String,
    /// The arrangement of conversations in the file.
    #[serde(rename = "form")]
    pub layout: FileLayout,
    /// The index of the conversation in the file, from 0.
    pub index: usize,
    /// The number of conversations in the file.
    #[serde(rename = "of")]
    pub count: usize,
    /// The envelope's key for the messages. `None` for a bare list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The envelope. The messages are replaced by null, to keep the position of their key.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub(crate) envelope: JsonMap,
    /// Other content of the file, with its positions.
    #[serde(rename = "kept", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sidecar: Vec<SidecarEntry>,
}

impl TranscriptSource {
    /// The metadata key under which a chat stores its source.
    pub const KEY: &'static str = "source";
    const VERSION: u32 = 1;

    pub(crate) fn new(
        file: &str,
        format: Format,
        layout: FileLayout,
        (index, count): (usize, usize),
    ) -> Self {
        let (key, envelope, sidecar) = (None, JsonMap::default(), Vec::new());
        let file = file.to_owned();
        Self { v: Self::VERSION, format, file, layout, index, count, key, envelope, sidecar }
    }

    /// Sets the envelope and the key of the messages in it.
    pub(crate) fn in_envelope(mut self, envelope: Option<(&str, JsonMap)>) -> Self {
        let Some((key, mut envelope)) = envelope else { return self };
        for (name, value) in &mut envelope {
            *value = if name == key { serde_json::Value::Null.into() } else { value.compact() };
        }
        (self.key, self.envelope) = (Some(key.to_owned()), envelope);
        self
    }

    /// Returns the request body without its messages, and the name of its wire codec, if the file
    /// may have been a request body.
    pub fn body_without_messages(&self) -> Option<(&'static str, Json)> {
        let (codec, key) = (self.format.body_codec()?, self.key.as_deref()?);
        let mut body = self.envelope.clone();
        body.insert(key.to_owned(), array(&[]));
        Some((codec, from_map(&body)))
    }

    /// Returns the other lines of a file of lines, with their numbers.
    pub(crate) fn sidecar_lines(&self) -> impl Iterator<Item = (usize, &Json)> {
        self.sidecar.iter().map(|entry| (entry.at, &entry.value))
    }

    /// Returns the value that a chat keeps in its metadata, under [`TranscriptSource::KEY`].
    pub fn to_json(&self) -> Json {
        Json::from_serialize(self).expect("text keys and JSON values")
    }

    /// Reads the value that [`TranscriptSource::to_json`] returned.
    pub fn from_json(json: &Json) -> Result<Self, SourceError> {
        // A newer version may have other fields, so the version is read first.
        let Version { v } = json.parse().map_err(SourceError::Malformed)?;
        if v > Self::VERSION {
            return Err(SourceError::NewerVersion { version: v, known: Self::VERSION });
        }
        json.parse().map_err(SourceError::Malformed)
    }

    /// Returns whether both are the same conversation of the same file, which may have grown.
    pub fn is_same_conversation(&self, other: &Self) -> bool {
        self.file == other.file && self.index == other.index
    }

    /// Returns the source of a chat with this metadata, if the chat was read from a file.
    pub fn of(metadata: &Metadata) -> Result<Option<Self>, SourceError> {
        metadata.get(Self::KEY).map(Self::from_json).transpose()
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

    #[test]
    fn a_source_of_another_program_is_refused_by_kind() {
        let source = |v: u32, codec: &str| json!({"v": v, "codec": codec, "file": "a", "form": "one", "index": 0, "of": 1});
        let read = |json: serde_json::Value| TranscriptSource::from_json(&json.into());
        assert!(read(source(1, "openai-chat")).is_ok());
        for newer in [source(2, "openai-chat"), json!({"v": 2})] {
            assert!(matches!(read(newer), Err(SourceError::NewerVersion { version: 2, .. })));
        }
        for malformed in [source(1, "x"), json!({"v": 1}), json!("elsewhere")] {
            assert!(matches!(read(malformed), Err(SourceError::Malformed(_))));
        }
    }
}
