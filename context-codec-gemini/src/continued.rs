//! Texts of parts that a stream continues.

use std::collections::BTreeMap;

use context_core::message::MediaSource;
use context_core::{JsonString, Part};

/// The continuations of texts, by the position of the part that begins each.
///
/// A text of a part cannot grow in place, so its pieces are joined when the answer is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Continued(BTreeMap<usize, String>);

impl Continued {
    /// Continues the text of the part at a position.
    pub(crate) fn push(&mut self, at: usize, more: &str) {
        self.0.entry(at).or_default().push_str(more);
    }

    /// Returns the continuation of a part.
    pub(crate) fn of(&self, at: usize) -> Option<&str> {
        self.0.get(&at).map(String::as_str)
    }

    /// Forgets a part that was removed from the list.
    pub(crate) fn remove(&mut self, at: usize) {
        let mut behind = self.0.split_off(&at);
        behind.remove(&at);
        self.0.extend(behind.into_iter().map(|(position, text)| (position - 1, text)));
    }

    /// Returns the parts with their whole texts.
    pub(crate) fn join(&self, parts: &[Part]) -> Vec<Part> {
        let mut parts = parts.to_vec();
        for (at, more) in &self.0 {
            if let Some(begun) = parts.get_mut(*at).and_then(text_of) {
                *begun = format!("{}{more}", begun.to_cow()).into();
            }
        }
        parts
    }
}

/// Returns the text that a stream can continue.
fn text_of(part: &mut Part) -> Option<&mut JsonString> {
    match part {
        Part::Text(text) => Some(&mut text.text),
        Part::Reasoning(thought) => Some(&mut thought.text),
        Part::Audio(media) => match &mut media.source {
            MediaSource::Base64(data) => Some(data),
            _ => None,
        },
        _ => None,
    }
}
