//! The decision tables.

use context_core::history::RecoveryPolicy;
use context_core::history::{Attempt, DecisionKind, Failure, RecoveryDecision as Decision};
use context_core::model::ModelErrorCode as Code;

use super::{DecisionSet, RecoveryChain};

pub(super) fn decide(chain: &RecoveryChain, failure: &Failure<'_>) -> Decision {
    let code = failure.error.code;
    let tries = failure.attempts.len();
    if tries >= chain.limit {
        return match failure.partial {
            Some(_) => accept_partial(failure),
            None => Decision::give_up(format!("{code}: given up after {tries} attempts")),
        };
    }
    let is_new =
        |decision: &Decision| !failure.attempts.iter().any(|attempt| repeats(attempt, decision));
    let theirs = chain.policies.iter().find_map(|policy| policy.decide(failure).filter(is_new));
    let ours =
        || steps(chain.decisions).iter().find_map(|step| step(chain, failure).filter(is_new));
    theirs.or_else(ours).unwrap_or_else(|| match tries {
        0 if failure.has_attempted_compact => {
            Decision::give_up(format!("{code}: compacted before, refused again"))
        }
        0 => Decision::give_up(format!("{code}: no change of the history would help")),
        1 => Decision::give_up(format!("{code}: nothing is left to try after 1 attempt")),
        _ => Decision::give_up(format!("{code}: nothing is left to try after {tries} attempts")),
    })
}

/// Whether an unsuccessful attempt already covers a decision: the same decision, or a stronger one.
fn repeats(attempt: &Attempt, decision: &Decision) -> bool {
    !attempt.helped()
        && match (&attempt.decision, decision) {
            (
                Decision::TruncateHeadAndRetry { keep_ratio: tried, .. },
                Decision::TruncateHeadAndRetry { keep_ratio, .. },
            ) => keep_ratio >= tried,
            (
                Decision::AdjustOutputAndRetry { max_output_tokens: tried, .. },
                Decision::AdjustOutputAndRetry { max_output_tokens, .. },
            ) => max_output_tokens >= tried,
            // A connection that broke once may hold the next time.
            (Decision::RetryUnchanged { .. }, _) => false,
            (tried, decision) => decision.retries() && tried.kind() == decision.kind(),
        }
}

type Step = fn(&RecoveryChain, &Failure<'_>) -> Option<Decision>;

fn steps(decisions: DecisionSet) -> &'static [Step] {
    match decisions {
        DecisionSet::Basic => &[basic_strip, basic_cut],
        DecisionSet::Full => &[broken_off, strip, output, thoughts, pairs, compact, cut],
    }
}

fn basic_strip(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    // With the basic decisions, a request with too many bytes has no remedy of its own.
    (failure.error.code != Code::RequestTooLarge).then(|| strip(chain, failure)).flatten()
}

fn basic_cut(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    let error = failure.error;
    let overflow = error.code == Code::ContextOverflow
        || (error.helped_by_compaction
            && !matches!(error.code, Code::RequestTooLarge | Code::OutputTooLarge));
    (overflow && !failure.attempted()).then(|| deeper(chain, failure)).flatten()
}

/// Decides to request an answer again that broke off, and to accept a part of it if that did not
/// help.
fn broken_off(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    failure.partial?;
    let reason = format!("{}: the answer broke off", failure.error.code);
    Some(match failure.tried(DecisionKind::RetryUnchanged) < chain.broken_retries {
        true => Decision::RetryUnchanged { reason },
        false => accept_partial(failure),
    })
}

fn accept_partial(failure: &Failure<'_>) -> Decision {
    let tries = failure.attempts.len();
    let reason = format!("{}: the answer broke off, after {tries} attempts", failure.error.code);
    Decision::AcceptPartial { reason }
}

fn strip(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    chain.strip.decide(failure)
}

/// Decides to request a smaller answer, if there is room for a useful one, or if the model has a
/// lower output limit.
fn output(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    let error = failure.error;
    let (tokens, lasting) = match error.available_output_tokens.filter(|available| *available > 0) {
        Some(available) => {
            (Some(available).filter(|available| *available >= chain.least_output), false)
        }
        None => (error.max_output_tokens.filter(|most| *most > 0), true),
    };
    let max_output_tokens = tokens?;
    let is_less = |decision: &Decision| match decision {
        Decision::AdjustOutputAndRetry { max_output_tokens: tried, .. } => {
            max_output_tokens < *tried
        }
        _ => true,
    };
    let asked = failure.budget.map(|budget| budget.reserve).filter(|reserve| *reserve > 0);
    let is_less = asked.is_none_or(|asked| max_output_tokens < asked)
        && failure.attempts.iter().all(|attempt| is_less(&attempt.decision));
    let limit =
        if lasting { "the model cannot write more" } else { "the window has no room for more" };
    let reason = format!("{}: {limit} than {max_output_tokens} tokens", error.code);
    is_less.then_some(Decision::AdjustOutputAndRetry { max_output_tokens, lasting, reason })
}

fn thoughts(_: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    let wanted =
        failure.error.refuses_thoughts && failure.tried(DecisionKind::RemoveThoughtsAndRetry) == 0;
    let reason = || format!("{}: thoughts of the model are refused", failure.error.code);
    wanted.then(|| Decision::RemoveThoughtsAndRetry { reason: reason() })
}

fn pairs(_: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    let wanted = failure.error.refuses_pairs && failure.tried(DecisionKind::RepairAndRetry) == 0;
    let reason = || format!("{}: calls and results are refused", failure.error.code);
    wanted.then(|| Decision::RepairAndRetry { reason: reason() })
}

/// Decides to compact, if the provider named the available room and no compaction was tried.
fn compact(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    let error = failure.error;
    let window = error.window.filter(|window| *window > 0);
    let decision = if has_no_room(chain, failure) {
        let reason = format!("{}: the window has no room for an answer", error.code);
        Decision::CompactAndRetry { window, max_output_tokens: Some(chain.least_output), reason }
    } else {
        let named =
            window.filter(|_| error.helped_by_compaction && error.code != Code::RequestTooLarge)?;
        let reason = format!("{}: the window has {named} tokens", error.code);
        Decision::CompactAndRetry { window, max_output_tokens: None, reason }
    };
    (!failure.attempted()).then_some(decision)
}

fn cut(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    let wanted = failure.error.helped_by_compaction || has_no_room(chain, failure);
    wanted.then(|| deeper(chain, failure)).flatten()
}

/// Whether the history leaves too little room for an answer.
fn has_no_room(chain: &RecoveryChain, failure: &Failure<'_>) -> bool {
    let available = failure.error.available_output_tokens;
    available.is_some_and(|available| available > 0 && available < chain.least_output)
}

fn deeper(chain: &RecoveryChain, failure: &Failure<'_>) -> Option<Decision> {
    chain.truncate.deeper(failure)
}
