//! Group `normalize_error`: classifying a body and a status.
//!
//! The recorded codes are an open set and ours are closed, so they are compared through a table.
//! Two kinds are not in the table. One is the provider's own code passed through, which our error
//! must report as the provider's and still classify. The other is `provider_error` for errors that
//! were not understood, where our classification may be more specific if the facts agree.

use context_runtime::model::ModelErrorCode as Code;
use context_runtime::{FragmentData, model::ModelError};

use super::history::shown;
use super::{Case, json};
use crate::encoding::{entry, flag, text};
use crate::judge::{Difference, Outcome};

/// Recorded codes and ours.
pub(super) const CODES: [(&str, &[Code]); 24] = [
    ("prompt_too_long", &[Code::ContextOverflow]),
    ("context_overflow", &[Code::ContextOverflow]),
    ("request_too_large", &[Code::RequestTooLarge]),
    ("payload_too_large", &[Code::RequestTooLarge]),
    ("max_output_reached", &[Code::OutputTooLarge]),
    ("rate_limit_error", &[Code::RateLimit]),
    ("auth_error", &[Code::Authentication]),
    ("authentication_error", &[Code::Authentication]),
    ("permission_error", &[Code::Authentication]),
    // Recorded for every status from 500 on. Our codes distinguish three kinds of them.
    ("server_error", &[Code::Server, Code::Overloaded, Code::Timeout]),
    ("api_error", &[Code::Server]),
    ("timeout", &[Code::Timeout]),
    ("overloaded_error", &[Code::Overloaded]),
    ("invalid_request", &[Code::InvalidRequest]),
    ("invalid_request_error", &[Code::InvalidRequest]),
    ("billing", &[Code::Billing]),
    ("model_not_found", &[Code::ModelNotFound]),
    ("image_too_large", &[Code::Image]),
    ("dns_error", &[Code::Network]),
    ("connection_reset", &[Code::Network]),
    ("connection_refused", &[Code::Network]),
    ("tls_error", &[Code::Network]),
    ("proxy_error", &[Code::Network]),
    ("unknown", &[Code::Unknown]),
];

/// Fields with advice for a user interface, or that repeat the input.
const BESIDE: [&str; 8] = [
    "message",
    "provider",
    "protocol",
    "model",
    "raw",
    "userHint",
    "settingsFix",
    "streamInterruption",
];

pub(super) fn judge(case: &Case) -> Outcome {
    let input = case.input();
    let provider = match text(input, "protocol") {
        Some("google") => "gemini",
        Some(protocol) => protocol,
        None => "unknown",
    };
    let status = entry(input, "status").and_then(|status| json(status).as_u64());
    let body = match entry(input, "error") {
        Some(FragmentData::Text(text)) => text.to_string(),
        Some(body) => json(body).to_string(),
        None => return Outcome::Skipped("no error is given".to_owned()),
    };
    let ours = context_codec_kit::classify(
        provider,
        status.and_then(|status| u16::try_from(status).ok()),
        &body,
    );
    let checked =
        if case.is_suspect() { sound(case, &ours, &body) } else { equal(case, &ours, &body) };
    Outcome::of(
        checked.map_err(|fault| Difference::new(fault, shown(case.output()), format!("{ours:#?}"))),
    )
}

fn equal(case: &Case, ours: &ModelError, body: &str) -> Result<String, &'static str> {
    let expected = case.output();
    let rule = code(text(expected, "code").unwrap_or_default(), ours, body)?;
    let number = |key: &str| entry(expected, key).and_then(|number| json(number).as_u64());
    check(number("status") == ours.status.map(u64::from), "the same status")?;
    check(
        flag(expected, "retryable") == ours.retryable,
        "the same answer to whether to try again",
    )?;
    // The recorded flags say what that system will do, ours what would help. A request with too
    // many bytes is helped by both, and one with too little room for its answer by a shorter
    // history.
    let bytes = ours.code == Code::RequestTooLarge;
    let room = ours.available_output_tokens.is_some();
    let compact = flag(expected, "recoverableViaCompact");
    check(
        compact == ours.helped_by_compaction || (!compact && (bytes || room)),
        "the same help by compaction",
    )?;
    let strip = flag(expected, "recoverableViaImageStrip");
    let image = ours.code == Code::Image && text(expected, "code") == Some("image_too_large");
    check(
        strip == ours.helped_by_fewer_images || (!strip && (bytes || image)),
        "the same help by fewer images",
    )?;
    let wait = ours.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    let numbers = [
        ("maxContextTokens", ours.window),
        ("maxOutputTokens", ours.max_output_tokens),
        ("availableOutputTokens", ours.available_output_tokens),
        ("retryAfterMs", wait),
    ];
    for (key, ours) in numbers {
        match (number(key), ours) {
            (Some(expected), ours) => check(Some(expected) == ours, "the same numbers")?,
            // More than was recorded, but only numbers from the body.
            (None, Some(ours)) => {
                check(told(body, ours) || key == "retryAfterMs", "no numbers that nobody told")?
            }
            (None, None) => {}
        }
    }
    let FragmentData::Map(map) = expected else { return Err("an error") };
    let known = |key: &str| {
        let judged =
            ["code", "status", "retryable", "recoverableViaCompact", "recoverableViaImageStrip"];
        judged.contains(&key)
            || BESIDE.contains(&key)
            || numbers.iter().any(|(number, _)| *number == key)
    };
    check(map.iter().all(|(key, _)| known(key)), "no facts that are not judged")?;
    Ok(format!("{rule}, same status, flags and numbers"))
}

fn code(expected: &str, ours: &ModelError, body: &str) -> Result<&'static str, &'static str> {
    if let Some((_, codes)) = CODES.iter().find(|(code, _)| *code == expected) {
        return check(codes.contains(&ours.code), "the code of the table")
            .map(|()| "code of the table");
    }
    let understood = ours.code != Code::Unknown;
    if expected == "provider_error" {
        return check(understood, "an understood code")
            .map(|()| "understood where the peer did not");
    }
    check(body.contains(expected), "a code of the table or of the provider")?;
    check(ours.provider_code.as_deref() == Some(expected), "the provider's code")?;
    check(understood, "an understood code").map(|()| "the provider's code, understood")
}

/// Checks that the code is canonical, that only temporary errors are retried, that an overflow is
/// helped by compaction, and that a limit in the message is extracted.
fn sound(case: &Case, ours: &ModelError, body: &str) -> Result<String, &'static str> {
    check(ours.code != Code::Unknown, "a canonical code")?;
    let passes = matches!(
        ours.code,
        Code::RateLimit | Code::Overloaded | Code::Server | Code::Timeout | Code::Network
    );
    check(passes || !ours.retryable, "what stays is not tried again")?;
    let overflow = flag(case.output(), "recoverableViaCompact");
    check(!overflow || ours.code == Code::ContextOverflow, "an overflow that the peer saw")?;
    check(
        ours.code != Code::ContextOverflow || ours.helped_by_compaction,
        "an overflow is helped by compaction",
    )?;
    check(
        ours.code != Code::Image || ours.helped_by_fewer_images,
        "an image is helped by fewer images",
    )?;
    let limits = [
        ours.window,
        ours.max_output_tokens,
        ours.available_output_tokens,
        ours.images.count,
        ours.images.bytes,
        ours.images.pixels,
    ];
    let sized = matches!(ours.code, Code::ContextOverflow | Code::OutputTooLarge | Code::Image);
    let numbered = numbers(&ours.message).iter().any(|number| *number >= 1_000);
    check(!(sized && numbered) || limits.iter().any(Option::is_some), "the limit that is told")?;
    check(limits.iter().flatten().all(|limit| told(body, *limit)), "no numbers that nobody told")?;
    Ok(format!("sound: {}, limits parsed, not tried again unless it passes", ours.code))
}

fn check(holds: bool, rule: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(rule) }
}

/// Whether a body contains a number, or two numbers with this difference, where the end of a range
/// counts one more.
fn told(body: &str, number: u64) -> bool {
    let numbers = numbers(body);
    let thousands = |all: u64| {
        all.checked_mul(1_000) == Some(number) || all.checked_mul(1 << 20) == Some(number)
    };
    let direct = |told: &u64| *told == number || *told == number + 1 || thousands(*told);
    numbers.iter().any(direct)
        || numbers
            .iter()
            .any(|from| numbers.iter().any(|less| from.checked_sub(*less) == Some(number)))
}

/// Returns the whole numbers in a text.
fn numbers(text: &str) -> Vec<u64> {
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | '_')).collect();
    plain.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}
