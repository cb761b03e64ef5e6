//! File parts: images, sound and documents.

use context_codec_kit::wire::{MediaFault, is_base64};
use context_core::message::{Media, MediaSource};
use context_core::model::WireError;
use context_core::{Metadata, Part};
use serde::ser::{SerializeMap, Serializer};

use super::PART_KEY;
use super::form::{Entries, JsonPath};
use super::part_entries::others;

/// Keys that a media part has fields for.
const KNOWN: [&str; 4] = ["type", "mediaType", "filename", "url"];
/// The same keys in version 4.
const KNOWN_4: [&str; 4] = ["type", "mimeType", "data", "filename"];

/// The schemes of addresses from which a page shows files. An address within the application may
/// have none.
const DISPLAY_SCHEMES: [&str; 4] = ["https", "http", "data", "blob"];

/// Lifts a file part.
pub(super) fn lift(part: &Entries<'_>, path: &JsonPath<'_>) -> Result<Part, WireError> {
    let media_type = part.text("mediaType", path)?;
    let is_old = media_type.is_none() && part.get("url").is_none() && part.get("data").is_some();
    let (media_type, source, known) = if is_old {
        let data = part.need_text("data", path)?;
        (part.text("mimeType", path)?, MediaSource::Base64(data.into()), KNOWN_4)
    } else {
        (media_type, at_address(&part.need_text("url", path)?), KNOWN)
    };
    let mut metadata = Metadata::default();
    if let Some(rest) = part.rest(&known) {
        metadata.insert(PART_KEY, rest);
    }
    let media = Media {
        source,
        media_type: media_type.map(Into::into),
        name: part.text("filename", path)?.map(Into::into),
        metadata,
    };
    Ok(of_type(media))
}

/// Returns the part for media of this type.
fn of_type(media: Media) -> Part {
    match media.media_type.as_deref().unwrap_or_default() {
        kind if kind.starts_with("image/") => Part::Image(media),
        kind if kind.starts_with("audio/") => Part::Audio(media),
        _ => Part::Document(media),
    }
}

/// Returns the source at an address, which may hold the bytes itself.
fn at_address(url: &str) -> MediaSource {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media_type, data)) if !media_type.is_empty() => MediaSource::Base64(data.into()),
        _ => MediaSource::Url(url.to_owned()),
    }
}

/// A file part that can be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a> {
    media: &'a Media,
    /// The media type for media that do not state one.
    fallback: &'static str,
}

impl<'a> File<'a> {
    /// Returns the file of a media part, if its source is of a kind that the form knows.
    pub(super) fn of(part: &'a Part) -> Option<Self> {
        let (media, fallback) = match part {
            Part::Image(media) => (media, "image/*"),
            Part::Audio(media) => (media, "audio/*"),
            Part::Document(media) => (media, "application/octet-stream"),
            _ => return None,
        };
        let is_here = matches!(media.source, MediaSource::Base64(_) | MediaSource::Url(_));
        is_here.then_some(Self { media, fallback })
    }

    /// Returns why the file is not shown: a browser cannot read files that a provider stores, and
    /// may not open every address.
    pub(super) fn fault(self) -> Option<MediaFault> {
        match &self.media.source {
            MediaSource::Base64(data) if data.is_empty() => Some(MediaFault::Empty),
            MediaSource::Base64(data) if !is_base64(data) => Some(MediaFault::NotBase64),
            MediaSource::Url(url) if url.trim().is_empty() => Some(MediaFault::Address),
            MediaSource::Url(url) => {
                let scheme =
                    url.split(['/', '?', '#']).next().and_then(|start| start.split_once(':'));
                let opens = |scheme: &str| {
                    DISPLAY_SCHEMES.iter().any(|open| open.eq_ignore_ascii_case(scheme))
                };
                let is_opened = scheme.is_none_or(|(scheme, _)| opens(scheme));
                (!is_opened).then_some(MediaFault::Address)
            }
            _ => None,
        }
    }

    /// Writes the entries of the file part.
    pub(super) fn write<S: Serializer>(self, map: &mut S::SerializeMap) -> Result<(), S::Error> {
        let Self { media, fallback } = self;
        let media_type = media.media_type.as_deref().unwrap_or(fallback);
        map.serialize_entry("type", "file")?;
        map.serialize_entry("mediaType", media_type)?;
        if let Some(name) = &media.name {
            map.serialize_entry("filename", name)?;
        }
        match &media.source {
            MediaSource::Base64(data) => {
                map.serialize_entry("url", &format_args!("data:{media_type};base64,{data}"))?;
            }
            MediaSource::Url(url) | MediaSource::Reference(url) => {
                map.serialize_entry("url", url)?
            }
            _ => {}
        }
        others::<S>(map, &media.metadata, &KNOWN)
    }
}
