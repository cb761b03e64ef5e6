//! Recovery from refusals, against the simulated provider.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_runtime::tokens::ModelCounter;
use context_runtime::{
    CallError, ContextRuntime, Media, MediaSource, Message, Metadata, ModelCall, Part,
    PrepareInput, RecoveryDecision, RecoveryInput, model::ModelErrorCode, provider,
};
use context_simulator::{ProviderFault, Script, Simulator};
use tokio::time::Instant;

use super::models::{ScriptedModel, broken, cut_off, error, nothing, says};
use super::runtimes::{NoRecoveryRuntime, runtime};
use super::{has_both_requests, history, input};

const PROVIDERS: [&str; 4] = ["openai", "openai-responses", "anthropic", "gemini"];

fn simulator(name: &str) -> Simulator {
    Simulator::new(provider(name).unwrap(), Arc::new(ModelCounter::for_model("gpt-4o")))
}

fn decisions(call: &ModelCall<'_>) -> Vec<&'static str> {
    call.attempts().iter().map(|attempt| attempt.decision.kind().as_str()).collect()
}

/// The history has grown beyond a window that only the provider knows.
#[tokio::test]
async fn an_overflow_is_cut_until_it_fits_and_the_cut_is_told() {
    for name in PROVIDERS {
        let (runtime, history) = (runtime(), history(60));
        let simulator = simulator(name).window(12_000);
        let mut call = ModelCall::new(
            &runtime,
            provider(name).unwrap(),
            input(name, &history).max_output_tokens(1_000),
        );
        let answer = call.run(&simulator).await.unwrap();
        assert!(!answer.message.plain_text().is_empty());
        let log = simulator.log();
        assert!(log.len() >= 2 && log.len() <= 4, "{name}: {log:?}");
        assert_eq!(log[0].refused, Some(ModelErrorCode::ContextOverflow), "{name}");
        assert!(
            call.attempts().iter().any(|attempt| attempt.helped()),
            "{name}: {:?}",
            call.attempts()
        );
        let kept = call.rewrite().unwrap();
        assert!(
            has_both_requests(&kept.messages, &history) && kept.messages.len() < history.len(),
            "{name}"
        );
        for (message, origin) in kept.messages.iter().zip(&kept.origins) {
            assert!(origin.is_none_or(|at| history[at].role == message.role));
        }
        // The kept history is the start of the next call and is not refused again.
        let mut next = ModelCall::new(
            &runtime,
            provider(name).unwrap(),
            input(name, &kept.messages).max_output_tokens(1_000),
        );
        let _answer = next.run(&simulator).await.unwrap();
        assert_eq!(next.calls(), 1, "{name}");
    }
}

/// Regression: a provider that answered every request with an overflow was asked endlessly.
#[tokio::test]
async fn an_overflow_that_never_ends_is_given_up_with_the_error() {
    let script: Script = std::iter::repeat_n(ProviderFault::Overflow, 100).collect();
    let simulator = simulator("anthropic").script(script);
    let runtime = runtime();
    let mut call =
        ModelCall::new(&runtime, provider("anthropic").unwrap(), input("anthropic", &history(20)));
    let failed = call.run(&simulator).await.unwrap_err();
    assert_eq!(failed.model_error().unwrap().code, ModelErrorCode::ContextOverflow, "{failed}");
    assert!(simulator.log().len() <= 5, "{}", simulator.log().len());
    let over = call.run(&simulator).await.unwrap_err();
    assert!(matches!(over, CallError::Runtime(_)), "{over}");
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_left_alone_as_long_as_it_says() {
    let wait = Some(Duration::from_secs(7));
    let script = Script::from([
        ProviderFault::RateLimit { retry_after: wait },
        ProviderFault::Overloaded,
        ProviderFault::Server,
    ]);
    let simulator = simulator("anthropic").script(script);
    let (runtime, began) = (runtime(), Instant::now());
    let mut call =
        ModelCall::new(&runtime, provider("anthropic").unwrap(), input("anthropic", &history(2)));
    let _answer = call.run(&simulator).await.unwrap();
    // Seven as the provider says, then two and four.
    assert_eq!(began.elapsed().as_secs(), 7 + 2 + 4);
    assert_eq!((call.calls(), call.attempts().len()), (4, 0));
    assert!(call.rewrite().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_wants_an_hour_is_not_waited_for() {
    let mut busy = error(ModelErrorCode::RateLimit);
    busy.retry_after = Some(Duration::from_secs(3_600));
    let (model, runtime, began) =
        (ScriptedModel::new([Err(busy.clone())]), runtime(), Instant::now());
    let mut call =
        ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history(1)));
    let failed = call.run(&*model).await.unwrap_err();
    assert_eq!((failed.model_error(), began.elapsed().as_secs()), (Some(&busy), 0));
    let CallError::Refused(refusal) = failed else { panic!("{failed}") };
    assert_eq!((&*refusal.reason, refusal.calls), ("the provider asks to wait 3600 seconds", 1));
}

#[tokio::test(start_paused = true)]
async fn empty_and_broken_answers_are_asked_for_again() {
    let runtime = runtime();
    let model = ScriptedModel::new([Ok(nothing()), Ok(broken("half")), Ok(says("whole"))]);
    let mut call =
        ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history(1)));
    let answer = call.run(&*model).await.unwrap();
    assert_eq!((answer.message.plain_text().as_ref(), call.calls()), ("whole", 3));

    let model = ScriptedModel::new([Ok(broken("half"))]);
    let mut call =
        ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history(1)));
    let answer = call.run(&*model).await.unwrap();
    assert_eq!((answer.message.plain_text().as_ref(), call.calls()), ("half", 3));
    assert!(!answer.complete);
    assert_eq!(answer.message.metadata.get("incomplete").unwrap().as_str(), r#""network""#);
    assert_eq!(decisions(&call), ["retry_unchanged", "retry_unchanged", "accept_partial"]);
}

#[tokio::test]
async fn an_answer_cut_off_at_an_explicit_cap_is_asked_for_once_with_twice_as_much() {
    let runtime = runtime();
    let model = ScriptedModel::new([Ok(cut_off("once upon"))]);
    let capped = input("openai", &history(1)).max_output_tokens(4_000);
    let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), capped);
    let answer = call.run(&*model).await.unwrap();
    assert_eq!(answer.message.plain_text(), "once upon");
    let asked: Vec<_> = model.asked().iter().map(|request| request.max_output_tokens).collect();
    assert_eq!(asked, [Some(4_000), Some(8_000)]);
}

#[tokio::test]
async fn a_smaller_answer_is_asked_for_where_the_model_writes_no_longer_one() {
    let runtime = runtime();
    let simulator = simulator("anthropic").max_output(8_000);
    let asked = input("anthropic", &history(1)).max_output_tokens(20_000);
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), asked);
    let _answer = call.run(&simulator).await.unwrap();
    assert_eq!(decisions(&call), ["adjust_output_and_retry"]);
    assert_eq!(call.learned_max_output(), Some(8_000));
}

#[tokio::test]
async fn a_recovery_that_fails_leaves_the_providers_error() {
    let runtime = NoRecoveryRuntime(runtime());
    let refused = error(ModelErrorCode::ContextOverflow);
    let model = ScriptedModel::new([Err(refused.clone())]);
    let mut call =
        ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history(1)));
    let failed = call.run(&*model).await.unwrap_err();
    assert_eq!(failed.model_error(), Some(&refused));
    assert_eq!(
        failed.to_string(),
        "not answered after 1 calls: openai refused: context_overflow: refused by the script \
         (the recovery failed: recover: the policy server is away)"
    );
}

fn with_picture() -> Vec<Arc<Message>> {
    let picture = Part::Image(Media {
        source: MediaSource::Base64(STANDARD.encode([0_u8; 600]).into()),
        media_type: Some("image/png".to_owned()),
        name: None,
        metadata: Metadata::default(),
    });
    let mut history = history(1);
    history[0] =
        Arc::new(Message::from(vec![Part::text("Find out why the build fails."), picture]));
    history
}

#[tokio::test]
async fn images_are_stripped_once_and_given_up_when_they_are_refused_again() {
    let (runtime, history) = (runtime(), with_picture());
    let model =
        ScriptedModel::new([Err(error(ModelErrorCode::Image)), Ok(says("I cannot see it."))]);
    let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history));
    let _answer = call.run(&*model).await.unwrap();
    assert_eq!(decisions(&call), ["strip_images_and_retry"]);
    let has_image =
        |message: &Message| message.parts.iter().any(|part| matches!(part, Part::Image(_)));
    assert!(!model.asked()[1].messages.iter().any(|message| has_image(message)));
    // The caller's history is unchanged.
    assert!(has_image(&history[0]));

    // Another session, which does not know the cut.
    let runtime = super::runtimes::runtime();
    let model = ScriptedModel::new([Err(error(ModelErrorCode::Image))]);
    let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history));
    let failed = call.run(&*model).await.unwrap_err();
    assert_eq!(
        (failed.model_error().unwrap().code, model.asked().len()),
        (ModelErrorCode::Image, 2)
    );
}

#[tokio::test]
async fn a_cut_stays_for_the_next_request_of_the_call() {
    let (runtime, history) = (runtime(), history(30));
    let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history));
    let first = call.next().await.unwrap().unwrap();
    call.answered(Err(error(ModelErrorCode::ContextOverflow)));
    let second = call.next().await.unwrap().unwrap();
    assert!(second.context.request.messages.len() < first.context.request.messages.len());
    assert_eq!(call.rewrite().unwrap().origins.last(), Some(&Some(history.len() - 1)));
    call.received(
        200,
        r#"{"choices":[{"message":{"role":"assistant","content":"Cron."},"finish_reason":"stop"}]}"#,
    );
    assert!(call.next().await.unwrap().is_none());
    assert_eq!(call.message().unwrap().plain_text(), "Cron.");
}

/// Regression: a turn that overflowed early was cut far deeper hours later.
#[tokio::test]
async fn attempts_belong_to_a_call_and_not_to_its_turn() {
    let (runtime, history) = (runtime(), history(20));
    let overflow = || error(ModelErrorCode::ContextOverflow);
    let decide = async |messages: &[Arc<Message>]| {
        let input = RecoveryInput::new(("ada", "s"), "t", overflow(), messages.to_vec());
        match runtime.recover_from_model_error(input).await.unwrap() {
            RecoveryDecision::TruncateHeadAndRetry { keep_ratio, .. } => Some(keep_ratio),
            _ => None,
        }
    };
    // A loop that reports no attempts and cuts nothing is told to give up in the end.
    assert_eq!(decide(&history).await, Some(0.5));
    assert_eq!(decide(&history).await, Some(0.25));
    assert_eq!(decide(&history).await, None);
    // Its next step starts anew.
    let mut later = history.clone();
    later.push(Arc::new(Message::from("go on")));
    assert_eq!(decide(&later).await, Some(0.5));
    assert_eq!(decide(&history).await, Some(0.5));
}

#[tokio::test]
async fn what_a_provider_cannot_be_helped_with_is_said_with_its_code() {
    let runtime = runtime();
    for code in [ModelErrorCode::Authentication, ModelErrorCode::Billing, ModelErrorCode::Unknown] {
        let model = ScriptedModel::new([Err(error(code))]);
        let mut call =
            ModelCall::new(&runtime, provider("openai").unwrap(), input("openai", &history(1)));
        let failed = call.run(&*model).await.unwrap_err();
        let CallError::Refused(refusal) = &failed else { panic!("{failed}") };
        assert!(refusal.reason.contains(code.as_str()), "{}", refusal.reason);
        assert_eq!(model.asked().len(), 1);
    }
}

#[tokio::test]
async fn nothing_to_send_is_an_error_and_ends_the_call() {
    let runtime = runtime();
    let mut call = ModelCall::new(
        &runtime,
        provider("anthropic").unwrap(),
        PrepareInput::new(("ada", "s"), "", "", ""),
    );
    assert!(matches!(call.next().await, Err(CallError::Request(_))));
    assert!(call.next().await.is_err());
}
