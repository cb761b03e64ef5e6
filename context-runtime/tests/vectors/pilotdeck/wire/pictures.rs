//! Real images in place of placeholder letters.
//!
//! The recorded requests have a few letters in place of an image, and the recorded builder sends
//! them as they are. Our codec leaves such letters out with a diagnostic, which is a difference. To
//! compare the rest, both sides get a real image in place of each such text. A separate check of
//! the recorded request makes sure that the letters are left out.

use std::sync::Arc;

use context_runtime::model::{ModelCodec, ModelRequest};
use context_runtime::{Media, MediaSource, Message, Part};
use serde_json::Value;

/// An image of one pixel, PNG.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/// Replaces each placeholder text by an image, and returns these texts.
pub(super) fn develop(request: &mut ModelRequest) -> Vec<String> {
    let mut replaced = Vec::new();
    for (at, message) in request.messages.clone().iter().enumerate() {
        let mut developed = Message::clone(message);
        develop_parts(&mut developed.parts, &mut replaced);
        request.messages.replace(at, Arc::new(developed));
    }
    replaced
}

/// Whether none of these texts is in the body of the recorded request, and each has a diagnostic.
pub(super) fn are_left_out(
    letters: &[String],
    codec: &dyn ModelCodec,
    recorded: &ModelRequest,
) -> Result<(), String> {
    if letters.is_empty() {
        return Ok(());
    }
    let lowered = codec.lower(recorded).map_err(|error| error.to_string())?;
    let named = lowered
        .diagnostics
        .iter()
        .filter(|said| said.message.contains("cannot be decoded"))
        .count();
    let body = lowered.body.as_str();
    let is_sent = letters.iter().any(|letters| {
        body.contains(&format!("base64,{letters}\""))
            || body.contains(&format!("\"data\":\"{letters}\""))
    });
    if named == letters.len() && !is_sent {
        Ok(())
    } else {
        Err(format!("{:?}: {body}", lowered.diagnostics))
    }
}

fn develop_parts(parts: &mut [Part], replaced: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::Image(Media { source: MediaSource::Base64(data), .. }) if is_letters(data) => {
                replaced.push(std::mem::replace(data, PIXEL.into()).into());
            }
            Part::ToolResult(result) => develop_parts(&mut result.output, replaced),
            _ => {}
        }
    }
}

/// Whether the text repeats one letter.
fn is_letters(data: &str) -> bool {
    data.bytes().all(|byte| byte == b'A')
}

/// Replaces the same texts in a recorded body.
pub(super) fn develop_body(body: &mut Value, replaced: &[String]) {
    match body {
        Value::String(text) => {
            let data = text.strip_prefix("data:image/png;base64,").unwrap_or(text);
            if replaced.iter().any(|letters| letters == data) {
                *text = text.replace(&*data.to_owned(), PIXEL);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| develop_body(value, replaced)),
        Value::Object(map) => map.values_mut().for_each(|value| develop_body(value, replaced)),
        _ => {}
    }
}
