//! Lowering of messages to UIMessages. Never fails: content that the form cannot hold is left out,
//! with a diagnostic.

pub(super) mod groups;
pub(super) mod pairs;

use std::borrow::Cow;
use std::collections::HashSet;

use context_codec_kit::wire::{Lowered, lost_media, media_kind};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::{Diagnostic, Json, Message, Part, Role, ToolResult};
use serde::{Serialize, Serializer};

use self::groups::{Group, groups};
use self::pairs::Pairs;
use super::form::Entries;
use super::media::File;
use super::output::is_writable;
use super::write::{Id, UiMessage, UiPart};
use super::{
    CONTENT_KEY, DATA_KEY, DENIED_KEY, ID_KEY, MESSAGE_KEY, METADATA_KEY, PROVIDER, STEPS_KEY,
};

/// The target of written messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// For display or storage: current keys only, and everything has an id.
    Send,
    /// For the source.
    Source,
}

/// Maximum number of `step-start` written for one step.
const MAX_STARTS: u32 = 64;
/// Keys of version 4 that repeat the content of the parts.
const VERSION_4_KEYS: [&str; 3] = ["content", "toolInvocations", "reasoning"];

/// A UIMessage that is written.
#[derive(Debug)]
pub(super) enum MessageOut<'a> {
    Plain(UiMessage<'a>),
    /// A UIMessage in the form of its source.
    Restored(Json),
}

impl Serialize for MessageOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(message) => message.serialize(serializer),
            Self::Restored(json) => json.serialize(serializer),
        }
    }
}

/// Lowers messages to UIMessages, one value each.
pub(super) fn lowered(messages: &[&Message], mode: Mode) -> Lowered {
    let (written, diagnostics) = write(messages, mode, 0);
    let json = |written: &MessageOut<'_>| match written {
        MessageOut::Plain(message) => {
            Json::from_serialize(message).expect("text keys and JSON values")
        }
        MessageOut::Restored(json) => json.clone(),
    };
    Lowered::new(written.iter().map(json).collect(), diagnostics)
}

/// Returns the plain form of the messages of one UIMessage, of about `bytes` bytes; null if there
/// is none.
pub(super) fn plain_form(messages: &[&Message], bytes: usize) -> String {
    let mut writer = Writer {
        mode: Mode::Source,
        pairs: Pairs::of(messages),
        before: 0,
        diagnostics: Vec::new(),
    };
    let mut groups = groups(messages, Mode::Source);
    match groups.pop().filter(|_| groups.is_empty()) {
        Some(group) => {
            let message = writer.group(&group, messages);
            let mut out = Vec::with_capacity(bytes);
            serde_json::to_writer(&mut out, &message).expect("text keys and JSON values");
            String::from_utf8(out).expect("JSON is text")
        }
        None => "null".to_owned(),
    }
}

/// Writes messages as UIMessages. Diagnostics do not count the first `before` of them.
pub(super) fn write<'a>(
    messages: &[&'a Message],
    mode: Mode,
    before: usize,
) -> (Vec<MessageOut<'a>>, Vec<Diagnostic>) {
    let mut writer = Writer { mode, pairs: Pairs::of(messages), before, diagnostics: Vec::new() };
    writer.unpaired(messages);
    let mut all: Vec<MessageOut<'a>> = Vec::with_capacity(messages.len());
    for group in groups(messages, mode) {
        all.extend(writer.written(&group, messages));
    }
    derive_ids(&mut all, messages, mode);
    (all, writer.diagnostics)
}

/// Gives an id to each UIMessage without one. For the source, those that were read without an id
/// keep none.
fn derive_ids(all: &mut [MessageOut<'_>], messages: &[&Message], mode: Mode) {
    let mut taken: Option<HashSet<String>> = None;
    for (index, written) in all.iter_mut().enumerate() {
        let MessageOut::Plain(message) = written else { continue };
        let needs_one = match &message.id {
            Id::Read(id) => mode == Mode::Send && !id.as_str().starts_with('"'),
            Id::None => mode == Mode::Send,
            Id::Derived(_) => true,
        };
        if !needs_one {
            continue;
        }
        let taken = taken.get_or_insert_with(|| {
            messages.iter().filter_map(|message| message.metadata.get(ID_KEY)?.to_text()).collect()
        });
        let mut id = format!("msg-{}", index + 1);
        while taken.contains(&id) {
            id.push('\'');
        }
        taken.insert(id.clone());
        message.id = Id::Derived(id);
    }
}

pub(super) struct Writer<'a> {
    pub(super) mode: Mode,
    pub(super) pairs: Pairs<'a>,
    /// The number of messages that diagnostics do not count.
    pub(super) before: usize,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> Writer<'a> {
    fn report(&mut self, code: DiagnosticCode, (message, part): (usize, usize), why: &str) {
        let path = format!("messages[{}].parts[{part}]", message.saturating_sub(self.before));
        self.diagnostics.push(Diagnostic::new(
            code,
            Severity::Warning,
            path,
            format!("left out: {why}"),
        ));
    }

    /// Reports parts that are not written: results without calls, and parts of tool messages that
    /// are not results.
    fn unpaired(&mut self, messages: &[&Message]) {
        for position in std::mem::take(&mut self.pairs.unpaired) {
            self.report(DiagnosticCode::Unpaired, position, "a result without its call");
        }
        for (index, message) in
            messages.iter().enumerate().filter(|(_, message)| message.role == Role::Tool)
        {
            for (part, _) in message
                .parts
                .iter()
                .enumerate()
                .filter(|(_, part)| !matches!(part, Part::ToolResult(_)))
            {
                let why = "a tool message holds only results";
                self.report(DiagnosticCode::Unrepresentable, (index, part), why);
            }
        }
    }

    /// Returns one UIMessage.
    pub(super) fn group(&mut self, group: &Group, messages: &[&'a Message]) -> UiMessage<'a> {
        let (mut parts, mut steps) = (Vec::new(), 0_usize);
        for &index in &group.members {
            let message = messages[index];
            if message.role == Role::Tool {
                continue;
            }
            let written = self.parts(index, message);
            let marked = message.metadata.get(STEPS_KEY).and_then(|json| json.parse::<u32>().ok());
            let starts =
                marked.unwrap_or(u32::from(steps > 0 && !written.is_empty())).min(MAX_STARTS);
            if message.role == Role::Assistant {
                parts.extend((0..starts).map(|_| UiPart::StepStart));
            }
            steps += usize::from(!written.is_empty());
            parts.extend(written);
        }
        let head = group.head(messages);
        let metadata = head.map(|head| &head.metadata);
        let old = metadata.and_then(|metadata| metadata.get(CONTENT_KEY)?.to_text());
        let old = old.filter(|_| self.mode == Mode::Source);
        let texts = || {
            parts.iter().filter_map(|part| match part {
                UiPart::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
        };
        let content = old.is_some().then(|| texts().collect::<String>());
        let only_content =
            old.as_deref() == Some("alone") && parts.len() == 1 && texts().count() == 1;
        UiMessage {
            id: match metadata.and_then(|metadata| metadata.get(ID_KEY)) {
                Some(id) if id.as_str() != "null" => Id::Read(id),
                Some(_) => Id::None,
                None => Id::Derived(String::new()),
            },
            role: group.role.as_str(),
            content,
            metadata: metadata.and_then(|metadata| metadata.get(METADATA_KEY)),
            parts: (!only_content).then_some(parts),
            others: Entries::of(metadata.and_then(|metadata| metadata.get(MESSAGE_KEY))),
            hidden_keys: if self.mode == Mode::Send { &VERSION_4_KEYS } else { &[] },
        }
    }

    /// Returns the parts of one message.
    fn parts(&mut self, index: usize, message: &'a Message) -> Vec<UiPart<'a>> {
        let data = || message.metadata.get(DATA_KEY).and_then(|json| json.parse::<JsonMap>().ok());
        let data = data().unwrap_or_default();
        let mut written = Vec::with_capacity(message.parts.len());
        for (i, part) in message.parts.iter().enumerate() {
            let position = (index, i);
            let why = match part {
                Part::Text(text) => {
                    written.push(UiPart::Text(text));
                    continue;
                }
                Part::ToolResult(_) => continue,
                Part::Data(value) => {
                    let others = data.get(&i.to_string()).cloned();
                    written.push(UiPart::Data(value, others));
                    continue;
                }
                Part::Opaque(block) if block.provider == PROVIDER => {
                    written.push(UiPart::Opaque(&block.value));
                    continue;
                }
                Part::ToolCall(call) if message.role == Role::Assistant => {
                    let result = self.pairs.result(position);
                    let result = result.map(|(position, result)| {
                        self.report_omitted(position, result);
                        self.displayable(position, result)
                    });
                    written.push(UiPart::Tool(call, result));
                    continue;
                }
                Part::Reasoning(thought) if message.role == Role::Assistant => {
                    if thought.provider.is_none()
                        && (thought.signature.is_some() || thought.encrypted.is_some())
                    {
                        let why = "a signature without its provider";
                        self.report(DiagnosticCode::Unrepresentable, position, why);
                    }
                    written.push(UiPart::Reasoning(thought));
                    continue;
                }
                Part::ToolCall(_) | Part::Reasoning(_) => {
                    "only an assistant message holds thoughts and calls"
                }
                Part::Image(_) | Part::Audio(_) | Part::Document(_) => {
                    let file = File::of(part);
                    let fault = file.filter(|_| self.mode == Mode::Send).and_then(File::fault);
                    match (file, fault) {
                        (Some(file), None) => {
                            written.push(UiPart::File(file));
                            continue;
                        }
                        (Some(_), Some(fault)) => fault.reason(),
                        (None, _) => "a file needs an address or its bytes",
                    }
                }
                Part::Opaque(_) => "a block of another provider",
                _ => "the form has no such part",
            };
            self.report(DiagnosticCode::Unrepresentable, position, why);
        }
        written
    }

    /// Returns a result without the files that a page cannot show, and with a line that says so.
    fn displayable(
        &mut self,
        position: (usize, usize),
        result: &'a ToolResult,
    ) -> Cow<'a, ToolResult> {
        let fault = |part: &Part| File::of(part).and_then(File::fault);
        let is_lost = |part: &Part| File::of(part).is_none_or(|file| file.fault().is_some());
        let lost = |part: &Part| media_kind(part).filter(|_| is_lost(part));
        let kinds: Vec<_> = result.output.iter().filter_map(lost).collect();
        // An error has no files.
        if self.mode == Mode::Source || result.is_error || kinds.is_empty() {
            return Cow::Borrowed(result);
        }
        for fault in result.output.iter().filter_map(fault) {
            self.report(DiagnosticCode::Unrepresentable, position, fault.reason());
        }
        let mut displayable = result.clone();
        displayable.output.retain(|part| lost(part).is_none());
        displayable.output.extend(lost_media(&kinds).map(Part::text));
        Cow::Owned(displayable)
    }

    /// Reports the parts of a result that cannot be written.
    fn report_omitted(&mut self, position: (usize, usize), result: &ToolResult) {
        let is_denied = result.metadata.get(DENIED_KEY).is_some();
        let lost = |part: &&Part| match result.is_error {
            true => !is_denied && !matches!(part, Part::Text(_)),
            false => !is_writable(result, part),
        };
        for _ in result.output.iter().filter(lost) {
            let why = if result.is_error {
                "an error holds only text"
            } else {
                "the form has no such output"
            };
            self.report(DiagnosticCode::Unrepresentable, position, why);
        }
    }
}
