//! Finds media, and replaces them.

use std::sync::Arc;

use context_core::history::{Edit, HistoryView};
use context_core::message::Media;
use context_core::model::MediaKind;
use context_core::{Message, Part, Role};

/// Media in a history.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    message: usize,
    part: usize,
    /// The index within the result, if the media are in one.
    inner: Option<usize>,
    whole: &'a Part,
    pub(crate) kind: MediaKind,
    pub(crate) media: &'a Media,
    /// Whether a user attached it, rather than a tool or the model producing it.
    pub(crate) attached: bool,
}

/// The decision about media.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    Stays,
    Removed,
    Rescaled(Media),
}

/// Returns all media of a history, oldest first. Media in results within results are skipped,
/// because they are not sent to a model.
pub(crate) fn media<'a>(view: &HistoryView<'a>) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for (message, said) in view.messages().iter().enumerate() {
        for (part, whole) in said.parts.iter().enumerate() {
            let attached = said.role == Role::User;
            if let Some((kind, media)) = of_part(whole) {
                found.push(Found { message, part, inner: None, whole, kind, media, attached });
            }
            if let Part::ToolResult(result) = whole {
                found.extend(result.output.iter().enumerate().filter_map(|(inner, whole)| {
                    let (kind, media) = of_part(whole)?;
                    Some(Found {
                        message,
                        part,
                        inner: Some(inner),
                        whole,
                        kind,
                        media,
                        attached: false,
                    })
                }));
            }
        }
    }
    found
}

fn of_part(part: &Part) -> Option<(MediaKind, &Media)> {
    match part {
        Part::Image(media) => Some((MediaKind::Image, media)),
        Part::Document(media) => Some((MediaKind::Document, media)),
        Part::Audio(media) => Some((MediaKind::Audio, media)),
        _ => None,
    }
}

impl Found<'_> {
    /// Returns its number of tokens.
    pub(crate) fn tokens(&self, view: &HistoryView<'_>) -> u64 {
        view.counter().count_part(self.whole).tokens()
    }
}

/// Returns the edits that apply the decisions. `note` writes the text that replaces removed media.
pub(crate) fn edits(
    view: &HistoryView<'_>,
    found: &[Found<'_>],
    fates: &[Fate],
    note: impl Fn(MediaKind, &Media) -> String,
) -> Vec<Edit> {
    let mut changed: Vec<(usize, Message)> = Vec::new();
    for (found, fate) in found.iter().zip(fates) {
        let new = match fate {
            Fate::Stays => continue,
            Fate::Removed => Part::text(note(found.kind, found.media)),
            Fate::Rescaled(media) => Part::Image(media.clone()),
        };
        if changed.last().is_none_or(|(at, _)| *at != found.message) {
            changed.push((found.message, Message::clone(&view.messages()[found.message])));
        }
        let Some((_, message)) = changed.last_mut() else { continue };
        match (&mut message.parts[found.part], found.inner) {
            (Part::ToolResult(result), Some(inner)) => result.output[inner] = new,
            (part, _) => *part = new,
        }
    }
    changed.into_iter().map(|(at, message)| Edit::replace(at, Arc::new(message))).collect()
}
