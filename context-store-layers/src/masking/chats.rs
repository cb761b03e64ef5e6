//! Titles and metadata of chats.

use context_core::store::{ChatPatch, ChatQuery, NewChat, TitleChange};
use context_core::{Json, Metadata};
use context_secrets::{MaskReport, SecretFinder};

pub(super) fn new_chat(
    finder: &SecretFinder,
    mut new: NewChat,
    report: &mut MaskReport,
) -> NewChat {
    new.title = new.title.map(|title| text(finder, title, report));
    new.metadata = metadata(finder, new.metadata, report);
    new
}

pub(super) fn patch(
    finder: &SecretFinder,
    patch: &ChatPatch,
    report: &mut MaskReport,
) -> ChatPatch {
    let title = match &patch.title {
        TitleChange::Set(title) => TitleChange::Set(text(finder, title.clone(), report)),
        title => title.clone(),
    };
    // A key that was masked when it was set is removed by its mark.
    let mut unused = MaskReport::default();
    let remove = patch.remove.iter().map(|key| text(finder, key.clone(), &mut unused)).collect();
    let set = metadata(finder, patch.set.clone(), report);
    ChatPatch { title, remove, set, add: metadata(finder, patch.add.clone(), report) }
}

/// Returns a query whose filters compare with masked values.
pub(super) fn query(finder: &SecretFinder, query: &ChatQuery) -> ChatQuery {
    let mut unused = MaskReport::default();
    let filter = |(key, value): &(String, Json)| {
        let masked = finder.mask_field(key, value, &mut unused);
        (key.clone(), masked.unwrap_or_else(|| value.clone()))
    };
    let metadata = query.metadata.iter().map(filter).collect();
    ChatQuery { metadata, ..query.clone() }
}

pub(super) fn text(finder: &SecretFinder, text: String, report: &mut MaskReport) -> String {
    finder.mask_text(&text, report).unwrap_or(text)
}

pub(super) fn metadata(
    finder: &SecretFinder,
    metadata: Metadata,
    report: &mut MaskReport,
) -> Metadata {
    finder.mask_metadata(&metadata, report).unwrap_or(metadata)
}
