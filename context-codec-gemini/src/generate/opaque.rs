//! Rules for blocks that only this provider understands, as far as it documents them.

use std::borrow::Cow;

use context_codec_kit::wire::{Entries, GEMINI_MEDIA, MediaFault, is_web_url};
use context_core::message::{Media, MediaSource};
use context_core::model::MediaKind;
use context_core::{Json, Metadata};

use super::form::{File, PartForm};
use super::lift::is_own_file;

/// Keys that only the model may use.
const OF_MODEL: [&str; 5] =
    ["functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"];
/// Keys that every role may use.
const OF_ALL: [&str; 3] = ["text", "inlineData", "fileData"];
/// Keys that describe a part and are not a kind of content.
const PART_PROPERTIES: [&str; 5] =
    ["thought", "thoughtSignature", "mediaResolution", "videoMetadata", "partMetadata"];

/// Returns why a block is not sent, or `None` if it is sent.
pub(super) fn fault(block: &Json, by_model: bool) -> Option<&'static str> {
    if !has_one_kind(block, by_model) {
        return Some(
            "a block with no or several known fields, or with one that this role cannot have",
        );
    }
    media_of(block).and_then(Result::err).map(MediaFault::reason)
}

/// Checks a block of media that a response may hold. Returns the reason if the block is not sent,
/// and `None` if it is not a block of media.
pub(super) fn media_of(block: &Json) -> Option<Result<(), MediaFault>> {
    let Ok(form) = serde_json::from_str::<PartForm<'_>>(block.as_str()) else {
        return Some(Err(MediaFault::Undecodable));
    };
    match (form.inline_data, form.file_data) {
        (Some(blob), None) => {
            let source = MediaSource::Base64(blob.data.unwrap_or_default().0);
            let media_type = blob.mime_type.map(|named| named.0);
            if media_type.as_deref().is_some_and(|named| !is_plain(named)) {
                return Some(Err(MediaFault::Type));
            }
            let media = Media { source, media_type, name: None, metadata: Metadata::default() };
            Some(GEMINI_MEDIA.check(MediaKind::Document, &media).map(drop))
        }
        (None, Some(file)) => Some(check_file(&file)),
        _ => None,
    }
}

/// Returns whether a media type is written as in the provider's list. The block is sent unchanged;
/// capitals and spaces are accepted only where the codec writes the type itself.
fn is_plain(media_type: &str) -> bool {
    let plain = media_type.split(';').next().unwrap_or_default();
    !plain.contains(|c: char| c.is_whitespace() || c.is_uppercase())
}

/// Checks a file. A file needs no type: the provider knows the type of its own files, and of videos
/// on the web.
fn check_file(file: &File) -> Result<(), MediaFault> {
    let uri = file.uri.as_ref().map_or("", |uri| uri.0.as_str());
    if !is_web_url(uri) && !is_own_file(uri) {
        return Err(MediaFault::Address);
    }
    let taken = |named: &str| {
        is_plain(named) && GEMINI_MEDIA.type_name(MediaKind::Document, named).is_some()
    };
    let is_taken = file.mime_type.as_ref().is_none_or(|named| taken(&named.0));
    if is_taken { Ok(()) } else { Err(MediaFault::Type) }
}

/// Returns whether a block has exactly one kind of content and this role may use it. Unknown kinds
/// may be used by both roles.
fn has_one_kind(block: &Json, by_model: bool) -> bool {
    let Ok(entries) = serde_json::from_str::<Entries<'_>>(block.as_str()) else { return false };
    let (mut known, mut unknown) = (0, 0);
    for (key, _) in entries.iter().filter(|(_, value)| value.get() != "null") {
        let key = camel(&key.0);
        let key = key.as_ref();
        if OF_MODEL.contains(&key) || key == "functionResponse" {
            if by_model == (key == "functionResponse") {
                return false;
            }
            known += 1;
        } else if OF_ALL.contains(&key) {
            known += 1;
        } else if !PART_PROPERTIES.contains(&key) {
            unknown += 1;
        } else if !by_model && key.starts_with("thought") {
            return false;
        }
    }
    known == 1 || known == 0 && unknown > 0
}

/// Returns a key in camel case.
fn camel(key: &str) -> Cow<'_, str> {
    if !key.contains('_') {
        return Cow::Borrowed(key);
    }
    let mut after = false;
    let letters = key.chars().filter_map(|c| {
        let upper = std::mem::replace(&mut after, c == '_');
        (c != '_').then(|| if upper { c.to_ascii_uppercase() } else { c })
    });
    Cow::Owned(letters.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_says_one_thing_that_its_side_may_say() {
        for (block, by_model, by_user) in [
            (r#"{"executableCode": {"code": "1"}}"#, true, false),
            (r#"{"code_execution_result": {}, "thoughtSignature": "s"}"#, true, false),
            (r#"{"functionResponse": {}}"#, false, true),
            (r#"{"inlineData": {"mimeType": "video/mp4", "data": "AA=="}}"#, true, true),
            (r#"{"inlineData": {"mimeType": "video/mp4; a=B", "data": "AA=="}}"#, true, true),
            (r#"{"inlineData": {"mimeType": "video/mp4\n", "data": "AA=="}}"#, false, false),
            (r#"{"inlineData": {"mimeType": "Video/mp4", "data": "AA=="}}"#, false, false),
            (r#"{"fileData": {"mimeType": "video/mp4", "fileUri": "https://a.b/c"}}"#, true, true),
            (
                r#"{"fileData": {"mimeType": " video/mp4", "fileUri": "https://a.b/c"}}"#,
                false,
                false,
            ),
            (r#"{"inlineData": {}, "text": "a"}"#, false, false),
            (r#"{"thought": true}"#, false, false),
            (r#"{"hologram": {}}"#, true, true),
            ("{}", false, false),
            ("1", false, false),
        ] {
            let json = Json::from_text(block).unwrap();
            let fits = |by_model| fault(&json, by_model).is_none();
            assert_eq!((fits(true), fits(false)), (by_model, by_user), "{block}");
        }
    }
}
