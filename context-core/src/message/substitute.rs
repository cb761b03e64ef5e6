//! Texts that stand for a block which only one provider reads.

use serde_json::Value;

use super::{Message, OpaqueBlock, Text};
use crate::{JsonString, Metadata, Part};

/// The metadata key of a text that stands for the opaque block of its message. The value is the
/// number of tokens of the block, or `true`.
const KEY: &str = "for_block";
/// The metadata key of such a text that does not say what the block holds.
const SEALED: &str = "sealed";

/// An opaque block with a text for those who cannot read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubstitutedBlock<'a> {
    /// The index of the block among the parts.
    pub block_at: usize,
    /// The block.
    pub block: &'a OpaqueBlock,
    /// The index of the text among the parts.
    pub text_at: usize,
    /// The tokens of the block, if its provider reported them.
    pub tokens: Option<u64>,
    /// Whether only the provider of the block reads what it holds, since the text does not say it.
    pub is_sealed: bool,
}

impl Text {
    /// Creates a text that stands for the opaque block of its message: a provider that reads the
    /// block gets the block, and every other one the text. `tokens` is the size of the block, if
    /// its provider reported it.
    ///
    /// ```
    /// use context_core::message::{OpaqueBlock, Text};
    /// use context_core::{Message, Part, Role};
    ///
    /// let value = serde_json::json!({"type": "compaction", "encrypted_content": "gAAAAB"});
    /// let block = OpaqueBlock { provider: "openai-responses".into(), value: value.into() };
    /// let text = Text::for_block("[the beginning of the conversation]", Some(812));
    /// let message = Message::new(Role::User, [Part::Opaque(block), Part::Text(text)]);
    /// assert_eq!(message.substituted_block().and_then(|both| both.tokens), Some(812));
    /// ```
    pub fn for_block(text: impl Into<JsonString>, tokens: Option<u64>) -> Self {
        let value = tokens.map_or(Value::Bool(true), Value::from);
        Self { text: text.into(), metadata: Metadata::default().with(KEY, value) }
    }

    /// Creates a text that stands for the opaque block of its message and does not say what the
    /// block holds: for other providers, that is lost.
    pub fn for_sealed_block(text: impl Into<JsonString>, tokens: Option<u64>) -> Self {
        let mut text = Self::for_block(text, tokens);
        text.metadata.insert(SEALED, Value::Bool(true));
        text
    }
}

impl Message {
    /// Returns the opaque block of the message that a text [stands for](Text::for_block), if there
    /// is one.
    pub fn substituted_block(&self) -> Option<SubstitutedBlock<'_>> {
        let block = self.parts.iter().enumerate().find_map(|(at, part)| match part {
            Part::Opaque(block) => Some((at, block)),
            _ => None,
        });
        let (block_at, block) = block?;
        self.parts.iter().enumerate().find_map(|(text_at, part)| {
            let Part::Text(text) = part else { return None };
            let tokens = text.metadata.get(KEY)?.parse().ok();
            let is_sealed = text.metadata.get(SEALED).is_some();
            Some(SubstitutedBlock { block_at, block, text_at, tokens, is_sealed })
        })
    }

    /// Returns whether the message holds what another provider than this one has
    /// [sealed](Text::for_sealed_block).
    pub fn is_sealed_for(&self, provider: &str) -> bool {
        let block = self.substituted_block().filter(|both| both.is_sealed);
        block.is_some_and(|both| both.block.provider != provider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, Role};

    #[test]
    fn only_a_text_that_says_so_stands_for_a_block() {
        let block = Part::Opaque(OpaqueBlock { provider: "p".into(), value: Json::from(1) });
        let both = [block.clone(), Part::text("facts"), Part::Text(Text::for_block("all", None))];
        let message = Message::new(Role::User, both);
        let found = message.substituted_block().unwrap();
        assert_eq!((found.block_at, found.text_at, found.tokens), (0, 2, None));
        assert!(!message.is_sealed_for("another"));
        let sealed = [block.clone(), Part::Text(Text::for_sealed_block("all", Some(3)))];
        let sealed = Message::new(Role::User, sealed);
        assert_eq!(sealed.substituted_block().and_then(|both| both.tokens), Some(3));
        assert!(sealed.is_sealed_for("another") && !sealed.is_sealed_for("p"));
        let read = Message::decode(&message.encode()).unwrap();
        assert_eq!(read.substituted_block(), Some(found));
        let alone = |parts: &[Part]| Message::new(Role::User, parts.to_vec());
        assert_eq!(alone(&message.parts[..2]).substituted_block(), None);
        assert_eq!(alone(&message.parts[1..]).substituted_block(), None);
    }
}
