//! Media types and sizes that providers accept.

use context_core::model::MediaKind;

/// The media types that a provider accepts inline in a request, and their size limits.
///
/// | provider | types | limit in Base64 | source |
/// |---|---|---|---|
/// | OpenAI | png, jpeg, gif, webp | 50 MB | platform.openai.com/docs/guides/images-vision |
/// | | pdf, text, JSON, Office documents | 50 MB | platform.openai.com/docs/guides/pdf-files, file-inputs |
/// | | wav, mp3 (Chat Completions) | 50 MB | the body's limit; `InputAudio` of the official client |
/// | Anthropic | png, jpeg, gif, webp | 5 MiB | docs.anthropic.com, Vision: general limits |
/// | | pdf, plain text | 32 MB | the body's limit; docs.anthropic.com, PDF support |
/// | Gemini | png, jpeg, webp, heic, heif | 100 MB | ai.google.dev/gemini-api/docs/image-understanding, file-input-methods |
/// | | pdf, text, JSON | 50 MB for pdf, else 100 MB | ai.google.dev/gemini-api/docs/document-processing |
/// | | wav, mp3, aiff, aac, ogg, flac and the other types that its APIs list; video | 100 MB | …/audio, …/video-understanding |
///
/// Limits on image dimensions are not checked here. A provider's refusal reports them, and the
/// image can be reduced then.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MediaRules {
    /// The accepted types, in groups.
    pub types: &'static [&'static [MediaRule]],
    /// Whether a type is accepted in parts of every media kind, not only its own.
    pub any_kind: bool,
    /// Whether documents may have no type.
    pub untyped_documents: bool,
    /// Whether Base64 in the URL alphabet is accepted, too.
    pub url_alphabet: bool,
}

/// A media type that a provider accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MediaRule {
    /// The kind of part for this type.
    pub kind: MediaKind,
    /// The provider's name of the type. A name that ends with `/` matches all types with this
    /// prefix.
    pub media_type: &'static str,
    /// Other names of the same type.
    pub aliases: &'static [&'static str],
    /// Maximum length in characters of Base64.
    pub most_base64: u64,
}

impl MediaRule {
    /// Returns whether the rule matches all types with its prefix.
    pub(super) fn is_family(&self) -> bool {
        self.media_type.ends_with('/')
    }

    fn is_named(&self, media_type: &str) -> bool {
        let begins = |with: &str| {
            media_type.get(..with.len()).is_some_and(|it| it.eq_ignore_ascii_case(with))
        };
        if self.is_family() {
            let letter = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
            let rest = media_type.get(self.media_type.len()..).unwrap_or_default();
            return begins(self.media_type) && !rest.is_empty() && rest.chars().all(letter);
        }
        let mut names = std::iter::once(&self.media_type).chain(self.aliases);
        names.any(|name| name.eq_ignore_ascii_case(media_type))
    }
}

impl MediaRules {
    /// Returns the rule for a type without parameters, in a part of this kind.
    pub(super) fn rule(&self, kind: MediaKind, media_type: &str) -> Option<&'static MediaRule> {
        let fits =
            |rule: &&MediaRule| (self.any_kind || rule.kind == kind) && rule.is_named(media_type);
        self.types.iter().copied().flatten().find(fits)
    }
}

const fn rule(kind: MediaKind, media_type: &'static str, most_base64: u64) -> MediaRule {
    MediaRule { kind, media_type, aliases: &[], most_base64 }
}

const fn named(rule: MediaRule, aliases: &'static [&'static str]) -> MediaRule {
    MediaRule { aliases, ..rule }
}

const fn image(media_type: &'static str, most: u64) -> MediaRule {
    rule(MediaKind::Image, media_type, most)
}

const fn document(media_type: &'static str, most: u64) -> MediaRule {
    rule(MediaKind::Document, media_type, most)
}

const fn audio(media_type: &'static str, most: u64) -> MediaRule {
    rule(MediaKind::Audio, media_type, most)
}

/// The image types that all providers accept.
const fn pictures(most: u64) -> [MediaRule; 3] {
    let jpeg = named(image("image/jpeg", most), &["image/jpg", "image/pjpeg"]);
    [image("image/png", most), jpeg, image("image/webp", most)]
}

const WAV: &[&str] = &["audio/x-wav", "audio/wave", "audio/vnd.wave"];
const FIFTY: u64 = 50_000_000;
const HUNDRED: u64 = 100_000_000;
const FIVE_MIB: u64 = 5 << 20;

/// The types that OpenAI accepts, in both APIs. Only Chat Completions accepts audio.
pub static OPENAI_MEDIA: MediaRules = MediaRules {
    types: &[
        &pictures(FIFTY),
        &[
            image("image/gif", FIFTY),
            document("application/pdf", FIFTY),
            document("text/", FIFTY),
            document("application/json", FIFTY),
            document("application/xml", FIFTY),
            document("application/rtf", FIFTY),
            document("application/msword", FIFTY),
            document("application/vnd.", FIFTY),
            named(audio("audio/wav", FIFTY), WAV),
            named(audio("audio/mp3", FIFTY), &["audio/mpeg"]),
        ],
    ],
    any_kind: false,
    untyped_documents: true,
    url_alphabet: false,
};

/// The types that Anthropic accepts.
pub static ANTHROPIC_MEDIA: MediaRules = MediaRules {
    types: &[
        &pictures(FIVE_MIB),
        &[
            image("image/gif", FIVE_MIB),
            document("application/pdf", 32 << 20),
            document("text/", 32 << 20),
        ],
    ],
    any_kind: false,
    untyped_documents: false,
    url_alphabet: false,
};

/// The types that Gemini accepts, in any part, because only the type distinguishes its media.
pub static GEMINI_MEDIA: MediaRules = MediaRules {
    types: &[
        &pictures(HUNDRED),
        &[
            image("image/heic", HUNDRED),
            image("image/heif", HUNDRED),
            document("application/pdf", FIFTY),
            document("text/", HUNDRED),
            document("application/json", HUNDRED),
            document("application/x-javascript", HUNDRED),
            document("application/x-python", HUNDRED),
            document("application/rtf", HUNDRED),
            document("application/xml", HUNDRED),
            named(audio("audio/wav", HUNDRED), WAV),
            audio("audio/mp3", HUNDRED),
            named(audio("audio/mpeg", HUNDRED), &["audio/mpga"]),
            named(audio("audio/aiff", HUNDRED), &["audio/x-aiff"]),
            named(audio("audio/aac", HUNDRED), &["audio/x-aac"]),
            audio("audio/ogg", HUNDRED),
            named(audio("audio/flac", HUNDRED), &["audio/x-flac"]),
            named(audio("audio/mp4", HUNDRED), &["audio/m4a", "audio/x-m4a"]),
            audio("audio/webm", HUNDRED),
            audio("audio/opus", HUNDRED),
            audio("audio/pcm", HUNDRED),
            audio("audio/l16", HUNDRED),
            document("video/mp4", HUNDRED),
            document("video/mpeg", HUNDRED),
            document("video/mpg", HUNDRED),
            document("video/mov", HUNDRED),
            document("video/quicktime", HUNDRED),
            document("video/avi", HUNDRED),
            document("video/x-flv", HUNDRED),
            document("video/webm", HUNDRED),
            document("video/wmv", HUNDRED),
            document("video/3gpp", HUNDRED),
        ],
    ],
    any_kind: true,
    untyped_documents: false,
    url_alphabet: true,
};
