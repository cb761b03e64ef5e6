//! Images, documents and sound.

use context_codec_kit::wire::{MediaFault, is_file_id, is_web_url};
use context_core::message::{Media, MediaSource};

use super::part_metadata::PartMetadata;
use crate::responses::form::{OutPart, OutSound, ValueOut};
use crate::shared;

pub(in crate::responses) fn image(
    image: &Media,
    is_for_sending: bool,
) -> Result<OutPart<'_>, &'static str> {
    let (image_url, file_id) = match &image.source {
        MediaSource::Reference(id) => (None, Some(id_of_file(id, is_for_sending)?)),
        _ => (Some(shared::image(image, !is_for_sending).map_err(MediaFault::reason)?), None),
    };
    let metadata = PartMetadata::of(&image.metadata);
    Ok(OutPart::Image {
        kind: "input_image",
        image_url,
        file_id,
        detail: Some(metadata.detail.map_or(ValueOut::Fixed("auto"), ValueOut::Source)),
        prompt_cache_breakpoint: metadata.breakpoint,
    })
}

pub(in crate::responses) fn file(
    file: &Media,
    is_for_sending: bool,
) -> Result<OutPart<'_>, &'static str> {
    let (mut file_data, mut file_url, mut file_id, mut filename) = (None, None, None, None);
    match &file.source {
        MediaSource::Url(url) if !is_for_sending || is_web_url(url) => {
            file_url = Some(url.as_str())
        }
        MediaSource::Reference(id) => file_id = Some(id_of_file(id, is_for_sending)?),
        _ => {
            let data = shared::document(file, !is_for_sending).map_err(MediaFault::reason)?;
            filename =
                file.name.as_deref().or_else(|| is_for_sending.then(|| shared::file_name(&data)));
            file_data = Some(data);
        }
    }
    let metadata = PartMetadata::of(&file.metadata);
    Ok(OutPart::File {
        kind: "input_file",
        filename,
        file_data,
        file_url,
        file_id,
        detail: metadata.detail,
        prompt_cache_breakpoint: metadata.breakpoint,
    })
}

/// Returns the id of a file that the provider stores.
fn id_of_file(id: &str, is_for_sending: bool) -> Result<&str, &'static str> {
    if !is_for_sending || is_file_id(id) { Ok(id) } else { Err(MediaFault::Elsewhere.reason()) }
}

/// Writes sound for the source only: the provider once accepted sound, and does no longer.
pub(super) fn audio(audio: &Media) -> Option<OutPart<'_>> {
    let MediaSource::Base64(data) = &audio.source else { return None };
    let format = audio.media_type.as_deref()?.strip_prefix("audio/")?;
    Some(OutPart::Audio { kind: "input_audio", input_audio: OutSound { data, format } })
}
