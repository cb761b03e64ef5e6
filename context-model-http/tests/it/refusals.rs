//! A provider's refusal is reported by the right code with the right numbers.

use std::time::Duration;

use context_core::model::{LanguageModel, ModelErrorCode as Code};
use context_core::{CancelSignal, ModelError};
use context_http::Retries;
use context_simulator::http::{HttpFace, Misbehaviour};
use context_simulator::{ProviderFault, Simulator};

use crate::{FORMS, bad, complete, model, request, served, simulator, stream};

/// Returns the error of a model that is called once, whole and streamed: both must be the same.
async fn refused(form: &str, simulator: Simulator) -> ModelError {
    let server = served(simulator).await;
    let model = model(form, &server.url(), |e| e.with(|options| options.retries(Retries::none())));
    let whole = complete(&model).await.unwrap_err();
    let (in_events, deltas) = stream(&model).await;
    assert_eq!(in_events.unwrap_err(), whole, "{form}");
    assert_eq!(deltas, []);
    assert_eq!(server.requests().len(), 2);
    whole
}

#[tokio::test]
async fn every_refusal_has_its_code() {
    for form in FORMS {
        let rate = ProviderFault::RateLimit { retry_after: Some(Duration::from_secs(7)) };
        for (fault, code) in [
            (ProviderFault::Overflow, Code::ContextOverflow),
            (ProviderFault::OutputTooLarge, Code::OutputTooLarge),
            (ProviderFault::ImageTooLarge, Code::Image),
            (rate, Code::RateLimit),
            (ProviderFault::Overloaded, Code::Overloaded),
            (ProviderFault::Server, Code::Server),
        ] {
            let simulator =
                simulator(form).window(9_000).max_output(100_000).script([fault, fault]);
            let direct = simulator.clone();
            let error = refused(form, simulator).await;
            assert_eq!(
                (error.code, error.provider.as_str()),
                (code, form),
                "{form} {fault:?}: {error:?}"
            );
            assert!(error.status.is_some_and(|status| status >= 400));
            assert_eq!(direct.log()[0].refused, Some(code));
            if fault == rate {
                assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{form}");
                assert!(error.retryable);
            }
            if fault == ProviderFault::Overflow && form != "openai-responses" {
                assert_eq!(error.window, Some(9_000), "{form}: {error:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_a_page() {
    for form in FORMS {
        let error = refused(form, simulator(form).max_request_bytes(50)).await;
        assert_eq!(
            (error.code, error.status),
            (Code::RequestTooLarge, Some(if form == "gemini" { 400 } else { 413 })),
            "{form}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_wrong_key_and_a_missing_one_are_authentication() {
    for form in FORMS {
        let server = HttpFace::default()
            .simulator(simulator(form))
            .key("another-0123456789")
            .start()
            .await
            .unwrap();
        let with_key = model(form, &server.url(), |e| e);
        let without = model(form, &server.url(), |e| e.key(""));
        // Gemini refuses a wrong key as an invalid argument.
        let status = if form == "gemini" { 400 } else { 401 };
        for model in [with_key, without] {
            let error = complete(&model).await.unwrap_err();
            assert_eq!(
                (error.code, error.status, error.retryable),
                (Code::Authentication, Some(status), false)
            );
        }
        assert_eq!(server.requests().len(), 2, "nobody tries a key twice");
    }
}

#[tokio::test]
async fn a_path_that_is_not_there_is_no_answer() {
    for form in FORMS {
        let server = HttpFace::default().start().await.unwrap();
        let error = complete(&model(form, &server.url(), |e| e)).await.unwrap_err();
        assert_eq!(error.status, Some(404), "{form}");
        assert!(!error.retryable);
    }
}

#[tokio::test]
async fn an_error_that_comes_as_an_answer_is_an_error() {
    for (form, body, code) in [
        (
            "openai",
            r#"{"error":{"message":"Rate limit reached for m.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            Code::RateLimit,
        ),
        (
            "openai-responses",
            r#"{"id":"r","object":"response","status":"failed","output":[],"error":{"code":"server_error","message":"The server had an error."}}"#,
            Code::Server,
        ),
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Code::Overloaded,
        ),
        (
            "gemini",
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
            Code::Overloaded,
        ),
    ] {
        let server = bad(Misbehaviour::says(200, body)).await;
        let model = model(form, &server.url(), |e| e);
        assert_eq!(complete(&model).await.unwrap_err().code, code, "{form}");
        let events = Misbehaviour::Says {
            status: 200,
            content_type: "text/event-stream".into(),
            body: match form {
                "openai-responses" => {
                    format!("data: {{\"type\":\"response.failed\",\"response\":{body}}}\n\n")
                }
                _ => format!("data: {body}\n\n"),
            },
        };
        let server = bad(events).await;
        let model = crate::model(form, &server.url(), |e| e);
        let (error, deltas) = stream(&model).await;
        assert_eq!((error.unwrap_err().code, deltas), (code, vec![]), "{form}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_written_is_not_sent() {
    for form in FORMS {
        let server = served(simulator(form)).await;
        let mut empty = request();
        empty.messages = Default::default();
        empty.system.clear();
        let model = model(form, &server.url(), |e| e);
        let error = model.complete(&empty, &CancelSignal::never()).await.unwrap_err();
        assert_eq!((error.code, server.requests().len()), (Code::InvalidRequest, 0), "{form}");
    }
}
