//! Metadata keys for values of a part that no field of a message holds.

/// The provider of opaque blocks and thoughts of this form. Only the Responses API understands what
/// it wrote.
pub const PROVIDER: &str = "openai-responses";
/// The provider of opaque blocks that are parts of a content, of a message or of a result. The type
/// does not distinguish them from items: an item and a part may have the same type.
pub const CONTENT_PROVIDER: &str = "openai-responses.content";

/// System message: the role as written, if it is `developer`.
pub(super) const ROLE: &str = "openai.role";
/// Call or result: its type, if it is not a function.
pub(super) const TYPE: &str = "openai.type";
/// Text: the model refuses.
pub(super) const REFUSAL: &str = "openai.refusal";
/// Image or document: the level of detail.
pub(super) const DETAIL: &str = "openai.detail";
/// Text, thought, call or result: the id of its item. Texts of one id are one message item.
pub const ID: &str = "openai.id";
/// Text, thought, call or result: the status of its item.
pub const STATUS: &str = "openai.status";
/// Text: whether it is commentary or the final answer.
pub const PHASE: &str = "openai.phase";
/// Call: the namespace of its tool.
pub const NAMESPACE: &str = "openai.namespace";
/// Call or result: the program that called.
pub const CALLER: &str = "openai.caller";
/// Text: citations.
pub const ANNOTATIONS: &str = "openai.annotations";
/// Text: the probabilities of its tokens. Not sent again.
pub const LOGPROBS: &str = "openai.logprobs";
/// Text, image or document: an entry of the prompt cache ends here.
pub const BREAKPOINT: &str = "openai.prompt_cache_breakpoint";
/// Thought: its summary as written, if it is not one text.
pub const SUMMARY: &str = "openai.summary";
/// Thought: its content as written.
pub const CONTENT: &str = "openai.content";
