//! A conversation as text, for a model that summarises it. Thoughts, data of the application and
//! media are not shown.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::message::Media;
use context_core::{Message, Part, Role, ToolResult};

use crate::quote::{ExcerptLimits, attribute, quoted};

/// The shown part of each kind of content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    text: ExcerptLimits,
    input: ExcerptLimits,
    output: ExcerptLimits,
}

impl Detail {
    /// The levels, from much to little detail.
    pub(crate) const LEVELS: [Self; 3] = [
        Self::new(
            ExcerptLimits::new(16_000, 12_000, 3_000),
            ExcerptLimits::new(2_000, 1_400, 400),
            ExcerptLimits::new(2_000, 800, 240),
        ),
        Self::new(
            ExcerptLimits::new(4_000, 2_800, 800),
            ExcerptLimits::new(600, 400, 100),
            ExcerptLimits::new(600, 300, 100),
        ),
        Self::new(
            ExcerptLimits::new(1_200, 800, 240),
            ExcerptLimits::new(240, 140, 40),
            ExcerptLimits::new(240, 120, 40),
        ),
    ];

    const fn new(text: ExcerptLimits, input: ExcerptLimits, output: ExcerptLimits) -> Self {
        Self { text, input, output }
    }
}

/// Returns each message as text, in order; an empty text for a message without visible content.
/// `retained` tells for a position, counted from `first`, whether the message stays in the
/// conversation.
pub(crate) fn transcript(
    messages: &[Arc<Message>],
    first: usize,
    retained: impl Fn(usize) -> bool,
    detail: Detail,
) -> Vec<String> {
    let mut calls = HashMap::new();
    let mut shown = Vec::with_capacity(messages.len());
    for (i, message) in messages.iter().enumerate() {
        if message.role != Role::Tool {
            calls.clear();
        }
        let mut parts = Vec::new();
        for part in &message.parts {
            if let Part::ToolCall(call) = part {
                let number = calls.len() + 1;
                calls.insert(call.id.as_str(), (number, call.name.as_str()));
            }
            parts.extend(show(part, &calls, detail));
        }
        shown.push(match parts.is_empty() {
            true => String::new(),
            false => {
                let retained = if retained(first + i) { " stays=\"yes\"" } else { "" };
                format!(
                    "<message from=\"{}\"{retained}>\n{}\n</message>\n",
                    speaker(message),
                    parts.join("\n")
                )
            }
        });
    }
    shown
}

/// Returns the speaker. Synthetic messages are the application's, whatever their role.
fn speaker(message: &Message) -> &'static str {
    match message.role {
        _ if message.is_synthetic() => "application",
        Role::System => "application",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tools",
    }
}

type Calls<'a> = HashMap<&'a str, (usize, &'a str)>;

fn show(part: &Part, calls: &Calls<'_>, detail: Detail) -> Option<String> {
    Some(match part {
        Part::ToolCall(call) => {
            let (number, name) = calls.get(call.id.as_str()).copied().unwrap_or((1, &call.name));
            let input = quoted(&detail.input.of_text(call.input.as_written()));
            format!("<call n=\"{number}\" tool={}>{input}</call>", attribute(name))
        }
        Part::ToolResult(result) => {
            let call = calls.get(result.call_id.as_str());
            let number = call.map(|(number, _)| format!(" n=\"{number}\"")).unwrap_or_default();
            let name = call.map(|(_, name)| *name).or(result.name.as_deref()).unwrap_or_default();
            let failed = if result.is_error { " failed=\"yes\"" } else { "" };
            let output = quoted(&detail.output.of_text(&output(result)));
            format!("<result{number} tool={}{failed}>{output}</result>", attribute(name))
        }
        _ => quoted(&detail.text.of_text(&plain(part)?)),
    })
}

/// Returns the text of a result. Results within results are replaced by their content, in order and
/// at any depth.
fn output(result: &ToolResult) -> String {
    let mut texts = Vec::new();
    let mut left: Vec<&Part> = result.output.iter().rev().collect();
    while let Some(part) = left.pop() {
        match part {
            Part::ToolResult(inner) => left.extend(inner.output.iter().rev()),
            _ => texts.extend(plain(part)),
        }
    }
    texts.join("\n")
}

/// Returns the text of a part that is neither a call nor a result. Blank texts, thoughts and data
/// of the application are not shown.
fn plain(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => (!text.text.is_blank()).then(|| text.text.to_cow().into_owned()),
        Part::Image(media) => Some(marker("image", media)),
        Part::Document(media) => Some(marker("document", media)),
        Part::Audio(media) => Some(marker("audio", media)),
        Part::Opaque(block) => Some(format!("[block of {}]", attribute(&block.provider))),
        Part::Unknown(_) => Some("[part of an unknown type]".to_owned()),
        _ => None,
    }
}

fn marker(kind: &str, media: &Media) -> String {
    match &media.name {
        Some(name) => format!("[{kind} {}]", attribute(name)),
        None => format!("[{kind}]"),
    }
}
