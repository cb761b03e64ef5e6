//! The images in a body of any provider.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

/// Decodes Base64 with or without padding and with any trailing bits, as clients write it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The maximum number of Base64 characters of an image that are decoded to find its size.
const HEAD: usize = 256 << 10;

/// The keys that hold a conversation.
const CONVERSATIONS: [&str; 3] = ["messages", "input", "contents"];
/// The keys that hold the input or output of a tool as data.
const DATA: [&str; 3] = ["args", "response", "arguments"];

/// An image in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image<'a> {
    /// The path in the body.
    pub(super) path: String,
    /// The Base64 of the image, unless it is given by URL.
    pub(super) data: Option<&'a str>,
}

impl Image<'_> {
    /// Returns the length of the Base64.
    pub(super) fn written_bytes(&self) -> u64 {
        self.data.map_or(0, |data| data.len() as u64)
    }

    /// Returns the size of the image in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.data.map_or(0, |data| data.trim_end_matches('=').len() as u64 * 3 / 4)
    }

    /// Returns the longest edge in pixels, if the head of the file tells it.
    pub(super) fn longest_edge(&self) -> Option<u64> {
        let text = self.data?.as_bytes();
        let head = LENIENT.decode(&text[..text.len().min(HEAD)]).ok()?;
        let size = imagesize::blob_size(&head).ok()?;
        Some(size.width.max(size.height) as u64)
    }
}

/// Returns all images of a body, in order.
pub(super) fn images(body: &Value) -> Vec<Image<'_>> {
    let mut found = Vec::new();
    let roots = CONVERSATIONS.iter().filter_map(|key| Some((body.get(key)?, (*key).to_owned())));
    let mut left: Vec<(&Value, String)> = roots.collect();
    left.reverse();
    while let Some((value, path)) = left.pop() {
        let start = left.len();
        match value {
            Value::Array(items) => {
                left.extend(
                    items.iter().enumerate().map(|(i, item)| (item, format!("{path}[{i}]"))),
                );
            }
            Value::Object(map) => {
                if let Some(source) = image(value) {
                    found.push(Image { path, data: source.base64 });
                    continue;
                }
                let is_call = text(value, "type").is_some_and(|kind| kind.ends_with("tool_use"));
                let inner = map.iter().filter(|(key, value)| {
                    let is_data = DATA.contains(&key.as_str()) || is_call && *key == "input";
                    !is_data && (value.is_array() || value.is_object())
                });
                left.extend(inner.map(|(key, value)| (value, format!("{path}.{key}"))));
            }
            _ => {}
        }
        left[start..].reverse();
    }
    found
}

/// The source of an image.
struct Source<'a> {
    /// The Base64, unless the image is given by URL.
    base64: Option<&'a str>,
}

/// Returns the source of an object that is an image.
fn image(value: &Value) -> Option<Source<'_>> {
    let base64 = match text(value, "type") {
        Some("image") => value.get("source").and_then(|source| text(source, "data")),
        Some("image_url") => {
            let image = value.get("image_url");
            image.and_then(|image| text(image, "url").or(image.as_str())).and_then(data_of)
        }
        Some("input_image" | "computer_screenshot") => text(value, "image_url").and_then(data_of),
        _ => {
            let blob = value.get("inlineData").or_else(|| value.get("fileData"))?;
            text(blob, "mimeType").filter(|kind| kind.starts_with("image/"))?;
            text(blob, "data")
        }
    };
    Some(Source { base64 })
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns the Base64 of a `data:` URL.
fn data_of(url: &str) -> Option<&str> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    head.ends_with(";base64").then_some(data)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_are_found_in_every_form_and_not_in_data() {
        let anthropic = json!({"type": "image", "source": {"type": "base64", "data": "QUJD"}});
        let call = json!({"type": "tool_use", "input": anthropic});
        let result = json!({"type": "tool_result", "content": [anthropic]});
        let body = json!({"messages": [{"content": [call, result]}, {"content": [anthropic]}]});
        let found: Vec<String> = images(&body).into_iter().map(|image| image.path).collect();
        assert_eq!(found, ["messages[0].content[1].content[0]", "messages[1].content[0]"]);

        let chat = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}});
        let away = json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}});
        let body = json!({"messages": [{"content": [chat, away]}]});
        let found: Vec<Option<&str>> = images(&body).into_iter().map(|image| image.data).collect();
        assert_eq!(found, [Some("QUJD"), None]);

        let item = json!({"type": "input_image", "image_url": "data:image/png;base64,QUJD"});
        assert_eq!(images(&json!({"input": [{"content": [item]}]})).len(), 1);
        let blob = json!({"inlineData": {"mimeType": "image/png", "data": "QUJD"}});
        let sound = json!({"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}});
        let answer = json!({"functionResponse": {"response": {"a": blob}, "parts": [blob]}});
        let body = json!({"contents": [{"parts": [blob, sound, answer]}]});
        let [first, second] = &images(&body)[..] else { panic!("two images") };
        assert_eq!((first.bytes(), first.written_bytes(), first.longest_edge()), (3, 4, None));
        assert_eq!(second.path, "contents[0].parts[2].functionResponse.parts[0]");
    }
}
