//! The hash of a message, independent of process, platform and version of the stored form.

use std::fmt;
use std::sync::LazyLock;

use blake3::Hasher;
use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Media, MediaSource, Message, Part, ToolInput, ToolResult};
use crate::{Json, JsonString, Metadata};

/// The hash of a [`Message`]: 256 bits of BLAKE3. Equal messages have the same hash in every
/// process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageHash([u8; 32]);

impl MessageHash {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for MessageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for MessageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for MessageHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MessageHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(text).map_err(serde::de::Error::custom)?;
        Ok(Self(*hash.as_bytes()))
    }
}

/// Hashes a message: role, parts in order, and metadata in sorted order, because its order has no
/// meaning. JSON is hashed as it was written, because that text is sent back to providers.
pub(super) fn of(message: &Message) -> MessageHash {
    // The key-derivation context separates these hashes from all others. It must change if the
    // hashed data changes. It is cached, because hashing it would take a tenth of the time of a
    // short message.
    static CONTEXT: LazyLock<ContextKey> =
        LazyLock::new(|| hash_derive_key_context("context-core message, form 1"));
    let mut feed = Feed::new(Hasher::new_from_context_key(&CONTEXT));
    feed.text(message.role.as_str());
    feed.parts(&message.parts);
    feed.metadata(&message.metadata);
    feed.finish()
}

/// A hasher that prefixes each value with its length, so that no two sequences of values hash the
/// same bytes.
struct Feed {
    hasher: Hasher,
    /// Short values are handed over together, because each hand-over has a price.
    waiting: [u8; Feed::WAITING],
    used: usize,
}

impl Feed {
    const WAITING: usize = 256;

    fn new(hasher: Hasher) -> Self {
        Self { hasher, waiting: [0; Self::WAITING], used: 0 }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(room) = self.waiting.get_mut(self.used..self.used + bytes.len()) {
            room.copy_from_slice(bytes);
            self.used += bytes.len();
        } else {
            self.hand_over();
            self.hasher.update(bytes);
        }
    }

    fn hand_over(&mut self) {
        self.hasher.update(&self.waiting[..self.used]);
        self.used = 0;
    }

    fn finish(mut self) -> MessageHash {
        self.hand_over();
        MessageHash(*self.hasher.finalize().as_bytes())
    }

    fn count(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes(text.as_bytes());
    }

    fn option(&mut self, text: Option<&str>) {
        self.bytes(&[u8::from(text.is_some())]);
        self.text(text.unwrap_or_default());
    }

    fn json_string(&mut self, text: Option<&JsonString>) {
        self.option(text.map(JsonString::to_cow).as_deref());
    }

    fn json(&mut self, json: &Json) {
        self.text(json.as_str());
    }

    fn metadata(&mut self, metadata: &Metadata) {
        let mut entries: Vec<_> = metadata.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        self.count(entries.len());
        for (key, value) in entries {
            self.text(key);
            self.json(value);
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        self.count(parts.len());
        parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => {
                self.text("text");
                self.text(&text.text.to_cow());
                self.metadata(&text.metadata);
            }
            Part::Reasoning(thought) => {
                self.text("reasoning");
                self.text(&thought.text.to_cow());
                self.json_string(thought.signature.as_ref());
                self.json_string(thought.encrypted.as_ref());
                self.option(thought.provider.as_deref());
                self.metadata(&thought.metadata);
            }
            Part::ToolCall(call) => {
                self.text("tool_call");
                self.text(&call.id);
                self.text(&call.name);
                match &call.input {
                    ToolInput::Json(json) => {
                        self.text("json");
                        self.json(json);
                    }
                    ToolInput::Invalid(text) => {
                        self.text("invalid");
                        self.text(text);
                    }
                }
                self.metadata(&call.metadata);
            }
            Part::ToolResult(result) => self.result(result),
            Part::Image(media) => self.media("image", media),
            Part::Document(media) => self.media("document", media),
            Part::Audio(media) => self.media("audio", media),
            Part::Data(data) => {
                self.text("data");
                self.text(&data.name);
                self.json(&data.value);
            }
            Part::Opaque(block) => {
                self.text("opaque");
                self.text(&block.provider);
                self.json(&block.value);
            }
            Part::Unknown(json) => {
                self.text("unknown");
                self.json(json);
            }
        }
    }

    fn result(&mut self, result: &ToolResult) {
        self.text("tool_result");
        self.text(&result.call_id);
        self.option(result.name.as_deref());
        self.bytes(&[u8::from(result.is_error)]);
        // Results may nest as deep as the parser of the stored form allows, which is not deep.
        self.parts(&result.output);
        self.metadata(&result.metadata);
    }

    fn media(&mut self, kind: &str, media: &Media) {
        self.text(kind);
        let (location, text) = match &media.source {
            MediaSource::Base64(data) => ("base64", data.to_cow()),
            MediaSource::Url(url) => ("url", url.into()),
            MediaSource::Reference(name) => ("reference", name.into()),
        };
        self.text(location);
        self.text(&text);
        self.option(media.media_type.as_deref());
        self.option(media.name.as_deref());
        self.metadata(&media.metadata);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::Role;

    proptest! {
        /// Hashes are stored, so what is handed over together must not show in them.
        #[test]
        fn pieces_of_any_length_are_hashed_as_one(
            pieces in vec(vec(any::<u8>(), 0..2 * Feed::WAITING), 0..8),
        ) {
            let mut feed = Feed::new(Hasher::new());
            pieces.iter().for_each(|piece| feed.bytes(piece));
            let whole = blake3::hash(&pieces.concat());
            prop_assert_eq!(feed.finish(), MessageHash(*whole.as_bytes()));
        }
    }

    #[test]
    fn the_hash_is_the_same_for_ever() {
        let call =
            Part::tool_call("c1", "weather", Json::from_text(r#"{"city":"Lisbon"}"#).unwrap());
        let message = Message::new(Role::Assistant, [Part::text("Let me look."), call]);
        assert_eq!(
            message.hash().to_string(),
            "67f4ebf46ca9e19e20d6da062a5f60d1d416edaf2a037c9d072f30c3276a7637"
        );
    }

    #[test]
    fn equal_messages_have_equal_hashes_and_others_do_not() {
        let meta =
            |keys: [&str; 2]| keys.iter().fold(Metadata::default(), |all, key| all.with(*key, 1));
        let base = Message::from("a");
        let (ab, ba) = (
            base.clone().with_metadata(meta(["a", "b"])),
            base.clone().with_metadata(meta(["b", "a"])),
        );
        assert_eq!(ab, ba);
        assert_eq!(ab.hash(), ba.hash());
        let others = [
            ab,
            Message::from("b"),
            Message::text(Role::Assistant, "a"),
            Message::new(Role::User, [Part::text("a"), Part::text("")]),
            Message::new(Role::User, [Part::tool_result("a", "a")]),
            Message::new(Role::User, []),
        ];
        let mut hashes: Vec<_> = others.iter().map(Message::hash).collect();
        hashes.push(base.hash());
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), others.len() + 1);
    }
}
