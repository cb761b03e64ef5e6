//! The parts that OpenAI's two APIs share: limits, errors and most error texts.

use context_codec_kit::provider_rules::{Rule, Violation};
use context_core::Json;
use serde_json::{Value, json};

use super::format::seconds;
use crate::provider::limits::Limits;
use crate::provider::refusal::Refusal;

pub(super) fn limits() -> Limits {
    Limits { request_bytes: Some(50 << 20), images: Some(500), ..Limits::default() }
}

/// An error of OpenAI.
pub(super) struct OpenAiError {
    status: u16,
    message: String,
    kind: &'static str,
    param: Option<String>,
    code: Option<&'static str>,
}

impl OpenAiError {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message, "invalid_request_error")
    }

    fn new(status: u16, message: impl Into<String>, kind: &'static str) -> Self {
        Self { status, message: message.into(), kind, param: None, code: None }
    }

    pub(super) fn about(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    pub(super) fn coded(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(super) fn write(self) -> (u16, String) {
        let error = json!({"message": self.message, "type": self.kind, "param": self.param, "code": self.code});
        (self.status, json!({ "error": error }).to_string())
    }
}

/// The HTML page of the proxy in front of the service, for a body that never reaches the service.
const TOO_LARGE: &str = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n\
                         <center><h1>413 Request Entity Too Large</h1></center>\r\n</body>\r\n</html>";

/// Returns the refusals with the same text in both APIs, `None` for the others.
pub(super) fn shared(refusal: &Refusal, model: &str) -> Option<(u16, String)> {
    let error = match refusal {
        Refusal::NoJson => OpenAiError::invalid(
            "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, but what was \
             sent was not valid JSON.",
        ),
        Refusal::Body { .. } => return Some((413, TOO_LARGE.to_owned())),
        Refusal::Images { most, .. } => {
            OpenAiError::invalid(format!("Too many images in request. Max is {most}."))
        }
        Refusal::ImageBytes { most, .. } => OpenAiError::invalid(format!(
            "You uploaded an unsupported image. Please make sure your image is below {} in size and is of one the \
             following formats: ['png', 'jpeg', 'gif', 'webp'].",
            size(*most)
        ))
        .coded("image_parse_error"),
        Refusal::ImagePixels { .. } => OpenAiError::invalid(
            "The image data you provided does not represent a valid image. Please check your input and try again \
             with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
        )
        .coded("image_parse_error"),
        Refusal::Rate { retry_after } => {
            let wait = retry_after.map(|wait| format!(" Please try again in {}.", seconds(wait)));
            let message = format!(
                "Rate limit reached for {model} in organization org-simulated on tokens per min (TPM): Limit 30000, \
                 Used 29000, Requested 1500.{}",
                wait.unwrap_or_default()
            );
            OpenAiError::new(429, message, "tokens").coded("rate_limit_exceeded")
        }
        Refusal::CachedContent | Refusal::Server => {
            let message = "The server had an error while processing your request. Sorry about that!";
            OpenAiError::new(500, message, "server_error")
        }
        Refusal::Overloaded => {
            let message = "The engine is currently overloaded, please try again later.";
            OpenAiError::new(503, message, "server_error")
        }
        _ => return None,
    };
    Some(error.write())
}

/// Returns the error for a broken rule, as far as both APIs share its text.
pub(super) fn rule(violation: &Violation) -> OpenAiError {
    let (path, message) = (violation.path.as_str(), violation.message.as_str());
    let error = match violation.rule {
        Rule::UnknownKey => {
            OpenAiError::invalid(format!("Unknown parameter: '{path}'.")).coded("unknown_parameter")
        }
        Rule::Missing => OpenAiError::invalid(format!("Missing required parameter: '{path}'."))
            .coded("missing_required_parameter"),
        Rule::Type => {
            OpenAiError::invalid(format!("Invalid type for '{path}': {message}.")).coded("invalid_type")
        }
        Rule::Empty if matches!(path, "messages" | "input") => OpenAiError::invalid(format!(
            "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
        ))
        .coded("empty_array"),
        Rule::Id | Rule::Name => OpenAiError::invalid(format!(
            "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        ))
        .coded("invalid_value"),
        _ => OpenAiError::invalid(format!("Invalid value for '{path}': {message}.")).coded("invalid_value"),
    };
    error.about(path)
}

/// Formats a number of bytes, in megabytes if it is a whole number of them.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MB", bytes >> 20),
        bytes => format!("{bytes} bytes"),
    }
}

/// Returns the arguments of a call, which are JSON in a string.
pub(super) fn arguments(input: &Json) -> Value {
    Value::String(input.as_str().to_owned())
}
