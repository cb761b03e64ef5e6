//! Generated conversations: the same in every run.

use std::sync::Arc;

use context_runtime::{FunctionTool, Media, MediaSource, Message, Metadata, Part, Role, Tool};

/// The model whose tokens are counted.
pub(crate) const MODEL: &str = "gpt-4o";
/// A sentence.
pub(crate) const PROMPT: &str = "The train to Lisbon leaves at nine; whoever wants a window should be there early, because nobody keeps a seat. ";
/// The code that tools read.
const CODE: &str =
    concat!(include_str!("data.rs"), include_str!("policies.rs"), include_str!("prepare.rs"));
/// The length of a result, in bytes.
const RESULT: usize = 4_000;

/// Returns cycles of ten messages: a request, four calls with a result of four thousand characters
/// each, a reply.
pub(crate) fn history(size: usize) -> Vec<Arc<Message>> {
    work(size, |result| vec![Part::text(result)])
}

/// Returns the same with an image after the text of each result.
pub(crate) fn with_images(size: usize) -> Vec<Arc<Message>> {
    let image = Part::Image(Media {
        source: MediaSource::Base64("iVBORw0KGgo".repeat(100).into()),
        media_type: Some("image/png".into()),
        name: Some("screen.png".into()),
        metadata: Metadata::default(),
    });
    work(size, |result| vec![Part::text(result), image.clone()])
}

/// Returns requests and replies of about three hundred tokens, without tools.
pub(crate) fn talk(size: usize) -> Vec<Arc<Message>> {
    let message = |at: usize| {
        let text = format!("{at}: {}", PROMPT.repeat(12));
        if at.is_multiple_of(2) {
            Message::from(text)
        } else {
            Message::text(Role::Assistant, text)
        }
    };
    (0..size).map(|at| Arc::new(message(at))).collect()
}

fn work(size: usize, output: impl Fn(&str) -> Vec<Part>) -> Vec<Arc<Message>> {
    let message = |at: usize| match at % 10 {
        0 => Message::from(format!("{at}: {}", &PROMPT[..100])),
        9 => Message::text(Role::Assistant, PROMPT.repeat(3)),
        step if step % 2 == 1 => {
            let call = Part::tool_call(
                format!("call_{at}"),
                "read_file",
                serde_json::json!({"path": format!("src/{at}.rs")}),
            );
            Message::new(Role::Assistant, [Part::text(PROMPT), call])
        }
        _ => {
            let start = CODE.floor_char_boundary(at * 7_919 % (CODE.len() - RESULT));
            let end = CODE.floor_char_boundary(start + RESULT);
            let mut result = Part::tool_result(format!("call_{}", at - 1), "");
            if let Part::ToolResult(result) = &mut result {
                result.output = output(&CODE[start..end]);
            }
            Message::new(Role::Tool, [result])
        }
    };
    (0..size).map(|at| Arc::new(message(at))).collect()
}

/// Returns twenty-five tools.
pub(crate) fn tools() -> Vec<Tool> {
    let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string", "description": PROMPT.repeat(3)}}});
    (0..25)
        .map(|i| FunctionTool::new(format!("tool_{i}"), schema.clone()).description(PROMPT).into())
        .collect()
}
