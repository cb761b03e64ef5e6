//! Conversations without branches: a list of messages, alone or in an envelope.

use std::sync::Arc;

use context_runtime::transfer::Tree;
use context_runtime::{Diagnostic, Json, JsonMap, Timestamp, store::Node};
use serde_json::value::RawValue;

use super::source::{Form, Source};
use super::{
    BrokenLines, Codec, Draft, Reading, Value, Wire, detect, first, gemini_cli, no_form, title,
    toolbench, value_of,
};
use crate::error::Failure;
use crate::input::Input;

/// The keys that hold messages, by preference.
const KEYS: [&str; 3] = ["messages", "history", "traj"];
/// The keys that hold the messages of a request body, with their formats.
const BODIES: [(&str, Codec); 2] = [("contents", Codec::Gemini), ("input", Codec::OpenaiResponses)];

/// Reads a file that is one value.
pub(super) fn read_whole(
    input: &Input,
    whole: &RawValue,
    from: Wire,
    at: Timestamp,
) -> Result<Reading, Failure> {
    let reader = Reader { input, from, at };
    let drafts = match first(whole) {
        '{' if reader.is_message(whole) => {
            vec![reader.draft(Form::MessageLines, (0, 1), &[whole], None)?]
        }
        '{' => vec![reader.item(Form::One, (0, 1), whole)?],
        '[' => {
            let items = reader.items(whole)?;
            match items.first().is_none_or(|item| reader.is_message(item)) {
                true => vec![reader.draft(Form::One, (0, 1), &items, None)?],
                false => {
                    let of = items.len();
                    let item = |(index, item)| reader.item(Form::List, (index, of), item);
                    items.into_iter().enumerate().map(item).collect::<Result<_, _>>()?
                }
            }
        }
        _ => return Err(no_form(input, whole.get(), "it is neither a list nor an object")),
    };
    Ok(Reading { drafts, broken: BrokenLines::default() })
}

/// Reads JSON Lines: of messages if the first line is a message, else of conversations.
pub(super) fn read_lines(
    input: &Input,
    values: Vec<Value<'_>>,
    from: Wire,
    at: Timestamp,
) -> Reading {
    let reader = Reader { input, from, at };
    let mut broken = BrokenLines::default();
    if !values.first().is_some_and(|value| reader.is_message(value.raw)) {
        let mut drafts = Vec::with_capacity(values.len());
        for Value { line, raw } in values {
            match reader.item(Form::Lines, (drafts.len(), 0), raw) {
                Ok(draft) => drafts.push(draft),
                Err(failure) => broken.push(line, failure),
            }
        }
        let of = drafts.len();
        drafts.iter_mut().for_each(|draft| draft.source.of = of);
        return Reading { drafts, broken };
    }
    let codec = reader.codec(&values.iter().map(|value| value.raw).collect::<Vec<_>>());
    let (mut lifting, mut good) = (Lifting::default(), Vec::with_capacity(values.len()));
    for Value { line, raw } in values {
        // Messages that are read together must first be readable alone.
        let added = match codec.whole() {
            Some(_) => {
                Lifting::default().add_all(&reader, codec, 0, &[raw]).map(|()| good.push(raw))
            }
            None => lifting.add(&reader, codec, 0, raw),
        };
        if let Err(failure) = added {
            broken.push(line, failure);
        }
    }
    if let Err(failure) = lifting.add_all(&reader, codec, 0, &good) {
        broken.push(1, failure);
    }
    let drafts = match lifting.nodes.is_empty() {
        true => Ok(Vec::new()),
        false => {
            reader.finish(lifting, codec, Form::MessageLines, (0, 1), None).map(|draft| vec![draft])
        }
    };
    let drafts = drafts.expect("messages that are counted have ids of their own");
    Reading { drafts, broken }
}

struct Reader<'a> {
    input: &'a Input,
    from: Wire,
    at: Timestamp,
}

/// The messages of a conversation read so far.
#[derive(Default)]
struct Lifting {
    nodes: Vec<Node>,
    diagnostics: Vec<Diagnostic>,
}

impl Lifting {
    /// Adds messages that are read together.
    fn add_all(
        &mut self,
        reader: &Reader<'_>,
        codec: Codec,
        index: usize,
        messages: &[&RawValue],
    ) -> Result<(), Failure> {
        let Some(whole) = codec.whole().filter(|_| !messages.is_empty()) else { return Ok(()) };
        let (lifted, diagnostics) = whole.lift(messages).map_err(|source| {
            let place = whole.place(&source).unwrap_or_default();
            Failure::Message {
                file: reader.input.shown.clone(),
                line: messages.get(place).map_or(1, |raw| reader.input.line_of(raw.get())),
                conversation: index + 1,
                message: place + 1,
                source,
            }
        })?;
        self.diagnostics.extend(diagnostics);
        for message in lifted {
            let id = format!("m{}", self.nodes.len() + 1);
            self.nodes.push(Node::new(id, Arc::unwrap_or_clone(message), reader.at));
        }
        Ok(())
    }

    /// Adds a message, identified by its position.
    fn add(
        &mut self,
        reader: &Reader<'_>,
        codec: Codec,
        index: usize,
        raw: &RawValue,
    ) -> Result<(), Failure> {
        let message = self.nodes.len() + 1;
        let lifted = codec.lift(&Json::from(raw.to_owned())).map_err(|source| Failure::Message {
            file: reader.input.shown.clone(),
            line: reader.input.line_of(raw.get()),
            conversation: index + 1,
            message,
            source,
        });
        let (lifted, diagnostics) = lifted?;
        let id = format!("m{message}");
        for mut diagnostic in diagnostics {
            diagnostic.path = format!("{id} {}", diagnostic.path);
            self.diagnostics.push(diagnostic);
        }
        self.nodes.push(Node::new(id, lifted, reader.at));
        Ok(())
    }
}

impl Reader<'_> {
    fn items<'a>(&self, list: &'a RawValue) -> Result<Vec<&'a RawValue>, Failure> {
        super::items::items(self.input, list)
    }

    /// Returns whether a value is a message rather than an object that contains messages.
    fn is_message(&self, raw: &RawValue) -> bool {
        match self.from {
            Wire::Toolbench => false,
            Wire::OpenaiResponses | Wire::Auto if detect::is_item(raw) => true,
            _ => value_of(raw, "role", '"').is_some(),
        }
    }

    fn codec(&self, messages: &[&RawValue]) -> Codec {
        match self.from {
            Wire::Auto => Codec::of(messages),
            Wire::Anthropic => Codec::Anthropic,
            Wire::OpenaiResponses => Codec::OpenaiResponses,
            // Files that the Gemini CLI saves on request contain `contents`.
            Wire::Gemini | Wire::GeminiCli => Codec::Gemini,
            Wire::Uimessage => Codec::Uimessage,
            Wire::SweAgent => Codec::SweAgent,
            _ => Codec::OpenaiChat,
        }
    }

    /// Reads a conversation from a list, a line or a whole file.
    fn item(&self, form: Form, place: (usize, usize), item: &RawValue) -> Result<Draft, Failure> {
        let is_tree = match self.from {
            Wire::Auto => toolbench::is_tree(item),
            from => from == Wire::Toolbench,
        };
        if is_tree {
            return toolbench::read(self.input, item, form, place, self.at);
        }
        if matches!(self.from, Wire::Auto | Wire::GeminiCli) && gemini_cli::is_session(item) {
            return gemini_cli::read(self.input, item, form, place, self.at);
        }
        if first(item) == '[' {
            return self.draft(form, place, &self.items(item)?, None);
        }
        if first(item) != '{' {
            return Err(no_form(
                self.input,
                item.get(),
                "a conversation is neither a list nor an object",
            ));
        }
        let envelope: JsonMap = serde_json::from_str(item.get())
            .map_err(|error| self.input.syntax(item.get(), error))?;
        let found = KEYS.iter().find_map(|key| Some((*key, value_of(item, key, '[')?, None)));
        let body = || {
            let body = |(key, codec): &(&'static str, Codec)| {
                let list = value_of(item, key, '[')?;
                let items = self.items(list).ok()?;
                items.iter().all(|item| first(item) == '{').then_some((*key, list, Some(*codec)))
            };
            BODIES.iter().find_map(body)
        };
        let (key, list, codec) = found
            .or_else(body)
            .ok_or_else(|| no_form(self.input, item.get(), "an object has no list of messages"))?;
        let messages = self.items(list)?;
        let told = detect::of_envelope(item, self.from).filter(|_| key == "history");
        let codec = told
            .or(codec.filter(|_| self.from == Wire::Auto))
            .unwrap_or_else(|| self.codec(&messages));
        self.draft_of(codec, form, place, &messages, Some((key, envelope)))
    }

    fn draft(
        &self,
        form: Form,
        place: (usize, usize),
        messages: &[&RawValue],
        envelope: Option<(&str, JsonMap)>,
    ) -> Result<Draft, Failure> {
        self.draft_of(self.codec(messages), form, place, messages, envelope)
    }

    fn draft_of(
        &self,
        codec: Codec,
        form: Form,
        place: (usize, usize),
        messages: &[&RawValue],
        envelope: Option<(&str, JsonMap)>,
    ) -> Result<Draft, Failure> {
        let mut lifting = Lifting::default();
        match codec.whole() {
            Some(_) => lifting.add_all(self, codec, place.0, messages)?,
            None => messages.iter().try_for_each(|raw| lifting.add(self, codec, place.0, raw))?,
        }
        self.finish(lifting, codec, form, place, envelope)
    }

    fn finish(
        &self,
        lifting: Lifting,
        codec: Codec,
        form: Form,
        place: (usize, usize),
        envelope: Option<(&str, JsonMap)>,
    ) -> Result<Draft, Failure> {
        let Lifting { nodes, diagnostics } = lifting;
        let tree = Tree::of_chain(nodes).map_err(context_runtime::Error::from)?;
        let source = Source::new(&self.input.name, codec, form, place).in_envelope(envelope);
        let title = title(tree.nodes());
        Ok(Draft { source, title, tree, diagnostics })
    }
}
