//! Real error messages of providers, and their classification.

use std::time::Duration;

use context_core::ModelError;
use context_core::model::ModelErrorCode::{
    Authentication, Billing, ContentFilter, ContextOverflow, Image, InvalidRequest, ModelNotFound,
    Network, OutputTooLarge, Overloaded, RateLimit, RequestTooLarge, Server, Timeout, Unknown,
};
use context_core::model::{ModelErrorCode, ModelErrorCode as Code};

/// Provider, status (0 if none), body, expected code, expected numbers.
pub(crate) type Row = (&'static str, u16, &'static str, ModelErrorCode, &'static str);

#[rustfmt::skip]
pub(crate) const WINDOWS: [Row; 57] = [
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 214676 tokens > 200000 maximum"},"request_id":"req_1"}"#, ContextOverflow,
        "window=200000 input=214676"),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 199204 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}"#, ContextOverflow,
        "window=200000 input=199204 left=796"),
    ("anthropic", 400, "input length and max_tokens exceed context limit: 90402 + 116650 > 204648, decrease input length or max_tokens and try again", ContextOverflow, "window=204648 input=90402 left=114246"),
    ("anthropic", 400, r#"{"error":{"message":"input length and \"max_tokens\" exceed context limit: 150,000 + 64,000 > 200,000"}}"#, ContextOverflow, "window=200000 input=150000 left=50000"),
    ("openai", 400, r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130532 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#, ContextOverflow, "window=128000 input=130532"),
    ("openai-responses", 400,
        r#"{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}"#, ContextOverflow, ""),
    ("openai", 400, r#"{"error":{"code":"context_length_exceeded","message":"Bad request."}}"#,
        ContextOverflow, ""),
    ("openai", 400, "This model's maximum context length is 4097 tokens. However, you requested 4119 tokens (2119 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.", ContextOverflow, "window=4097 input=2119 left=1978"),
    ("openai", 400, "This model's maximum context length is 16385 tokens. However, you requested 17000 tokens (15000 in the messages, 1000 in the functions, and 1000 in the completion).", ContextOverflow, "window=16385 input=16000 left=385"),
    ("openai", 400, "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10346 in your prompt; 5 for the completion). Please reduce your prompt; or completion length.", ContextOverflow, "window=8191 input=10341"),
    ("openai", 400, r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 277102 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#, ContextOverflow, "window=272000 input=277102"),
    ("openai", 400, r#"{"error":{"message":"Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.","code":"string_above_max_length"}}"#,
        RequestTooLarge, ""),
    ("azure", 400, r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 129007 tokens (127000 in the messages, 2007 in the functions).","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#, ContextOverflow, "window=128000 input=129007"),
    ("gemini", 400, r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        ContextOverflow, "window=1048576 input=1200000"),
    ("gemini", 400, r#"[{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}]"#, ContextOverflow,
        "window=1048576"),
    ("gemini", 400, "Unable to submit request because the input token count is 40000 but model only supports up to 32768 tokens. Reduce the input token count and try again.", ContextOverflow, "window=32768 input=40000"),
    ("bedrock", 400, r#"{"message":"Input is too long for requested model."}"#, ContextOverflow, ""),
    ("bedrock", 400, r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"Too many input tokens. Max input tokens: 300000, request input token count: 312345 "}"#, ContextOverflow, "window=300000 input=312345"),
    ("bedrock", 400, "ValidationException: The model returned the following errors: prompt is too long: 208310 tokens > 199999 maximum", ContextOverflow, "window=199999 input=208310"),
    ("mistral", 400, r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","param":null,"code":"3051"}"#, ContextOverflow,
        "window=32768 input=40000"),
    ("groq", 400, r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#, ContextOverflow, ""),
    ("deepseek", 400, r#"{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70012 tokens (66012 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#, ContextOverflow, "window=65536 input=66012"),
    ("qwen", 400, r#"{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]","param":null,"type":"invalid_request_error"},"request_id":"1"}"#, ContextOverflow,
        "window=983616"),
    ("ollama", 400, r#"{"error":"prompt too long; exceeded max context length by 812 tokens"}"#,
        ContextOverflow, ""),
    ("ollama", 500, r#"{"error":"the input length exceeds the context length"}"#, ContextOverflow, ""),
    ("vllm", 400, r#"{"object":"error","message":"This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#, ContextOverflow,
        "window=6048 input=568 left=5480"),
    ("vllm", 400, r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 1 output tokens and your prompt contains at least 4096 input tokens, for a total of at least 4097 tokens. (parameter=input_tokens, value=4096)","type":"BadRequestError","param":"input_tokens","code":400}}"#,
        ContextOverflow, "window=4096 input=4096 left=0"),
    ("vllm", 400, "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104). None", ContextOverflow, "window=4096 input=2104 left=1992"),
    ("vllm", 400, r#"{"error":{"message":"This model's maximum context length is 16384 tokens. However, your request has 18225 input tokens. Please reduce the length of the input messages. None","type":"BadRequestError","param":null,"code":400}}"#, ContextOverflow,
        "window=16384 input=18225"),
    ("vllm", 400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.", ContextOverflow, "window=4096 input=5000"),
    ("vllm", 400, r#"{'object': 'error', 'message': 'max_tokens must be at least 1, got -186.', 'type': 'BadRequestError', 'param': None, 'code': 400}"#, ContextOverflow, ""),
    ("nvidia", 400, "You passed 170753 input tokens and requested 32000 output tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 170752 tokens. Please reduce the length of the input prompt.", ContextOverflow, "window=202752 input=170753 left=31999"),
    ("llama.cpp", 400, r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}"#,
        ContextOverflow, "window=8192 input=14429"),
    ("llama.cpp", 500, "request (61234 tokens) exceeds the available context size (32768 tokens), try increasing it", ContextOverflow, "window=32768 input=61234"),
    ("llama-cpp-python", 500, "Requested tokens (2285) exceed context window of 2048",
        ContextOverflow, "window=2048 input=2285"),
    ("lmstudio", 400, r#"{"error":"Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}"#, ContextOverflow, "window=7866 input=10136"),
    ("lmstudio", 400, r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 11072>= n_ctx: 4096). Try to load the model with a larger context length."}"#, ContextOverflow, "window=4096 input=11072"),
    ("xai", 400, r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}"#, ContextOverflow,
        "window=131072 input=136973"),
    ("cohere", 400, r#"{"message":"too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value."}"#, ContextOverflow, "window=2048 input=6354"),
    ("together", 422, r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 6204 `inputs` tokens and 2047 `max_new_tokens`","type":"invalid_request_error","param":"max_tokens","code":null}}"#,
        ContextOverflow, "window=8193 input=6204 left=1989"),
    ("together", 400, "The input (300000 tokens) is longer than the model's context length (262144 tokens).", ContextOverflow, "window=262144 input=300000"),
    ("huggingface", 422, r#"{"error":"Input validation error: `inputs` must have less than 4095 tokens. Given: 4711","error_type":"validation"}"#, ContextOverflow,
        "window=4095 input=4711"),
    ("sglang", 400, "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.", ContextOverflow, "window=59862 input=160062"),
    ("sglang", 400, "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens: 130000 tokens from the input messages and 10000 tokens for the completion.", ContextOverflow, "window=131072 input=130000 left=1072"),
    ("siliconflow", 400, r#"{"code":20015,"message":"number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.","data":null}"#, ContextOverflow,
        "window=202752 input=204703"),
    ("openrouter", 400, r#"{"error":{"message":"This endpoint's maximum context length is 65536 tokens. However, you requested about 92208 tokens (60833 of text input, 10042 of tool input, 21333 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400,"metadata":{"provider_name":null}}}"#, ContextOverflow, "window=65536 input=70875"),
    ("router", 400, r#"{"error":{"message":"Error from provider: {\"error\":{\"message\":\"This endpoint's maximum context length is 65536 tokens. However, you requested about 92208 tokens (60833 of text input, 31375 in the output).\",\"code\":400}}","type":"api_error","code":"provider_response_error"}}"#, ContextOverflow, "window=65536 input=60833 left=4703"),
    ("litellm", 400, r#"{"error":{"message":"litellm.BadRequestError: AnthropicException - b'{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, decrease input length or `max_tokens` and try again\"}}'","type":null,"param":null,"code":"400"}}"#, ContextOverflow, "window=200000 input=174167 left=25833"),
    ("litellm", 400, "litellm.ContextWindowExceededError: litellm.BadRequestError: this is too much", ContextOverflow, ""),
    ("moonshot", 400, r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}"#, ContextOverflow,
        "window=262144 input=269030"),
    ("minimax", 400, r#"{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)","http_code":"400"}}"#, ContextOverflow, ""),
    ("copilot", 400, r#"{"error":{"message":"prompt token count of 93854 exceeds the limit of 90000","param":"","code":"","type":""}}"#, ContextOverflow, "window=90000 input=93854"),
    ("zhipu", 400, r#"{"error":{"code":"1261","message":"Prompt 超长"}}"#, ContextOverflow, ""),
    ("zhipu", 400, "输入内容过长，超过了模型的最大上下文长度 128000", ContextOverflow, "window=128000"),
    ("qianfan", 400, r#"{"error":{"message":"上下文长度超出限制，最大为 32,768 个 token"}}"#, ContextOverflow, "window=32768"),
    ("zhipu", 400, "输入长度超过模型最大上下文限制 131072", ContextOverflow, "window=131072"),
    ("anyone", 400, "Prompt has 5000 tokens, but the configured context size is 4096 tokens",
        ContextOverflow, "window=4096 input=5000"),
];

#[rustfmt::skip]
pub(crate) const OUTPUTS: [Row; 17] = [
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022"}}"#, OutputTooLarge, "max=8192"),
    ("openai", 400, r#"{"error":{"message":"max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.","type":"invalid_request_error","param":"max_tokens","code":null}}"#, OutputTooLarge, "max=16384"),
    ("xiaomi", 400, r#"{"error":{"message":"Param Incorrect","type":"upstream_error","param":"max_tokens is too large: 1048576. This model supports at most 131072 completion tokens, whereas you provided 1048576.","code":"400"}}"#,
        OutputTooLarge, "max=131072"),
    ("openai", 400, r#"{"error":{"message":"Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 200000 instead.","type":"invalid_request_error","param":"max_output_tokens","code":"integer_above_max_value"}}"#, OutputTooLarge, "max=128000"),
    ("doubao", 400, r#"{"error":{"code":"InvalidParameter","message":"The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 32000 instead. Request id: 0217752964393142","param":"max_completion_tokens","type":"BadRequest"}}"#, OutputTooLarge,
        "max=12288"),
    ("gemini", 400, r#"{"error":{"code":400,"message":"Unable to submit request because it has a maxOutputTokens value of 65536 but the supported range is from 1 (inclusive) to 65536 (exclusive). Update the value and try again.","status":"INVALID_ARGUMENT"}}"#,
        OutputTooLarge, "max=65535"),
    ("deepseek", 400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        OutputTooLarge, "max=8192"),
    ("qwen", 400, "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]", OutputTooLarge, "max=8192"),
    ("groq", 400, r#"{"message":"max_completion_tokens must be less than or equal to 40960, the maximum value for max_completion_tokens is less than the context_window for this model","type":"invalid_request_error","param":"max_completion_tokens"}"#, OutputTooLarge,
        "max=40960"),
    ("huggingface", 422, r#"{"error":"Input validation error: `max_new_tokens` must be <= 192. Given: 500","error_type":"validation"}"#, OutputTooLarge, "max=192"),
    ("bedrock", 400, r#"{"message":"The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192."}"#, OutputTooLarge,
        "max=8192"),
    ("cohere", 400, r#"{"message":"max tokens must be less than or equal to 4096, the maximum output for this model - received 8000."}"#, OutputTooLarge, "max=4096"),
    ("openai", 400, r#"{"error":{"message":"max_tokens too large: requested 32000, available_tokens: 1200"}}"#, OutputTooLarge, "left=1200"),
    ("openai", 400, r#"{"error":{"message":"`max_tokens` too large","available_tokens":0}}"#,
        OutputTooLarge, "left=0"),
    ("openai", 400, "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.", OutputTooLarge, ""),
    ("anyone", 400, "max_tokens exceeds the limit of 8k", OutputTooLarge, "max=8000"),
    ("openrouter", 402, r#"{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 4321. To increase, visit https://openrouter.ai/settings/credits and add more credits","code":402,"metadata":{}}}"#, Billing,
        "left=4321"),
];

#[rustfmt::skip]
pub(crate) const IMAGES: [Row; 25] = [
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.122.content.1.image.source.base64: image exceeds 5 MB maximum: 5654321 bytes > 5242880 bytes"}}"#, Image, "bytes=5242880"),
    ("anthropic", 400, "image exceeds `5 MB` maximum", Image, "bytes=5242880"),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}"#, Image, "pixels=8000"),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.19.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}"#, Image, "pixels=2000"),
    ("claude-code", 0, "An image in the conversation exceeds the dimension limit for many-image requests (2000px). Run /compact to remove old images from context.", Image, "pixels=2000"),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"too many images and documents: 120 + 0 > 100"}}"#, Image, "images=100"),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Too much media: 0 document pages + 107 images > 100"}}"#, Image, "images=100"),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}"#, Image, ""),
    ("vllm", 400, r#"{"object":"error","message":"At most 5 image(s) may be provided in one request.","type":"BadRequestError","param":null,"code":400}"#, Image, "images=5"),
    ("groq", 400, r#"{"error":{"message":"Too many images provided. This model supports up to 5 images","type":"invalid_request_error"}}"#, Image, "images=5"),
    ("copilot", 400, "The request contains too many images: 11 images were provided, but the model supports a maximum of 10 images.", Image, "images=10"),
    ("openai", 400, "Too many images in request. Max is 10.", Image, "images=10"),
    ("openai", 400, r#"{"error":{"message":"You uploaded an unsupported image. Please make sure your image is below 20 MB in size and is of one the following formats: ['png', 'jpeg', 'gif', 'webp'].","type":"invalid_request_error","param":null,"code":"sanitizer_server_error"}}"#, Image, "bytes=20971520"),
    ("gemini", 400, r#"{"error":{"code":400,"message":"Please use fewer than 3600 images in your request to models/gemini-1.5-flash","status":"INVALID_ARGUMENT"}}"#, Image,
        "images=3599"),
    ("meta", 400, "request contains 52 images, exceeding the maximum of 50 allowed per request",
        Image, "images=50"),
    ("agnes", 400, r#"{"object":"error","message":"Image count 5 exceeds limit 4 per request.","type":"BadRequestError","param":null,"code":400}"#, Image, "images=4"),
    ("openai", 400, r#"{"error":{"message":"cannot identify image file"}}"#, Image, ""),
    ("openai", 400, r#"{"error":{"message":"This model does not support image input"}}"#, Image, ""),
    ("openai", 400, r#"{"error":{"message":"You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].","type":"invalid_request_error","param":null,"code":"invalid_image_format"}}"#,
        Image, ""),
    ("openrouter", 404, r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#, Image, ""),
    ("deepseek", 400, "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 80", Image, ""),
    ("gemini", 400, r#"{"error":{"code":400,"message":"Provided image is not valid.","status":"INVALID_ARGUMENT"}}"#, Image, ""),
    ("gemini", 400, r#"{"error":{"code":400,"message":"Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting","status":"INVALID_ARGUMENT"}}"#, Image, ""),
    ("vllm", 400, "Qwen/Qwen3-8B is not a multimodal model None", Image, ""),
    ("llama.cpp", 500, r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#, Image,
        ""),
];

#[rustfmt::skip]
pub(crate) const RATES: [Row; 17] = [
    ("openai", 429, r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        Billing, ""),
    ("openai", 429, "You exceeded your current quota, please check your plan and billing details.", Billing, ""),
    ("openai", 429, r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500. Please try again in 4.77s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#, RateLimit,
        "wait=4.77s"),
    ("groq", 413, r#"{"error":{"message":"Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#, RateLimit, ""),
    ("gemini", 429, r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34.074824224s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}"#, RateLimit, "wait=34s"),
    ("anthropic", 429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute."}}"#, RateLimit, ""),
    ("azure", 429, "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-02-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 26 seconds.", RateLimit, "wait=26s"),
    ("bedrock", 429, r#"{"message":"Too many tokens per day, please wait before trying again.","__type":"ThrottlingException"}"#, RateLimit, ""),
    ("openrouter", 429, r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly.","provider_name":"BaseTen"}}}"#, RateLimit, ""),
    ("litellm", 429, r#"{"error":{"message":"No deployments available","retry_after":5,"code":"429"}}"#, RateLimit, "wait=5s"),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#, Billing, ""),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#, Billing, ""),
    ("deepseek", 402, r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#, Billing, ""),
    ("moonshot", 429, r#"{"error":{"message":"Your account is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}"#,
        Billing, ""),
    ("zhipu", 429, r#"{"error":{"code":"1113","message":"账户余额不足，请充值"}}"#, Billing, ""),
    ("anyone", 402, "", Billing, ""),
    ("anyone", 429, "", RateLimit, ""),
];

#[rustfmt::skip]
pub(crate) const OTHERS: [Row; 52] = [
    ("anthropic", 529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded, ""),
    ("anthropic", 200, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded, ""),
    ("gemini", 503, r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#, Overloaded, ""),
    ("gemini", 503, r#"{"error":{"code":503,"message":"This model is currently experiencing high demand.","status":"UNAVAILABLE"}}"#, Overloaded, ""),
    ("openai", 503, r#"{"error":{"message":"That model is currently overloaded with other requests.","type":"server_error","param":null,"code":null}}"#, Overloaded, ""),
    ("anthropic", 413, r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#, RequestTooLarge, ""),
    ("anthropic", 413, r#"{"error":{"type":"request_too_large","message":"Request too large"}}"#,
        RequestTooLarge, ""),
    ("nginx", 413, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body></body></html>", RequestTooLarge, ""),
    ("gemini", 400, r#"{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}"#, RequestTooLarge, ""),
    ("cerebras", 413, "", RequestTooLarge, ""),
    ("openai", 401, r#"{"error":{"message":"Incorrect API key provided: sk-proj-abcdefgh12345678. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#, Authentication, ""),
    ("anthropic", 401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#, Authentication, ""),
    ("gemini", 400, r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#, Authentication, ""),
    ("openrouter", 401, r#"{"error":{"message":"No auth credentials found","code":401}}"#,
        Authentication, ""),
    ("bedrock", 403, r#"{"__type":"AccessDeniedException","message":"User is not authorized to perform: bedrock:InvokeModel"}"#, Authentication, ""),
    ("anthropic", 404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-nine"}}"#, ModelNotFound, ""),
    ("openai", 404, r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        ModelNotFound, ""),
    ("gemini", 404, r#"{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#, ModelNotFound,
        ""),
    ("ollama", 404, r#"{"error":"model 'llama9' not found"}"#, ModelNotFound, ""),
    ("azure", 404, r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#, ModelNotFound, ""),
    ("anyone", 404, "404 page not found", InvalidRequest, ""),
    ("anthropic", 400, r#"{"error":{"type":"invalid_request_error","message":"messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"}}"#,
        InvalidRequest, ""),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."}}"#, InvalidRequest, ""),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#, InvalidRequest, ""),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"`max_tokens` must be greater than `thinking.budget_tokens`."}}"#, InvalidRequest, ""),
    ("anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: text content blocks must be non-empty"}}"#, InvalidRequest, ""),
    ("openai", 400, r#"{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1","type":"invalid_request_error","param":"messages.[3].role","code":null}}"#, InvalidRequest, ""),
    ("gemini", 400, r#"{"error":{"code":400,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT"}}"#, InvalidRequest, ""),
    ("mistral", 422, r#"{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted","input":"prompt is too long: 5 tokens > 4 maximum"}]}"#,
        InvalidRequest, ""),
    ("chatgpt", 400, r#"{"detail":"Unsupported parameter: max_output_tokens"}"#, InvalidRequest, ""),
    ("azure", 400, r#"{"error":{"inner_error":{"code":"ResponsibleAIPolicyViolation"},"code":"content_filter","message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","param":"prompt","type":null}}"#, ContentFilter, ""),
    ("qwen", 400, r#"{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content.","type":"data_inspection_failed"}}"#, ContentFilter, ""),
    ("openai", 500, r#"{"error":{"message":"boom"}}"#, Server, ""),
    ("anthropic", 500, r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#, Server, ""),
    ("anyone", 502, "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>nothing</h1></body></html>", Server, ""),
    ("anyone", 503, "no healthy upstream", Server, ""),
    ("anyone", 504, "<html><head><title>504 Gateway Time-out</title></head></html>", Timeout, ""),
    ("cloudflare", 524, "error code: 524", Timeout, ""),
    ("anthropic", 408, r#"{"type":"error","error":{"type":"timeout_error","message":"Request timed out"}}"#, Timeout, ""),
    ("gemini", 504, r#"{"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}"#, Timeout, ""),
    ("anyone", 0, "connect ETIMEDOUT 10.0.0.1:443", Timeout, ""),
    ("anyone", 0, "connect ECONNREFUSED 127.0.0.1:11434", Network, ""),
    ("anyone", 0, "getaddrinfo ENOTFOUND api.example.com", Network, ""),
    ("anyone", 0, "error sending request for url (https://api.example.com/v1): connection reset by peer", Network, ""),
    ("anyone", 0, "unable to verify the first certificate", Network, ""),
    ("anyone", 0, r#"{"code":"ECONNRESET","message":"aborted"}"#, Network, ""),
    ("anyone", 0, "Error code: 401 - {'error': {'message': 'nope'}}", Authentication, ""),
    ("anyone", 0, "something strange", Unknown, ""),
    ("anyone", 0, "", Unknown, ""),
    ("anyone", 302, "", Unknown, ""),
    ("anyone", 400, "", InvalidRequest, ""),
    ("anyone", 422, "[]", InvalidRequest, ""),
];

fn read(row: &Row) -> ModelError {
    let (provider, status, body, ..) = row;
    context_codec_kit::classify(provider, (*status > 0).then_some(*status), body)
}

/// Formats the numbers of an error.
fn numbers(error: &ModelError) -> String {
    let counts = [
        ("window", error.window),
        ("input", error.input_tokens),
        ("max", error.max_output_tokens),
        ("left", error.available_output_tokens),
        ("images", error.images.count),
        ("bytes", error.images.bytes),
        ("pixels", error.images.pixels),
    ];
    let counts = counts.iter().filter_map(|(name, count)| Some(format!("{name}={}", (*count)?)));
    counts
        .chain(error.retry_after.map(|wait| format!("wait={wait:?}")))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn wordings_of_providers_are_understood() {
    let rows = WINDOWS.iter().chain(&OUTPUTS).chain(&IMAGES).chain(&RATES).chain(&OTHERS);
    let wrong: Vec<String> = rows
        .filter_map(|row| {
            let error = read(row);
            let (.., body, code, told) = *row;
            let right = error.code == code && numbers(&error) == told;
            (!right).then(|| {
                format!("{body}\n  is {code} {told}\n  not {} {}", error.code, numbers(&error))
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_helps_follows_from_what_it_is() {
    for row in WINDOWS.iter().chain(&OUTPUTS).chain(&IMAGES).chain(&RATES).chain(&OTHERS) {
        let (error, body) = (read(row), row.2);
        let above_rate = body.contains("Request too large for model");
        let certificate = body.contains("certificate");
        let later = matches!(error.code, RateLimit | Overloaded | Server | Timeout | Network);
        assert_eq!(error.retryable, later && !above_rate && !certificate, "{body}");
        let no_room = error.code == OutputTooLarge && error.available_output_tokens.is_some();
        let long = matches!(error.code, ContextOverflow | RequestTooLarge);
        assert_eq!(error.helped_by_compaction, long || no_room || above_rate, "{body}");
        assert_eq!(
            error.helped_by_fewer_images,
            matches!(error.code, Image | RequestTooLarge),
            "{body}"
        );
    }
}

#[test]
fn what_of_a_history_is_refused_is_told_apart() {
    let refusals = |status, body| {
        let error = context_codec_kit::classify("anyone", Some(status), body);
        (error.code, error.refuses_thoughts, error.refuses_pairs)
    };
    for body in [
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
        "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
        r#"{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}"#,
        r#"{"error":{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}"#,
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ] {
        assert_eq!(refusals(400, body), (InvalidRequest, true, false), "{body}");
    }
    for body in [
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
        r#"{"error":{"message":"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."}}"#,
        r#"{"error":{"message":"No tool output found for function call call_1.","type":"invalid_request_error"}}"#,
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ] {
        assert_eq!(refusals(400, body), (InvalidRequest, false, true), "{body}");
    }
    assert_eq!(refusals(401, "invalid signature in thinking block"), (InvalidRequest, true, false));
    assert_eq!(
        refusals(400, "prompt is too long: tool_use ids must be unique"),
        (ContextOverflow, false, false)
    );
}

#[test]
fn the_words_shown_are_the_innermost_that_say_something() {
    for (body, message, code) in [
        (
            WINDOWS[0].2,
            "prompt is too long: 214676 tokens > 200000 maximum",
            "invalid_request_error",
        ),
        (WINDOWS[6].2, "Bad request.", "context_length_exceeded"),
        (
            RATES[8].2,
            "z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly.",
            "",
        ),
        (OTHERS[7].2, "413 Request Entity Too Large", ""),
        (OTHERS[28].2, "Extra inputs are not permitted", "extra_forbidden"),
        (
            OTHERS[10].2,
            "Incorrect API key provided: sk-…. You can find your API key at https://platform.openai.com/account/api-keys.",
            "invalid_api_key",
        ),
        ("  plain\n words ", "plain words", ""),
        (r#""a string that is the whole body""#, "a string that is the whole body", ""),
        (r#"["a list of one"]"#, "a list of one", ""),
        (
            r#"{"error":{"message":"Unicode: \u00e9\ud83d\ude00\ud800"}}"#,
            "Unicode: é😀\u{fffd}",
            "",
        ),
    ] {
        let error = context_codec_kit::classify("anyone", Some(400), body);
        assert_eq!(error.message, message, "{body}");
        assert_eq!(error.provider_code.as_deref().unwrap_or_default(), code, "{body}");
    }
    let nested = context_codec_kit::classify("litellm", Some(400), WINDOWS[47].2);
    assert!(nested.message.starts_with("input length and `max_tokens`"), "{}", nested.message);
}

#[test]
fn a_body_cut_off_in_the_middle_still_counts() {
    for row in WINDOWS.iter().chain(&IMAGES) {
        let complete = read(row);
        let body = row.2.trim_end_matches(['}', ']', '"', '.']);
        if let Some(cut) = body.rfind("\",\"").filter(|cut| body[..*cut].contains("message")) {
            if body[cut..].contains("n_ctx") {
                continue; // The numbers follow the cut.
            }
            let error = context_codec_kit::classify(row.0, Some(400), &body[..cut]);
            assert_eq!(numbers(&error), numbers(&complete), "{}", &body[..cut]);
        }
    }
    let start = &WINDOWS[0].2[..120];
    let error = context_codec_kit::classify("anthropic", Some(400), start);
    assert_eq!((error.code, error.input_tokens), (ContextOverflow, Some(214_676)));
}

#[test]
fn of_a_long_body_the_ends_are_read() {
    let filler = "word ".repeat(1 << 20);
    for body in [
        format!(
            r#"{{"error":{{"message":"prompt is too long: 7000 tokens > 6000 maximum","input":"{filler}"}}}}"#
        ),
        format!(
            r#"{{"input":"{filler}","error":{{"message":"prompt is too long: 7000 tokens > 6000 maximum"}}}}"#
        ),
        format!("{filler} prompt is too long: 7000 tokens > 6000 maximum"),
    ] {
        let error = context_codec_kit::classify("anthropic", Some(400), &body);
        assert_eq!((error.code, error.window), (ContextOverflow, Some(6_000)));
        assert!(error.message.chars().count() <= 501);
    }
}

/// A regression test: the key of a list was copied for each item, and groups of zeros were parsed
/// again from each group, which took gigabytes and quadratic time.
#[test]
fn what_repeats_costs_no_more_than_its_length() {
    let why = "prompt is too long: 7000 tokens > 6000 maximum";
    let key = "k".repeat(20 << 10);
    for noise in [
        format!("\"{key}\":{}1{}", "[".repeat(10 << 10), "]".repeat(10 << 10)),
        format!("\"{key}\":[{}1]", "1,".repeat(10 << 10)),
        format!("\"param\":\"{}1\"", "000,".repeat(1 << 10)),
        format!("\"param\":\"{}\"", "xapi_key=".repeat(500)),
    ] {
        let body = format!("{{\"error\":{{\"message\":\"{why}\",{noise}}}}}");
        let error = context_codec_kit::classify("anthropic", Some(400), &body);
        assert_eq!(
            (error.code, error.window, error.message.as_str()),
            (ContextOverflow, Some(6_000), why)
        );
    }
}

#[test]
fn an_error_shows_no_keys() {
    let body = r#"{"error":{"message":"bad key sk-ant-api03-AbCdEf123456 in Bearer abcdef.123456 and AIzaSyD1234567890 at ?key=12345678","code":"sk-123456789012"}}"#;
    let read = context_codec_kit::classify("anyone", Some(400), body);
    let made = ModelError::new("anyone", Code::Unknown, "key sk-ant-api03-AbCdEf123456");
    for shown in [read.to_string(), format!("{read:?}"), made.to_string()] {
        for secret in ["AbCdEf", "abcdef.1", "SyD123", "12345678"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    assert_eq!(made.to_string(), "anyone refused: unknown: key sk-…");
}

#[test]
fn a_wait_nobody_means_is_none() {
    for (body, wait) in [
        (r#"{"error":{"retry_after_ms":1500}}"#, Some(1_500)),
        (r#"{"error":{"retry_after":"2"}}"#, Some(2_000)),
        (r#"{"error":{"retry_after":1e30}}"#, None),
        (r#"{"error":{"retry_after":-1}}"#, None),
        ("Please try again in 6h0m0s.", Some(21_600_000)),
        ("Please try again in a while.", None),
    ] {
        let error = context_codec_kit::classify("anyone", Some(429), body);
        assert_eq!(error.retry_after, wait.map(Duration::from_millis), "{body}");
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_errors_are_understood() {
    let root = std::env::var_os("CONTEXT_TEST_DATA").filter(|folder| !folder.is_empty());
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared");
    let root = root
        .map_or_else(|| shared.into(), std::path::PathBuf::from)
        .join("data/vercel-ai-fixtures");
    let read = |provider, status, file: &str| {
        let body = std::fs::read_to_string(root.join(file)).expect("a recorded error");
        context_codec_kit::classify(provider, Some(status), &body)
    };
    let quota = read("gemini", 429, "google/google-429-retry-info.json");
    assert_eq!((quota.code, quota.retry_after), (RateLimit, Some(Duration::from_millis(34_400))));
    assert!(quota.retryable);
    assert_eq!(quota.provider_code.as_deref(), Some("RESOURCE_EXHAUSTED"));
    let refused =
        read("openai-responses", 400, "openai/responses/reasoning-model-temperature-error.json");
    assert_eq!((refused.code, refused.retryable), (InvalidRequest, false));
    assert_eq!(
        refused.message,
        "Unsupported parameter: 'temperature' is not supported with this model."
    );
}
