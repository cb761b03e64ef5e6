//! Media: valid ones of every type, and damaged ones.

use std::sync::Arc;

use context_core::message::{Media, MediaSource, OpaqueBlock};
use context_core::{Json, Message, Metadata, Part, Role};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::{MessageList, histories};

/// The smallest valid file of each type (images, a document, sounds), in Base64.
const SOUND: [(&str, &str); 10] = [
    (
        "image/png",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ),
    ("image/jpeg", "/9j/wAARCAABAAEDASIAAhEBAxEB"),
    ("image/gif", "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"),
    ("image/webp", "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"),
    ("application/pdf", "JVBERi0xLjcK"),
    ("text/plain", "aGkgdGhlcmU="),
    ("audio/wav", "UklGRgQAAABXQVZF"),
    ("audio/mpeg", "SUQzBAAA"),
    ("audio/ogg", "T2dnUwAA"),
    ("audio/flac", "ZkxhQwAA"),
];

/// Returns a file of this type in Base64, or an image if the type is not known.
pub(super) fn bytes_of(media_type: &str) -> &'static str {
    SOUND.iter().find(|(known, _)| *known == media_type).map_or(SOUND[0].1, |(_, data)| data)
}

/// Generates histories in which some media are damaged: invalid or truncated Base64, types that do
/// not match the bytes or that no provider accepts, URLs of other resources, missing sources.
pub fn damaged_media() -> impl Strategy<Value = MessageList> {
    (histories(), vec((any::<Index>(), any::<bool>(), damaged()), 1..5)).prop_map(
        |(mut history, media)| {
            for (at, in_result, part) in media {
                place(&mut history, &at, in_result, part);
            }
            history
        },
    )
}

/// Puts a part into a result, if there is one and `in_result` is set, or else into a user message.
fn place(history: &mut MessageList, at: &Index, in_result: bool, part: Part) {
    let role = if in_result { Role::Tool } else { Role::User };
    let fitting: Vec<usize> = (0..history.len()).filter(|i| history[*i].role == role).collect();
    let Some(message) = (!fitting.is_empty()).then(|| fitting[at.index(fitting.len())]) else {
        history.push(Arc::new(Message::new(Role::User, [Part::text("look"), part])));
        return;
    };
    let parts = &mut Arc::make_mut(&mut history[message]).parts;
    match parts.iter_mut().find_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    }) {
        Some(result) => result.output.push(part),
        None => parts.push(part),
    }
}

fn damaged() -> impl Strategy<Value = Part> {
    let kind: fn(Media) -> Part = Part::Image;
    let kind = prop::sample::select(vec![kind, Part::Document, Part::Audio]);
    let part = (kind, source(), media_type(), prop::option::of("[a-z]{1,5}\\.pdf")).prop_map(
        |(kind, source, media_type, name)| {
            kind(Media { source, media_type, name, metadata: Metadata::default() })
        },
    );
    // The form in which a video is stored, for which there is no kind of part.
    let block = (media_type(), data()).prop_map(|(media_type, data)| {
        let value = Json::from(&json!({"inlineData": {"mimeType": media_type, "data": data}}));
        Part::Opaque(OpaqueBlock { provider: "gemini".to_owned(), value })
    });
    prop_oneof![5 => part, 1 => block]
}

fn media_type() -> impl Strategy<Value = Option<String>> {
    let known = prop::sample::select(SOUND.map(|(media_type, _)| media_type).to_vec());
    let other = prop::sample::select(vec![
        "",
        "image",
        "image/",
        "/png",
        "IMAGE/PNG",
        "image/jpg",
        "image/bmp",
        "image/tiff",
        "image/svg+xml",
        "image/heic",
        "image/avif",
        "image/*",
        "application/zip",
        "application/octet-stream",
        "text/html",
        "video/mp4",
        "audio/aac",
        "audio/x-wav",
        "image/png; charset=utf-8",
        "a b/c",
        "ä/ö",
        "image/png\n",
    ]);
    prop_oneof![
        4 => known.prop_map(|known| Some(known.to_owned())),
        3 => other.prop_map(|other| Some(other.to_owned())),
        1 => Just(None),
    ]
}

fn source() -> impl Strategy<Value = MediaSource> {
    let address = prop::sample::select(vec![
        "",
        "data:",
        "data:,",
        "data:image/png",
        "data:image/png,abc",
        "data:image/png;base64,",
        "data:;base64,QUJD",
        "data:text/html;base64,PGI+",
        "data:image/svg+xml;utf8,<svg/>",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "https://",
        "https://a b",
        "https://example.com/a.png",
        "https://example.com/a",
        "ftp://a/b.png",
        "gs://bucket/a.gif",
        "blob:1",
        "//example.com/a.png",
    ]);
    prop_oneof![
        6 => data().prop_map(|data| MediaSource::Base64(data.into())),
        2 => (media_type(), data()).prop_map(|(media_type, data)| {
            MediaSource::Url(format!("data:{};base64,{data}", media_type.unwrap_or_default()))
        }),
        2 => address.prop_map(|address| MediaSource::Url(address.to_owned())),
        1 => prop::sample::select(vec!["", "file-1", "file_1", "blob:0", " "])
            .prop_map(|name| MediaSource::Reference(name.to_owned())),
    ]
}

/// Generates damaged Base64, or bytes of any type.
fn data() -> impl Strategy<Value = String> {
    let sound = || prop::sample::select(SOUND.map(|(_, data)| data).to_vec());
    let odd = prop::sample::select(vec![
        "=", "a", "-", "_", "+", "/", " ", "\n", "\"", "ä", "\u{0}", "%3D", "🦀",
    ]);
    prop_oneof![
        3 => sound().prop_map(str::to_owned),
        3 => (sound(), any::<Index>()).prop_map(|(data,
            at)| data[..at.index(data.len())].to_owned()),
        3 => (sound(), any::<Index>(), odd).prop_map(|(data, at, odd)| {
            let at = at.index(data.len());
            format!("{}{odd}{}", &data[..at], &data[at..])
        }),
        1 => sound().prop_map(|data| data.trim_end_matches('=').to_owned()),
        1 => sound().prop_map(|data| data.replace('+', "-").replace('/', "_")),
        1 => (sound(), sound()).prop_map(|(one, other)| format!("{one}{other}")),
        1 => "[A-Za-z0-9+/]{0,12}={0,3}",
        1 => "\\PC{0,8}",
    ]
}
