//! Token counts of documents and sound. No provider publishes a formula that can be applied without
//! decoding them, so the counts are wide intervals.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use context_core::message::{Media, MediaSource};
use context_core::model::TokenCount;

/// A decoder for Base64 with or without padding and with any trailing bits, as clients write it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns the Base64 of media that are given inline and not by address.
fn base64(media: &Media) -> Option<&str> {
    match &media.source {
        MediaSource::Base64(text) => Some(text),
        MediaSource::Url(url) => {
            let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
            head.ends_with(";base64").then_some(data)
        }
        _ => None,
    }
}

/// Returns the first bytes, at most `bytes`.
pub(crate) fn head(media: &Media, bytes: usize) -> Option<Vec<u8>> {
    let text = base64(media)?.as_bytes();
    LENIENT.decode(&text[..text.len().min(bytes.div_ceil(3) * 4)]).ok()
}

/// Returns the length in bytes.
fn length(media: &Media) -> Option<u64> {
    Some(base64(media)?.len() as u64 / 4 * 3)
}

/// Counts a document. Text is counted as text. For other documents (PDF) the number of pages is
/// guessed from the length. A provider reads a page as text and often as an image too: at least 258
/// tokens (Gemini) and at most about 3,000 tokens and an image (Anthropic).
pub(crate) fn document(media: &Media, count: impl Fn(&str) -> TokenCount) -> TokenCount {
    let is_text = media.media_type.as_deref().is_some_and(|kind| kind.starts_with("text/"));
    if is_text && let Some(bytes) = head(media, usize::MAX / 8) {
        return count(&String::from_utf8_lossy(&bytes));
    }
    let Some(length) = length(media) else { return TokenCount::estimate(5_000, 100, 200_000) };
    let (pages, most) = ((length / (64 << 10)).max(1), (length / (2 << 10)).max(1));
    TokenCount::estimate(pages.saturating_mul(2_300), 258, most.saturating_mul(4_600))
}

/// Counts sound: from 10 tokens a second (OpenAI) to 32 (Gemini). A second is about 16 kB, a tenth
/// of that with the best codecs and ten times as much uncompressed.
pub(crate) fn audio(media: &Media) -> TokenCount {
    let Some(length) = length(media) else { return TokenCount::estimate(2_000, 10, 100_000) };
    let seconds = |rate: u64| length.div_ceil(rate);
    TokenCount::estimate(
        seconds(16_000).saturating_mul(25),
        seconds(192_000).saturating_mul(10),
        seconds(1_000).saturating_mul(32),
    )
}
