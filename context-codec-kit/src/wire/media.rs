//! Media as providers take them: where their bytes are, and the check that every codec asks before
//! it sends them.

mod bytes;
mod rules;

use context_core::Part;
use context_core::message::{Media, MediaSource};
use context_core::model::MediaKind;

pub use rules::{ANTHROPIC_MEDIA, GEMINI_MEDIA, MediaRule, MediaRules, OPENAI_MEDIA};

/// Media whose bytes can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentMedia<'a> {
    /// The type, by the name the provider knows it under. Documents alone may be without one.
    pub media_type: Option<&'a str>,
    /// The bytes in Base64, padded.
    pub data: &'a str,
}

/// Why media are not sent, in the words that every codec says it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reason())]
#[non_exhaustive]
pub enum MediaFault {
    /// There is nothing in them.
    Empty,
    /// The bytes are not written as providers read them.
    NotBase64,
    /// Nothing says what they are.
    NoType,
    /// The provider reads no such type there.
    Type,
    /// Their first bytes are those of another type.
    OtherType,
    /// Their beginning is not that of any file of the type.
    Undecodable,
    /// They are longer than the provider takes.
    TooLarge,
    /// An address that is none of the web.
    Address,
    /// Their bytes are neither here nor at an address.
    Elsewhere,
}

impl MediaFault {
    /// The reason, for the diagnostic of what is left out.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "media without bytes",
            Self::NotBase64 => "media whose bytes are no Base64",
            Self::NoType => "media need their type",
            Self::Type => "media of a type the provider does not take",
            Self::OtherType => "media whose bytes are of another type than they say",
            Self::Undecodable => "media that cannot be decoded",
            Self::TooLarge => "media larger than the provider takes",
            Self::Address => "an address the provider cannot fetch",
            Self::Elsewhere => "nobody here knows where their bytes are",
        }
    }
}

impl MediaRules {
    /// Checks the bytes of media that have them with them, in a `data:` address or without one.
    /// What is at another address, or has a name alone, is [`Elsewhere`](MediaFault::Elsewhere) or
    /// an [`Address`](MediaFault::Address): a codec asks for those before.
    ///
    /// Costs one pass over the Base64, and the decoding of as much as the size of an image stands
    /// in.
    ///
    /// ```
    /// use context_codec_kit::wire::{GEMINI_MEDIA, MediaFault};
    /// use context_core::Metadata;
    /// use context_core::message::{Media, MediaSource};
    /// use context_core::model::MediaKind;
    ///
    /// let source = MediaSource::Base64("bm8gUE5H".to_owned());
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
            MediaSource::Base64(data) => (declared, data.as_str()),
            MediaSource::Url(url) if url.starts_with("data:") => {
                let (of_url, data) = data_url(url).ok_or(MediaFault::NotBase64)?;
                (Some(of_url).filter(|kind| !kind.is_empty()).or(declared), data)
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
            bytes::check_base64(data, self.url_alphabet)?;
            return Ok(SentMedia { media_type: None, data });
        };
        let rule = self.rule(kind, declared).ok_or(MediaFault::Type)?;
        // Providers count what is sent.
        if data.len() as u64 > rule.most_base64 {
            return Err(MediaFault::TooLarge);
        }
        bytes::check_base64(data, self.url_alphabet)?;
        bytes::check_type(rule.media_type, data)?;
        Ok(SentMedia { media_type: self.type_name(kind, declared), data })
    }

    /// The name under which the provider takes media of this type, if it takes them there at all.
    pub fn type_name<'a>(&self, kind: MediaKind, media_type: &'a str) -> Option<&'a str> {
        let plain = plain_type(media_type);
        self.rule(kind, plain).map(|rule| if rule.is_family() { plain } else { rule.media_type })
    }
}

/// A media type without its parameters.
fn plain_type(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// What a part is to a model, if it is media.
pub fn media_kind(part: &Part) -> Option<MediaKind> {
    match part {
        Part::Image(_) => Some(MediaKind::Image),
        Part::Audio(_) => Some(MediaKind::Audio),
        Part::Document(_) => Some(MediaKind::Document),
        _ => None,
    }
}

/// How many media of what kind there are, for a model: such as `1 image`, `2 sounds`, or `3 files`
/// if they differ.
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

/// The line that stands in a result in place of its media that are not sent, if there are some:
/// such as `[2 images cannot be shown]`.
pub fn lost_media(lost: &[MediaKind]) -> Option<String> {
    (!lost.is_empty()).then(|| format!("[{} cannot be shown]", counted_media(lost)))
}

/// Media type and bytes of an address that holds them in Base64, without parameters of the type.
pub fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?.split(';').next()?, data))
}

/// Whether a provider can fetch what is there.
pub fn is_web_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

/// Whether a name may be that of a file that lies with a provider. Addresses and names of stored
/// bytes are none.
pub fn is_file_id(id: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !id.is_empty() && id.bytes().all(letter)
}

/// Whether these are bytes in Base64 of the usual alphabet, padded.
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
        assert_eq!(
            data_url("data:text/plain;charset=utf-8;base64,QQ=="),
            Some(("text/plain", "QQ=="))
        );
        assert_eq!(data_url("data:text/plain,A"), None);
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
