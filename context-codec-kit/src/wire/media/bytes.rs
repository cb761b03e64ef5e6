//! Detection of media types from bytes.

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use imagesize::{ImageType, blob_size, image_type};

use super::{MediaFault, is_base64};

/// Number of Base64 characters of an image that are decoded to find its size. Camera metadata at
/// the beginning may be long. The whole image is decoded only if the size is not found here.
const HEAD: usize = 96 << 10;
/// Number of Base64 characters of other files that are decoded. PDF readers look for the signature
/// in the first KiB.
const MARK: usize = 1_400;

/// Checks for padded Base64 that the strictest decoder accepts: no bits are left over in the last
/// character. The URL alphabet is accepted only if the provider accepts it, and not mixed with the
/// standard one.
pub(super) fn check_base64(data: &str, takes_url_alphabet: bool) -> Result<(), MediaFault> {
    let letters = if is_for_urls(data) && takes_url_alphabet {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let core = data.trim_end_matches('=');
        core.bytes().all(letter) && data.len().is_multiple_of(4) && data.len() - core.len() <= 2
    } else {
        is_base64(data)
    };
    let last = || engine(data).decode(&data.as_bytes()[data.len().saturating_sub(4)..]);
    if letters && last().is_ok() { Ok(()) } else { Err(MediaFault::NotBase64) }
}

fn is_for_urls(data: &str) -> bool {
    data.bytes().any(|byte| matches!(byte, b'-' | b'_'))
}

/// Returns the decoder for the alphabet of the data.
fn engine(data: &str) -> &'static GeneralPurpose {
    if is_for_urls(data) { &URL_SAFE } else { &STANDARD }
}

/// Checks the type of the bytes, as far as their beginning identifies it. Text, raw audio and video
/// are not checked.
pub(super) fn check_type(media_type: &str, data: &str) -> Result<(), MediaFault> {
    if media_type.starts_with("image/") {
        return check_image(media_type, data);
    }
    let head = head(data, MARK);
    let detected = mark(&head);
    let expected: &[&str] = match media_type {
        "application/pdf" => &["application/pdf"],
        "audio/wav" => &["audio/wav"],
        "audio/mp3" | "audio/mpeg" => &["audio/mp3"],
        "audio/flac" => &["audio/flac"],
        "audio/aiff" => &["audio/aiff"],
        "audio/ogg" | "audio/opus" => &["audio/ogg"],
        "audio/aac" => &["audio/mp3", "audio/aac", "audio/mp4"],
        "audio/mp4" => &["audio/mp4"],
        "audio/webm" => &["audio/webm"],
        _ => return Ok(()),
    };
    match detected {
        Some(detected) if expected.contains(&detected) => Ok(()),
        Some(_) => Err(MediaFault::OtherType),
        None if image_type(&head).is_ok() => Err(MediaFault::OtherType),
        None => Err(MediaFault::Undecodable),
    }
}

/// Checks that an image has the declared type, and that its size can be read.
fn check_image(media_type: &str, data: &str) -> Result<(), MediaFault> {
    let mut bytes = head(data, HEAD);
    let detected = match image_type(&bytes).map_err(|_| fault_of_no_image(&bytes))? {
        ImageType::Png => "image/png",
        ImageType::Jpeg => "image/jpeg",
        ImageType::Gif => "image/gif",
        ImageType::Webp => "image/webp",
        ImageType::Heif(_) => "image/heif",
        _ => return Err(MediaFault::OtherType),
    };
    if detected != media_type && (detected, media_type) != ("image/heif", "image/heic") {
        return Err(MediaFault::OtherType);
    }
    if blob_size(&bytes).is_err() && data.len() > HEAD {
        bytes = head(data, data.len());
    }
    let size = blob_size(&bytes).map_err(|_| MediaFault::Undecodable)?;
    if size.width == 0 || size.height == 0 { Err(MediaFault::Undecodable) } else { Ok(()) }
}

fn fault_of_no_image(bytes: &[u8]) -> MediaFault {
    if mark(bytes).is_some() { MediaFault::OtherType } else { MediaFault::Undecodable }
}

/// Decodes at most this many characters of Base64.
fn head(data: &str, characters: usize) -> Vec<u8> {
    // Four characters encode three bytes.
    let length = data.len().min(characters) / 4 * 4;
    engine(data).decode(&data.as_bytes()[..length]).unwrap_or_default()
}

/// Returns the type of a document or audio file from its signature.
fn mark(head: &[u8]) -> Option<&'static str> {
    let at = |at: usize, mark: &[u8]| head.get(at..at + mark.len()) == Some(mark);
    if head.windows(5).any(|window| window == b"%PDF-") {
        return Some("application/pdf");
    }
    Some(match head {
        _ if at(0, b"RIFF") && at(8, b"WAVE") => "audio/wav",
        _ if at(0, b"ID3") => "audio/mp3",
        _ if at(0, b"fLaC") => "audio/flac",
        _ if at(0, b"FORM") && (at(8, b"AIFF") || at(8, b"AIFC")) => "audio/aiff",
        _ if at(0, b"OggS") => "audio/ogg",
        _ if at(0, &[0x1a, 0x45, 0xdf, 0xa3]) => "audio/webm",
        _ if at(4, b"ftypM4") || at(4, b"ftypmp4") || at(4, b"ftypiso") => "audio/mp4",
        // An MPEG audio frame. The layer is 0 only in AAC.
        [0xff, second, ..] if second & 0xf6 == 0xf0 => "audio/aac",
        [0xff, second, ..] if second & 0xe0 == 0xe0 && second & 0x06 != 0 => "audio/mp3",
        _ => return None,
    })
}
