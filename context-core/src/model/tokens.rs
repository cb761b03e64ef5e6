//! Token counts and the trait of token counters.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::{Media, MessageHash};
use crate::model::Tool;
use crate::{Message, ModelRequest, Part};

/// A number of tokens with bounds. The exact number is between [`low`](Self::low) and
/// [`high`](Self::high), as far as the counter knows. Sums saturate.
///
/// ```
/// use context_core::model::TokenCount;
///
/// let sum = TokenCount::exact(100) + TokenCount::estimate(40, 30, 60);
/// assert_eq!((sum.low(), sum.tokens(), sum.high()), (130, 140, 160));
/// assert!(!sum.is_exact());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Bounds")]
pub struct TokenCount {
    tokens: u64,
    low: u64,
    high: u64,
}

/// The deserialized form, before the bounds are checked.
#[derive(Deserialize)]
struct Bounds {
    tokens: u64,
    low: u64,
    high: u64,
}

impl From<Bounds> for TokenCount {
    fn from(bounds: Bounds) -> Self {
        Self::estimate(bounds.tokens, bounds.low, bounds.high)
    }
}

impl TokenCount {
    /// Zero tokens.
    pub const ZERO: Self = Self::exact(0);

    /// Creates an exact count.
    pub const fn exact(tokens: u64) -> Self {
        Self { tokens, low: tokens, high: tokens }
    }

    /// Creates an estimate with bounds. Bounds that exclude the estimate are widened.
    pub const fn estimate(tokens: u64, low: u64, high: u64) -> Self {
        let low = if low < tokens { low } else { tokens };
        let high = if high > tokens { high } else { tokens };
        Self { tokens, low, high }
    }

    /// Returns the estimate.
    pub const fn tokens(self) -> u64 {
        self.tokens
    }

    /// Returns the lower bound.
    pub const fn low(self) -> u64 {
        self.low
    }

    /// Returns the upper bound, which guarantees have to use.
    pub const fn high(self) -> u64 {
        self.high
    }

    /// Returns whether the count is exact.
    pub const fn is_exact(self) -> bool {
        self.low == self.high
    }
}

impl Add for TokenCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            low: self.low.saturating_add(other.low),
            high: self.high.saturating_add(other.high),
        }
    }
}

impl AddAssign for TokenCount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for TokenCount {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for TokenCount {
    /// Writes `1200` or `1200 (1000 to 1500)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_exact() {
            return write!(f, "{}", self.tokens);
        }
        write!(f, "{} ({} to {})", self.tokens, self.low, self.high)
    }
}

/// A kind of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaKind {
    /// An image.
    Image,
    /// A document.
    Document,
    /// Audio.
    Audio,
}

/// Tokens that a provider adds around content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Framing {
    /// Tokens around each message.
    pub message: TokenCount,
    /// Tokens around each call and each result, including ids.
    pub call: TokenCount,
    /// Tokens around each tool.
    pub tool: TokenCount,
    /// Tokens around a request.
    pub request: TokenCount,
    /// Tokens around all tools, if there are any. Providers precede them with text of their own.
    pub tools: TokenCount,
    /// The share of a tool's text and schema that is counted. Providers write them in other forms.
    pub schema: Share,
    /// The share of the output schema that is counted. Some providers do not show it to the model.
    pub output: Share,
}

/// A percentage of a token count, with bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Share {
    /// The estimate in percent.
    pub usual: u16,
    /// The lower bound in percent.
    pub low: u16,
    /// The upper bound in percent.
    pub high: u16,
}

impl Share {
    /// 100 percent.
    pub const ALL: Self = Self::new(100, 100, 100);

    /// Creates a share from percentages.
    pub const fn new(usual: u16, low: u16, high: u16) -> Self {
        Self { usual, low, high }
    }

    /// Returns the share of a count.
    pub fn of(self, count: TokenCount) -> TokenCount {
        let part =
            |tokens: u64, percent: u16| tokens.saturating_mul(u64::from(percent)).div_ceil(100);
        let (usual, low) = (part(count.tokens, self.usual), part(count.low, self.low));
        TokenCount::estimate(usual, low, part(count.high, self.high))
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::ALL
    }
}

impl Framing {
    /// Creates framing from its main parts.
    pub const fn new(
        message: TokenCount,
        call: TokenCount,
        tool: TokenCount,
        request: TokenCount,
    ) -> Self {
        let (tools, schema, output) = (TokenCount::ZERO, Share::ALL, Share::ALL);
        Self { message, call, tool, request, tools, schema, output }
    }
}

/// The token counts of the parts of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestTokens {
    /// The system prompt.
    pub system: TokenCount,
    /// The tools.
    pub tools: TokenCount,
    /// The output schema.
    pub output: TokenCount,
    /// The conversation.
    pub messages: TokenCount,
    /// Tokens that the provider adds around the content.
    pub framing: TokenCount,
}

impl RequestTokens {
    /// Returns the total of all parts.
    pub fn total(&self) -> TokenCount {
        self.system + self.tools + self.output + self.messages + self.framing
    }
}

/// Counts tokens, exactly or as an estimate with bounds.
///
/// Contract with implementors: provide a name and [`count`](Self::count). Override
/// [`count_media`](Self::count_media) and [`framing`](Self::framing) with what is known about media
/// and about the provider's framing. Counting is pure, never fails for any text, and takes time
/// linear in it. Text that looks like a special token is counted as text.
///
/// ```
/// use context_core::Message;
/// use context_core::model::{TokenCount, TokenCounter};
///
/// /// A guess that is honest about being one.
/// #[derive(Debug)]
/// struct FourBytes;
///
/// impl TokenCounter for FourBytes {
///     fn name(&self) -> &str {
///         "four-bytes"
///     }
///
///     fn count(&self, text: &str) -> TokenCount {
///         let bytes = text.len() as u64;
///         TokenCount::estimate(bytes.div_ceil(4), bytes.div_ceil(8), bytes)
///     }
/// }
///
/// let count = FourBytes.count_message(&Message::from("Two tickets."));
/// assert!(count.low() <= count.tokens() && count.tokens() <= count.high());
/// ```
pub trait TokenCounter: fmt::Debug + Send + Sync + 'static {
    /// Returns the name of the model or vocabulary that is counted for.
    fn name(&self) -> &str;

    /// Counts the tokens of a text.
    fn count(&self, text: &str) -> TokenCount;

    /// Counts the tokens of an image, a document or audio. The count does not depend on its
    /// position.
    fn count_media(&self, kind: MediaKind, media: &Media) -> TokenCount {
        let _ = media;
        match kind {
            MediaKind::Image => TokenCount::estimate(1_500, 64, 15_000),
            MediaKind::Document => TokenCount::estimate(5_000, 100, 200_000),
            MediaKind::Audio => TokenCount::estimate(2_000, 10, 100_000),
        }
    }

    /// Returns the tokens that the provider adds around content.
    fn framing(&self) -> Framing {
        Framing::default()
    }

    /// Counts the tokens of a part. Application data is never sent and counts as zero. Data that
    /// only its provider reads (signatures, encrypted reasoning, opaque blocks) counts as its text,
    /// with a lower bound of zero.
    fn count_part(&self, part: &Part) -> TokenCount {
        let perhaps = |text: &str| {
            let count = self.count(text);
            TokenCount::estimate(count.tokens(), 0, count.high())
        };
        let (mut total, mut left) = (TokenCount::ZERO, vec![part]);
        while let Some(part) = left.pop() {
            total += match part {
                Part::Text(text) => self.count(&text.text.to_cow()),
                Part::Reasoning(reasoning) => {
                    let sealed = reasoning.signature.iter().chain(&reasoning.encrypted);
                    self.count(&reasoning.text.to_cow())
                        + sealed.map(|text| perhaps(&text.to_cow())).sum()
                }
                Part::ToolCall(call) => {
                    self.count(&call.name)
                        + self.count(call.input.as_written())
                        + self.framing().call
                }
                Part::ToolResult(result) => {
                    left.extend(&result.output);
                    self.framing().call
                }
                Part::Image(media) => self.count_media(MediaKind::Image, media),
                Part::Document(media) => self.count_media(MediaKind::Document, media),
                Part::Audio(media) => self.count_media(MediaKind::Audio, media),
                Part::Data(_) => TokenCount::ZERO,
                Part::Opaque(block) => perhaps(block.value.as_str()),
                Part::Unknown(json) => perhaps(json.as_str()),
            };
        }
        total
    }

    /// Counts the tokens of a message, including the provider's framing. A block with a text that
    /// [stands for it](crate::message::Text::for_block) counts as many tokens as its provider
    /// reported, but at least as many as the text.
    fn count_message(&self, message: &Message) -> TokenCount {
        let substituted = message.substituted_block();
        let count = |(at, part): (usize, &Part)| match &substituted {
            Some(both) if both.block_at == at => TokenCount::ZERO,
            Some(both) if both.text_at == at => {
                let (text, block) = (self.count_part(part), both.tokens.unwrap_or(0));
                let tokens = text.tokens().max(block);
                TokenCount::estimate(tokens, text.low(), text.high().max(tokens))
            }
            _ => self.count_part(part),
        };
        self.framing().message + message.parts.iter().enumerate().map(count).sum()
    }

    /// Counts the tokens of a shared message. A caching counter recognizes the allocation.
    fn count_shared(&self, message: &Arc<Message>) -> TokenCount {
        self.count_message(message)
    }

    /// Counts the tokens of a message whose hash is known, so that a caching counter need not hash
    /// it again.
    fn count_hashed(&self, message: &Arc<Message>, hash: &MessageHash) -> TokenCount {
        let _ = hash;
        self.count_shared(message)
    }

    /// Counts the tokens of messages.
    fn count_messages(&self, messages: &[Arc<Message>]) -> TokenCount {
        messages.iter().map(|message| self.count_shared(message)).sum()
    }

    /// Counts the tokens of a tool.
    fn count_tool(&self, tool: &Tool) -> TokenCount {
        let content = match tool {
            Tool::Function(function) => {
                let description = function.description.as_deref().unwrap_or_default();
                let schema = self.count(function.input_schema.as_str());
                self.framing()
                    .schema
                    .of(self.count(&function.name) + self.count(description) + schema)
            }
            Tool::Opaque(block) => {
                let count = self.count(block.value.as_str());
                // A provider's own tool may stand for a description that is much longer than its
                // entry.
                TokenCount::estimate(count.tokens(), 0, count.high().saturating_mul(50))
            }
        };
        content + self.framing().tool
    }

    /// Counts the tokens of a request. The messages are counted as they are. Normalize them first
    /// if the difference matters.
    fn count_request(&self, request: &ModelRequest) -> RequestTokens {
        let output = request.output.as_ref().map_or(TokenCount::ZERO, |output| {
            let description = output.description.as_deref().unwrap_or_default();
            let schema = self.count(output.schema.as_str());
            self.framing().output.of(self.count(&output.name) + self.count(description) + schema)
        });
        RequestTokens {
            system: request.system.iter().map(|text| self.count(&text.text.to_cow())).sum(),
            tools: match request.tools.is_empty() {
                true => TokenCount::ZERO,
                false => {
                    request.tools.iter().map(|tool| self.count_tool(tool)).sum::<TokenCount>()
                        + self.framing().tools
                }
            },
            output,
            messages: self.count_messages(&request.messages),
            framing: self.framing().request,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MediaSource;
    use crate::model::FunctionTool;
    use crate::{Json, Metadata, Role, ToolResult};

    /// Counts one token per byte.
    #[derive(Debug)]
    struct Bytes;

    impl TokenCounter for Bytes {
        fn name(&self) -> &str {
            "bytes"
        }

        fn count(&self, text: &str) -> TokenCount {
            TokenCount::exact(text.len() as u64)
        }
    }

    fn image() -> Part {
        let source = MediaSource::Base64("A".repeat(100_000).into());
        Part::Image(Media { source, media_type: None, name: None, metadata: Metadata::default() })
    }

    #[test]
    fn bounds_always_hold_the_number() {
        let count = TokenCount::estimate(10, 20, 5);
        assert_eq!((count.low(), count.tokens(), count.high()), (10, 10, 10));
        let read: TokenCount = serde_json::from_str(r#"{"tokens":10,"low":20,"high":12}"#).unwrap();
        assert_eq!((read.low(), read.tokens(), read.high()), (10, 10, 12));
    }

    #[test]
    fn sums_saturate() {
        let sum = TokenCount::exact(u64::MAX) + TokenCount::estimate(1, 0, u64::MAX);
        assert_eq!(sum, TokenCount::exact(u64::MAX));
        assert_eq!(TokenCount::estimate(5, 4, 9).to_string(), "5 (4 to 9)");
    }

    #[test]
    fn an_image_is_the_same_within_a_result() {
        let result = Part::ToolResult(ToolResult {
            call_id: "c".into(),
            name: None,
            output: vec![image()],
            is_error: false,
            metadata: Metadata::default(),
        });
        assert_eq!(Bytes.count_part(&result), Bytes.count_part(&image()));
    }

    #[test]
    fn a_block_counts_as_reported_and_not_besides_its_text() {
        use crate::message::{OpaqueBlock, Text};
        let count = |tokens| {
            let value = Json::from_text(r#"{"type":"compaction"}"#).unwrap();
            let block = OpaqueBlock { provider: "p".into(), value };
            let parts = [Part::Opaque(block), Part::Text(Text::for_block("four", tokens))];
            Bytes.count_message(&Message::new(Role::User, parts)).tokens()
        };
        assert_eq!((count(None), count(Some(3)), count(Some(90))), (4, 4, 90));
    }

    #[test]
    fn a_signature_may_count() {
        let thought = crate::message::Reasoning {
            text: "abc".into(),
            signature: Some("S".repeat(40).into()),
            ..crate::message::Reasoning::default()
        };
        let count = Bytes.count_part(&Part::Reasoning(thought));
        assert_eq!((count.low(), count.tokens(), count.high()), (3, 43, 43));
    }

    #[test]
    fn a_request_is_the_sum_of_its_parts() {
        let schema = Json::from_text(r#"{"type":"object"}"#).unwrap();
        let request =
            ModelRequest::new([Message::from("four"), Message::text(Role::Assistant, "seven 7")])
                .system("ten bytes!")
                .tools([FunctionTool::new("go", schema).description("Goes.")]);
        let tokens = Bytes.count_request(&request);
        assert_eq!(tokens.system, TokenCount::exact(10));
        assert_eq!(tokens.messages, TokenCount::exact(11));
        assert_eq!(tokens.tools, TokenCount::exact(2 + 5 + 17));
        assert_eq!(tokens.total(), TokenCount::exact(45));
    }

    #[test]
    fn deep_results_are_counted_without_recursion() {
        let mut part = Part::text("x");
        for _ in 0..50_000 {
            part = Part::ToolResult(ToolResult {
                call_id: String::new(),
                name: None,
                output: vec![part],
                is_error: false,
                metadata: Metadata::default(),
            });
        }
        assert_eq!(Bytes.count_part(&part), TokenCount::exact(1));
        // Dropping the part is the caller's business.
        std::mem::forget(part);
    }
}
