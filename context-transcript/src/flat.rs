//! Conversations without branches: a list of messages, alone or in an envelope.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::base::JsonMap;
use context_core::{Diagnostic, Json, Node, Timestamp};
use serde_json::value::RawValue;

use crate::chat::{TranscriptChat, title, title_of};
use crate::raw::{entries, first, value_of};
use crate::read::{ReadTranscript, Value, unknown_form};
use crate::records::{self, Conversation, RecordForm};
use crate::{
    BrokenLines, FileLayout, FileText, FormProblem, Format, TranscriptError, TranscriptSource,
    Tree, detect, forms, gemini_cli, lists, toolbench,
};

/// The keys that hold messages, by preference.
const KEYS: [&str; 3] = ["messages", "history", "traj"];
/// The keys that hold the messages of a request body, with their formats.
const BODIES: [(&str, Format); 2] =
    [("contents", Format::Gemini), ("input", Format::OpenaiResponses)];

/// Reads a file that is one value.
pub(crate) fn read_whole(
    file: &FileText,
    whole: &RawValue,
    format: Option<Format>,
    at: Timestamp,
) -> Result<ReadTranscript, TranscriptError> {
    let reader = Reader { file, named: format, at };
    let chats = match first(whole) {
        '{' if reader.is_message(whole) => {
            vec![reader.chat(FileLayout::MessageLines, (0, 1), &[whole], None)?]
        }
        '{' => vec![reader.item(FileLayout::One, (0, 1), whole)?],
        '[' => {
            let items = reader.items(whole)?;
            if let Some(form) = forms::of_list(format, &items) {
                let items = items.into_iter().enumerate().collect();
                let chats = reader.record_chats(form, FileLayout::One, items)?;
                return Ok(ReadTranscript { chats, broken: BrokenLines::default() });
            }
            match items.first().is_none_or(|item| reader.is_message(item)) {
                true => vec![reader.chat(FileLayout::One, (0, 1), &items, None)?],
                false => {
                    let of = items.len();
                    let item = |(index, item)| reader.item(FileLayout::List, (index, of), item);
                    items.into_iter().enumerate().map(item).collect::<Result<_, _>>()?
                }
            }
        }
        _ => {
            let problem = FormProblem::NeitherListNorObject;
            return Err(unknown_form(file, whole.get(), format, problem));
        }
    };
    Ok(ReadTranscript { chats, broken: BrokenLines::default() })
}

/// Reads JSON Lines: of messages if the first line is a message, else of conversations.
pub(crate) fn read_lines(
    file: &FileText,
    values: Vec<Value<'_>>,
    format: Option<Format>,
    at: Timestamp,
) -> Result<ReadTranscript, TranscriptError> {
    let reader = Reader { file, named: format, at };
    let mut broken = BrokenLines::default();
    let raws: Vec<_> = values.iter().map(|value| value.raw).collect();
    if let Some(form) = forms::of_list(format, &raws) {
        return reader.record_lines(form, values);
    }
    if !values.first().is_some_and(|value| reader.is_message(value.raw)) {
        let mut chats = Vec::with_capacity(values.len());
        for Value { line, raw } in values {
            match reader.item(FileLayout::Lines, (chats.len(), 0), raw) {
                Ok(chat) => chats.push(chat),
                Err(error) => broken.push(line, error),
            }
        }
        let count = chats.len();
        chats.iter_mut().for_each(|chat| chat.source.count = count);
        return Ok(ReadTranscript { chats, broken });
    }
    let format = reader.format_of(&values.iter().map(|value| value.raw).collect::<Vec<_>>());
    let (mut lifted, mut good) = (LiftedMessages::default(), Vec::with_capacity(values.len()));
    for Value { line, raw } in values {
        // Messages that are read together must first be readable alone.
        let added = match format.list_codec() {
            Some(_) => LiftedMessages::default()
                .add_all(&reader, format, 0, &[raw])
                .map(|()| good.push(raw)),
            None => lifted.add(&reader, format, 0, raw),
        };
        if let Err(error) = added {
            broken.push(line, error);
        }
    }
    if let Err(error) = lifted.add_all(&reader, format, 0, &good) {
        broken.push(1, error);
    }
    let chats = match lifted.nodes.is_empty() {
        true => Ok(Vec::new()),
        false => {
            let layout = FileLayout::MessageLines;
            reader.finish(lifted, format, layout, (0, 1), None).map(|chat| vec![chat])
        }
    };
    let chats = chats.expect("messages that are counted have ids of their own");
    Ok(ReadTranscript { chats, broken })
}

struct Reader<'a> {
    file: &'a FileText,
    /// The format, if it was named.
    named: Option<Format>,
    at: Timestamp,
}

/// The messages of a conversation read so far.
#[derive(Default)]
struct LiftedMessages {
    nodes: Vec<Node>,
    diagnostics: Vec<Diagnostic>,
}

impl LiftedMessages {
    /// Adds messages that are read together.
    fn add_all(
        &mut self,
        reader: &Reader<'_>,
        format: Format,
        index: usize,
        messages: &[&RawValue],
    ) -> Result<(), TranscriptError> {
        let Some(codec) = format.list_codec().filter(|_| !messages.is_empty()) else {
            return Ok(());
        };
        let (lifted, diagnostics) = codec.lift(messages).map_err(|source| {
            let position = codec.error_position(&source).unwrap_or_default();
            TranscriptError::Message {
                file: reader.file.shown().to_owned(),
                line: messages.get(position).map_or(1, |raw| reader.file.line_of(raw.get())),
                conversation: index + 1,
                message: position + 1,
                format,
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
        format: Format,
        index: usize,
        raw: &RawValue,
    ) -> Result<(), TranscriptError> {
        let message = self.nodes.len() + 1;
        let lifted = format.lift(&Json::from(raw.to_owned()));
        let (lifted, diagnostics) = lifted.map_err(|source| TranscriptError::Message {
            file: reader.file.shown().to_owned(),
            line: reader.file.line_of(raw.get()),
            conversation: index + 1,
            message,
            format,
            source,
        })?;
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
    fn items<'a>(&self, list: &'a RawValue) -> Result<Vec<&'a RawValue>, TranscriptError> {
        lists::items(self.file, list)
    }

    /// Returns whether a value is a message rather than an object that contains messages.
    fn is_message(&self, raw: &RawValue) -> bool {
        match self.named {
            Some(Format::Toolbench) => false,
            Some(Format::OpenaiResponses) | None if detect::is_item(raw) => true,
            _ => value_of(raw, "role", '"').is_some(),
        }
    }

    /// Returns the format of messages: the one that was named, else the one that is detected.
    fn format_of(&self, messages: &[&RawValue]) -> Format {
        match self.named {
            None => Format::of(messages),
            // Files that the Gemini CLI saves on request contain `contents`.
            Some(Format::GeminiCli) => Format::Gemini,
            Some(named) if named.is_log() => Format::OpenaiChat,
            Some(named) => named,
        }
    }

    /// Reads a conversation from a list, a line or a whole file.
    fn item(
        &self,
        layout: FileLayout,
        position: (usize, usize),
        item: &RawValue,
    ) -> Result<TranscriptChat, TranscriptError> {
        let is_tree = match self.named {
            None => toolbench::is_tree(item),
            Some(named) => named == Format::Toolbench,
        };
        if is_tree {
            return toolbench::read(self.file, item, layout, position, self.at);
        }
        if matches!(self.named, None | Some(Format::GeminiCli)) && gemini_cli::is_session(item) {
            return gemini_cli::read(self.file, item, layout, position, self.at);
        }
        if let Some(read) = forms::of_object(self.named, item).filter(|_| first(item) == '{') {
            return read(self.file, item, layout, position, self.at);
        }
        if first(item) == '[' {
            let items = self.items(item)?;
            return match forms::of_list(self.named, &items) {
                Some(form) => self.records(form, layout, position, items, None),
                None => self.chat(layout, position, &items, None),
            };
        }
        if first(item) != '{' {
            return Err(self.unknown(item, FormProblem::ConversationNeitherListNorObject));
        }
        let envelope: JsonMap = serde_json::from_str(item.get())
            .map_err(|error| self.file.syntax_error(item.get(), error))?;
        if let Some((form, key, records)) = self.list_of_records(item) {
            let title = entries(item).and_then(|fields| form.title(&fields));
            let mut chat = self.records(form, layout, position, records, Some((key, envelope)))?;
            chat.title = title.and_then(|title| title_of(&title)).or(chat.title);
            return Ok(chat);
        }
        let found = KEYS.iter().find_map(|key| Some((*key, value_of(item, key, '[')?, None)));
        let body = || {
            let body = |(key, format): &(&'static str, Format)| {
                let list = value_of(item, key, '[')?;
                let items = self.items(list).ok()?;
                items.iter().all(|item| first(item) == '{').then_some((*key, list, Some(*format)))
            };
            BODIES.iter().find_map(body)
        };
        let (key, list, of_body) =
            found.or_else(body).ok_or_else(|| self.unknown(item, FormProblem::NoMessages))?;
        let messages = self.items(list)?;
        let of_envelope = detect::of_envelope(item, self.named).filter(|_| key == "history");
        let format = of_envelope
            .or(of_body.filter(|_| self.named.is_none()))
            .unwrap_or_else(|| self.format_of(&messages));
        self.chat_of(format, layout, position, &messages, Some((key, envelope)))
    }

    /// Reads records with their positions: as one conversation of this layout, or as several if
    /// their form names the conversation of each.
    fn record_chats(
        &self,
        form: &'static dyn RecordForm,
        alone: FileLayout,
        records: Vec<(usize, &RawValue)>,
    ) -> Result<Vec<TranscriptChat>, TranscriptError> {
        let (mut names, mut groups) = (HashMap::new(), Vec::new());
        for record in records {
            let name = entries(record.1).and_then(|fields| form.conversation(&fields));
            let index = *names.entry(name).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[index].push(record);
        }
        let is_mixed = names.keys().any(Option::is_some);
        let layout = match alone {
            FileLayout::MessageLines if is_mixed => FileLayout::MixedLines,
            _ if is_mixed => FileLayout::MixedList,
            alone => alone,
        };
        if groups.is_empty() {
            return Ok(vec![self.records(form, alone, (0, 1), Vec::new(), None)?]);
        }
        let count = groups.len();
        let chat = |(index, records): (usize, Vec<(usize, &RawValue)>)| {
            let (format, position) = (form.format(), (index, count));
            let source = TranscriptSource::new(self.file.name(), format, layout, position);
            let title = records.first().and_then(|(_, raw)| form.title(&entries(raw)?));
            let (file, others, current, at) = (self.file, Vec::new(), None, self.at);
            records::chat(Conversation { form, file, source, records, others, title, current, at })
        };
        groups.into_iter().enumerate().map(chat).collect()
    }

    /// Reads lines of records, which are one conversation.
    fn record_lines(
        &self,
        form: &'static dyn RecordForm,
        values: Vec<Value<'_>>,
    ) -> Result<ReadTranscript, TranscriptError> {
        let (mut records, mut broken) = (Vec::with_capacity(values.len()), BrokenLines::default());
        for Value { line, raw } in values {
            match first(raw) {
                '{' => records.push((line, raw)),
                _ => broken.push(line, self.unknown(raw, FormProblem::LineNotObject)),
            }
        }
        let chats = match records.is_empty() {
            true => Vec::new(),
            false => self.record_chats(form, FileLayout::MessageLines, records)?,
        };
        Ok(ReadTranscript { chats, broken })
    }

    /// Returns the list of records in an object, with its form and key.
    fn list_of_records<'a>(
        &self,
        item: &'a RawValue,
    ) -> Option<(&'static dyn RecordForm, &'static str, Vec<&'a RawValue>)> {
        let fields = entries(item)?;
        forms::LIST_KEYS.iter().find_map(|key| {
            let list = fields.get(*key).filter(|list| first(list) == '[')?;
            let records = self.items(list).ok()?;
            Some((forms::of_list(self.named, &records)?, *key, records))
        })
    }

    /// Reads a list of records, which is one conversation.
    fn records(
        &self,
        form: &'static dyn RecordForm,
        layout: FileLayout,
        position: (usize, usize),
        records: Vec<&RawValue>,
        envelope: Option<(&str, JsonMap)>,
    ) -> Result<TranscriptChat, TranscriptError> {
        let source = TranscriptSource::new(self.file.name(), form.format(), layout, position)
            .in_envelope(envelope);
        records::list_chat(form, self.file, source, records, None, self.at)
    }

    fn unknown(&self, item: &RawValue, problem: FormProblem) -> TranscriptError {
        unknown_form(self.file, item.get(), self.named, problem)
    }

    fn chat(
        &self,
        layout: FileLayout,
        position: (usize, usize),
        messages: &[&RawValue],
        envelope: Option<(&str, JsonMap)>,
    ) -> Result<TranscriptChat, TranscriptError> {
        self.chat_of(self.format_of(messages), layout, position, messages, envelope)
    }

    fn chat_of(
        &self,
        format: Format,
        layout: FileLayout,
        position: (usize, usize),
        messages: &[&RawValue],
        envelope: Option<(&str, JsonMap)>,
    ) -> Result<TranscriptChat, TranscriptError> {
        let mut lifted = LiftedMessages::default();
        match format.list_codec() {
            Some(_) => lifted.add_all(self, format, position.0, messages)?,
            None => {
                messages.iter().try_for_each(|raw| lifted.add(self, format, position.0, raw))?
            }
        }
        self.finish(lifted, format, layout, position, envelope)
    }

    fn finish(
        &self,
        lifted: LiftedMessages,
        format: Format,
        layout: FileLayout,
        position: (usize, usize),
        envelope: Option<(&str, JsonMap)>,
    ) -> Result<TranscriptChat, TranscriptError> {
        let LiftedMessages { nodes, diagnostics } = lifted;
        let tree = Tree::of_chain(nodes).map_err(|source| self.file.tree_error(format, source))?;
        let source =
            TranscriptSource::new(self.file.name(), format, layout, position).in_envelope(envelope);
        let title = title(tree.nodes());
        Ok(TranscriptChat { source, title, tree, diagnostics })
    }
}
