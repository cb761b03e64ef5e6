//! The metadata keys that have a meaning.

use context_core::Metadata;
use context_core::message::Origin;

use super::DropReason;

/// Keys of messages, parts and results to which the library gives a meaning. A key that ends with a
/// dot stands for all keys that begin with it.
///
/// Keys of a page (`uimessage.`) are not among them: they describe the page's own form and are only
/// read to write it back.
const RESERVED: [&str; 16] = [
    "spilled",      // a result or media with its content in a blob
    "shortened",    // a result that a policy shortened
    "pinned",       // a message that no compaction takes
    "trust",        // the class of trust of memories of the message
    "stored_codec", // the codec of a stored form
    "reminders",    // positions of texts to be taken out of a message
    "incomplete",   // an answer that broke off
    "usage",        // tokens that reminders count
    "gap_turns",    // the number of turns that a gap stands for
    "for_block",    // a text that stands for a block of a provider
    "sealed",       // such a text that does not say what the block holds
    "written_in",   // the turn and the run that wrote a message
    "openai.",
    "anthropic.",
    "gemini.",
    "trajectory.",
];

const ORIGINS: [Origin; 5] =
    [Origin::Synthetic, Origin::CarriedOver, Origin::Checkpoint, Origin::Gap, Origin::Recall];

/// The keys that a client may not set.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// Keys of the program, beyond those of the library.
    further: Vec<String>,
}

impl Keys {
    pub(super) fn reserve(&mut self, key: String) {
        self.further.push(key);
    }

    /// Returns the reason to drop a key, if it has a meaning.
    pub(super) fn reason(&self, key: &str) -> Option<DropReason> {
        if ORIGINS.iter().any(|origin| origin.key() == Some(key)) {
            return Some(DropReason::SyntheticOrigin);
        }
        let is = |reserved: &str| match reserved.strip_suffix('.') {
            Some(_) => key.starts_with(reserved),
            None => key == reserved,
        };
        // Recovery takes any such key as the signature of a thought.
        let signs = key.to_ascii_lowercase().ends_with("signature");
        let reserved = signs
            || RESERVED.into_iter().any(is)
            || self.further.iter().map(String::as_str).any(is);
        reserved.then_some(DropReason::ReservedKey)
    }

    pub(super) fn are_in(&self, metadata: &Metadata) -> bool {
        metadata.iter().any(|(key, _)| self.reason(key).is_some())
    }
}
