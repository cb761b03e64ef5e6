//! The tool with which a model reads spilled outputs back, in parts of limited size.

use context_core::history::shorten;
use context_core::message::ToolInput;
use context_core::model::FunctionTool;
use context_core::{ChatRef, ErrorKind, Json, ToolCall, ToolResult};
use serde::Deserialize;
use serde_json::json;

use super::{Spill, SpilledRange};

/// The name of the tool that reads outputs back.
pub const READ_SPILLED: &str = "read_spilled_output";

/// The maximum number of bytes per call. No text has more tokens than bytes, so the result stays
/// below the limit at which it would be spilled again.
const MOST: u64 = 8_000;
/// The length of the longest character in bytes. A shorter range might show nothing.
const LEAST: u64 = 4;

/// Returns the tool that reads outputs back. Offer it to the model, and answer its calls with
/// [`Spill::answer`].
///
/// ```
/// use context_runtime::{Part, Spill, ToolCall, ToolInput, spilled_output_tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let spill = Spill::new(store)?;
/// let chat = ("ada", "build-7").into();
/// let log = spill.put(&chat, "line 1\nline 2\nline 3", "text/plain").await?;
///
/// // The model has read the note in place of the log, and asks for a part.
/// let input = serde_json::json!({"reference": log.id.to_reference(), "start": 7, "end": 13});
/// let Part::ToolCall(call) = Part::tool_call("call_1", spilled_output_tool().name, input) else {
///     unreachable!()
/// };
/// let result = spill.answer(&chat, &call).await;
/// assert!(!result.is_error);
/// assert!(matches!(&result.output[0], Part::Text(text) if text.text.contains("line 2")));
/// # Ok(())
/// # }
/// ```
pub fn spilled_output_tool() -> FunctionTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "reference": {"type": "string", "description": "The reference of the output: `blob:` and 64 digits, from the note in it."},
            "start": {"type": "integer", "minimum": 0, "description": "The first byte to show; 0 if left out."},
            "end": {"type": "integer", "minimum": 0, "description": "The byte to stop before; as far as one call shows, if left out."},
        },
        "required": ["reference"],
    });
    FunctionTool::new(READ_SPILLED, schema).description(format!(
        "Shows a part of an output that was too long to show whole, at most {MOST} bytes at a time. Read only the parts you need."
    ))
}

#[derive(Deserialize)]
struct ReadArguments {
    reference: String,
    start: Option<u64>,
    end: Option<u64>,
}

impl Spill {
    /// Answers a call of [`spilled_output_tool`] with at most 8,000 bytes of text, or with an error
    /// that tells the model what to do. Never fails: an error becomes the tool result.
    pub async fn answer(&self, chat: &ChatRef, call: &ToolCall) -> ToolResult {
        match self.shown(chat, &call.input).await {
            Ok(text) => call.result(text),
            Err(reason) => call.error(reason),
        }
    }

    async fn shown(&self, chat: &ChatRef, input: &ToolInput) -> Result<String, String> {
        let arguments = match input {
            ToolInput::Json(input) => input
                .parse::<ReadArguments>()
                .map_err(|error| format!("Not understood: {}.", beginning(&error.to_string())))?,
            ToolInput::Invalid(_) => {
                return Err("Not understood: the input is not JSON.".to_owned());
            }
        };
        let start = arguments.start.unwrap_or(0);
        let furthest = start.saturating_add(MOST);
        let end =
            arguments.end.map_or(furthest, |end| end.clamp(start.saturating_add(LEAST), furthest));
        let read =
            self.read(chat, &arguments.reference, start..end).await.map_err(|error| match error
                .kind()
            {
                ErrorKind::NotFound | ErrorKind::Invalid => {
                    format!(
                        "There is no output {} in this conversation.",
                        Json::from(beginning(&arguments.reference))
                    )
                }
                _ => "The output cannot be read at the moment.".to_owned(),
            })?;
        let total = read.total;
        let Some((start, text)) = whole_characters(&read) else {
            let media_type = read.media_type.as_deref().unwrap_or("of an unknown type");
            return Err(format!(
                "The output is not text: it is {media_type} and has {total} bytes."
            ));
        };
        let end = start + text.len() as u64;
        let more = if end < total {
            format!("; go on with start {end}")
        } else {
            "; this is the end".to_owned()
        };
        Ok(format!("[bytes {start} to {end} of {total}{more}]\n{text}"))
    }
}

/// Returns the part of a text that an error repeats.
fn beginning(text: &str) -> &str {
    shorten::ends(text, 100, 0).map_or(text, |(head, _)| head)
}

/// Returns the whole characters of a range and their start offset. `None` if the range is not text.
fn whole_characters(read: &SpilledRange) -> Option<(u64, &str)> {
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut =
        if read.start == 0 { 0 } else { read.bytes.iter().take(3).take_while(is_inside).count() };
    let bytes = &read.bytes[cut..];
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // Only a character that the range itself cut off may be incomplete.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    Some((read.start + cut as u64, text))
}
