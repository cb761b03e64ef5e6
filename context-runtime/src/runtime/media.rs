//! Media by reference: kept as blobs, and shown to the model from there as long as they are new.
//!
//! A message that holds a large picture says where it is. Before each call the newest are read
//! back, as many as [`LiveMedia`] says; a text stands for older ones, so a picture does not travel
//! with every request for ever. The stored history is not changed by this.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_core::base::{BlobId, DiagnosticCode, Severity, limits};
use context_core::message::{Media, MediaSource};
use context_core::runtime::ModelContext;
use context_core::{CancelSignal, ChatRef, Diagnostic, Message, Part, Result};

use super::parts::Parts;
use super::spill::{Spill, Spilled};
use crate::waiting::unless_cancelled;

const OPERATION: &str = "materialize_media";

/// Which media of a history are shown and not only named.
///
/// ```
/// use context_runtime::{DefaultContextRuntime, LiveMedia};
///
/// // At most six pictures are sent as pictures; when a seventh comes, the three oldest become notes.
/// let live = LiveMedia::newest(6);
/// assert_eq!((live.most, live.batch), (6, 3));
/// let runtime = DefaultContextRuntime::builder().model("gpt-4o").live_media(live).build();
/// assert!(runtime.is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveMedia {
    /// How many of the newest, at most. Default: 8.
    pub most: usize,
    /// How many of them go at once when there are more. Every one that goes changes the request
    /// where it stood, and the provider's cache behind it is lost: so they go in batches. Default:
    /// 4; at least one and at most `most`.
    pub batch: usize,
}

impl Default for LiveMedia {
    fn default() -> Self {
        Self { most: 8, batch: 4 }
    }
}

impl LiveMedia {
    /// At most so many, half of which go at once.
    pub fn newest(most: usize) -> Self {
        Self { most, batch: most / 2 }
    }

    /// How many of so many are only named, oldest first. It depends on nothing else, so it is the
    /// same for each call until new media come.
    fn named(&self, all: usize) -> usize {
        let batch = self.batch.clamp(1, self.most.max(1));
        let above = all.saturating_sub(self.most);
        above.div_ceil(batch).saturating_mul(batch).min(all)
    }
}

/// The messages as they are sent: media that name a blob of the chat are read back while they are
/// new, and texts stand for older ones and for what cannot be read. Messages without such media are
/// shared. Media of other references, such as files with a provider, are left alone.
///
/// Fails only if the caller cancels.
pub async fn materialize(
    messages: &[Arc<Message>],
    spill: &Spill,
    chat: &ChatRef,
    live: LiveMedia,
    cancel: &CancelSignal,
) -> Result<(Vec<Arc<Message>>, Vec<Diagnostic>)> {
    cancel.check(OPERATION)?;
    let all = messages.iter().map(|message| references(message)).sum();
    let (named, mut seen) = (live.named(all), 0);
    let (mut out, mut diagnostics) = (Vec::with_capacity(messages.len()), Vec::new());
    for message in messages {
        if references(message) == 0 {
            out.push(Arc::clone(message));
            continue;
        }
        let mut shown = Message::clone(message);
        for part in media_parts(&mut shown) {
            let Some((id, media)) = referred(part) else { continue };
            seen += 1;
            if seen <= named {
                *part = Part::text(note(media, "no longer shown"));
                continue;
            }
            let reference = id.to_reference();
            let reading = spill.read(chat, &reference, 0..limits::MAX_BLOB_BYTES as u64);
            match unless_cancelled(cancel, OPERATION, reading).await? {
                Ok(read) => {
                    if let Some(media) = media_of(part) {
                        media.source = MediaSource::Base64(STANDARD.encode(&read.bytes));
                    }
                }
                Err(error) => {
                    diagnostics.push(Diagnostic::new(
                        DiagnosticCode::MediaUnavailable,
                        Severity::Warning,
                        reference,
                        format!("could not be read, and a text stands in its place: {error}"),
                    ));
                    *part = Part::text(note(media, "not available"));
                }
            }
        }
        out.push(Arc::new(shown));
    }
    Ok((out, diagnostics))
}

/// A context with the media that are to be shown, and the texts that stand for others.
pub(super) async fn shown(
    parts: &Parts,
    mut context: ModelContext,
    chat: &ChatRef,
    cancel: &CancelSignal,
) -> Result<ModelContext> {
    let names_some = context.messages.iter().any(|message| references(message) > 0);
    let Some(spill) = parts.spill().filter(|_| names_some) else { return Ok(context) };
    let (messages, diagnostics) =
        materialize(&context.messages, &spill, chat, parts.live_media, cancel).await?;
    context.messages = messages;
    context.diagnostics.extend(diagnostics);
    Ok(context)
}

/// How many media of a message name a blob.
fn references(message: &Message) -> usize {
    let refers = |part: &&Part| referred(part).is_some();
    let count = |part: &Part| match part {
        Part::ToolResult(result) => result.output.iter().filter(refers).count(),
        part => usize::from(referred(part).is_some()),
    };
    message.parts.iter().map(count).sum()
}

fn referred(part: &Part) -> Option<(BlobId, &Media)> {
    let (Part::Image(media) | Part::Document(media) | Part::Audio(media)) = part else {
        return None;
    };
    match &media.source {
        MediaSource::Reference(reference) => Some((BlobId::from_reference(reference)?, media)),
        _ => None,
    }
}

fn note(media: &Media, state: &str) -> String {
    let what = media.media_type.as_deref().unwrap_or("media");
    let name = media.name.iter().map(|name| format!(" {name}")).collect::<String>();
    let size = Spilled::of(&media.metadata).map(|spilled| format!(", {} bytes", spilled.bytes));
    format!("[{what}{name}{}: {state}]", size.unwrap_or_default())
}

/// The parts of a message in which media stand, those of its results included.
fn media_parts(message: &mut Message) -> impl Iterator<Item = &mut Part> {
    message.parts.iter_mut().flat_map(|part| match part {
        Part::ToolResult(result) => result.output.iter_mut(),
        part => std::slice::from_mut(part).iter_mut(),
    })
}

fn media_of(part: &mut Part) -> Option<&mut Media> {
    match part {
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => Some(media),
        _ => None,
    }
}

/// Media of a message that hold more bytes than this themselves, each with the id of its call, if
/// it has one.
pub(super) fn inline_above(message: &mut Message, limit: usize) -> Vec<(&str, &mut Media)> {
    let mut found: Vec<(&str, &mut Media)> = Vec::new();
    for part in &mut message.parts {
        match part {
            Part::ToolResult(result) => {
                let id = &*result.call_id;
                found
                    .extend(result.output.iter_mut().filter_map(media_of).map(|media| (id, media)));
            }
            part => found.extend(media_of(part).map(|media| ("", media))),
        }
    }
    found.retain(|(_, media)| {
        matches!(&media.source,
            MediaSource::Base64(data) if decoded_len(data) > limit)
    });
    found
}

fn decoded_len(base64: &str) -> usize {
    base64.len() / 4 * 3
}

/// The bytes that media hold themselves; nothing if they are not Base64.
pub(super) fn bytes(media: &Media) -> Option<Vec<u8>> {
    match &media.source {
        MediaSource::Base64(data) => STANDARD.decode(data).ok(),
        _ => None,
    }
}

/// Makes media name the blob that holds their bytes.
pub(super) fn refer(media: &mut Media, spilled: &Spilled) {
    media.source = MediaSource::Reference(spilled.blob.to_reference());
    spilled.note_in(&mut media.metadata);
}
