//! The removal of what is not proven by a stored message.

use context_core::base::JsonMap;
use context_core::message::{Media, MediaSource, Origin};
use context_core::{Message, Metadata, Part, Role};

use super::keys::Keys;
use super::stored::OpenCalls;
use super::{DropReason, DroppedItem, DroppedKind};

/// Returns whether a message has anything that a client cannot have made, under whatever options.
/// Only such messages are compared with stored ones, so that a new "yes" of the user is not taken
/// for an old one.
pub(super) fn needs_proof(message: &Message, keys: &Keys) -> bool {
    message.role != Role::User
        || keys.are_in(&message.metadata)
        || message.parts.iter().any(|part| match part {
            Part::Text(text) => keys.are_in(&text.metadata),
            Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
                is_reference(media) || keys.are_in(&media.metadata)
            }
            Part::Data(_) => false,
            _ => true,
        })
}

/// The reasons that a stored message with the same content answers.
const PROVEN: [DropReason; 4] = [
    DropReason::UnstoredAnswer,
    DropReason::UnstoredCall,
    DropReason::ForgedResult,
    DropReason::AnsweredCall,
];

/// The position of a part: in its message, and in the output of a result.
#[derive(Clone, Copy, Default)]
struct PartPlace {
    part: Option<usize>,
    output: Option<usize>,
}

pub(super) struct Cleaner<'a> {
    allowed: &'a [DropReason],
    keys: &'a Keys,
    calls: OpenCalls,
    dropped: Vec<DroppedItem>,
    /// The position of the message.
    message: usize,
    /// The number of dropped things before the message.
    before: usize,
}

impl<'a> Cleaner<'a> {
    pub(super) fn new(allowed: &'a [DropReason], keys: &'a Keys, calls: OpenCalls) -> Self {
        Self { allowed, keys, calls, dropped: Vec::new(), message: 0, before: 0 }
    }

    /// Begins the message at a position.
    pub(super) fn begin(&mut self, message: usize) {
        (self.message, self.before) = (message, self.dropped.len());
        self.calls.begin();
    }

    /// Returns whether something of the message was dropped.
    pub(super) fn has_changed(&self) -> bool {
        self.dropped.len() > self.before
    }

    pub(super) fn reopen_calls(&mut self) {
        self.calls.reopen();
    }

    pub(super) fn into_dropped(self) -> Vec<DroppedItem> {
        self.dropped
    }

    pub(super) fn drop_message(&mut self, reason: DropReason) {
        self.report(PartPlace::default(), DroppedKind::Message, None, reason);
    }

    /// Returns the message without what is not allowed. `None` if nothing remains.
    pub(super) fn clean(&mut self, mut message: Message) -> Option<Message> {
        let reason = match message.role {
            Role::System => Some(DropReason::SystemMessage),
            Role::Assistant => Some(DropReason::UnstoredAnswer),
            Role::User | Role::Tool => None,
        };
        let synthetic = message.is_synthetic().then_some(DropReason::SyntheticOrigin);
        let forbids = |reason: &DropReason| !self.allowed.contains(reason);
        if let Some(reason) = reason.into_iter().chain(synthetic).find(forbids) {
            self.drop_message(reason);
            return None;
        }
        self.clean_metadata(&mut message.metadata, PartPlace::default());
        let parts = std::mem::take(&mut message.parts).into_iter().enumerate();
        let cleaned = parts.filter_map(|(position, part)| {
            let place = PartPlace { part: Some(position), output: None };
            if message.role == Role::Tool && !matches!(part, Part::ToolResult(_)) {
                return self.checked(part, place, Some(DropReason::ForgedResult));
            }
            self.checked(part, place, None)
        });
        message.parts = cleaned.collect();
        if message.parts.is_empty() {
            self.drop_message(DropReason::Empty);
            return None;
        }
        Some(message)
    }

    /// Reports what a client's message had besides the stored message that takes its place.
    pub(super) fn report_difference(&mut self, message: &Message, stored: &Message) {
        let allowed: Vec<_> = self.allowed.iter().copied().chain(PROVEN).collect();
        let mut cleaner = Cleaner::new(&allowed, self.keys, OpenCalls::default());
        cleaner.begin(self.message);
        cleaner.clean(message.clone());
        let is_new = |item: &DroppedItem| match (item.part, &item.key) {
            (Some(part), _) => {
                message.parts.get(part).is_some_and(|part| !stored.parts.contains(part))
            }
            (None, Some(key)) => message.metadata.get(key) != stored.metadata.get(key),
            (None, None) => false,
        };
        self.dropped.extend(cleaner.dropped.into_iter().filter(is_new));
    }

    fn report(
        &mut self,
        place: PartPlace,
        kind: DroppedKind,
        key: Option<String>,
        reason: DropReason,
    ) {
        let (message, PartPlace { part, output }) = (self.message, place);
        self.dropped.push(DroppedItem { message, part, output, kind, key, reason });
    }

    /// Returns the part if it is allowed, without what is not. `reason` is one that its place
    /// gives.
    fn checked(
        &mut self,
        part: Part,
        place: PartPlace,
        reason: Option<DropReason>,
    ) -> Option<Part> {
        let synthetic = metadata(&part)
            .is_some_and(|metadata| Origin::of(metadata).is_synthetic())
            .then_some(DropReason::SyntheticOrigin);
        let own = match &part {
            Part::Reasoning(thought) => (thought.signature.is_some()
                || thought.encrypted.is_some())
            .then_some(DropReason::SignedReasoning),
            Part::ToolCall(_) => Some(DropReason::UnstoredCall),
            Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
                is_reference(media).then_some(DropReason::MediaReference)
            }
            Part::Opaque(_) => Some(DropReason::OpaqueBlock),
            Part::Text(_) | Part::Data(_) | Part::ToolResult(_) => None,
            _ => Some(DropReason::UnknownPart),
        };
        let forbids = |reason: &DropReason| !self.allowed.contains(reason);
        let mut reasons = [reason, synthetic, own].into_iter().flatten();
        let reason = reasons.find(forbids).or_else(|| self.unanswering(&part, place));
        if let Some(reason) = reason {
            self.report(place, DroppedKind::of(&part), None, reason);
            return None;
        }
        Some(self.cleaned(part, place))
    }

    /// Returns the reason to drop a result, if no stored call waits for it. Takes the call
    /// otherwise. A result within a result answers none.
    fn unanswering(&mut self, part: &Part, place: PartPlace) -> Option<DropReason> {
        let Part::ToolResult(result) = part else { return None };
        let is_nested = place.output.is_some();
        if !is_nested && self.calls.answer(result) {
            return None;
        }
        let reason = match !is_nested && self.calls.knows(result) {
            true => DropReason::AnsweredCall,
            false => DropReason::ForgedResult,
        };
        (!self.allowed.contains(&reason)).then_some(reason)
    }

    fn cleaned(&mut self, mut part: Part, place: PartPlace) -> Part {
        match &mut part {
            Part::Text(text) => self.clean_metadata(&mut text.metadata, place),
            Part::Reasoning(thought) => self.clean_metadata(&mut thought.metadata, place),
            Part::ToolCall(call) => self.clean_metadata(&mut call.metadata, place),
            Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
                self.clean_metadata(&mut media.metadata, place);
            }
            Part::ToolResult(result) => {
                self.clean_metadata(&mut result.metadata, place);
                let outputs = std::mem::take(&mut result.output).into_iter().enumerate();
                let cleaned = outputs.filter_map(|(position, part)| {
                    // Of a result within a result, the outer position is reported.
                    let output = place.output.or(Some(position));
                    self.checked(part, PartPlace { output, ..place }, None)
                });
                result.output = cleaned.collect();
            }
            _ => {}
        }
        part
    }

    fn clean_metadata(&mut self, metadata: &mut Metadata, place: PartPlace) {
        let (keys, allowed) = (self.keys, self.allowed);
        let reason = |key: &str| keys.reason(key).filter(|reason| !allowed.contains(reason));
        if metadata.iter().all(|(key, _)| reason(key).is_none()) {
            return;
        }
        // Built anew, because removing keys one by one takes quadratic time.
        let mut cleaned = JsonMap::new();
        for (key, value) in metadata.iter() {
            match reason(key) {
                Some(reason) => {
                    self.report(place, DroppedKind::Metadata, Some(key.to_owned()), reason);
                }
                None => drop(cleaned.insert(key.to_owned(), value.clone())),
            }
        }
        *metadata = cleaned.into();
    }
}

fn metadata(part: &Part) -> Option<&Metadata> {
    match part {
        Part::Text(text) => Some(&text.metadata),
        Part::Reasoning(thought) => Some(&thought.metadata),
        Part::ToolCall(call) => Some(&call.metadata),
        Part::ToolResult(result) => Some(&result.metadata),
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => Some(&media.metadata),
        _ => None,
    }
}

/// Returns whether the media are read with the rights of the server.
fn is_reference(media: &Media) -> bool {
    match &media.source {
        MediaSource::Base64(_) => false,
        MediaSource::Url(url) => {
            let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
            !matches!(scheme.as_deref(), Some("http" | "https" | "data"))
        }
        _ => true,
    }
}
