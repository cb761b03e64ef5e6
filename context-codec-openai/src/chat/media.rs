//! Images, sound and documents: lifting and lowering.

use std::borrow::Cow;

use context_codec_kit::wire::{MediaFault, OPENAI_MEDIA, is_file_id, truth};
use context_core::message::{Media, MediaSource};
use context_core::model::{MediaKind, WireError};
use context_core::{Json, Metadata};

use super::form::{
    AudioForm, FileForm, ImageForm, InnerIn, OutputAudioForm, json, need_text, text,
};
use super::{AUDIO, DETAIL, REFERENCE, TRANSCRIPT};
use crate::shared::{self, bytes, media, media_at};

/// Lifts an image.
pub(super) fn image(image: &InnerIn<'_>) -> Result<Media, WireError> {
    let mut media = media_at(need_text(image.url, "url")?);
    if let Some(detail) = text(image.detail, "detail")? {
        media.metadata.insert(DETAIL, &*detail);
    }
    Ok(media)
}

/// Lifts sound that is input to a model.
pub(super) fn sound(audio: &InnerIn<'_>) -> Result<Media, WireError> {
    let format = need_text(audio.format, "format")?;
    let data = MediaSource::Base64(need_text(audio.data, "data")?.into());
    Ok(Media { media_type: Some(format!("audio/{format}")), ..media(data) })
}

/// Lifts sound that a model produced.
pub(super) fn lift_output_audio(audio: &InnerIn<'_>) -> Result<Media, WireError> {
    let (id, data) = (need_text(audio.id, "id")?, text(audio.data, "data")?);
    let transcript = audio.transcript.map(json);
    Ok(output_audio(id.into_owned(), data.map(Cow::into_owned), transcript))
}

/// Creates the media of sound that a model produced: its bytes if they are present, and the
/// provider's id for it.
pub(super) fn output_audio(id: String, data: Option<String>, transcript: Option<Json>) -> Media {
    let mut media = match data {
        Some(data) => {
            let metadata = Metadata::default().with(AUDIO, id.as_str());
            Media { metadata, ..media(MediaSource::Base64(data.into())) }
        }
        None => Media {
            metadata: Metadata::default().with(REFERENCE, truth()),
            ..media(MediaSource::Reference(id))
        },
    };
    if let Some(transcript) = transcript {
        media.metadata.insert(TRANSCRIPT, transcript);
    }
    media
}

/// Lifts a document, if its source is of a known kind.
pub(super) fn document(file: &InnerIn<'_>) -> Result<Option<Media>, WireError> {
    let media = match (text(file.file_data, "file_data")?, text(file.file_id, "file_id")?) {
        (Some(data), _) => bytes(data),
        (None, Some(id)) => Media {
            metadata: Metadata::default().with(REFERENCE, truth()),
            ..media(MediaSource::Reference(id.into_owned()))
        },
        (None, None) => return Ok(None),
    };
    let name = text(file.filename, "filename")?.map(Cow::into_owned);
    Ok(Some(Media { name, ..media }))
}

/// Returns whether an id of a file or a sound is one that this provider assigned.
fn is_ours(media: &Media, id: &str) -> bool {
    is_file_id(id) && (media.metadata.get(REFERENCE) == Some(&truth()) || id.starts_with("file-"))
}

/// Lowers an image.
pub(super) fn image_form(image: &Media, for_source: bool) -> Result<ImageForm<'_>, MediaFault> {
    Ok(ImageForm { url: shared::image(image, for_source)?, detail: image.metadata.get(DETAIL) })
}

/// Lowers sound that is input to a model. When sent, it must be of one of the two formats that
/// exist.
pub(super) fn sound_form(audio: &Media, for_source: bool) -> Result<AudioForm<'_>, MediaFault> {
    let (media_type, data) = match &audio.source {
        MediaSource::Base64(data) if for_source => (audio.media_type.as_deref(), data.into()),
        _ => {
            let sent = OPENAI_MEDIA.check(MediaKind::Audio, audio)?;
            (sent.media_type, sent.data)
        }
    };
    let format =
        media_type.and_then(|named| named.strip_prefix("audio/")).ok_or(MediaFault::NoType)?;
    let format = match format {
        "mpeg" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        format => format,
    };
    Ok(AudioForm { data, format })
}

/// Lowers sound that a model produced, if this provider stores it.
pub(super) fn output_audio_form(audio: &Media, for_source: bool) -> Option<OutputAudioForm<'_>> {
    let (id, data) = match &audio.source {
        MediaSource::Reference(id) if for_source || is_ours(audio, id) => {
            (Cow::Borrowed(id.as_str()), None)
        }
        MediaSource::Base64(data) => {
            (Cow::Owned(audio.metadata.get(AUDIO)?.to_text()?), Some(data))
        }
        _ => return None,
    };
    let transcript = audio.metadata.get(TRANSCRIPT).filter(|_| for_source);
    Some(OutputAudioForm { id, data: data.filter(|_| for_source), transcript })
}

/// Lowers a document. Bytes that are sent need a file name.
pub(super) fn file_form(file: &Media, for_source: bool) -> Result<FileForm<'_>, MediaFault> {
    let name = file.name.as_deref();
    if let MediaSource::Reference(id) = &file.source {
        let known = for_source || is_ours(file, id);
        let form = FileForm { filename: name, file_data: None, file_id: Some(id) };
        return known.then_some(form).ok_or(MediaFault::Elsewhere);
    }
    let data = shared::document(file, for_source)?;
    let filename = name.or_else(|| (!for_source).then(|| shared::file_name(&data)));
    Ok(FileForm { filename, file_data: Some(data), file_id: None })
}
