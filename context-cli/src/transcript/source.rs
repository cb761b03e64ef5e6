//! What a chat was in its file: kept in the chat's metadata, and how it is written again.

use context_runtime::{Json, JsonMap, Metadata};
use serde::{Deserialize, Serialize};

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
}

/// Where a chat came from. JSON form, version 1: the fields here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    v: u32,
    /// Which codec read the messages.
    codec: String,
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
    key: Option<String>,
    /// The other keys; the one of the messages is there with null, to keep its place.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    envelope: JsonMap,
}

impl Source {
    /// The metadata key of a chat that holds it.
    pub(crate) const KEY: &'static str = "source";
    const VERSION: u32 = 1;

    pub(super) fn new(
        file: &str,
        form: Form,
        index: usize,
        of: usize,
        envelope: Option<(&str, JsonMap)>,
    ) -> Self {
        let (key, mut envelope) = match envelope {
            Some((key, envelope)) => (Some(key.to_owned()), envelope),
            None => (None, JsonMap::default()),
        };
        for (name, value) in &mut envelope {
            let is_list = key.as_ref() == Some(name);
            *value = if is_list { serde_json::Value::Null.into() } else { value.compact() };
        }
        let (v, codec, file) = (Self::VERSION, "openai-chat".to_owned(), file.to_owned());
        Self { v, codec, file, form, index, of, key, envelope }
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::from_serialize(self).expect("text keys and JSON values")
    }

    pub(crate) fn from_json(chat: &str, json: &Json) -> Result<Self, Failure> {
        let source: Self =
            json.parse().map_err(|source| Failure::Source { chat: chat.to_owned(), source })?;
        if source.v > Self::VERSION {
            return Err(Failure::NewerSource { chat: chat.to_owned(), version: source.v });
        }
        Ok(source)
    }

    /// The source of a chat, if it was imported.
    pub(crate) fn of(chat: &str, metadata: &Metadata) -> Result<Option<Self>, Failure> {
        metadata.get(Self::KEY).map(|json| Self::from_json(chat, json)).transpose()
    }

    /// The conversation as it stood in its file.
    fn wrap(&self, messages: &[Json]) -> Json {
        let Some(key) = &self.key else { return list(messages) };
        let mut object = self.envelope.clone();
        object.insert(key.clone(), list(messages));
        Json::from_serialize(&object).expect("text keys and JSON values")
    }
}

fn list(messages: &[Json]) -> Json {
    Json::from_serialize(messages).expect("JSON values")
}

/// A conversation alone, as one value: as it stood in its file, else a list of messages.
pub(crate) fn value(source: Option<&Source>, messages: &[Json]) -> Json {
    source.map_or_else(|| list(messages), |source| source.wrap(messages)).compact()
}

/// A conversation alone, as text: one value, or messages on lines if that is how it came.
pub(crate) fn single(source: Option<&Source>, messages: &[Json]) -> String {
    match source {
        Some(source) if source.form == Form::MessageLines => lines(messages.iter().map(Json::compact)),
        _ => lines([value(source, messages)]),
    }
}

/// Conversations of one file, in its form.
pub(crate) fn file(conversations: &[(Option<&Source>, &[Json])]) -> String {
    let values = || conversations.iter().map(|(source, messages)| value(*source, messages));
    match conversations {
        [(Some(source), _), ..] if source.form == Form::List => {
            let items: Vec<_> = values().map(|value| value.to_string()).collect();
            format!("[\n{}\n]\n", items.join(",\n"))
        }
        [(source, messages)] => single(*source, messages),
        _ => lines(values()),
    }
}

fn lines(values: impl IntoIterator<Item = Json>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
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
        let source = |v: u32| json!({"v": v, "codec": "x", "file": "a", "form": "one", "index": 0, "of": 1});
        assert!(Source::from_json("c", &source(1).into()).is_ok());
        refused(source(2), "unsupported");
        refused(json!({"v": 1, "form": "scroll"}), "corrupt");
    }
}
