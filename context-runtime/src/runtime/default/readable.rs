//! Media that a model does not read: a text is sent, and counted, in the place of each.
//!
//! The table of models says what a model reads. The stored history keeps its media, so that a later
//! call of another model shows them. A text depends on its media alone, so the beginning of a
//! request stays the same from turn to turn.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use context_core::base::{DiagnosticCode, Severity};
use context_core::message::{Media, MediaSource, data_url};
use context_core::model::{Framing, MediaKind, TokenCount, TokenCounter, Tool};
use context_core::{Diagnostic, Message, Messages, Part};
use context_tokens::{Modalities, Modality};

use super::media::plain;
use super::spill::Spilled;

/// Returns whether a message has media, in itself or in a tool result.
pub(super) fn has_media(message: &Message) -> bool {
    let is_media = |part: &Part| Modality::media_of(part).is_some();
    message.parts.iter().any(|part| match part {
        Part::ToolResult(result) => result.output.iter().any(is_media),
        part => is_media(part),
    })
}

/// Returns the text that replaces media.
fn placeholder(modality: Modality, media: &Media) -> String {
    let size = match &media.source {
        MediaSource::Base64(data) => Some(decoded_len(data)),
        MediaSource::Url(url) => data_url(url).map(|(_, data)| decoded_len(data)),
        _ => Spilled::of(&media.metadata).map(|spilled| spilled.bytes),
    };
    let media_type = match &media.source {
        MediaSource::Url(url) => data_url(url).map(|(media_type, _)| media_type),
        _ => None,
    };
    let media_type = media.media_type.as_deref().or(media_type);
    let named = [media.name.as_deref(), media_type].into_iter().flatten().map(plain);
    let sized = size.map(|bytes| format!("{bytes} bytes"));
    let known: Vec<String> = named.chain(sized).filter(|text| !text.is_empty()).collect();
    let kind = modality.as_str();
    match known.is_empty() {
        true => format!("[{kind} left out, because this model does not read it]"),
        false => {
            format!("[{kind} left out, because this model does not read it: {}]", known.join(", "))
        }
    }
}

/// Returns the number of bytes that Base64 stands for.
fn decoded_len(base64: &str) -> u64 {
    (base64.trim_end_matches('=').len() as u64).saturating_mul(3) / 4
}

/// Returns the text for a part, if it is media that the model does not read.
fn replaced_media(known: &Modalities, part: &Part) -> Option<(Modality, Part)> {
    let (kind, media) = Modality::media_of(part)?;
    let modality = Modality::of_media(kind, media);
    (!known.reads(modality)).then(|| (modality, Part::text(placeholder(modality, media))))
}

/// Replaces the media of a part that the model does not read, those in a tool result included, and
/// counts them.
fn replaced_part(known: &Modalities, part: &Part, counts: &mut MediaCounts) -> Option<Part> {
    let mut replace = |part: &Part| {
        let (modality, text) = replaced_media(known, part)?;
        *counts.entry(modality).or_default() += 1;
        Some(text)
    };
    let Part::ToolResult(result) = part else { return replace(part) };
    let output: Vec<Option<Part>> = result.output.iter().map(replace).collect();
    output.iter().any(Option::is_some).then(|| {
        let mut result = result.clone();
        for (part, text) in result.output.iter_mut().zip(output) {
            if let Some(text) = text {
                *part = text;
            }
        }
        Part::ToolResult(result)
    })
}

/// Returns a message with texts for the media that the model does not read, and their number.
/// `None` if the model reads everything.
fn replaced(known: &Modalities, message: &Message) -> Option<(Message, MediaCounts)> {
    let mut counts = MediaCounts::default();
    let parts: Vec<Option<Part>> =
        message.parts.iter().map(|part| replaced_part(known, part, &mut counts)).collect();
    (!counts.is_empty()).then(|| {
        let mut shown = message.clone();
        for (part, text) in shown.parts.iter_mut().zip(parts) {
            if let Some(text) = text {
                *part = text;
            }
        }
        (shown, counts)
    })
}

/// The number of replaced media of each modality.
type MediaCounts = BTreeMap<Modality, usize>;

/// A counter that counts what is sent to a model: texts for the media that it does not read.
#[derive(Debug)]
pub(super) struct ReadableCounter {
    inner: Arc<dyn TokenCounter>,
    known: Arc<Modalities>,
}

impl ReadableCounter {
    pub(super) fn new(inner: Arc<dyn TokenCounter>, known: Arc<Modalities>) -> Self {
        Self { inner, known }
    }
}

impl TokenCounter for ReadableCounter {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn count(&self, text: &str) -> TokenCount {
        self.inner.count(text)
    }

    fn count_media(&self, kind: MediaKind, media: &Media) -> TokenCount {
        let modality = Modality::of_media(kind, media);
        match self.known.reads(modality) {
            true => self.inner.count_media(kind, media),
            false => self.inner.count(&placeholder(modality, media)),
        }
    }

    fn framing(&self) -> Framing {
        self.inner.framing()
    }

    fn count_part(&self, part: &Part) -> TokenCount {
        let text = replaced_part(&self.known, part, &mut MediaCounts::default());
        self.inner.count_part(text.as_ref().unwrap_or(part))
    }

    fn count_message(&self, message: &Message) -> TokenCount {
        match replaced(&self.known, message) {
            Some((shown, _)) => self.inner.count_message(&shown),
            None => self.inner.count_message(message),
        }
    }

    fn count_tool(&self, tool: &Tool) -> TokenCount {
        self.inner.count_tool(tool)
    }
}

/// The messages of a session with media, and what a model is shown of them. A message is read once
/// for each model; further calls recognize it by its address.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    model: String,
    /// By the address of the message, which the weak pointer keeps from being reused.
    seen: HashMap<usize, SeenMessage>,
    /// The media that the last report named.
    reported: MediaCounts,
}

#[derive(Debug)]
struct SeenMessage {
    _original: Weak<Message>,
    /// The message that is sent, and the number of replaced media. `None` if the model reads all.
    shown: Option<(Arc<Message>, MediaCounts)>,
}

impl Placeholders {
    /// Replaces the media that a model does not read in the messages at these positions, which are
    /// all that have media. Returns a report if other media are replaced than in the last call.
    pub(super) fn apply(
        &mut self,
        messages: &mut Messages,
        with_media: &[usize],
        model: &str,
        known: &Modalities,
    ) -> Option<Diagnostic> {
        if self.model != model {
            *self = Self { model: model.to_owned(), ..Self::default() };
        }
        let mut seen = std::mem::take(&mut self.seen);
        let mut counts = MediaCounts::default();
        for &at in with_media {
            let Some(message) = messages.get(at) else { continue };
            let address = Arc::as_ptr(message).addr();
            let entry = seen.remove(&address).unwrap_or_else(|| SeenMessage {
                _original: Arc::downgrade(message),
                shown: replaced(known, message).map(|(shown, counts)| (Arc::new(shown), counts)),
            });
            if let Some((shown, replaced)) = &entry.shown {
                messages.replace(at, Arc::clone(shown));
                for (modality, count) in replaced {
                    *counts.entry(*modality).or_default() += count;
                }
            }
            self.seen.insert(address, entry);
        }
        if counts == self.reported {
            return None;
        }
        let report = (!counts.is_empty()).then(|| report(model, &counts));
        self.reported = counts;
        report
    }
}

fn report(model: &str, counts: &MediaCounts) -> Diagnostic {
    let of = |(modality, count): (&Modality, &usize)| {
        let (name, count) = (modality.as_str(), *count);
        // "audio" and "video" have no plural that fits a number.
        let ending = if count > 1 && matches!(name, "image" | "document") { "s" } else { "" };
        format!("{count} {name}{ending}")
    };
    let media: Vec<String> = counts.iter().map(of).collect();
    Diagnostic::new(
        DiagnosticCode::MediaNotReadable,
        Severity::Warning,
        "messages",
        format!("{model:?} does not read {}: a text takes the place of each", media.join(", ")),
    )
}
