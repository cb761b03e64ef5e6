//! Media by reference: stored as blobs, and shown to the model while they are recent.
//!
//! A message with a large image holds a reference to its blob. Before each call the newest images
//! are read back, as many as [`LiveMedia`] allows. Older ones are replaced by a text, so that an
//! image is not sent with every request forever. The stored history does not change.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_core::base::{BlobId, DiagnosticCode, Severity, limits};
use context_core::message::{Media, MediaSource};
use context_core::runtime::ModelContext;
use context_core::{CancelSignal, ChatRef, Diagnostic, Message, Messages, Part, Result};

use super::parts::Parts;
use super::prepare::Prepared;
use super::spill::{Spill, Spilled};
use crate::cancellable::unless_cancelled;

const OPERATION: &str = "materialize_media";
/// The maximum length of a name in a note, in characters.
const LONGEST_NAME: usize = 80;

/// The number of stored media that a model is shown instead of a text.
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
    /// The maximum number of media shown, newest first. Default: 8.
    pub most: usize,
    /// The number of media that are replaced at once when there are more. Each replacement changes
    /// the request at its position and invalidates the provider's cache after it, so they are
    /// replaced in batches. Default: 4; at least one and at most `most`.
    pub batch: usize,
}

impl Default for LiveMedia {
    fn default() -> Self {
        Self { most: 8, batch: 4 }
    }
}

impl LiveMedia {
    /// Shows at most this many media and replaces half as many at once.
    pub fn newest(most: usize) -> Self {
        Self { most, batch: most / 2 }
    }

    /// Returns how many of `all` media are replaced by text, oldest first. Depends on nothing else,
    /// so the number is the same for each call until new media arrive.
    fn named(&self, all: usize) -> usize {
        let batch = self.batch.clamp(1, self.most.max(1));
        let above = all.saturating_sub(self.most);
        above.div_ceil(batch).saturating_mul(batch).min(all)
    }
}

/// Returns the messages as they are sent. Media that refer to a blob of the chat are read back
/// while they are recent. Texts replace older media and those that cannot be read. Messages without
/// such media are shared. Media with other references, such as provider files, are unchanged.
///
/// Fails only if the caller cancels.
pub async fn materialize(
    messages: &Messages,
    spill: &Spill,
    chat: &ChatRef,
    live: LiveMedia,
    cancel: &CancelSignal,
) -> Result<(Messages, Vec<Diagnostic>)> {
    let referring = messages.iter().enumerate().filter(|(_, message)| references(message) > 0);
    let referring: Vec<usize> = referring.map(|(at, _)| at).collect();
    materialize_at(messages, &referring, spill, (chat, live), cancel).await
}

/// Returns the messages as they are sent, given the positions of those that refer to a blob.
async fn materialize_at(
    messages: &Messages,
    referring: &[usize],
    spill: &Spill,
    (chat, live): (&ChatRef, LiveMedia),
    cancel: &CancelSignal,
) -> Result<(Messages, Vec<Diagnostic>)> {
    cancel.check(OPERATION)?;
    let named = |at: &usize| Some((*at, messages.get(*at)?));
    let all = referring.iter().filter_map(named).map(|(_, message)| references(message)).sum();
    let (left_out, mut seen) = (live.named(all), 0);
    let (mut out, mut diagnostics) = (messages.clone(), Vec::new());
    for (at, message) in referring.iter().filter_map(named) {
        let mut shown = Message::clone(message);
        for part in media_parts(&mut shown) {
            let Some((id, media)) = referred(part) else { continue };
            seen += 1;
            if seen <= left_out {
                *part = Part::text(note(media, "no longer shown"));
                continue;
            }
            let reference = id.to_reference();
            let reading = spill.read(chat, &reference, 0..limits::MAX_BLOB_BYTES as u64);
            match unless_cancelled(cancel, OPERATION, reading).await? {
                Ok(read) => {
                    if let Some(media) = media_of(part) {
                        media.source = MediaSource::Base64(STANDARD.encode(&read.bytes).into());
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
        out.replace(at, Arc::new(shown));
    }
    Ok((out, diagnostics))
}

/// Returns a prepared context with the media that are shown, and texts for the others.
pub(super) async fn shown(
    parts: &Parts,
    Prepared { mut context, mut with_media }: Prepared,
    chat: &ChatRef,
    cancel: &CancelSignal,
) -> Result<ModelContext> {
    let Some(spill) = parts.spill() else { return Ok(context) };
    let messages = &context.request.messages;
    let refers = |at: &usize| messages.get(*at).is_some_and(|message| references(message) > 0);
    with_media.retain(refers);
    if with_media.is_empty() {
        return Ok(context);
    }
    let of = (chat, parts.live_media);
    let (messages, diagnostics) = materialize_at(messages, &with_media, &spill, of, cancel).await?;
    if let Some(continued) = context.summary.as_mut().and_then(|task| task.continued.as_mut()) {
        let instruction = continued.messages.pop();
        continued.messages = messages.iter().cloned().chain(instruction).collect();
    }
    context.request.messages = messages;
    context.diagnostics.extend(diagnostics);
    Ok(context)
}

/// Counts the media of a message that refer to a blob.
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
    let kind = plain(media.media_type.as_deref().unwrap_or("media"));
    let name = media.name.iter().map(|name| format!(" {}", plain(name))).collect::<String>();
    let size = Spilled::of(&media.metadata).map(|spilled| format!(", {} bytes", spilled.bytes));
    format!("[{kind}{name}{}: {state}]", size.unwrap_or_default())
}

/// Returns a name without characters that could end a note, at most 80 of them.
pub(super) fn plain(name: &str) -> String {
    let shown =
        name.chars().map(|c| if c.is_control() || matches!(c, '[' | ']') { ' ' } else { c });
    let shown: String = shown.take(LONGEST_NAME).collect();
    shown.trim().to_owned()
}

/// Returns the parts of a message that may be media, those of tool results included.
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

/// Returns inline media of a message with more than `limit` bytes, each with its call id, or an
/// empty id outside tool results.
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

/// Returns the inline bytes of media. `None` if they are not valid Base64.
pub(super) fn bytes(media: &Media) -> Option<Vec<u8>> {
    match &media.source {
        MediaSource::Base64(data) => STANDARD.decode(data).ok(),
        _ => None,
    }
}

/// Replaces inline media by a reference to the blob with their bytes.
pub(super) fn refer(media: &mut Media, spilled: &Spilled) {
    media.source = MediaSource::Reference(spilled.blob.to_reference());
    spilled.note_in(&mut media.metadata);
}
