//! Removed texts, and the search for copies of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use context_core::base::BlobId;
use context_core::{Message, Node, Role};
use context_store_kit::search;
use serde_json::Value;

/// The number of consecutive equal words that make a copy.
const RUN: usize = 8;
/// The number of letters that a text with fewer words must have, so that a short one like `yes` is
/// not searched for.
const LETTERS: usize = 12;

/// Word runs that were removed.
#[derive(Debug, Default)]
pub(super) struct Needles {
    /// Hashes of runs, by their number of words, with the first source of each.
    runs: BTreeMap<usize, HashMap<u64, usize>>,
    /// The number of the removal that texts are added for.
    pub(super) source: usize,
}

impl Needles {
    /// Adds a text: all its runs of eight words, or all of it if it has fewer.
    pub(super) fn add(&mut self, text: &str) {
        let words = words(text);
        let length = words.len().min(RUN);
        if words.len() < RUN && words.iter().map(String::len).sum::<usize>() < LETTERS {
            return;
        }
        if length > 0 {
            let runs = self.runs.entry(length).or_default();
            for run in words.windows(length) {
                runs.entry(hash(run)).or_insert(self.source);
            }
        }
    }

    /// Adds what a message of a removed chat says. System messages are left out: they are the same
    /// text in many chats, and each of these would be a copy.
    pub(super) fn add_said(&mut self, node: &Node) {
        let is_said = node.role().is_some_and(|role| role != Role::System);
        if let Some(Ok(message)) = is_said.then(|| node.message()) {
            self.add_message(message);
        }
    }

    /// Adds the texts of a message. Roles, tool names and ids are left out, because the redacted
    /// form has them too.
    pub(super) fn add_message(&mut self, message: &Message) {
        let strings = |message: &Message| {
            let mut strings = Vec::new();
            if let Ok(value) = serde_json::to_value(message) {
                each_string(&value, |key, text| {
                    if key != "metadata" {
                        strings.push(text.to_owned());
                    }
                });
            }
            strings
        };
        let shape: HashSet<String> = strings(&message.redacted()).into_iter().collect();
        for text in strings(message).iter().filter(|text| !shape.contains(*text)) {
            self.add(text);
        }
    }

    /// Drops all runs.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the number of runs.
    pub(super) fn len(&self) -> usize {
        self.runs.values().map(HashMap::len).sum()
    }

    /// Returns the source of removed words that a text contains.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let words = words(text);
        self.runs.iter().find_map(|(length, runs)| {
            words.windows(*length).find_map(|run| runs.get(&hash(run)).copied())
        })
    }

    /// Returns the source of removed words in stored bytes, as text or in a string within JSON.
    pub(super) fn find_in_bytes(&self, bytes: &[u8]) -> Option<usize> {
        let Ok(value) = serde_json::from_slice(bytes) else {
            return self.find(&String::from_utf8_lossy(bytes));
        };
        let mut found = None;
        each_string(&value, |_, text| found = found.or_else(|| self.find(text)));
        found
    }

    /// Returns the source of removed words in the chunks of a stream: in the raw text, or in the
    /// strings of their events joined together.
    pub(super) fn find_in_chunks(&self, chunks: &[Bytes]) -> Option<usize> {
        let whole = chunks.concat();
        let whole = String::from_utf8_lossy(&whole);
        self.find(&whole)
            .or_else(|| pieces(chunks, &whole).values().find_map(|text| self.find(text)))
    }
}

fn words(text: &str) -> Vec<String> {
    search::words(text).map(|word| word.folded).collect()
}

fn hash(run: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    run.hash(&mut hasher);
    hasher.finish()
}

/// Returns the strings of events, joined per JSON path. Events are `data:` lines, JSON lines, or
/// chunks that are JSON.
fn pieces(chunks: &[Bytes], whole: &str) -> BTreeMap<String, String> {
    let lines = whole.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).as_bytes());
    let mut values: Vec<Value> =
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    if values.is_empty() {
        values = chunks.iter().filter_map(|chunk| serde_json::from_slice(chunk).ok()).collect();
    }
    let mut pieces = BTreeMap::new();
    for value in &values {
        each_string(value, |place, text| {
            pieces.entry(place.to_owned()).or_insert_with(String::new).push_str(text);
        });
    }
    pieces
}

/// Calls `each` with every string of a value and its nearest key. Parsed JSON has limited depth,
/// but the walk uses no recursion.
fn each_string(value: &Value, mut each: impl FnMut(&str, &str)) {
    let mut left = vec![("", value)];
    while let Some((key, value)) = left.pop() {
        match value {
            Value::String(text) => each(key, text),
            Value::Array(items) => left.extend(items.iter().rev().map(|item| (key, item))),
            // All strings below a `metadata` key get that key, at any depth.
            Value::Object(fields) => {
                left.extend(fields.iter().rev().map(|(name, value)| {
                    (if key == "metadata" { key } else { name.as_str() }, value)
                }))
            }
            _ => {}
        }
    }
}

/// Returns the blobs that a message or a boundary names in any of its texts.
pub(crate) fn blobs_in(bytes: &[u8]) -> Vec<BlobId> {
    const DIGITS: usize = 64;
    let text = String::from_utf8_lossy(bytes);
    let runs = text.split(|c: char| !c.is_ascii_hexdigit());
    runs.filter(|run| run.len() == DIGITS).filter_map(|run| run.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;

    fn needles(text: &str) -> Needles {
        let mut needles = Needles::default();
        needles.add_message(&Message::new(Role::User, [Part::text(text)]));
        needles
    }

    #[test]
    fn a_part_of_a_text_is_found_and_common_words_are_not() {
        let needles = needles("Please send the red parcel to 14 Elm Street by noon on Monday.");
        assert!(needles.find("He said: send the RED parcel to 14 elm street, by noon!").is_some());
        assert!(needles.find("Please send it by noon on Monday").is_none());
        let json = br#"{"a":[{"b":"the red parcel to 14 Elm Street by noon"}]}"#;
        assert!(needles.find_in_bytes(json).is_some());
        assert!(Needles::default().is_empty() && needles.find("").is_none());
    }

    #[test]
    fn a_short_text_is_looked_for_whole_and_a_yes_not_at_all() {
        assert!(needles("account 1234567890").find("the account 1234567890 is mine").is_some());
        assert!(needles("Yes, please.").is_empty());
    }

    #[test]
    fn an_answer_is_put_together_from_its_events() {
        let needles = needles("The red parcel goes to 14 Elm Street by noon.");
        let event =
            |text: &str| Bytes::from(format!("data: {{\"delta\":{{\"content\":\"{text}\"}}}}\n\n"));
        let events = ["The red par", "cel goes to 14 E", "lm Street by noon."].map(event);
        assert!(needles.find_in_chunks(&events).is_some());
        let texts = ["The red parcel goes", " to 14 Elm Street by"].map(Bytes::from);
        assert!(needles.find_in_chunks(&texts).is_some());
        assert!(needles.find_in_chunks(&["Something", " else"].map(event)).is_none());
    }

    #[test]
    fn names_of_tools_are_no_content() {
        let call =
            Part::tool_call("call_0123456789", "search_all_documents", serde_json::json!({}));
        let mut needles = Needles::default();
        needles.add_message(&Message::new(Role::Assistant, [call]));
        assert!(needles.is_empty());
    }

    #[test]
    fn blobs_are_named_by_their_digits() {
        let id = BlobId::of(b"a long report");
        assert_eq!(
            blobs_in(format!("[{}] and {{\"blob\":\"{id}\"}}", id.to_reference()).as_bytes()),
            [id, id]
        );
    }
}
