//! Classification of errors by wordings and codes.
//!
//! The order of precedence is: unambiguous codes; wordings, the most specific first; general codes;
//! the status. Wordings come before general codes because providers report `invalid_request_error`
//! for everything. They come before the status because some provider reports an exhausted account
//! as 429, an unsupported image as 404, or a full window as 500.

use super::body::Body;
use super::codes::{GENERAL, SPECIFIC, lookup, plain};
use super::pattern::occurs;
use context_core::model::ModelErrorCode as Code;

/// Folded wordings, the most specific first.
const WORDINGS: [(Code, &[&str]); 14] = [
    (
        Code::Billing,
        &[
            "credit balance is too low",
            "insufficient balance",
            "insufficient credit",
            "insufficient funds",
            "not enough credit",
            "requires more credits",
            "purchase credits",
            "out of credits",
            "no credits",
            "payment required",
            "specified api usage limits",
            "extra usage is required",
            "billing hard limit",
            "account is not active",
            "余额不足",
            "欠费",
        ],
    ),
    (
        Code::Authentication,
        &[
            "invalid api key",
            "invalid x-api-key",
            "incorrect api key",
            "api key not valid",
            "api key not found",
            "api key expired",
            "no api key",
            "missing api key",
            "no auth credentials",
            "authentication fails",
            "authentication failed",
            "invalid authentication",
            "token is expired",
            "token has expired",
            "could not resolve authentication",
        ],
    ),
    (
        Code::ContextOverflow,
        &[
            // Anthropic
            "prompt is too long",
            "input length and max tokens exceed context limit",
            "exceed context limit",
            // OpenAI, Azure, DeepSeek, OpenRouter, vLLM, SGLang
            "maximum context length",
            "max context length",
            "context window of this model",
            "exceeds the context window",
            "exceeds the models context window",
            "exceed context window",
            "input tokens exceed the configured limit",
            "contextwindowexceedederror",
            // Groq
            "reduce the length of the messages",
            "reduce the length of the prompt",
            "reduce the length of the input",
            // Google
            "token count*exceeds the maximum number of tokens",
            "token count exceeds the maximum",
            "input token count is # but*only supports",
            // xAI
            "maximum prompt length is",
            // Amazon
            "input is too long for requested model",
            "too many input tokens",
            "input is too long",
            // Mistral
            "too large for model with # maximum context length",
            // Qwen
            "range of input length should be",
            // Moonshot
            "exceeded model token limit",
            // MiniMax, Z.ai
            "context window exceeds limit",
            "model context window exceeded",
            "context window exceeded",
            "context length exceeded",
            // GitHub
            "prompt token count of # exceeds the limit of",
            "prompt token count*exceeds",
            // Together, Hugging Face, SGLang, SiliconFlow
            "inputs tokens + max tokens must be",
            "inputs must have less than # tokens",
            "is longer than the models context length",
            "input length*exceeds the maximum allowed length",
            "input length*exceeds models maximum",
            "maximum allowed input length",
            "number of input tokens*has exceeded",
            "is longer than the maximum model length",
            "exceeds maximum model length",
            // llama.cpp, LM Studio, Ollama
            "exceeds the available context size",
            "context size has been exceeded",
            "greater than the context length",
            "context length of only",
            "context length is only",
            "the configured context size is",
            "exceed context window of",
            "exceeded max context length",
            "input length exceeds",
            "exceeds the context length",
            "max tokens must be at least 1, got -#",
            // Cohere
            "too many tokens",
            "token limit exceeded",
            // Chinese
            "上下文*超",
            "超*上下文",
            "超*最大长度",
            "输入*过长",
            "prompt*超长",
            "输入长度超",
            "长度超过*限制",
        ],
    ),
    (
        Code::OutputTooLarge,
        &[
            "max tokens: # > #",
            "max tokens is too large",
            "max tokens too large",
            "max tokens is too high",
            "supports at most # completion tokens",
            "maximum allowed number of output tokens",
            "max tokens*supported range is",
            "range of max tokens",
            "max tokens*expected a value <=",
            "max tokens must be less than or equal to",
            "max tokens must be <=",
            "max tokens*exceeds the*limit",
            "max tokens*exceeds the*maximum",
            "max tokens*between # and #",
            "max tokens*range*[#, #]",
            "max tokens*range*from # to #",
            "maximum tokens you requested exceeds the model limit",
            // The output did not fit.
            "model output limit was reached",
            "max tokens reached",
            "max tokens was reached",
        ],
    ),
    (
        Code::ContentFilter,
        &[
            "content management policy",
            "content filter",
            "content policy",
            "usage policy",
            "usage policies",
            "safety system",
            "prohibited content",
            "inappropriate content",
            "flagged by moderation",
            "flagged as potentially violating",
            "内容安全",
            "敏感内容",
        ],
    ),
    (
        Code::Image,
        &[
            "image exceeds",
            "image dimensions exceed",
            "image dimension*exceed",
            "image*exceeds*dimension limit",
            "too many images",
            "too much media",
            "at most # image",
            "images per request",
            "maximum of # images",
            "up to # images",
            "number of images*exceed",
            "fewer than # images",
            "images*exceeding the maximum of #",
            "image count # exceeds limit",
            "cannot identify image",
            "could not process image",
            "unable to process*image",
            "unable to process image",
            "provided image is not valid",
            "not represent a valid image",
            "not appear to contain a valid image",
            "invalid image",
            "unsupported image",
            "image is too large",
            "image too large",
            "image size",
            "image file is too large",
            "image was specified using",
            "failed to load image",
            "failed to decode image",
            "failed to process image",
            "failed to download image",
            "could not decode*image",
            "not decode*image",
            "decode base64*image",
            "corrupt*image",
            "image*corrupt",
            "image*could not be decoded",
            "not support image",
            "not support*image input",
            "not support*images",
            "no endpoints found that support image",
            "images are not supported",
            "image input is not supported",
            "image inputs are not supported",
            "image urls are not supported",
            "image url is only supported",
            "image content is not supported",
            "unknown variant image url",
            "not a multimodal model",
            "multimodal processor",
            "multimodal data*processor",
            "is not multimodal",
            "not support vision",
            "media type*does not match*image",
            "图像过多",
            "图片",
            "图像",
        ],
    ),
    (
        Code::ModelNotFound,
        &[
            "model not found",
            "model*does not exist",
            "model*not found",
            "models/*is not found",
            "no such model",
            "unknown model",
            "is not a valid model",
            "not a valid model id",
            "invalid model",
            "model identifier is invalid",
            "no endpoints found for",
            "model*has been deprecated",
            "model*has been decommissioned",
            "model*is not available",
            "not have access to*model",
            "deployment for this resource does not exist",
            "模型不存在",
        ],
    ),
    (
        Code::Overloaded,
        &[
            "overloaded",
            "at capacity",
            "high demand",
            "over capacity",
            "server is busy",
            "server busy",
            "currently unavailable due to",
        ],
    ),
    (
        Code::RateLimit,
        &[
            "rate limit",
            "rate-limit",
            "ratelimit",
            "too many requests",
            "tokens per minute",
            "requests per minute",
            "tokens per min",
            "too many tokens per day",
            "throttl",
            "频率",
            "限流",
            "请求过于频繁",
        ],
    ),
    (
        Code::RequestTooLarge,
        &[
            "request too large",
            "request is too large",
            "request entity too large",
            "request body too large",
            "payload too large",
            "payload size exceeds",
            "payload exceeds",
            "exceeds the maximum size",
            "exceeds the maximum allowed size",
            "content length*exceeds",
            "string too long",
            "must have length less than or equal to",
        ],
    ),
    (
        Code::Network,
        &[
            "econnrefused",
            "econnreset",
            "enotfound",
            "eai again",
            "connection refused",
            "connection reset",
            "connection aborted",
            "connection closed",
            "connection error",
            "connection was closed",
            "could not resolve host",
            "name or service not known",
            "dns error",
            "failed to lookup address",
            "temporary failure in name resolution",
            "network is unreachable",
            "no route to host",
            "socket hang up",
            "fetch failed",
            "broken pipe",
            "error sending request",
            "proxy error",
            "proxy connect",
            "tunnel*failed",
            "certificate",
            "tls handshake",
            "ssl handshake",
            "handshake failure",
        ],
    ),
    (
        Code::Timeout,
        &["timed out", "timeout", "time-out", "etimedout", "deadline exceeded", "took too long"],
    ),
    (
        Code::InvalidRequest,
        &[
            "tool use ids were found without tool result",
            "unexpected tool use id found in tool result",
            "tool result*corresponding tool use",
            "role tool must be a response to",
            "tool calls must be followed by tool messages",
            "function response parts",
            "signature in thinking block",
        ],
    ),
    (
        Code::Server,
        &["internal server error", "internal error", "bad gateway", "upstream connect error"],
    ),
];

/// Wordings for an exhausted account that some providers also use for a rate limit.
const QUOTA: [&str; 4] = [
    "exceeded your current quota",
    "check your plan and billing",
    "quota exceeded for this account",
    "monthly quota",
];

/// Wordings for a request above the rate limit by itself. Waiting does not help, a shorter history
/// does.
const ABOVE_RATE: [&str; 2] = ["request too large", "reduce your message size"];

/// The result of classifying a body and a status.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) code: Code,
    /// The code that decided, or else the one that names the error best.
    pub(super) provider_code: Option<String>,
    /// Whether the request exceeds a rate limit by itself.
    pub(super) above_rate: bool,
}

/// Classifies a body by its codes, its folded text and the status.
pub(super) fn classify(body: &Body, words: &str, status: Option<u16>) -> Verdict {
    let specific = body.codes.iter().find_map(|code| Some((lookup(&SPECIFIC, code)?, code)));
    let general = body.codes.iter().find_map(|code| Some((lookup(&GENERAL, code)?, code)));
    let rate = general.is_some_and(|(code, _)| code == Code::RateLimit) || status == Some(429);
    let above_rate = ABOVE_RATE.iter().any(|wording| occurs(words, wording))
        && (rate || occurs(words, "tokens per min"));
    // Google calls a rate limit a quota. Its code, or a time to wait, marks it as a rate limit.
    let resource = body.codes.iter().any(|code| plain(code) == "resourceexhausted");
    let quota = !resource
        && body.retry_after.is_none()
        && QUOTA.iter().any(|wording| occurs(words, wording));
    let code = specific
        .map(|(code, _)| code)
        .or_else(|| quota.then_some(Code::Billing))
        .or_else(|| above_rate.then_some(Code::RateLimit))
        .or_else(|| code_from_wordings(words, rate))
        .or_else(|| general.map(|(code, _)| code).filter(|code| is_more_specific(*code, status)))
        .or_else(|| code_from_status(status, words))
        .unwrap_or(Code::Unknown);
    let named =
        specific.or(general.filter(|(general, _)| *general == code)).map(|(_, named)| named);
    let provider_code = named.or_else(|| body.codes.first()).cloned();
    Verdict { code, provider_code, above_rate }
}

/// Returns whether a general code is more specific than the status. If a provider reports a plain
/// `invalid_request_error` with a specific status, the status decides.
fn is_more_specific(code: Code, status: Option<u16>) -> bool {
    !matches!(
        (code, status),
        (Code::InvalidRequest | Code::Server, Some(401..=404 | 408 | 413 | 429 | 500..))
    )
}

fn code_from_wordings(words: &str, rate: bool) -> Option<Code> {
    let any_occurs = |wordings: &[&str]| wordings.iter().any(|wording| occurs(words, wording));
    let (code, _) = WORDINGS.iter().find(|(code, wordings)| {
        // Rate limits in tokens are worded like size limits, so the provider's code or status
        // decides.
        let is_ambiguous = rate
            && matches!(code, Code::ContextOverflow)
            && any_occurs(&["per minute", "per day", "per min"]);
        !is_ambiguous && any_occurs(wordings)
    })?;
    Some(*code)
}

fn code_from_status(status: Option<u16>, words: &str) -> Option<Code> {
    Some(match status? {
        401 | 403 => Code::Authentication,
        402 => Code::Billing,
        404 if occurs(words, "model") => Code::ModelNotFound,
        408 | 504 | 524 => Code::Timeout,
        413 => Code::RequestTooLarge,
        425 | 498 | 529 => Code::Overloaded,
        429 => Code::RateLimit,
        451 => Code::ContentFilter,
        400..500 | 501 => Code::InvalidRequest,
        500..600 => Code::Server,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::pattern::fold;
    use super::*;

    #[test]
    fn wordings_are_folded() {
        for wording in
            WORDINGS.iter().flat_map(|(_, wordings)| *wordings).chain(&QUOTA).chain(&ABOVE_RATE)
        {
            assert_eq!(fold(wording), *wording);
        }
    }
}
