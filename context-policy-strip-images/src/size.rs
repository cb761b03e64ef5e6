//! The size of images, and scaling them down.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use context_core::message::{Media, MediaSource};
use context_core::model::ImageLimits;

use crate::Rescale;

/// The part of an image that is read to find its size, in characters of Base64. Metadata that
/// cameras write in front of it may be long.
const HEAD: usize = 96 * 1024;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An image's relation to limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeCheck {
    WithinLimits,
    TooLarge,
    /// The image is not inline, or of an unknown format.
    Unknown,
}

/// Compares an image with limits of bytes and pixels. Bytes are counted as providers do: as they
/// are sent, in Base64.
pub(crate) fn check_size(image: &Media, limits: &ImageLimits) -> SizeCheck {
    let Some(data) = base64(image) else {
        return if limits.bytes.is_none() && limits.pixels.is_none() {
            SizeCheck::WithinLimits
        } else {
            SizeCheck::Unknown
        };
    };
    if limits.bytes.is_some_and(|most| data.len() as u64 > most) {
        return SizeCheck::TooLarge;
    }
    let Some(most) = limits.pixels else { return SizeCheck::WithinLimits };
    match longest_edge(&data) {
        Some(edge) if edge > most => SizeCheck::TooLarge,
        Some(_) => SizeCheck::WithinLimits,
        None => SizeCheck::Unknown,
    }
}

/// Returns the image scaled down, if that is possible and brings it within the limits.
pub(crate) fn rescaled(
    image: &Media,
    limits: &ImageLimits,
    rescale: &dyn Rescale,
) -> Option<Media> {
    let bytes = BASE64.decode(base64(image)?.as_bytes()).ok()?;
    let smaller = rescale.rescale(&bytes, image.media_type.as_deref(), limits)?;
    let media = Media {
        source: MediaSource::Base64(BASE64.encode(&smaller.bytes).into()),
        media_type: Some(smaller.media_type),
        name: image.name.clone(),
        metadata: image.metadata.clone(),
    };
    (check_size(&media, limits) == SizeCheck::WithinLimits).then_some(media)
}

fn base64(image: &Media) -> Option<Cow<'_, str>> {
    match &image.source {
        MediaSource::Base64(data) => Some(Cow::Borrowed(data)),
        MediaSource::Url(url) => {
            context_core::message::data_url(url).map(|(_, data)| Cow::Borrowed(data))
        }
        _ => None,
    }
}

fn longest_edge(data: &str) -> Option<u64> {
    let text = data.as_bytes();
    // Four characters encode three bytes.
    let head = &text[..text.len().min(HEAD) / 4 * 4];
    let size = imagesize::blob_size(&BASE64.decode(head).ok()?).ok()?;
    u64::try_from(size.width.max(size.height)).ok()
}
