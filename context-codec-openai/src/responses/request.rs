//! Whole bodies: lifting and lowering.

mod envelope;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use context_codec_kit::normalize::{HistoryRules, Normalized, normalize};

use context_codec_kit::wire::Entries;
use context_codec_kit::{JsonPatch, wire};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::model::{LiftedRequest, LoweredRequest, WireError};
use context_core::{Diagnostic, Json, Message, ModelRequest, Part, Role};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::value::RawValue;

use self::envelope::{Envelope, Extra};
use super::form::{self, keep};
use super::keys::PROVIDER;
use super::lift::{ItemReader, Turn};
use super::lower::{Mode, Writer, in_pairs, media, opaque};
use super::{SOURCE_KEY, residual};
use crate::body::{self, BodyIn};

/// The rules of the Responses API for a history.
pub(super) const RULES: HistoryRules = {
    let mut rules = HistoryRules::new();
    rules.max_id_len = 64;
    rules.max_name_len = 64;
    rules.chooses_blocks = true;
    rules.carries = carries;
    rules
};

/// Returns whether a message of this role can hold a part.
fn carries(role: Role, part: &Part) -> bool {
    match part {
        Part::Text(_) | Part::ToolCall(_) | Part::ToolResult(_) => true,
        Part::Reasoning(thought) => {
            role == Role::Assistant && thought.provider.as_deref() == Some(PROVIDER)
        }
        Part::Image(image) => role != Role::Assistant && media::image(image, true).is_ok(),
        Part::Document(file) => role != Role::Assistant && media::file(file, true).is_ok(),
        Part::Opaque(block) if block.provider == PROVIDER => opaque::is_named(block),
        Part::Opaque(block) => opaque::is_content(block),
        _ => false,
    }
}

/// The written form of an `input` that is not a list.
const TEXT: &str = "text";
const NULL: &str = "null";
const ABSENT: &str = "absent";

/// Lifts a body.
pub(super) fn lift(body: &Json) -> Result<LiftedRequest, WireError> {
    if wire::kind(body) != "an object" {
        return Err(wire::wrong_type(body, "", "an object"));
    }
    let mut reader = ItemReader::default();
    let (entries, mut request, written_as);
    if let Some(BodyIn { entries: others, list }) = body::read(body.as_str(), "input") {
        entries = others;
        request = envelope::lift(&entries)?;
        messages(&list, &mut reader, &mut request)?;
        written_as = None;
    } else {
        let mut others: Entries<'_> = wire::read(body.as_str(), "")?;
        let input = others.shift_remove("input");
        entries = others;
        request = envelope::lift(&entries)?;
        written_as = other_input(input, &mut reader, &mut request)?;
    }
    let plain = Envelope::in_full(&request);
    let rest = Json::from_serialize(&entries).expect("text keys and JSON values");
    let patch = JsonPatch::between(
        &Json::from_serialize(&plain).expect("text keys and JSON values"),
        &rest,
    );
    let source: JsonMap = written_as
        .map(|word| ("input".to_owned(), Json::from(word)))
        .into_iter()
        .chain(patch.map(|patch| ("patch".to_owned(), patch.into_json())))
        .collect();
    if !source.is_empty() {
        request.metadata.insert(SOURCE_KEY, wire::from_map(&source));
    }
    Ok(LiftedRequest::new(request, reader.diagnostics))
}

/// Lifts an input that is not a list; returns how it was written.
fn other_input(
    input: Option<&RawValue>,
    reader: &mut ItemReader,
    request: &mut ModelRequest,
) -> Result<Option<&'static str>, WireError> {
    let Some(input) = input else { return Ok(Some(ABSENT)) };
    if input.get() == "null" {
        return Ok(Some(NULL));
    }
    if input.get().starts_with('"') {
        // A text is the content of one user message.
        let message = format!(r#"{{"role":"user","content":{}}}"#, input.get());
        let user = Json::from_text(message).expect("a string in an object");
        messages(&[user.as_raw()], reader, request)?;
        return Ok(Some(TEXT));
    }
    if input.get().starts_with('[') {
        messages(&form::list(input, || "input".to_owned())?, reader, request)?;
        return Ok(None);
    }
    Err(wire::wrong_type_of(input, "input", "a string or a list of items"))
}

/// Lifts the messages.
fn messages(
    items: &[&RawValue],
    reader: &mut ItemReader,
    request: &mut ModelRequest,
) -> Result<(), WireError> {
    let mut buffer = Vec::new();
    let turns = reader.turns(items, "input")?;
    for Turn { mut message, items: range, is_plain } in turns {
        if !is_plain
            && let Some(residual) = residual::difference(&message, &items[range], &mut buffer)
        {
            message.metadata.insert(SOURCE_KEY, residual);
        }
        request.messages.push(message.into());
    }
    Ok(())
}

/// Writes the body to send.
pub(super) fn lower(request: &ModelRequest) -> Result<LoweredRequest, WireError> {
    let extra = Extra::of(request);
    let continues = extra.continues();
    let continued = if continues { split_results(request) } else { ContinuedMessages::default() };
    let is_apart = !continued.results.is_empty();
    let messages: &[_] = if is_apart { &continued.others } else { &request.messages };
    let mut diagnostics = Vec::new();
    let in_pairs = in_pairs(messages, continues, &mut diagnostics);
    let messages = in_pairs.as_deref().unwrap_or(messages);
    let history = normalize(messages, &RULES, request.unanswered, request.prefill);
    let position = |index: usize| {
        let origin = history.origin(index);
        continued.positions.get(origin).copied().filter(|_| is_apart).unwrap_or(origin)
    };
    let tools = context_codec_kit::normalize::normalize_tools(request, &RULES, PROVIDER);
    let may_be_empty = continues || extra.is_set("prompt");
    let writer = Writer::new(Mode::Send { stored: !extra.is_false("store") });
    let input = Input {
        writer: writer.into(),
        provider_results: &continued.results,
        history: &history,
        position: &position,
        count: Cell::new(0),
        compacts: request.compaction.is_some(),
    };
    let envelope = Envelope::to_send(request, extra, &tools, &input);
    let body = Json::from_serialize(&envelope).expect("text keys and JSON values");
    if input.count.get() == 0 && !may_be_empty {
        return Err(WireError::NothingToSend);
    }
    diagnostics.extend(history.diagnostics.iter().cloned());
    if is_apart {
        for diagnostic in &mut diagnostics {
            relocate(diagnostic, &continued.positions);
        }
    }
    diagnostics.extend(tools.diagnostics.iter().cloned());
    diagnostics.extend(crate::prompt_cache::unsent_key(request));
    let asked = request.compaction.as_ref();
    if asked.is_some_and(|asked| asked.instructions.is_some()) {
        diagnostics.push(Diagnostic::new(
            DiagnosticCode::Unrepresentable,
            Severity::Info,
            "compaction",
            "left out: the provider takes no instructions for a compaction",
        ));
    }
    diagnostics.append(&mut input.writer.borrow_mut().diagnostics);
    Ok(LoweredRequest::new(body, diagnostics))
}

/// The input of a body. The items of a message are lowered and serialised at once, without
/// collecting the others.
pub(super) struct Input<'a> {
    writer: RefCell<Writer<'a>>,
    provider_results: &'a [(usize, &'a Message)],
    history: &'a Normalized<'a>,
    position: &'a dyn Fn(usize) -> usize,
    /// The number of items that were written.
    count: Cell<usize>,
    /// Whether the provider is asked to compact what stands before.
    compacts: bool,
}

/// The item that asks for a compaction of everything before it.
#[derive(serde::Serialize)]
struct CompactionTrigger {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut writer = self.writer.borrow_mut();
        let mut list = serializer.serialize_seq(None)?;
        let results = self.provider_results.iter().map(|(position, message)| (*message, *position));
        let messages = self.history.messages.iter().enumerate();
        for (message, position) in
            results.chain(messages.map(|(i, message)| (&**message, (self.position)(i))))
        {
            writer.message(message, position);
            self.count.set(self.count.get() + writer.out.len());
            for item in writer.out.drain(..) {
                list.serialize_element(&item)?;
            }
        }
        if self.compacts {
            list.serialize_element(&CompactionTrigger { kind: "compaction_trigger" })?;
        }
        list.end()
    }
}

/// Separates the results of calls that only the provider has from the other messages.
///
/// If a conversation continues at the provider, its calls may be there and not here. Results in
/// front of the first assistant message cannot have a call here, so they are assumed to answer
/// calls at the provider: they are kept, and written first.
fn split_results(request: &ModelRequest) -> ContinuedMessages<'_> {
    let first = request.messages.iter().position(|message| message.role == Role::Assistant);
    let first = first.unwrap_or(request.messages.len());
    let mut continued = ContinuedMessages::default();
    for (position, message) in request.messages.iter().enumerate() {
        if position < first && message.role == Role::Tool {
            continued.results.push((position, &**message));
        } else {
            continued.others.push(Arc::clone(message));
            continued.positions.push(position);
        }
    }
    continued
}

/// The messages of a conversation that continues at the provider.
#[derive(Debug, Default)]
struct ContinuedMessages<'a> {
    /// Messages with results of calls that only the provider has, and their positions.
    results: Vec<(usize, &'a Message)>,
    /// The other messages.
    others: Vec<Arc<Message>>,
    /// The positions of the other messages.
    positions: Vec<usize>,
}

/// Corrects a diagnostic's path to the message's position in the request.
fn relocate(diagnostic: &mut Diagnostic, positions: &[usize]) {
    let moved = diagnostic.path.strip_prefix("messages[").and_then(|path| {
        let (index, rest) = path.split_once(']')?;
        let position = positions.get(index.parse::<usize>().ok()?)?;
        Some(format!("messages[{position}]{rest}"))
    });
    if let Some(path) = moved {
        diagnostic.path = path;
    }
}

/// Writes the body in the form of its source.
pub(super) fn lower_source(request: &ModelRequest) -> LoweredRequest {
    let mut diagnostics = Vec::new();
    let plain =
        Json::from_serialize(&Envelope::in_full(request)).expect("text keys and JSON values");
    let source: JsonMap =
        request.metadata.get(SOURCE_KEY).and_then(|source| source.parse().ok()).unwrap_or_default();
    let patched = source.get("patch").map(|patch| JsonPatch::from(patch.clone()).apply(&plain));
    // A patch that does not fit belongs to other values of the fields.
    let fits = |body: &Json| {
        let entries: Result<Entries<'_>, _> = serde_json::from_str(body.as_str());
        entries.is_ok_and(|entries| {
            envelope::lift(&entries).is_ok_and(|again| envelope::same_envelope(&again, request))
        })
    };
    let body = match patched {
        None => plain,
        Some(Some(body)) if fits(&body) => body,
        Some(_) => {
            diagnostics.push(wire::outdated(SOURCE_KEY));
            plain
        }
    };
    let mut items = Vec::new();
    for (i, message) in request.messages.iter().enumerate() {
        let (mut restored, mut notes) = residual::restore(message, i);
        items.append(&mut restored);
        diagnostics.append(&mut notes);
    }
    let input = match source.get("input").and_then(Json::to_text).as_deref() {
        Some(ABSENT) if items.is_empty() => None,
        Some(NULL) if items.is_empty() => Some(wire::null()),
        Some(TEXT) => Some(text_of(&items).unwrap_or_else(|| wire::array(&items))),
        _ => Some(wire::array(&items)),
    };
    let mut entries: JsonMap = body.parse().unwrap_or_default();
    entries.extend(input.map(|input| ("input".to_owned(), input)));
    LoweredRequest::new(wire::from_map(&entries), diagnostics)
}

/// Returns the content of the only message, if it is a text.
fn text_of(items: &[Json]) -> Option<Json> {
    let [item] = items else { return None };
    let item: form::Item<'_> = serde_json::from_str(item.as_str()).ok()?;
    item.content.filter(|content| content.get().starts_with('"')).map(keep)
}
