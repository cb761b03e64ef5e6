//! Classification of the errors that a provider returns in place of an answer.

mod body;
mod codes;
mod duration;
mod numbers;
mod pattern;
mod refusal;
mod wording;

use context_core::ModelError;
use context_core::base::secrets;
use context_core::model::ModelErrorCode;

/// Maximum length of the shown provider message, in characters.
const LONGEST_MESSAGE: usize = 500;
/// Maximum length of the shown provider code, in characters.
const LONGEST_CODE: usize = 100;

/// Classifies an error from an HTTP status and a body of a provider or of a proxy in front of
/// it, or from the message of a failed connection.
///
/// Any body is accepted: JSON of any provider, even truncated or wrapped into strings by
/// proxies, HTML pages, plain text. Of a long body the first 48 KiB and the last 16 KiB are
/// examined. API keys that a provider repeats are masked.
///
/// ```
/// use context_codec_kit::classify;
/// use context_core::model::ModelErrorCode;
///
/// let body = r#"{"type":"error","error":{"type":"invalid_request_error",
///     "message":"prompt is too long: 214676 tokens > 200000 maximum"}}"#;
/// let error = classify("anthropic", Some(400), body);
/// assert_eq!(error.code, ModelErrorCode::ContextOverflow);
/// assert_eq!((error.input_tokens, error.window), (Some(214_676), Some(200_000)));
/// assert!(error.helped_by_compaction && !error.retryable);
/// ```
pub fn classify(provider: &str, status: Option<u16>, body: &str) -> ModelError {
    let body = body::Body::read(body);
    let words = pattern::fold(&body.words);
    // A stream starts with status 200 before it fails. The body has the real status then.
    let actual_status =
        status.filter(|status| *status >= 400).or(body.status).or_else(|| status_in_text(&words));
    let verdict = wording::classify(&body, &words, actual_status);
    let message = shortened(&secrets::mask(&body.message), LONGEST_MESSAGE);
    let mut error = ModelError::new(provider, verdict.code, message);
    error.status = status;
    error.provider_code =
        verdict.provider_code.map(|code| shortened(&secrets::mask(&code), LONGEST_CODE));
    numbers::read(&mut error, &words, &body);
    (error.refuses_thoughts, error.refuses_pairs) = refusal::of(error.code, &words);
    error.judge();
    if verdict.above_rate {
        error.retryable = false;
        error.helped_by_compaction = true;
    }
    // An invalid certificate stays invalid, so a retry does not help.
    if error.code == ModelErrorCode::Network && pattern::occurs(&words, "certificate") {
        error.retryable = false;
    }
    // A conflict is temporary.
    error.retryable |= actual_status == Some(409);
    error
}

/// Parses a status that occurs only in the text, as in the message of a failed call.
fn status_in_text(words: &str) -> Option<u16> {
    const FRONTS: [&str; 6] = [
        "error code: #",
        "status code: #",
        "status code #",
        "http status #",
        "http #",
        "http/1.1 #",
    ];
    let start = words.trim_start();
    let first = start.split(' ').next().and_then(|word| word.trim_end_matches(':').parse().ok());
    let labelled =
        FRONTS.iter().find_map(|front| pattern::captures(words, front)?.first().copied());
    first
        .or(labelled)
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (400..600).contains(status))
}

/// Joins the words into one line and truncates it to this many characters.
fn shortened(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    if let Some((end, _)) = out.char_indices().nth(longest) {
        out.truncate(end);
        out.push('…');
    }
    out
}
