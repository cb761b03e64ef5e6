//! What both forms share: what is said in words because no field holds it, and where bytes are.

use context_core::message::is_blank;
use std::borrow::Cow;

use context_codec_kit::wire::{MediaFault, OPENAI_MEDIA, is_web_url, lost_media, media_kind};
use context_core::message::{Media, MediaSource};
use context_core::model::MediaKind;
use context_core::model::Unanswered;
use context_core::{Metadata, Part};
use serde::{Serialize, Serializer};

/// What the result of a call that failed says if it says nothing.
const FAILED: &str = "Error: the call failed.";
/// What a result says that has something, and nothing that has a form.
const NOTHING_SHOWN: &str = "(nothing that can be shown here)";

/// A part of a content as it is written.
pub(crate) trait PartOut<'a>: Sized {
    /// A text.
    fn of_text(text: Cow<'a, str>) -> Self;

    /// The text, if it is one.
    fn text(&mut self) -> Option<&mut Cow<'a, str>>;

    /// Whether nothing but the text would be lost if more were said in it.
    fn is_plain(&self) -> bool;
}

/// Says in a result that the call failed, unless its first line does: there is no flag for it.
pub(crate) fn say_error<'a, P: PartOut<'a>>(parts: &mut Vec<P>) {
    match parts.iter_mut().find_map(P::text) {
        Some(text) if says_it_failed(text) => {}
        Some(text) if is_blank(text) => *text = FAILED.into(),
        Some(text) => text.to_mut().insert_str(0, "Error: "),
        None => parts.insert(0, P::of_text(FAILED.into())),
    }
}

fn says_it_failed(text: &str) -> bool {
    if text == Unanswered::TEXT {
        return true;
    }
    let first = text.trim_start().lines().next().unwrap_or_default().to_lowercase();
    ["error", "fail", "exception", "traceback"].iter().any(|word| first.contains(word))
}

/// Says in a result that some of its media are not sent, or that nothing of it is. `lost` are the
/// parts that have no form.
pub(crate) fn say_lost<'a, P: PartOut<'a>>(parts: &mut Vec<P>, lost: &[&Part]) {
    let media: Vec<_> = lost.iter().filter_map(|part| media_kind(part)).collect();
    if let Some(note) = lost_media(&media) {
        say_more(parts, note);
    } else if parts.is_empty() && !lost.is_empty() {
        parts.push(P::of_text(NOTHING_SHOWN.into()));
    }
}

/// Adds a line. One text stays one: not every server takes a list in a result.
pub(crate) fn say_more<'a, P: PartOut<'a>>(parts: &mut Vec<P>, note: String) {
    if let [only] = parts.as_mut_slice()
        && only.is_plain()
        && let Some(text) = only.text()
    {
        let text = text.to_mut();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&note);
        return;
    }
    parts.push(P::of_text(note.into()));
}

/// Media that say nothing but where they are.
pub(crate) fn media(source: MediaSource) -> Media {
    Media { source, media_type: None, name: None, metadata: Metadata::default() }
}

/// The media of an address, which may hold the bytes itself.
pub(crate) fn at_address(url: Cow<'_, str>) -> Media {
    inline(&url).unwrap_or_else(|| media(MediaSource::Url(url.into_owned())))
}

/// The media of an address that holds the bytes; or of bare Base64, which does not say what it is.
pub(crate) fn bytes(data: Cow<'_, str>) -> Media {
    inline(&data).unwrap_or_else(|| media(MediaSource::Base64(data.into_owned())))
}

/// As they are written, so that the same address comes back: parameters of the type stay with it.
fn inline(url: &str) -> Option<Media> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let media_type = Some(media_type.to_owned()).filter(|media_type| !media_type.is_empty())?;
    Some(Media { media_type: Some(media_type), ..media(MediaSource::Base64(data.to_owned())) })
}

/// Where the bytes of media are, as it is written. Nothing is copied until then.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Address<'a> {
    /// On the web, or just the bytes.
    Plain(&'a str),
    /// In the address itself.
    Data { media_type: &'a str, data: &'a str },
}

impl Serialize for Address<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => serializer.serialize_str(text),
            Self::Data { media_type, data } => {
                serializer.collect_str(&format_args!("data:{media_type};base64,{data}"))
            }
        }
    }
}

/// The address of an image. What is sent is checked.
pub(crate) fn image(image: &Media, for_source: bool) -> Result<Address<'_>, MediaFault> {
    match &image.source {
        MediaSource::Url(url) if for_source => Ok(Address::Plain(url)),
        MediaSource::Url(url) if is_web_url(url) => {
            let seen = |named: &str| OPENAI_MEDIA.type_name(MediaKind::Image, named).is_some();
            let is_seen = image.media_type.as_deref().is_none_or(seen);
            if is_seen { Ok(Address::Plain(url)) } else { Err(MediaFault::Type) }
        }
        MediaSource::Base64(data) if for_source => {
            let media_type = image.media_type.as_deref().ok_or(MediaFault::NoType)?;
            Ok(Address::Data { media_type, data })
        }
        _ => checked(MediaKind::Image, image),
    }
}

/// The bytes of a document that has them with it. What is sent is checked.
pub(crate) fn document(file: &Media, for_source: bool) -> Result<Address<'_>, MediaFault> {
    match &file.source {
        MediaSource::Base64(data) if for_source => Ok(match file.media_type.as_deref() {
            Some(media_type) => Address::Data { media_type, data },
            None => Address::Plain(data),
        }),
        _ if for_source => Err(MediaFault::Elsewhere),
        _ => checked(MediaKind::Document, file),
    }
}

fn checked(kind: MediaKind, media: &Media) -> Result<Address<'_>, MediaFault> {
    let sent = OPENAI_MEDIA.check(kind, media)?;
    Ok(match sent.media_type {
        Some(media_type) => Address::Data { media_type, data: sent.data },
        None => Address::Plain(sent.data),
    })
}

/// The name of bytes without one: those are refused.
pub(crate) fn file_name(address: Address<'_>) -> &'static str {
    match address {
        Address::Plain(_) | Address::Data { media_type: "application/pdf", .. } => "document.pdf",
        Address::Data { media_type, .. } if media_type.starts_with("text/") => "document.txt",
        Address::Data { .. } => "document",
    }
}
