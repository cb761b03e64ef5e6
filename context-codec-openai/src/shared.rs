//! Shared by both forms: notes in text for what no field holds, and the addresses of bytes.

use std::borrow::Cow;

use context_core::message::{Media, MediaSource};

use context_codec_kit::wire::{MediaFault, OPENAI_MEDIA, is_web_url, lost_media, media_kind};
use context_core::model::{MediaKind, Unanswered};
use context_core::{JsonString, Metadata, Part};
use serde::{Serialize, Serializer};

/// The text of a failed call's result that has no text of its own.
const FAILED: &str = "Error: the call failed.";
/// The text of a result whose parts have no form.
const NOTHING_SHOWN: &str = "(no content that can be shown here)";

/// A part of a content that is written.
pub(crate) trait PartOut<'a>: Sized {
    /// Creates a part from a text.
    fn of_text(text: Cow<'a, JsonString>) -> Self;

    /// Returns the part's text, if it is a text.
    fn text(&mut self) -> Option<&mut Cow<'a, JsonString>>;

    /// Returns whether the part has only its text, so that text can be appended to it.
    fn is_plain(&self) -> bool;
}

/// Marks a result as failed, unless its first line says so: the form has no flag for it.
pub(crate) fn mark_failed<'a, P: PartOut<'a>>(parts: &mut Vec<P>) {
    match parts.iter_mut().find_map(P::text) {
        Some(text) if states_failure(text) => {}
        Some(text) if text.is_blank() => *text = Cow::Owned(FAILED.into()),
        Some(text) => {
            *text = Cow::Owned(JsonString::concat([&JsonString::from("Error: "), &**text]))
        }
        None => parts.insert(0, P::of_text(Cow::Owned(FAILED.into()))),
    }
}

fn states_failure(text: &str) -> bool {
    if text == Unanswered::TEXT {
        return true;
    }
    let first = text.trim_start().lines().next().unwrap_or_default().to_lowercase();
    ["error", "fail", "exception", "traceback"].iter().any(|word| first.contains(word))
}

/// Adds a note to a result that some of its media are not sent, or that none of it is. `lost` are
/// the parts that have no form.
pub(crate) fn note_omitted<'a, P: PartOut<'a>>(parts: &mut Vec<P>, lost: &[&Part]) {
    let media: Vec<_> = lost.iter().filter_map(|part| media_kind(part)).collect();
    if let Some(note) = lost_media(&media) {
        append_line(parts, note);
    } else if parts.is_empty() && !lost.is_empty() {
        parts.push(P::of_text(Cow::Owned(NOTHING_SHOWN.into())));
    }
}

/// Adds a line. A single text stays single, because not every server accepts a list in a result.
pub(crate) fn append_line<'a, P: PartOut<'a>>(parts: &mut Vec<P>, note: String) {
    if let [only] = parts.as_mut_slice()
        && only.is_plain()
        && let Some(text) = only.text()
    {
        let line = if text.is_empty() { note } else { format!("\n{note}") };
        text.to_mut().push_str(&line);
        return;
    }
    parts.push(P::of_text(Cow::Owned(note.into())));
}

/// Creates media from a source alone.
pub(crate) fn media(source: MediaSource) -> Media {
    Media { source, media_type: None, name: None, metadata: Metadata::default() }
}

/// Creates media from an address, which may hold the bytes itself.
pub(crate) fn media_at(url: Cow<'_, str>) -> Media {
    inline(&url).unwrap_or_else(|| media(MediaSource::Url(url.into_owned())))
}

/// Creates media from an address that holds the bytes, or from bare Base64, which does not state
/// its type.
pub(crate) fn bytes(data: Cow<'_, str>) -> Media {
    inline(&data).unwrap_or_else(|| media(MediaSource::Base64(data.into())))
}

/// Splits a data address without changing its parts, so that the same address can be written again:
/// parameters of the type stay with it.
fn inline(url: &str) -> Option<Media> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let media_type = Some(media_type.to_owned()).filter(|media_type| !media_type.is_empty())?;
    Some(Media { media_type: Some(media_type), ..media(MediaSource::Base64(data.into())) })
}

/// The address of media as it is written. Nothing is copied before that.
#[derive(Clone, Debug)]
pub(crate) enum Address<'a> {
    /// A web address.
    Web(&'a str),
    /// Only the bytes.
    Bytes(Cow<'a, JsonString>),
    /// A data address.
    Data { media_type: &'a str, data: Cow<'a, JsonString> },
}

impl Serialize for Address<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Web(url) => serializer.serialize_str(url),
            Self::Bytes(data) => data.serialize(serializer),
            Self::Data { media_type, data } => {
                let head = JsonString::from(format!("data:{media_type};base64,"));
                JsonString::concat([&head, data]).serialize(serializer)
            }
        }
    }
}

/// Returns the address of an image. Addresses that are sent are checked.
pub(crate) fn image(image: &Media, for_source: bool) -> Result<Address<'_>, MediaFault> {
    match &image.source {
        MediaSource::Url(url) if for_source => Ok(Address::Web(url)),
        MediaSource::Url(url) if is_web_url(url) => {
            let seen = |named: &str| OPENAI_MEDIA.type_name(MediaKind::Image, named).is_some();
            let is_seen = image.media_type.as_deref().is_none_or(seen);
            if is_seen { Ok(Address::Web(url)) } else { Err(MediaFault::Type) }
        }
        MediaSource::Base64(data) if for_source => {
            let media_type = image.media_type.as_deref().ok_or(MediaFault::NoType)?;
            Ok(Address::Data { media_type, data: data.into() })
        }
        _ => checked(MediaKind::Image, image),
    }
}

/// Returns the bytes of a document that contains them. Bytes that are sent are checked.
pub(crate) fn document(file: &Media, for_source: bool) -> Result<Address<'_>, MediaFault> {
    match &file.source {
        MediaSource::Base64(data) if for_source => Ok(match file.media_type.as_deref() {
            Some(media_type) => Address::Data { media_type, data: data.into() },
            None => Address::Bytes(data.into()),
        }),
        _ if for_source => Err(MediaFault::Elsewhere),
        _ => checked(MediaKind::Document, file),
    }
}

fn checked(kind: MediaKind, media: &Media) -> Result<Address<'_>, MediaFault> {
    let sent = OPENAI_MEDIA.check(kind, media)?;
    Ok(match sent.media_type {
        Some(media_type) => Address::Data { media_type, data: sent.data },
        None => Address::Bytes(sent.data),
    })
}

/// Returns a name for bytes without one: the provider refuses those.
pub(crate) fn file_name(address: &Address<'_>) -> &'static str {
    match address {
        Address::Web(_)
        | Address::Bytes(_)
        | Address::Data { media_type: "application/pdf", .. } => "document.pdf",
        Address::Data { media_type, .. } if media_type.starts_with("text/") => "document.txt",
        Address::Data { .. } => "document",
    }
}
