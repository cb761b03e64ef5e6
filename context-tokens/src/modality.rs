//! Modalities: the kinds of content that a model reads and writes.

use std::collections::BTreeSet;

use context_core::Part;
use context_core::message::{Media, MediaSource, data_url};
use context_core::model::MediaKind;
use serde::{Deserialize, Serialize};

/// A kind of content that a model reads or writes.
///
/// Finer than [`MediaKind`], the kind of a part: video has no part of its own, and a text file is a
/// document for the program but text for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Modality {
    /// Text, and files of plain text.
    Text,
    /// Images.
    Image,
    /// Sound.
    Audio,
    /// Video.
    Video,
    /// Documents with a layout, such as PDF.
    Document,
}

impl Modality {
    /// Returns the modality of media: that of the media type, or else that of the part.
    ///
    /// ```
    /// use context_core::message::{Media, MediaSource};
    /// use context_core::model::MediaKind;
    /// use context_tokens::Modality;
    ///
    /// let file = |kind: &str| Media {
    ///     source: MediaSource::Url("https://example.com/file".into()),
    ///     media_type: Some(kind.into()),
    ///     name: None,
    ///     metadata: Default::default(),
    /// };
    /// let of = |kind| Modality::of_media(MediaKind::Document, &file(kind));
    /// assert_eq!(of("application/pdf"), Modality::Document);
    /// assert_eq!(of("text/csv; charset=utf-8"), Modality::Text);
    /// assert_eq!(of("video/mp4"), Modality::Video);
    /// ```
    pub fn of_media(kind: MediaKind, media: &Media) -> Self {
        let declared = media.media_type.as_deref().or(match &media.source {
            MediaSource::Url(url) => data_url(url).map(|(media_type, _)| media_type),
            _ => None,
        });
        let declared = declared.and_then(|text| text.split(';').next()).unwrap_or_default();
        let declared = declared.trim().to_ascii_lowercase();
        let (family, name) = declared.split_once('/').unwrap_or_default();
        match (family, name) {
            ("image", _) => Self::Image,
            ("audio", _) => Self::Audio,
            ("video", _) => Self::Video,
            ("text", _) | ("application", "json" | "xml" | "yaml") => Self::Text,
            _ => match kind {
                MediaKind::Image => Self::Image,
                MediaKind::Audio => Self::Audio,
                _ => Self::Document,
            },
        }
    }

    /// Returns the kind and the media of a part that is media.
    pub fn media_of(part: &Part) -> Option<(MediaKind, &Media)> {
        match part {
            Part::Image(media) => Some((MediaKind::Image, media)),
            Part::Document(media) => Some((MediaKind::Document, media)),
            Part::Audio(media) => Some((MediaKind::Audio, media)),
            _ => None,
        }
    }

    /// Returns the name: `text`, `image`, `audio`, `video` or `document`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
        }
    }
}

/// The modalities that a model reads and writes.
///
/// ```
/// use context_tokens::{Modality, ModelTable};
///
/// let table = ModelTable::builtin();
/// let reads = |model, modality| table.model(model).modalities().map(|known| known.reads(modality));
/// assert_eq!(reads("gemini-2.5-pro", Modality::Video), Some(true));
/// assert_eq!(reads("o3-mini", Modality::Image), Some(false));
/// assert_eq!(reads("of-a-friend", Modality::Image), None); // not known
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Modalities {
    /// The modalities of input.
    pub input: BTreeSet<Modality>,
    /// The modalities of output.
    pub output: BTreeSet<Modality>,
}

impl Modalities {
    /// Creates modalities.
    pub fn new(
        input: impl IntoIterator<Item = Modality>,
        output: impl IntoIterator<Item = Modality>,
    ) -> Self {
        Self { input: input.into_iter().collect(), output: output.into_iter().collect() }
    }

    /// Returns whether the model reads a modality.
    pub fn reads(&self, modality: Modality) -> bool {
        self.input.contains(&modality)
    }
}
