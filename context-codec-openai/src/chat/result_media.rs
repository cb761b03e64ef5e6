//! Media of results, which the form cannot hold in results. A user message after the results shows
//! them.

use std::borrow::Cow;

use context_codec_kit::wire::counted_media;
use context_core::ToolResult;
use context_core::model::MediaKind;

use super::form::PartForm;
use crate::shared::{PartOut, append_line};

/// Media of a result, shown by a user message after the results.
pub(super) struct ResultMedia<'a> {
    intro: String,
    media: Vec<PartForm<'a>>,
}

/// Returns the media of a result with the text in front of them.
pub(super) fn result_media<'a>(
    result: &'a ToolResult,
    media: Vec<(MediaKind, PartForm<'a>)>,
) -> ResultMedia<'a> {
    let of = match &result.name {
        Some(name) => format!("the result of call {} ({name})", result.call_id),
        None => format!("the result of call {}", result.call_id),
    };
    let intro = format!("Not written by the user, but part of {of}:");
    ResultMedia { intro, media: media.into_iter().map(|(_, form)| form).collect() }
}

/// Returns the content of the message that shows the media of a turn.
pub(super) fn content(result_media: Vec<ResultMedia<'_>>) -> Vec<PartForm<'_>> {
    result_media
        .into_iter()
        .flat_map(|one| {
            [PartForm::of_text(Cow::Owned(one.intro.into()))].into_iter().chain(one.media)
        })
        .collect()
}

/// Adds a line to the result that says that media follow.
pub(super) fn announce(parts: &mut Vec<PartForm<'_>>, media: &[(MediaKind, PartForm<'_>)]) {
    let kinds: Vec<_> = media.iter().map(|(kind, _)| *kind).collect();
    let follow = if kinds.len() == 1 { "follows" } else { "follow" };
    append_line(parts, format!("[{} {follow} after the results]", counted_media(&kinds)));
}
