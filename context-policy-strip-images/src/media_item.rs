//! Finds media, and replaces them.

use std::sync::Arc;

use context_core::history::{Edit, HistoryView};
use context_core::message::Media;
use context_core::model::MediaKind;
use context_core::{Message, Part, Role};

/// Media in a history.
#[derive(Debug)]
pub(crate) struct MediaItem<'a> {
    pub(crate) message: usize,
    part: usize,
    /// The index within the result, if the media are in one.
    inner: Option<usize>,
    source: &'a Part,
    pub(crate) kind: MediaKind,
    pub(crate) media: &'a Media,
    /// Whether a user attached it, rather than a tool or the model producing it.
    pub(crate) attached: bool,
}

/// The decision about media.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    Keep,
    Remove,
    Rescale(Media),
}

/// Returns all media of a history, oldest first. Media in results within results are skipped,
/// because they are not sent to a model.
pub(crate) fn media<'a>(view: &HistoryView<'a>) -> Vec<MediaItem<'a>> {
    let mut items = Vec::new();
    for (message, content) in view.messages().iter().enumerate() {
        for (part, source) in content.parts.iter().enumerate() {
            let attached = content.role == Role::User;
            if let Some((kind, media)) = of_part(source) {
                items.push(MediaItem { message, part, inner: None, source, kind, media, attached });
            }
            if let Part::ToolResult(result) = source {
                items.extend(result.output.iter().enumerate().filter_map(|(inner, source)| {
                    let (kind, media) = of_part(source)?;
                    Some(MediaItem {
                        message,
                        part,
                        inner: Some(inner),
                        source,
                        kind,
                        media,
                        attached: false,
                    })
                }));
            }
        }
    }
    items
}

fn of_part(part: &Part) -> Option<(MediaKind, &Media)> {
    match part {
        Part::Image(media) => Some((MediaKind::Image, media)),
        Part::Document(media) => Some((MediaKind::Document, media)),
        Part::Audio(media) => Some((MediaKind::Audio, media)),
        _ => None,
    }
}

impl MediaItem<'_> {
    /// Returns its number of tokens.
    pub(crate) fn tokens(&self, view: &HistoryView<'_>) -> u64 {
        view.counter().count_part(self.source).tokens()
    }
}

/// Returns the edits that apply the decisions. `note` writes the text that replaces removed media.
pub(crate) fn edits(
    view: &HistoryView<'_>,
    items: &[MediaItem<'_>],
    decisions: &[Decision],
    note: impl Fn(MediaKind, &Media) -> String,
) -> Vec<Edit> {
    let mut changed: Vec<(usize, Message)> = Vec::new();
    for (item, decision) in items.iter().zip(decisions) {
        let new = match decision {
            Decision::Keep => continue,
            Decision::Remove => Part::text(note(item.kind, item.media)),
            Decision::Rescale(media) => Part::Image(media.clone()),
        };
        if changed.last().is_none_or(|(at, _)| *at != item.message) {
            changed.push((item.message, Message::clone(&view.messages()[item.message])));
        }
        let Some((_, message)) = changed.last_mut() else { continue };
        match (&mut message.parts[item.part], item.inner) {
            (Part::ToolResult(result), Some(inner)) => result.output[inner] = new,
            (part, _) => *part = new,
        }
    }
    changed.into_iter().map(|(at, message)| Edit::replace(at, Arc::new(message))).collect()
}
