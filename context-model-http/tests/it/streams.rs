//! A stream that breaks off is never taken for a whole answer, and is not requested again.

use std::time::Duration;

use context_core::Part;
use context_core::model::{AnswerDelta, ModelErrorCode as Code};
use context_simulator::ProviderFault;
use context_simulator::http::Misbehaviour;

use crate::{FORMS, Noted, bad, complete, model, noted, served, stream, talkative};

fn text_of(deltas: &[AnswerDelta]) -> String {
    let texts = deltas.iter().filter_map(|delta| match delta {
        AnswerDelta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn wherever_a_connection_breaks_the_answer_says_so() {
    for form in FORMS {
        let whole = served(talkative(form)).await;
        let said = complete(&model(form, &whole.url(), |e| e))
            .await
            .unwrap()
            .message
            .plain_text()
            .into_owned();
        for after_events in 0..24 {
            let server =
                served(talkative(form).script([ProviderFault::BrokenStream { after_events }]))
                    .await;
            let notes = Noted::default();
            let (answer, deltas) = stream(&noted(form, &server.url(), &notes)).await;
            let place = format!("{form} behind {after_events}: {answer:?}");
            assert_eq!((server.requests().len(), notes.waits().len()), (1, 0), "{place}");
            match answer {
                Err(error) => {
                    assert_eq!((error.code, error.retryable), (Code::Network, true), "{place}");
                    // A thought that is not signed and a call that is cut off cannot be kept; a
                    // text can.
                    assert_eq!(text_of(&deltas), "", "{place}");
                }
                Ok(answer) => {
                    // After the last word only the usage is missing.
                    let error = answer.error.clone();
                    assert_eq!(answer.complete, error.is_none(), "{place}");
                    assert!(error.is_none_or(|error| error.code == Code::Network), "{place}");
                    assert!(said.starts_with(&*answer.message.plain_text()), "{place}");
                    assert_eq!(answer.message.plain_text(), text_of(&deltas), "{place}");
                    let whole = |part: &Part| match part {
                        Part::ToolCall(call) => {
                            serde_json::from_str::<serde_json::Value>(call.input.as_written())
                                .is_ok()
                        }
                        _ => true,
                    };
                    assert!(answer.message.parts.iter().all(whole), "{place}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_error_in_the_middle_stands_beside_what_came() {
    for form in FORMS {
        for after_events in [0, 1, 4, 9] {
            let server =
                served(talkative(form).script([ProviderFault::FailsMidway { after_events }])).await;
            let (answer, _) = stream(&model(form, &server.url(), |e| e)).await;
            let error = match answer {
                Err(error) => error,
                Ok(answer) => {
                    assert!(!answer.complete && !answer.message.parts.is_empty());
                    answer.error.unwrap()
                }
            };
            assert_eq!(error.code, Code::Overloaded, "{form} {after_events}: {error:?}");
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_stream_that_goes_silent_ends_in_time_and_keeps_what_came() {
    let delta = r#"{"choices":[{"index":0,"delta":{"content":"Window or"}}]}"#;
    let server = bad(Misbehaviour::BreaksOffBehind(vec![delta.to_owned()])).await;
    let (answer, deltas) = stream(&model("openai", &server.url(), |e| e)).await;
    let answer = answer.unwrap();
    assert_eq!(answer.message.plain_text(), "Window or");
    assert_eq!((answer.complete, answer.error.unwrap().code), (false, Code::Network));
    assert_eq!(deltas, [AnswerDelta::Text("Window or".into())]);

    let server = bad(Misbehaviour::SilentStream).await;
    let short = Duration::from_millis(50);
    let patient = model("openai", &server.url(), |e| e.with(|options| options.idle_timeout(short)));
    let (answer, _) = stream(&patient).await;
    assert_eq!(answer.unwrap_err().code, Code::Timeout);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_event_that_cannot_be_read_ends_the_answer() {
    let delta = r#"{"choices":[{"index":0,"delta":{"content":"Window"}}]}"#;
    let server = bad(Misbehaviour::BreaksOffBehind(vec![
        delta.to_owned(),
        "{oh no".to_owned(),
        delta.to_owned(),
    ]))
    .await;
    let (answer, _) = stream(&model("openai", &server.url(), |e| e)).await;
    let answer = answer.unwrap();
    assert_eq!((answer.message.plain_text().as_ref(), answer.complete), ("Window", false));
    assert_eq!(answer.error.unwrap().code, Code::Unknown);
}

#[tokio::test]
async fn a_server_that_leaves_the_connection_open_is_not_waited_for() {
    let delta = r#"{"choices":[{"index":0,"delta":{"content":"Aisle."},"finish_reason":"stop"}]}"#;
    // The head announces a megabyte.
    let server =
        bad(Misbehaviour::BreaksOffBehind(vec![delta.to_owned(), "[DONE]".to_owned()])).await;
    let (answer, _) = stream(&model("openai", &server.url(), |e| e)).await;
    let answer = answer.unwrap();
    assert!(answer.complete && answer.error.is_none());
    assert_eq!(answer.message.plain_text(), "Aisle.");
}
