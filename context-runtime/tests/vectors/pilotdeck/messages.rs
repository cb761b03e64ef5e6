//! Converting recorded messages to ours.
//!
//! The recorded system has tool results in user messages. They become tool messages, and other
//! parts become a user message after them. Reasoning with a signature is Anthropic's.
//!
//! The recorded system recognizes its own texts by a leading tag. Ours uses metadata, because a
//! user may type such a tag. So a user message with nothing but such texts and parts of calls is
//! read as marked.

use context_runtime::Origin;
use std::sync::Arc;

use context_runtime::{
    FragmentData, Json, Media, MediaSource, Message, Metadata, Part, Reasoning, Role, ToolCall,
    ToolInput, ToolResult,
    model::{HistoryRules, Unanswered},
};

use crate::encoding::{entry, flag, items, text};

/// Something that our messages cannot express.
pub(super) struct Inexpressible(pub(super) String);

/// Messages, and for each recorded one the position of the last of ours.
pub(super) struct Decoded {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) last: Vec<usize>,
}

/// The prefixes of the recorded system's own texts.
const TAGS: [&str; 5] = [
    "<compact-boundary",
    "<snip-boundary",
    "<memory-context>",
    "<internal-compaction-control",
    "<hook_context",
];

/// Options of reading messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// Whether texts of the runtime are recognized by their prefix.
    pub(super) by_tag: bool,
    /// Whether spilled media are read as media with references.
    pub(super) references: bool,
}

pub(super) fn decode(messages: &[FragmentData]) -> Result<Decoded, Inexpressible> {
    Reader { by_tag: true, references: false }.decode(messages)
}

impl Reader {
    pub(super) fn decode(self, messages: &[FragmentData]) -> Result<Decoded, Inexpressible> {
        let mut decoded = Decoded { messages: Vec::new(), last: Vec::new() };
        for message in messages {
            let blocks = items(message, "content").iter();
            let parts = blocks.map(|block| self.part(block)).collect::<Result<Vec<_>, _>>()?;
            let is_runtimes =
                entry(message, "metadata").is_some_and(|metadata| flag(metadata, "synthetic"));
            let ours = match text(message, "role") {
                Some("assistant") => vec![Message::new(Role::Assistant, parts)],
                Some("user") => {
                    let (results, rest): (Vec<_>, Vec<_>) =
                        parts.into_iter().partition(|part| matches!(part, Part::ToolResult(_)));
                    let tools = (!results.is_empty()).then(|| Message::new(Role::Tool, results));
                    let user = (tools.is_none() || !rest.is_empty()).then(|| {
                        let user = Message::new(Role::User, rest);
                        let marked = is_runtimes || (self.by_tag && is_of_the_runtime(message));
                        if marked { user.with_origin(Origin::Synthetic) } else { user }
                    });
                    tools.into_iter().chain(user).collect()
                }
                other => return Err(Inexpressible(format!("a role {other:?}"))),
            };
            decoded.messages.extend(ours.into_iter().map(Arc::new));
            decoded.last.push(decoded.messages.len().saturating_sub(1));
        }
        Ok(decoded)
    }

    fn part(self, block: &FragmentData) -> Result<Part, Inexpressible> {
        if !self.references || text(block, "type") != Some("media_reference") {
            return part(block);
        }
        let path = text(block, "path").unwrap_or_default().to_owned();
        let media = Media { source: MediaSource::Reference(path), ..media(block) };
        Ok(match text(block, "mediaType") {
            Some("image") => Part::Image(media),
            Some("audio") => Part::Audio(media),
            _ => Part::Document(media),
        })
    }
}

/// Whether a user message has texts of the runtime or media of a call, and nothing from a person.
fn is_of_the_runtime(message: &FragmentData) -> bool {
    let own = |block: &FragmentData| match text(block, "type") {
        Some("text") => {
            let text = text(block, "text").unwrap_or_default().trim_start();
            text.trim_end() == HistoryRules::CONTINUATION
                || TAGS.iter().any(|tag| text.starts_with(tag))
        }
        Some("media_reference") => text(block, "toolCallId").is_some(),
        _ => false,
    };
    let says_nothing = |block: &FragmentData| match text(block, "type") {
        Some("text") => text(block, "text").unwrap_or_default().trim().is_empty(),
        Some("tool_result" | "tool_result_reference") => true,
        _ => false,
    };
    let blocks = items(message, "content");
    blocks.iter().any(own) && blocks.iter().all(|block| own(block) || says_nothing(block))
}

/// Returns the messages without metadata. Our placeholder for a missing result names its tool and
/// is an error, unlike the recorded one.
pub(super) fn bare(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let part = |part: &Part| match part {
        Part::ToolResult(result) => {
            let is_placeholder = *result.output == [Part::text(Unanswered::TEXT)];
            let is_error = result.is_error || is_placeholder;
            Part::ToolResult(ToolResult {
                name: None,
                is_error,
                metadata: Metadata::default(),
                ..result.clone()
            })
        }
        part => part.clone(),
    };
    let bare = |message: &Arc<Message>| Message::new(message.role, message.parts.iter().map(part));
    messages.iter().map(|message| Arc::new(bare(message))).collect()
}

/// Converts a block to a part.
pub(super) fn part(block: &FragmentData) -> Result<Part, Inexpressible> {
    let owned = |key: &str| text(block, key).unwrap_or_default().to_owned();
    Ok(match text(block, "type").unwrap_or_default() {
        "text" => Part::text(owned("text")),
        "thinking" => {
            let signature = text(block, "signature").map(Into::into);
            let provider = text(block, "signature").is_some().then(|| "anthropic".to_owned());
            Part::Reasoning(Reasoning {
                text: owned("text").into(),
                signature,
                provider,
                ..Reasoning::default()
            })
        }
        "image" => Part::Image(media(block)),
        "pdf" => Part::Document(media(block)),
        "audio" => Part::Audio(media(block)),
        "tool_call" => {
            let input = entry(block, "input").unwrap_or(&FragmentData::Null);
            let input =
                Json::from_serialize(input).map_err(|error| Inexpressible(error.to_string()))?;
            Part::ToolCall(ToolCall {
                id: owned("id"),
                name: owned("name"),
                input: ToolInput::Json(input),
                metadata: Metadata::default(),
            })
        }
        "tool_result" => {
            result(block, items(block, "content").iter().map(part).collect::<Result<_, _>>()?)
        }
        // Its preview is what is sent.
        "tool_result_reference" => result(block, vec![Part::text(owned("preview"))]),
        other => return Err(Inexpressible(format!("a block of type {other:?}"))),
    })
}

fn result(block: &FragmentData, output: Vec<Part>) -> Part {
    Part::ToolResult(ToolResult {
        call_id: text(block, "toolCallId").unwrap_or_default().to_owned(),
        name: None,
        output,
        is_error: flag(block, "isError"),
        metadata: Metadata::default(),
    })
}

fn media(block: &FragmentData) -> Media {
    let data = text(block, "data").unwrap_or_default().to_owned();
    let source = match text(block, "source") {
        Some("url") => MediaSource::Url(data),
        _ => MediaSource::Base64(data.into()),
    };
    let media_type = text(block, "mimeType").map(str::to_owned);
    Media { source, media_type, name: None, metadata: Metadata::default() }
}
