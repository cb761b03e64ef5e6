//! Pictures that stand for pictures.
//!
//! The recorded requests hold a few letters where a picture would be, and the recorded builder
//! sends whatever it is given. Ours leaves such letters out and says so, which is a difference. To
//! compare the rest, both sides get a real picture in the place of each such text; that the letters
//! themselves are left out is asked of the request as it was recorded.

use std::sync::Arc;

use context_runtime::model::{ModelCodec, ModelRequest};
use context_runtime::{Media, MediaSource};
use context_runtime::{Message, Part};
use serde_json::Value;

/// A picture of one pixel, PNG.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/// Puts a picture in the place of each text that stands for one, and returns these texts.
pub(super) fn develop(request: &mut ModelRequest) -> Vec<String> {
    let mut replaced = Vec::new();
    for message in &mut request.messages {
        develop_parts(&mut Arc::<Message>::make_mut(message).parts, &mut replaced);
    }
    replaced
}

/// Whether none of these texts is in the body of the request as it was recorded, and each is named.
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
                replaced.push(std::mem::replace(data, PIXEL.to_owned()));
            }
            Part::ToolResult(result) => develop_parts(&mut result.output, replaced),
            _ => {}
        }
    }
}

/// One letter, again and again.
fn is_letters(data: &str) -> bool {
    data.bytes().all(|byte| byte == b'A')
}

/// A recorded body with the same pictures.
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
