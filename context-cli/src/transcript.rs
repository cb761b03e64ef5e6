//! The forms in which transcripts come in files, and the way back to them.
//!
//! A file holds one conversation or several. A conversation is a list of messages, or an object that holds one
//! under `messages`, `history` or `traj`; everything else in the object is its envelope. Several conversations
//! are a list, or JSON Lines; JSON Lines of messages are one conversation. What a file was is kept with each
//! chat as a [`Source`], so that the way back gives equal values.
//!
//! Nothing here looks into a message; the codec does.

mod source;

use std::collections::HashMap;

use context_runtime::JsonMap;
use serde_json::value::RawValue;

pub(crate) use self::source::{Form, Source, file, single, value};
use crate::error::Failure;
use crate::input::Input;

/// The keys that hold messages, the best first.
const KEYS: [&str; 3] = ["messages", "history", "traj"];

/// A conversation of a file.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    /// Its messages, as they stand in the file.
    pub(crate) messages: Vec<&'a RawValue>,
    /// What the file was.
    pub(crate) source: Source,
}

/// Reads the conversations of a file, in order.
pub(crate) fn read(input: &Input) -> Result<Vec<Conversation<'_>>, Failure> {
    let reader = Reader { input };
    match reader.lines()? {
        Some(lines) => reader.read_lines(lines),
        None => reader.read_whole(),
    }
}

struct Reader<'a> {
    input: &'a Input,
}

/// What begins a value: `{`, `[` or something else.
fn first(raw: &RawValue) -> char {
    raw.get().chars().next().unwrap_or_default()
}

/// The value of a key of an object, if it is one and the value begins like this.
fn value_of<'a>(raw: &'a RawValue, key: &str, begins: char) -> Option<&'a RawValue> {
    let mut map: HashMap<String, &RawValue> = serde_json::from_str(raw.get()).ok()?;
    map.remove(key).filter(|value| first(value) == begins)
}

fn is_message(raw: &RawValue) -> bool {
    value_of(raw, "role", '"').is_some()
}

impl<'a> Reader<'a> {
    fn no_form(&self, part: &str, problem: &'static str) -> Failure {
        Failure::Form { file: self.input.shown.clone(), line: self.input.line_of(part), problem }
    }

    fn parse(&self, part: &'a str) -> Result<&'a RawValue, Failure> {
        serde_json::from_str(part).map_err(|error| self.input.syntax(part, error))
    }

    fn items(&self, list: &'a RawValue) -> Result<Vec<&'a RawValue>, Failure> {
        serde_json::from_str(list.get()).map_err(|error| self.input.syntax(list.get(), error))
    }

    /// The lines with something on them, if the file is JSON Lines: it says so, or its first line is a whole
    /// value and not the last.
    fn lines(&self) -> Result<Option<Vec<&'a str>>, Failure> {
        let lines: Vec<_> = self.input.text.lines().filter(|line| !line.trim().is_empty()).collect();
        let Some(first) = lines.first() else {
            return Err(self.no_form(&self.input.text, "it is empty"));
        };
        let named = [".jsonl", ".ndjson"].iter().any(|end| self.input.name.to_lowercase().ends_with(end));
        let looks = || lines.len() > 1 && serde_json::from_str::<&RawValue>(first).is_ok();
        Ok((named || looks()).then_some(lines))
    }

    fn read_lines(&self, lines: Vec<&'a str>) -> Result<Vec<Conversation<'a>>, Failure> {
        let values = lines.into_iter().map(|line| self.parse(line)).collect::<Result<Vec<_>, _>>()?;
        if values.first().is_some_and(|value| is_message(value)) {
            return Ok(vec![self.conversation(Form::MessageLines, (0, 1), values, None)]);
        }
        self.several(Form::Lines, values)
    }

    fn read_whole(&self) -> Result<Vec<Conversation<'a>>, Failure> {
        let whole = self.parse(&self.input.text)?;
        match first(whole) {
            '{' if is_message(whole) => {
                Ok(vec![self.conversation(Form::MessageLines, (0, 1), vec![whole], None)])
            }
            '{' => Ok(vec![self.item(Form::One, (0, 1), whole)?]),
            '[' => {
                let items = self.items(whole)?;
                if items.first().is_none_or(|item| is_message(item)) {
                    return Ok(vec![self.conversation(Form::One, (0, 1), items, None)]);
                }
                self.several(Form::List, items)
            }
            _ => Err(self.no_form(whole.get(), "it is neither a list nor an object")),
        }
    }

    fn several(&self, form: Form, items: Vec<&'a RawValue>) -> Result<Vec<Conversation<'a>>, Failure> {
        let of = items.len();
        items.into_iter().enumerate().map(|(index, item)| self.item(form, (index, of), item)).collect()
    }

    /// A conversation as it stands in a list or on a line, or alone in a file.
    fn item(
        &self,
        form: Form,
        place: (usize, usize),
        item: &'a RawValue,
    ) -> Result<Conversation<'a>, Failure> {
        if first(item) == '[' {
            return Ok(self.conversation(form, place, self.items(item)?, None));
        }
        if first(item) != '{' {
            return Err(self.no_form(item.get(), "a conversation is neither a list nor an object"));
        }
        let envelope: JsonMap =
            serde_json::from_str(item.get()).map_err(|error| self.input.syntax(item.get(), error))?;
        let found = KEYS.iter().find_map(|key| Some((*key, value_of(item, key, '[')?)));
        let (key, list) =
            found.ok_or_else(|| self.no_form(item.get(), "an object has no list of messages"))?;
        Ok(self.conversation(form, place, self.items(list)?, Some((key, envelope))))
    }

    fn conversation(
        &self,
        form: Form,
        (index, of): (usize, usize),
        messages: Vec<&'a RawValue>,
        envelope: Option<(&str, JsonMap)>,
    ) -> Conversation<'a> {
        Conversation { messages, source: Source::new(&self.input.name, form, index, of, envelope) }
    }
}

#[cfg(test)]
mod tests {
    use context_runtime::Json;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn input(name: &str, text: impl Into<String>) -> Input {
        Input { shown: name.to_owned(), name: name.to_owned(), text: text.into() }
    }

    /// Reads a file and writes it again, as if every chat of it were exported.
    #[track_caller]
    fn back(name: &str, text: &str) -> (usize, String) {
        let input = input(name, text);
        let read = read(&input).unwrap();
        let owned: Vec<(Source, Vec<Json>)> = read
            .into_iter()
            .map(|conversation| {
                let stored = conversation.source.to_json();
                let messages =
                    conversation.messages.iter().map(|raw| Json::from((*raw).to_owned())).collect();
                (Source::from_json("c", &stored).unwrap(), messages)
            })
            .collect();
        let count = owned.len();
        let parts: Vec<_> =
            owned.iter().map(|(source, messages)| (Some(source), messages.as_slice())).collect();
        (count, source::file(&parts))
    }

    #[track_caller]
    fn same(name: &str, text: &str, conversations: usize) {
        let (count, written) = back(name, text);
        let values = |text: &str| -> Vec<Value> {
            serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().unwrap()
        };
        assert_eq!(count, conversations, "{text}");
        assert_eq!(values(&written), values(text));
    }

    #[test]
    fn every_form_comes_back() {
        let m = r#"{"role": "user", "content": "x"}"#;
        same("a.json", &format!("[{m}, {m}]"), 1);
        same("a.json", "[]", 1);
        same("a.json", &format!(r#"{{"id": 1.50, "messages": [{m}], "z": {{"messages": []}}}}"#), 1);
        same("a.json", &format!(r#"{{"trajectory": [], "history": [{m}], "traj": 7}}"#), 1);
        same("a.json", &format!("[\n{{\"traj\": [{m}], \"n\": 1}},\n{{\"n\": 2, \"traj\": []}}]"), 2);
        same("a.json", &format!("[[{m}], [], [{m}, {m}]]"), 3);
        same("a.json", &format!("{m}\n\n{m}\n"), 1);
        same("a.json", m, 1);
        same("a.jsonl", &format!(r#"{{"messages": [{m}]}}"#), 1);
        same("a", &format!("{{\"messages\": [{m}]}}\n{{\"history\": []}}"), 2);
    }

    #[track_caller]
    fn refused(name: &str, text: &str, expected: &str) {
        let input = input(name, text);
        let failure = read(&input).unwrap_err();
        let facts: Vec<_> =
            failure.context().into_iter().map(|(key, value)| format!("{key} {value}")).collect();
        assert_eq!(format!("{failure} ({})", facts.join(", ")), expected);
    }

    #[test]
    fn what_is_none_is_refused_with_its_place() {
        refused("a", " \n", "a is not a transcript we know: it is empty (file a, line 1)");
        refused(
            "a",
            "7",
            "a is not a transcript we know: it is neither a list nor an object (file a, line 1)",
        );
        refused("a", "[\n{]", "a is not JSON: key must be a string (file a, line 2, column 2)");
        refused(
            "a",
            "[{\"messages\": []},\n\n {\"m\": []}]",
            "a is not a transcript we know: an object has no list of messages (file a, line 3)",
        );
        refused(
            "a.jsonl",
            "{\"messages\": []}\n\n{\"mess",
            "a.jsonl is not JSON: EOF while parsing a string (file a.jsonl, line 3, column 6)",
        );
        let deep = "[".repeat(200_000);
        refused("a", &deep, "a is not JSON: EOF while parsing a list (file a, line 1, column 200000)");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\":,a \n0-9é]{0,40}") {
            let _ = read(&input("a", text));
        }
    }
}
