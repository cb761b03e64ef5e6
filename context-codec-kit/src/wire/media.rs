//! Media for providers: the location of the bytes, and the check that every codec makes before it
//! sends them.

mod bytes;
mod rules;

use std::borrow::Cow;

use context_core::message::{Media, MediaSource, data_url};
use context_core::model::MediaKind;
use context_core::{JsonString, Part};

pub use rules::{ANTHROPIC_MEDIA, GEMINI_MEDIA, MediaRule, MediaRules, OPENAI_MEDIA};

/// Media that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentMedia<'a> {
    /// The type under the provider's name. Only documents may have none.
    pub media_type: Option<&'a str>,
    /// The bytes in padded Base64.
    pub data: Cow<'a, JsonString>,
}

/// A reason for not sending media. All codecs report it with the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reason())]
#[non_exhaustive]
pub enum MediaFault {
    /// There are no bytes.
    Empty,
    /// The bytes are not in a Base64 form that providers accept.
    NotBase64,
    /// The type is missing.
    NoType,
    /// The provider does not accept the type at this position.
    Type,
    /// The first bytes are those of another type.
    OtherType,
    /// The first bytes are not those of any file of the type.
    Undecodable,
    /// The bytes exceed the provider's limit.
    TooLarge,
    /// The URL is not a web address.
    Address,
    /// The bytes are neither inline nor at a URL.
    Elsewhere,
}

impl MediaFault {
    /// Returns the text for the diagnostic about the media that are left out.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "media without bytes",
            Self::NotBase64 => "media whose bytes are not Base64",
            Self::NoType => "media without a type",
            Self::Type => "media of a type the provider does not take",
            Self::OtherType => "media whose bytes are not of the stated type",
            Self::Undecodable => "media that cannot be decoded",
            Self::TooLarge => "media larger than the provider takes",
            Self::Address => "an address the provider cannot fetch",
            Self::Elsewhere => "media whose bytes are kept elsewhere",
        }
    }
}

impl MediaRules {
    /// Checks media with inline bytes, in a `data:` URL or as Base64. Other URLs are an
    /// [`Address`](MediaFault::Address) fault and references are
    /// [`Elsewhere`](MediaFault::Elsewhere), so codecs handle those before.
    ///
    /// Takes one pass over the Base64, and decodes as much of it as is needed to find the size of
    /// an image.
    ///
    /// ```
    /// use context_codec_kit::wire::{GEMINI_MEDIA, MediaFault};
    /// use context_core::Metadata;
    /// use context_core::message::{Media, MediaSource, data_url};
    /// use context_core::model::MediaKind;
    ///
    /// let source = MediaSource::Base64("bm8gUE5H".into());
    /// let media =
    ///     Media { source, media_type: Some("image/png".to_owned()), name: None, metadata: Metadata::default() };
    /// assert_eq!(GEMINI_MEDIA.check(MediaKind::Image, &media), Err(MediaFault::Undecodable));
    /// ```
    pub fn check<'a>(
        &self,
        kind: MediaKind,
        media: &'a Media,
    ) -> Result<SentMedia<'a>, MediaFault> {
        let declared = media.media_type.as_deref();
        let (declared, data) = match &media.source {
            MediaSource::Base64(data) => (declared, Cow::Borrowed(data)),
            MediaSource::Url(url) if url.starts_with("data:") => {
                let (of_url, data) = data_url(url).ok_or(MediaFault::NotBase64)?;
                (Some(of_url).filter(|kind| !kind.is_empty()).or(declared), Cow::Owned(data.into()))
            }
            MediaSource::Url(_) => return Err(MediaFault::Address),
            _ => return Err(MediaFault::Elsewhere),
        };
        if data.is_empty() {
            return Err(MediaFault::Empty);
        }
        let Some(declared) = declared.map(plain_type).filter(|declared| !declared.is_empty())
        else {
            if kind != MediaKind::Document || !self.untyped_documents {
                return Err(MediaFault::NoType);
            }
            bytes::check_base64(&data, self.url_alphabet)?;
            return Ok(SentMedia { media_type: None, data });
        };
        let rule = self.rule(kind, declared).ok_or(MediaFault::Type)?;
        // Providers limit the encoded length.
        if data.len() as u64 > rule.most_base64 {
            return Err(MediaFault::TooLarge);
        }
        bytes::check_base64(&data, self.url_alphabet)?;
        bytes::check_type(rule.media_type, &data)?;
        Ok(SentMedia { media_type: self.type_name(kind, declared), data })
    }

    /// Returns the name under which the provider accepts media of this type, if it accepts them in
    /// a part of this kind.
    pub fn type_name<'a>(&self, kind: MediaKind, media_type: &'a str) -> Option<&'a str> {
        let plain = plain_type(media_type);
        self.rule(kind, plain).map(|rule| if rule.is_family() { plain } else { rule.media_type })
    }
}

/// Returns a media type without its parameters.
fn plain_type(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Returns the media kind of a part, if it is media.
pub fn media_kind(part: &Part) -> Option<MediaKind> {
    match part {
        Part::Image(_) => Some(MediaKind::Image),
        Part::Audio(_) => Some(MediaKind::Audio),
        Part::Document(_) => Some(MediaKind::Document),
        _ => None,
    }
}

/// Describes a number of media, such as `1 image`, `2 sounds`, or `3 files` if the kinds differ.
pub fn counted_media(kinds: &[MediaKind]) -> String {
    let name = match kinds.first() {
        Some(first) if kinds.iter().any(|kind| kind != first) => "file",
        Some(MediaKind::Image) => "image",
        Some(MediaKind::Audio) => "sound",
        Some(MediaKind::Document) => "document",
        Some(_) | None => "file",
    };
    let plural = if kinds.len() == 1 { "" } else { "s" };
    format!("{} {name}{plural}", kinds.len())
}

/// Returns the line that replaces media in a result, such as `[2 images cannot be shown]`. `None`
/// if no media are lost.
pub fn lost_media(lost: &[MediaKind]) -> Option<String> {
    (!lost.is_empty()).then(|| format!("[{} cannot be shown]", counted_media(lost)))
}

/// Returns whether a provider can fetch a URL.
pub fn is_web_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

/// Returns whether a name can be the id of a file at a provider. URLs and blob references cannot.
pub fn is_file_id(id: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty() && id.bytes().all(letter)
}

/// Returns whether a text is padded Base64 in the standard alphabet.
pub fn is_base64(data: &str) -> bool {
    let core = data.trim_end_matches('=');
    let letters =
        core.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    letters && !core.is_empty() && data.len().is_multiple_of(4) && data.len() - core.len() <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_what_they_are() {
        assert!(is_web_url("https://example.com/a.png"));
        assert!(
            is_file_id("file-1_a")
                && !is_file_id("")
                && !is_file_id("gs://a/b")
                && !is_file_id("blob:0")
        );
        assert!(
            !is_web_url("file:///a.png") && !is_web_url("https://") && !is_web_url("http://a b")
        );
    }

    #[test]
    fn bytes_are_what_providers_take() {
        assert!(is_base64("QUI=") && is_base64("QUJD"));
        assert!(!is_base64("") && !is_base64("QUI") && !is_base64("QU-_") && !is_base64("===="));
    }
}
