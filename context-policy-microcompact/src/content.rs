//! The content of a result.

use std::borrow::Cow;

use context_core::base::BlobId;
use context_core::message::{Media, MediaSource};
use context_core::{Part, ToolResult};

/// A piece of a result's content.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    Text(Cow<'a, str>),
    /// A part without a text form: data of the application, and blocks that only a provider
    /// understands.
    Other(&'a Part),
}

/// Returns the pieces of a result in order, with a note for each of its media, and whether there
/// were media.
pub(crate) fn pieces(result: &ToolResult) -> (Vec<Piece<'_>>, bool) {
    let (mut pieces, mut media) = (Vec::with_capacity(result.output.len()), false);
    let mut left: Vec<&Part> = result.output.iter().rev().collect();
    while let Some(part) = left.pop() {
        match part {
            Part::Text(text) => pieces.push(Piece::Text(text.text.to_cow())),
            Part::ToolResult(inner) => left.extend(inner.output.iter().rev()),
            part => match media_note(part) {
                Some(note) => {
                    media = true;
                    pieces.push(Piece::Text(Cow::Owned(note)));
                }
                None => pieces.push(Piece::Other(part)),
            },
        }
    }
    (pieces, media)
}

/// Returns the note for media, or `None` for any other part. The note of media that are stored
/// elsewhere says where they are.
pub(crate) fn media_note(part: &Part) -> Option<String> {
    let (kind, media) = match part {
        Part::Image(media) => ("image", media),
        Part::Document(media) => ("document", media),
        Part::Audio(media) => ("audio", media),
        _ => return None,
    };
    Some(match blob(media) {
        Some(blob) => format!("[{kind} cleared: {}]", blob.to_reference()),
        None => format!("[{kind} cleared]"),
    })
}

fn blob(media: &Media) -> Option<BlobId> {
    match &media.source {
        MediaSource::Reference(reference) => BlobId::from_reference(reference),
        _ => None,
    }
}

/// Returns all texts, joined by line feeds.
pub(crate) fn joined<'a>(pieces: &'a [Piece<'_>]) -> Cow<'a, str> {
    let mut texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(&**text),
        Piece::Other(Part::Data(_)) => None,
        Piece::Other(_) => Some("[block cleared]"),
    });
    let Some(first) = texts.next() else { return Cow::Borrowed("") };
    let mut all = Cow::Borrowed(first);
    for text in texts {
        let all = all.to_mut();
        all.push('\n');
        all.push_str(text);
    }
    all
}
