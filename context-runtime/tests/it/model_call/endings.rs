//! A call terminates, whatever the provider returns.

use context_runtime::tokens::ModelCounter;
use context_runtime::{
    CallOptions, CancelSource, ModelCall,
    model::{Answer, ModelError, ModelErrorCode, TokenCounter},
    provider,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::models::{ScriptedModel, SilentModel, broken, cut_off, nothing, says};
use super::runtimes::runtime;
use super::{has_both_requests, history, input};

#[tokio::test]
async fn cancelling_ends_a_call_at_once_and_changes_nothing() {
    let (runtime, history, source) = (runtime(), history(5), CancelSource::new());
    let before = history.clone();
    let mut call = ModelCall::new(
        &runtime,
        provider("openai").unwrap(),
        input("openai", &history).cancel(source.signal()),
    );
    let (ended, ()) = tokio::join!(call.run(&SilentModel), async {
        tokio::task::yield_now().await;
        source.cancel();
    });
    assert!(ended.unwrap_err().is_cancelled());
    assert!(call.rewrite().is_none() && call.answer().is_none() && call.attempts().is_empty());
    assert_eq!(history, before);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_wait() {
    let (runtime, history, source) = (runtime(), history(1), CancelSource::new());
    let model = ScriptedModel::new([Err(super::models::error(ModelErrorCode::Overloaded))]);
    let mut call = ModelCall::new(
        &runtime,
        provider("openai").unwrap(),
        input("openai", &history).cancel(source.signal()),
    );
    let began = tokio::time::Instant::now();
    let (ended, ()) = tokio::join!(call.run(&*model), async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        source.cancel();
    });
    assert!(ended.unwrap_err().is_cancelled());
    assert_eq!(began.elapsed().as_millis(), 300);
}

fn codes() -> impl Strategy<Value = ModelErrorCode> {
    use ModelErrorCode as Code;
    prop::sample::select(vec![
        Code::ContextOverflow,
        Code::RequestTooLarge,
        Code::OutputTooLarge,
        Code::RateLimit,
        Code::Billing,
        Code::Authentication,
        Code::ModelNotFound,
        Code::Image,
        Code::InvalidRequest,
        Code::Overloaded,
        Code::Server,
        Code::Timeout,
        Code::Network,
        Code::ContentFilter,
        Code::Unknown,
    ])
}

fn errors() -> impl Strategy<Value = ModelError> {
    let number = || prop::option::of(prop_oneof![0..100_u64, 1_000..20_000_u64, Just(u64::MAX)]);
    let words = prop::sample::select(vec![
        "refused",
        "tool_use ids without tool_result",
        "Invalid `signature` in thinking block",
    ]);
    (codes(), words, (number(), number(), number(), number())).prop_map(|(code, words, numbers)| {
        let mut error = context_codec_kit::classify("openai", None, words);
        let plain = ModelError::new("openai", code, words);
        if code != ModelErrorCode::InvalidRequest {
            error = plain;
        }
        (
            error.window,
            error.input_tokens,
            error.max_output_tokens,
            error.available_output_tokens,
        ) = numbers;
        error
    })
}

fn replies() -> impl Strategy<Value = Vec<Result<Answer, ModelError>>> {
    let reply = prop_oneof![
        8 => errors().prop_map(Err),
        1 => Just(Ok(nothing())),
        1 => Just(Ok(broken("half"))),
        1 => Just(Ok(cut_off("half"))),
        1 => Just(Ok(says("whole"))),
    ];
    // The last entry of a script is repeated forever.
    prop::collection::vec(reply, 1..12)
}

proptest! {
    #![proptest_config(Config { cases: 128, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_call_ends_with_an_answer_or_an_error(
        script in replies(),
        max_calls in 1_u32..10,
        steps in 0_usize..25,
        max_output in prop::option::of(1_u64..10_000),
    ) {
        let executor =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()
                .unwrap();
        executor.block_on(async {
            let (runtime, history) = (runtime(), history(steps));
            let model = ScriptedModel::new(script);
            let mut options = CallOptions::default();
            options.max_calls = max_calls;
            let mut input = input("openai", &history);
            input.request.max_output_tokens = max_output;
            let mut call = ModelCall::new(&runtime, provider("openai").unwrap(),
                input).options(options);
            let ended = call.run(&*model).await;
            let asked = model.asked();
            assert!(asked.len() as u32 <= max_calls && call.calls() == asked.len() as u32);
            assert_eq!(ended.is_ok(), call.answer().is_some());
            let counter = ModelCounter::for_model("gpt-4o");
            let mut before = u64::MAX;
            for request in &asked {
                // The requests are present, but shortened when hardly anything is left to cut.
                assert!(steps < 8 || has_both_requests(&request.messages, &history));
                let tokens = counter.count_messages(&request.messages).tokens();
                assert!(tokens <= before, "{tokens} tokens behind {before}");
                before = tokens;
            }
            if let Some(kept) = call.rewrite() {
                assert!(kept.origins.contains(&Some(0))
                    && kept.origins.contains(&Some(history.len() - 1)));
            }
            let provider = provider("openai").unwrap();
            assert!(asked.iter().all(|request| provider.lower(request).is_ok()));
        });
    }
}
