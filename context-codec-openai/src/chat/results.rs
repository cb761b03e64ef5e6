//! What the form has no place for in results: media. They are shown by a message of the user behind
//! them.

use context_codec_kit::wire::counted_media;
use context_core::ToolResult;
use context_core::model::MediaKind;

use super::form::PartForm;
use crate::shared::{PartOut, say_more};

/// Media of a result, to be shown by a message of the user behind the results.
pub(super) struct Shown<'a> {
    intro: String,
    media: Vec<PartForm<'a>>,
}

/// The media of a result and the words in front of them.
pub(super) fn shown<'a>(
    result: &'a ToolResult,
    media: Vec<(MediaKind, PartForm<'a>)>,
) -> Shown<'a> {
    let of = match &result.name {
        Some(name) => format!("the result of call {} ({name})", result.call_id),
        None => format!("the result of call {}", result.call_id),
    };
    let intro = format!("Not written by the user, but part of {of}:");
    Shown { intro, media: media.into_iter().map(|(_, form)| form).collect() }
}

/// The content of the message that shows the media of a turn.
pub(super) fn content(shown: Vec<Shown<'_>>) -> Vec<PartForm<'_>> {
    shown
        .into_iter()
        .flat_map(|one| [PartForm::of_text(one.intro.into())].into_iter().chain(one.media))
        .collect()
}

/// Says in the result that media follow.
pub(super) fn announce(parts: &mut Vec<PartForm<'_>>, media: &[(MediaKind, PartForm<'_>)]) {
    let kinds: Vec<_> = media.iter().map(|(kind, _)| *kind).collect();
    let follow = if kinds.len() == 1 { "follows" } else { "follow" };
    say_more(parts, format!("[{} {follow} behind the results]", counted_media(&kinds)));
}
