//! Decisions about refused requests, and that following them terminates.

use std::sync::Arc;

use context_conformance::histories::damaged;
use context_runtime::{
    CarryOutError, DecisionSet, Media, MediaSource, Message, Metadata, Part, Reasoning,
    RecoveryChain, RecoveryDecision as Decision, Role,
    compaction::{Attempt, Budget, DecisionKind, Failure, HistoryView, RecoveryPolicy},
    model::{ModelError, ModelErrorCode as Code, TokenCount, TokenCounter},
    raised_output, without_failed_answer,
};
use proptest::prelude::*;

/// Counts one token per byte of text.
#[derive(Debug)]
struct ByteCounter;

impl TokenCounter for ByteCounter {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }
}

fn image() -> Part {
    let source = MediaSource::Base64("AAAA".into());
    Part::Image(Media { source, media_type: None, name: None, metadata: Metadata::default() })
}

fn talk() -> Vec<Arc<Message>> {
    let turn = |n: usize| {
        [Message::from(format!("question {n}")), Message::text(Role::Assistant, "x".repeat(90))]
    };
    (0..10).flat_map(turn).map(Arc::new).collect()
}

fn said(status: u16, words: &str) -> ModelError {
    context_codec_kit::classify("anyone", Some(status), words)
}

/// A refused call and the attempts at it.
struct RefusedCall<'a> {
    error: &'a ModelError,
    messages: &'a [Arc<Message>],
    attempts: &'a [Attempt],
    compacted: bool,
}

impl<'a> RefusedCall<'a> {
    fn new(error: &'a ModelError) -> Self {
        Self { error, messages: &[], attempts: &[], compacted: false }
    }

    fn decision(&self, chain: &RecoveryChain) -> Decision {
        let view = HistoryView::new(self.messages, &ByteCounter);
        let mut failure = Failure::new(self.error, &view);
        failure.attempts = self.attempts;
        failure.has_attempted_compact = self.compacted;
        chain.decide(&failure)
    }

    /// Returns name and number of the decision.
    fn shown(&self, decisions: DecisionSet) -> String {
        match self.decision(&RecoveryChain::new(decisions)) {
            Decision::TruncateHeadAndRetry { keep_ratio, .. } => format!("truncate {keep_ratio}"),
            Decision::AdjustOutputAndRetry { max_output_tokens, lasting, .. } => {
                format!("output {max_output_tokens}{}", if lasting { ", lasting" } else { "" })
            }
            Decision::CompactAndRetry { window, max_output_tokens, .. } => {
                format!("compact {window:?} {max_output_tokens:?}")
            }
            other => other.kind().to_string(),
        }
    }
}

#[test]
fn under_the_first_contract_an_overflow_is_cut_once_and_images_go_once() {
    let overflow = said(400, "prompt is too long: 214676 tokens > 200000 maximum");
    let mut refused = RefusedCall::new(&overflow);
    assert_eq!(refused.shown(DecisionSet::Basic), "truncate 0.5");
    refused.compacted = true;
    assert_eq!(refused.shown(DecisionSet::Basic), "give_up");
    for (error, decision) in [
        (said(400, "image exceeds 5 MB maximum"), "strip_images_and_retry"),
        (said(413, "Request too large"), "give_up"),
        (
            said(
                400,
                "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
            ),
            "give_up",
        ),
        (said(429, "slow down"), "give_up"),
    ] {
        assert_eq!(RefusedCall::new(&error).shown(DecisionSet::Basic), decision, "{error}");
    }
}

#[test]
fn under_the_extended_contract_each_error_has_its_remedy() {
    for (status, words, decision) in [
        (400, "prompt is too long", "truncate 0.5"),
        (400, "prompt is too long: 214676 tokens > 200000 maximum", "compact Some(200000) None"),
        (
            400,
            "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000",
            "output 50000",
        ),
        (
            400,
            "input length and max_tokens exceed context limit: 195905 + 64000 > 200000",
            "compact Some(200000) Some(4096)",
        ),
        (
            400,
            "input length and max_tokens exceed context limit: 195904 + 64000 > 200000",
            "output 4096",
        ),
        (
            400,
            "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
            "output 8192, lasting",
        ),
        (400, "image exceeds 5 MB maximum", "strip_images_and_retry"),
        (
            400,
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "remove_thoughts_and_retry",
        ),
        (
            400,
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
            "repair_and_retry",
        ),
        (413, "Request too large", "truncate 0.5"),
        (400, "prompt is too long, and so is the image", "truncate 0.5"),
    ] {
        let error = said(status, words);
        assert_eq!(RefusedCall::new(&error).shown(DecisionSet::Full), decision, "{words}");
    }
}

#[test]
fn what_no_change_of_the_history_helps_is_given_up_with_its_code() {
    for (status, words) in
        [(401, "invalid api key"), (402, "no credits"), (429, "slow down"), (418, "what?")]
    {
        let error = said(status, words);
        for decisions in [DecisionSet::Basic, DecisionSet::Full] {
            let decision = RefusedCall::new(&error).decision(&RecoveryChain::new(decisions));
            assert!(
                !decision.retries() && decision.reason().contains(error.code.as_str()),
                "{decision:?}"
            );
        }
    }
}

#[test]
fn too_many_bytes_cost_media_first_and_then_the_beginning() {
    let error = said(413, "Request too large");
    let messages = [Arc::new(Message::new(Role::User, [Part::text("see"), image()]))];
    let mut refused = RefusedCall { messages: &messages, ..RefusedCall::new(&error) };
    assert_eq!(refused.shown(DecisionSet::Full), "strip_images_and_retry");
    let attempts =
        [Attempt::new(Decision::StripImagesAndRetry { reason: String::new() }, 1_600, 40)];
    refused.attempts = &attempts;
    assert_eq!(refused.shown(DecisionSet::Full), "truncate 0.5");
}

#[test]
fn what_was_tried_in_vain_is_not_tried_again() {
    let chain = RecoveryChain::new(DecisionSet::Full);
    for words in [
        "image exceeds 5 MB maximum",
        "Invalid `signature` in `thinking` block",
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
        "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
    ] {
        let error = said(400, words);
        let first = RefusedCall::new(&error).decision(&chain);
        let attempts = [Attempt::new(first, 100, 100)];
        let refused = RefusedCall { attempts: &attempts, ..RefusedCall::new(&error) };
        assert_eq!(refused.decision(&chain).kind().as_str(), "give_up", "{words}");
    }
    let overflow = said(400, "prompt is too long");
    let attempts = [Attempt::new(RefusedCall::new(&overflow).decision(&chain), 100, 100)];
    let refused = RefusedCall { attempts: &attempts, ..RefusedCall::new(&overflow) };
    assert_eq!(refused.shown(DecisionSet::Full), "truncate 0.25");
}

#[test]
fn a_smaller_answer_is_asked_for_only_if_that_is_less_than_was_asked() {
    let error =
        said(400, "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens");
    let view = HistoryView::new(&[], &ByteCounter);
    let mut failure = Failure::new(&error, &view);
    failure.budget = Some(Budget::new(200_000, 8_192));
    let chain = RecoveryChain::new(DecisionSet::Full);
    assert!(!chain.decide(&failure).retries());
    failure.budget = Some(Budget::new(200_000, 64_000));
    assert_eq!(chain.decide(&failure).kind().as_str(), "adjust_output_and_retry");
}

/// Gives up on every overflow.
#[derive(Debug)]
struct OverflowGiveUp;

impl RecoveryPolicy for OverflowGiveUp {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn decide(&self, failure: &Failure<'_>) -> Option<Decision> {
        (failure.error.code == Code::ContextOverflow).then(|| Decision::give_up("not here"))
    }
}

#[test]
fn policies_of_the_application_are_asked_first() {
    let chain = RecoveryChain::new(DecisionSet::Full).policy(OverflowGiveUp);
    let overflow = said(400, "prompt is too long");
    assert_eq!(RefusedCall::new(&overflow).decision(&chain), Decision::give_up("not here"));
    let picture = said(400, "image exceeds 5 MB maximum");
    assert_eq!(
        RefusedCall::new(&picture).decision(&chain).kind().as_str(),
        "strip_images_and_retry"
    );
}

/// Makes the same decision, whatever was tried.
#[derive(Debug)]
struct RepeatedDecision;

impl RecoveryPolicy for RepeatedDecision {
    fn name(&self) -> &'static str {
        "stubborn"
    }

    fn decide(&self, _: &Failure<'_>) -> Option<Decision> {
        Some(Decision::AdjustOutputAndRetry {
            max_output_tokens: 100,
            lasting: false,
            reason: "why not".into(),
        })
    }
}

#[test]
fn a_policy_that_repeats_itself_is_passed_over() {
    let chain = RecoveryChain::new(DecisionSet::Full).policy(RepeatedDecision);
    let error = said(400, "prompt is too long");
    let attempts = [Attempt::new(RefusedCall::new(&error).decision(&chain), 100, 100)];
    let refused = RefusedCall { attempts: &attempts, ..RefusedCall::new(&error) };
    assert_eq!(refused.decision(&chain).kind().as_str(), "truncate_head_and_retry");
}

fn recovered(error: &ModelError, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let view = HistoryView::new(messages, &ByteCounter);
    let chain = RecoveryChain::new(DecisionSet::Full);
    chain
        .recover(&Failure::new(error, &view))
        .carried
        .expect("something to do")
        .rewrite
        .messages
        .into()
}

#[test]
fn thoughts_go_and_what_was_said_stays() {
    let thought =
        Reasoning { text: "hm".into(), signature: Some("stale".into()), ..Reasoning::default() };
    let messages = [
        Message::from("hello"),
        Message::new(Role::Assistant, [Part::Reasoning(thought.clone()), Part::text("hi")]),
        Message::new(Role::Assistant, [Part::Reasoning(thought)]),
    ]
    .map(Arc::new);
    let sent = recovered(&said(400, "Invalid `signature` in `thinking` block"), &messages);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].parts, [Part::text("hi")]);
    assert!(Arc::ptr_eq(&sent[0], &messages[0]));
}

#[test]
fn pairs_are_repaired_without_the_one_that_was_named() {
    let pair = |id: &str| {
        let call = Part::tool_call(id, "look", serde_json::json!({}));
        [
            Message::new(Role::Assistant, [call]),
            Message::new(Role::Tool, [Part::tool_result(id, "seen")]),
        ]
    };
    let messages: Vec<_> =
        [vec![Message::from("go")], pair("toolu_1").into(), pair("toolu_2").into()]
            .concat()
            .into_iter()
            .map(Arc::new)
            .collect();
    let words = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.";
    let sent = recovered(&said(400, words), &messages);
    assert_eq!(sent, [&messages[0], &messages[3], &messages[4]].map(Arc::clone));
    let dangling = &messages[..2];
    assert_eq!(recovered(&said(400, "tool_use ids must be unique"), dangling), messages[..1]);
}

#[test]
fn a_decision_that_would_change_nothing_is_not_sent() {
    let error = said(400, "Invalid `signature` in `thinking` block");
    let messages = talk();
    let view = HistoryView::new(&messages, &ByteCounter);
    let chain = RecoveryChain::new(DecisionSet::Full);
    let failure = Failure::new(&error, &view);
    let decision = chain.decide(&failure);
    assert!(matches!(chain.carry_out(&decision, &failure), Err(CarryOutError::Nothing { .. })));
    let recovered = chain.recover(&failure);
    assert!(!recovered.decision.retries() && recovered.carried.is_none());
    assert_eq!(recovered.in_vain, [Attempt::new(decision, view.total(), view.total())]);
}

#[test]
fn what_needs_a_model_or_the_loop_is_theirs() {
    let error = said(400, "prompt is too long: 214676 tokens > 200000 maximum");
    let messages = talk();
    let view = HistoryView::new(&messages, &ByteCounter);
    let failure = Failure::new(&error, &view);
    let chain = RecoveryChain::new(DecisionSet::Full);
    let decision = chain.decide(&failure);
    let expected = CarryOutError::NotHere { decision: DecisionKind::CompactAndRetry };
    assert_eq!(chain.carry_out(&decision, &failure), Err(expected));
    assert_eq!(chain.recover(&failure).decision, decision);
}

#[test]
fn a_failed_answer_goes_with_its_results() {
    let call =
        Message::new(Role::Assistant, [Part::tool_call("c1", "look", serde_json::json!({}))]);
    let result = Message::new(Role::Tool, [Part::tool_result("c1", "interrupted")]);
    let messages = [Message::from("q"), call, result].map(Arc::new);
    assert_eq!(without_failed_answer(&messages), &messages[..1]);
    assert_eq!(without_failed_answer(&messages[..2]), &messages[..1]);
    assert_eq!(without_failed_answer(&messages[..1]), &messages[..1]);
    assert!(without_failed_answer(&[]).is_empty());
}

#[test]
fn an_answer_that_broke_off_may_be_longer_up_to_what_the_model_writes() {
    assert_eq!(raised_output(Some(4_000), Some(6_000)), Some(6_000));
    assert_eq!(raised_output(None, Some(6_000)), None);
    assert_eq!(raised_output(Some(u64::MAX), None), None);
}

fn refusals() -> impl Strategy<Value = ModelError> {
    let words = prop::sample::select(vec![
        (400, "prompt is too long"),
        (400, "prompt is too long: 214676 tokens > 200000 maximum"),
        (400, "input length and max_tokens exceed context limit: 195905 + 64000 > 200000"),
        (400, "input length and max_tokens exceed context limit: 150000 + 64000 > 200000"),
        (400, "input length and max_tokens exceed context limit: 160000 + 64000 > 200000"),
        (400, "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens"),
        (400, "image exceeds 5 MB maximum"),
        (400, "too many images: at most 1 images per request"),
        (400, "Invalid `signature` in `thinking` block"),
        (400, "tool_use ids must be unique"),
        (413, "Request too large"),
        (429, "Request too large for gpt-4o: Limit 30000, Requested 40000 tokens per min"),
        (500, "boom"),
    ]);
    words.prop_map(|(status, words)| said(status, words))
}

/// Whether a decision is one that is tried once per call.
fn is_done_once(decision: &Decision) -> bool {
    matches!(
        decision,
        Decision::StripImagesAndRetry { .. }
            | Decision::RemoveThoughtsAndRetry { .. }
            | Decision::RepairAndRetry { .. }
            | Decision::CompactAndRetry { .. }
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// Regression: a provider that refused everything was asked two hundred times, until somebody
    /// stopped the program.
    #[test]
    fn whoever_follows_decisions_blindly_comes_to_an_end(
        (history, _) in damaged(),
        refusals in prop::collection::vec(refusals(), 12),
        limit in 0_usize..8,
        seed in any::<bool>(),
    ) {
        let decisions = if seed { DecisionSet::Basic } else { DecisionSet::Full };
        let chain = RecoveryChain::new(decisions).limit(limit);
        let (mut messages, mut attempts, mut requests) = (history, Vec::new(), 0);
        for error in refusals.iter().cycle() {
            requests += 1;
            prop_assert!(requests <= limit + 1);
            let view = HistoryView::new(&messages, &ByteCounter);
            let mut failure = Failure::new(error, &view);
            failure.attempts = &attempts;
            let recovered = chain.recover(&failure);
            let mut tried = attempts.clone();
            tried.extend(recovered.in_vain.iter().cloned());
            let decision = recovered.decision;
            if !decision.retries() {
                prop_assert!(decision.reason().contains(error.code.as_str()));
                break;
            }
            if is_done_once(&decision) {
                prop_assert!(tried.iter()
                    .all(|attempt| attempt.decision.kind() != decision.kind()));
            }
            let attempt = match recovered.carried {
                Some(carried) => {
                    prop_assert!(carried.after < carried.before || is_done_once(&decision));
                    prop_assert_ne!(&carried.rewrite.messages, &messages);
                    let attempt = carried.attempt(decision);
                    messages = carried.rewrite.messages.into();
                    attempt
                }
                // A loop that cannot compact.
                None => Attempt::new(decision, view.total(), view.total()),
            };
            tried.push(attempt);
            attempts = tried;
        }
    }
}
