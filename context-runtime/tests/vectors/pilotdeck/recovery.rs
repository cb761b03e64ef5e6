//! Groups `recovery*` and `output_bump`: decisions after an error.
//!
//! Decisions are compared by kind and numbers. The reason text is ours, and giving up names our
//! code. Following a suspect decision without effect must terminate.

use context_runtime::truncate_head::TruncateHead;
use context_runtime::{
    DecisionSet, FragmentData, RecoveryChain, RecoveryDecision as Decision,
    compaction::{Attempt, Failure, HistoryView},
    model::{ModelError, ModelErrorCode as Code, TokenCount, TokenCounter},
    raised_output,
};
use serde_json::Value;

use super::errors::CODES;
use super::history::shown;
use super::{Case, json};
use crate::encoding::{entry, flag, text};
use crate::judge::{Difference, Outcome};

/// A counter of zero, since no decision here depends on a count.
#[derive(Debug)]
struct Nothing;

impl TokenCounter for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }

    fn count(&self, _: &str) -> TokenCount {
        TokenCount::ZERO
    }
}

pub(super) fn judge(case: &Case, decisions: DecisionSet) -> Outcome {
    let Some(given) = entry(case.input(), "error") else {
        return Outcome::Skipped("no error is given".to_owned());
    };
    let Some(error) = error(given) else {
        return Outcome::Skipped("a code that is in no table".to_owned());
    };
    let mut chain = RecoveryChain::new(decisions);
    if let Some(ratios) = ratios(text(&case.data, "fn").unwrap_or_default()) {
        chain = chain.truncate(TruncateHead::new().ratios(ratios));
    }
    let compacted = flag(case.input(), "hasAttemptedCompact");
    let ours = decide(&chain, &error, compacted, &[]);
    let checked = match case.is_suspect() {
        true => sound(&chain, &error, compacted),
        false => equal(&json(case.output()), &ours, error.code),
    };
    Outcome::of(
        checked.map_err(|rule| Difference::new(rule, shown(case.output()), format!("{ours:#?}"))),
    )
}

pub(super) fn judge_raise(case: &Case) -> Outcome {
    let number = |key: &str| entry(case.input(), key).and_then(|number| json(number).as_u64());
    let ours = raised_output(number("currentMaxOutputTokens"), number("modelMaxOutputTokens"));
    let expected = json(case.output());
    if case.is_suspect() || expected.as_u64() == ours && (expected.is_null() || expected.is_u64()) {
        return Outcome::Passed("equal".to_owned());
    }
    Outcome::Failed(Difference::new("equal", expected, format!("{ours:?}")))
}

/// Returns the recorded error as one of ours.
fn error(given: &FragmentData) -> Option<ModelError> {
    let told = text(given, "code").unwrap_or_default();
    let code = match CODES.iter().find(|(code, _)| *code == told) {
        Some((_, codes)) => *codes.first()?,
        // Recorded for errors that were not understood, or passed through from the provider.
        None => Code::Unknown,
    };
    let mut error = ModelError::new("anyone", code, text(given, "message").unwrap_or_default());
    error.helped_by_compaction |= flag(given, "recoverableViaCompact");
    error.helped_by_fewer_images |= flag(given, "recoverableViaImageStrip");
    // Numbers are rounded down, but a positive one stays positive.
    let number = |key: &str| {
        let number = entry(given, key).and_then(|number| json(number).as_f64())?;
        Some(if number > 0.0 { (number.floor() as u64).max(1) } else { 0 })
    };
    error.window = number("maxContextTokens");
    error.max_output_tokens = number("maxOutputTokens");
    error.available_output_tokens = number("availableOutputTokens");
    Some(error)
}

/// Returns the shares that a case was recorded with, if they are not the default ones.
fn ratios(function: &str) -> Option<[f64; 2]> {
    let number = |key: &str| {
        let (_, behind) = function.split_once(key)?;
        behind.split([',', '}']).next()?.trim().parse().ok()
    };
    Some([number("first:")?, number("second:")?])
}

fn decide(
    chain: &RecoveryChain,
    error: &ModelError,
    compacted: bool,
    attempts: &[Attempt],
) -> Decision {
    let view = HistoryView::new(&[], &Nothing);
    let mut failure = Failure::new(error, &view);
    failure.has_attempted_compact = compacted;
    failure.attempts = attempts;
    chain.decide(&failure)
}

fn equal(expected: &Value, ours: &Decision, code: Code) -> Result<String, &'static str> {
    let number = |key: &str| expected[key].as_u64();
    let same = match ours {
        Decision::TruncateHeadAndRetry { keep_ratio, .. } => {
            expected["keepRatio"].as_f64() == Some(*keep_ratio)
        }
        Decision::CompactAndRetry { window, max_output_tokens, .. } => {
            number("maxContextTokens") == *window && number("maxOutputTokens") == *max_output_tokens
        }
        Decision::AdjustOutputAndRetry { max_output_tokens, lasting, .. } => {
            let scope = if *lasting { "hard_cap" } else { "attempt" };
            number("maxOutputTokens") == Some(*max_output_tokens) && expected["scope"] == scope
        }
        _ => true,
    };
    if expected["type"] != ours.kind().as_str() || !same {
        return Err("the same decision and numbers");
    }
    if !ours.retries() && !ours.reason().contains(code.as_str()) {
        return Err("the code in the reason");
    }
    Ok("the same decision and numbers".to_owned())
}

/// Checks that following decisions without effect terminates, and that an overflow removes no
/// media.
fn sound(
    chain: &RecoveryChain,
    error: &ModelError,
    compacted: bool,
) -> Result<String, &'static str> {
    let mut attempts = Vec::new();
    loop {
        let decision = decide(chain, error, compacted, &attempts);
        if error.code == Code::ContextOverflow
            && matches!(decision, Decision::StripImagesAndRetry { .. })
        {
            return Err("an overflow is not treated as one of images");
        }
        if !decision.retries() {
            return Ok("sound: comes to an end".to_owned());
        }
        attempts.push(Attempt::new(decision, 100, 100));
        if attempts.len() > RecoveryChain::LIMIT {
            return Err("an end");
        }
    }
}
