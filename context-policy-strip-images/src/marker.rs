//! The notes that replace removed media.

use context_core::message::Media;
use context_core::model::MediaKind;

/// Maximum length of a name in a note, in characters.
const LONGEST_NAME: usize = 80;

/// The wording of a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Marker {
    /// Says that something was removed: `[image removed: chart.png]`, with the name or else the
    /// type.
    #[default]
    Removed,
    /// Says only the kind, for a reader who only has to know that there was one: `[image]`.
    Kind,
}

impl Marker {
    /// Returns the note for these media.
    pub fn text(self, kind: MediaKind, media: &Media) -> String {
        let kind = match kind {
            MediaKind::Image => "image",
            MediaKind::Document => "document",
            MediaKind::Audio => "audio",
            _ => "media",
        };
        let named = media.name.as_deref().or(media.media_type.as_deref()).map(plain);
        match (self, named.filter(|name| !name.is_empty())) {
            (Self::Kind, _) => format!("[{kind}]"),
            (Self::Removed, Some(name)) => format!("[{kind} removed: {name}]"),
            (Self::Removed, None) => format!("[{kind} removed]"),
        }
    }
}

/// Returns a name without characters that could end the note.
fn plain(name: &str) -> String {
    let shown =
        name.chars().map(|c| if c.is_control() || matches!(c, '[' | ']') { ' ' } else { c });
    let shown: String = shown.take(LONGEST_NAME).collect();
    shown.trim().to_owned()
}
