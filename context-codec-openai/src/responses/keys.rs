//! What rides along on a part because no field of a message holds it.

/// Whose opaque blocks and thoughts these are. What Responses wrote only Responses understands.
pub const PROVIDER: &str = "openai-responses";
/// Whose opaque blocks are parts of a content, of a message or of a result. A type does not tell
/// them from items: there may be items and parts of the same one.
pub const CONTENT_PROVIDER: &str = "openai-responses.content";

/// System message: the role as written, where it is `developer`.
pub(super) const ROLE: &str = "openai.role";
/// Call or result: its type, where it is not a function.
pub(super) const TYPE: &str = "openai.type";
/// Text: the model refuses.
pub(super) const REFUSAL: &str = "openai.refusal";
/// Image or document: how closely to look.
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
/// Text: how likely its tokens were. Not sent again.
pub const LOGPROBS: &str = "openai.logprobs";
/// Text, image or document: an entry of the prompt cache ends here.
pub const BREAKPOINT: &str = "openai.prompt_cache_breakpoint";
/// Thought: its summary as written, where it is not one text.
pub const SUMMARY: &str = "openai.summary";
/// Thought: its content as written.
pub const CONTENT: &str = "openai.content";
