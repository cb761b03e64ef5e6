//! Images and documents: the types and locations that the provider accepts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_codec_kit::wire::{ANTHROPIC_MEDIA, MediaFault, is_file_id, is_web_url};
use context_core::message::{Media, MediaSource, is_blank};
use context_core::model::MediaKind;

use super::form::{Body, Mode, Source};

/// Returns the body of an image or a document. When sending, only what the provider accepts.
pub(super) fn media<'a>(
    media: &'a Media,
    kind: &'static str,
    mode: Mode,
) -> Result<Body<'a>, &'static str> {
    let title = media.name.as_deref().filter(|_| kind == "document");
    let source = match mode {
        Mode::Source => source_form(media)?,
        Mode::Send | Mode::Request => request_form(media, kind).map_err(MediaFault::reason)?,
    };
    Ok(Body::Media { kind, source, title })
}

/// Returns the source for the original form, unchanged.
fn source_form(media: &Media) -> Result<Source<'_>, &'static str> {
    let media_type = media.media_type.as_deref();
    match &media.source {
        MediaSource::Base64(data) => Ok(Source::Base64 { media_type, data: data.into() }),
        MediaSource::Url(url) => Ok(Source::Url { url }),
        MediaSource::Reference(file_id) => Ok(Source::File { file_id }),
        _ => Err("media in a place the form does not have"),
    }
}

/// Returns the source for the provider.
fn request_form<'a>(media: &'a Media, kind: &str) -> Result<Source<'a>, MediaFault> {
    let kind = if kind == "image" { MediaKind::Image } else { MediaKind::Document };
    match &media.source {
        MediaSource::Url(url) if is_web_url(url) => {
            // The provider fetches documents of one type only.
            let is_fetched = |named: &str| match kind {
                MediaKind::Image => ANTHROPIC_MEDIA.type_name(kind, named).is_some(),
                _ => named == "application/pdf",
            };
            let fetched = media.media_type.as_deref().is_none_or(is_fetched);
            return if fetched { Ok(Source::Url { url }) } else { Err(MediaFault::Type) };
        }
        MediaSource::Reference(file_id) if is_file_id(file_id) => {
            return Ok(Source::File { file_id });
        }
        _ => {}
    }
    let found = ANTHROPIC_MEDIA.check(kind, media)?;
    let (media_type, data) = (found.media_type, found.data);
    if kind == MediaKind::Image || media_type == Some("application/pdf") {
        return Ok(Source::Base64 { media_type, data });
    }
    let decoded = STANDARD.decode(data.as_str()).map_err(|_| MediaFault::NotBase64)?;
    let text = String::from_utf8(decoded).map_err(|_| MediaFault::Undecodable)?;
    if is_blank(&text) {
        return Err(MediaFault::Empty);
    }
    Ok(Source::Text { media_type: "text/plain", data: text })
}
