//! Faulty answers, and scripts of them.

use context_runtime::{
    CancelSignal, CancelSource, Message, PROVIDERS, Role,
    model::{Answer, LanguageModel, ModelError, ModelErrorCode, ModelRequest, StopReason},
};
use context_simulator::{AnswerPiece, ProviderFault, Script, Simulator};

use super::{request, simulator, simulators, tool};

async fn ask(simulator: &Simulator, in_events: bool) -> Result<Answer, ModelError> {
    let mut request = request([Message::from("Go on.")]).tools([tool()]);
    request.stream = in_events.then_some(true);
    simulator.complete(&request, &CancelSignal::never()).await
}

fn talkative(_: &ModelRequest) -> Vec<AnswerPiece> {
    vec![
        AnswerPiece::text("one two three four five six seven eight nine ten".repeat(4)),
        AnswerPiece::call("look", serde_json::json!({})),
    ]
}

#[tokio::test]
async fn an_answer_may_say_nothing() {
    for (name, all) in simulators() {
        let simulator = all.script([ProviderFault::EmptyAnswer, ProviderFault::EmptyAnswer]);
        for in_events in [false, true] {
            let answer = ask(&simulator, in_events).await.unwrap();
            assert!(answer.complete && answer.message.parts.is_empty(), "{name}: {answer:?}");
            assert_eq!(answer.stop, Some(StopReason::Stop), "{name}");
        }
    }
}

#[tokio::test]
async fn an_answer_may_be_cut_off() {
    for (name, all) in simulators() {
        let simulator = all
            .behaviour(talkative)
            .script([ProviderFault::CutOff { tokens: 5 }, ProviderFault::CutOff { tokens: 5 }]);
        for in_events in [false, true] {
            let answer = ask(&simulator, in_events).await.unwrap();
            assert_eq!(answer.stop, Some(StopReason::Length), "{name}: {answer:?}");
            assert_eq!(answer.message.plain_text(), "one two three four f", "{name}");
            assert_eq!(answer.message.parts.len(), 1, "{name}: {answer:?}");
            assert_eq!(simulator.log().pop().unwrap().output, 5, "{name}");
        }
        // The requested output is a limit too, and an answer within it is complete.
        let mut short = request([Message::from("Go on.")]).tools([tool()]);
        short.max_output_tokens = Some(16);
        let answer = simulator.complete(&short, &CancelSignal::never()).await.unwrap();
        assert_eq!(answer.stop, Some(StopReason::Length), "{name}: {answer:?}");
        let answer = ask(&simulator, false).await.unwrap();
        assert_eq!(
            (answer.stop, answer.message.parts.len()),
            (Some(StopReason::ToolCalls), 2),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_answer_may_be_taken_back() {
    for (name, all) in simulators() {
        let simulator = all.script([ProviderFault::ContentFilter, ProviderFault::ContentFilter]);
        for in_events in [false, true] {
            let answer = ask(&simulator, in_events).await.unwrap();
            let stop =
                if name == "anthropic" { StopReason::Refusal } else { StopReason::ContentFilter };
            assert_eq!((answer.stop, answer.message.parts.len()), (Some(stop), 0), "{name}");
        }
    }
}

#[tokio::test]
async fn a_connection_may_break() {
    for name in PROVIDERS {
        for after_events in 0..12 {
            let simulator = simulator(name)
                .behaviour(talkative)
                .script([ProviderFault::BrokenStream { after_events }]);
            let answer = ask(&simulator, true).await.unwrap();
            assert!(!answer.complete, "{name} after {after_events}: {answer:?}");
            let said = talkative(&ModelRequest::default());
            let AnswerPiece::Text(text) = &said[0] else { panic!("a text") };
            assert!(text.starts_with(&*answer.message.plain_text()), "{name}: {answer:?}");
        }
        let whole = simulator(name).script([ProviderFault::BrokenStream { after_events: 3 }]);
        let error = ask(&whole, false).await.unwrap_err();
        assert_eq!(
            (error.code, error.retryable),
            (ModelErrorCode::Network, true),
            "{name}: {error}"
        );
    }
}

#[tokio::test]
async fn a_provider_may_fail_in_the_middle() {
    for name in PROVIDERS {
        let overloaded = |error: &ModelError| {
            assert_eq!(
                (error.code, error.retryable),
                (ModelErrorCode::Overloaded, true),
                "{name}: {error}"
            );
        };
        for after_events in 0..12 {
            let simulator = simulator(name)
                .behaviour(talkative)
                .script([ProviderFault::FailsMidway { after_events }]);
            match ask(&simulator, true).await {
                Ok(answer) => {
                    assert!(
                        !answer.complete && !answer.message.parts.is_empty(),
                        "{name}: {answer:?}"
                    );
                    overloaded(answer.error.as_ref().expect("an error"));
                }
                Err(error) => overloaded(&error),
            }
        }
        let whole = simulator(name).script([ProviderFault::FailsMidway { after_events: 3 }]);
        overloaded(&ask(&whole, false).await.unwrap_err());
        assert!(!whole.log()[0].is_answered());
    }
}

#[tokio::test]
async fn a_script_is_read_as_it_is_shown() {
    let script =
        Script::from([ProviderFault::Overloaded]).at(2, ProviderFault::CutOff { tokens: 1 });
    let read: Script = serde_json::from_str(&script.to_string()).unwrap();
    assert_eq!(read, script);
    for (name, all) in simulators() {
        let simulator = all.script(read.clone());
        assert_eq!(
            ask(&simulator, false).await.unwrap_err().code,
            ModelErrorCode::Overloaded,
            "{name}"
        );
        assert_eq!(
            ask(&simulator, false).await.unwrap().stop,
            Some(StopReason::ToolCalls),
            "{name}"
        );
        assert_eq!(ask(&simulator, false).await.unwrap().stop, Some(StopReason::Length), "{name}");
        let log: Vec<_> = simulator.log().iter().map(|served| served.is_answered()).collect();
        assert_eq!(log, [false, true, true], "{name}");
    }
}

#[tokio::test]
async fn who_is_cancelled_does_not_ask_and_what_is_empty_is_not_sent() {
    for (name, simulator) in simulators() {
        let source = CancelSource::new();
        source.cancel();
        let cancelled = simulator.complete(&request([Message::from("q")]), &source.signal()).await;
        assert_eq!(cancelled.unwrap_err().code, ModelErrorCode::Unknown, "{name}");
        let nothing = request([Message::text(Role::User, " ")]);
        let error = simulator.complete(&nothing, &CancelSignal::never()).await.unwrap_err();
        assert_eq!(error.code, ModelErrorCode::InvalidRequest, "{name}: {error}");
        assert!(simulator.log().is_empty(), "{name}");
    }
}
