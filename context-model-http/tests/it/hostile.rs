//! Servers that misbehave cost bounded time and bounded memory, and are reported by the right code.

use std::time::Duration;

use context_core::model::ModelErrorCode as Code;
use context_http::Retries;
use context_model_http::HttpModel;
use context_simulator::http::Misbehaviour;

use crate::{FORMS, bad, complete, model, stream};

/// Returns a model with small limits that sends each request once, and waits no longer than
/// `patience`.
fn careful(form: &str, url: &str, patience: Duration) -> HttpModel {
    model(form, url, |endpoint| {
        endpoint.with(|options| {
            let options =
                options.retries(Retries::none()).head_timeout(patience).idle_timeout(patience);
            options.max_reply_bytes(50_000).max_event_bytes(20_000)
        })
    })
}

/// Longer than any test takes.
const PATIENT: Duration = Duration::from_secs(600);

/// Returns the error codes of a whole answer and of a stream. The timeouts are short only if a
/// timeout is expected.
async fn codes(form: &str, behaves: Misbehaviour, expected: Code) -> (Code, Code) {
    let server = bad(behaves.clone()).await;
    let patience = if expected == Code::Timeout { Duration::from_millis(20) } else { PATIENT };
    let model = careful(form, &server.url(), patience);
    let whole = complete(&model).await.unwrap_err();
    let (in_events, deltas) = stream(&model).await;
    assert_eq!(deltas, [], "{behaves:?}");
    (whole.code, in_events.unwrap_err().code)
}

#[tokio::test]
async fn every_bad_server_has_its_code() {
    let page = Misbehaviour::Says {
        status: 200,
        content_type: "text/html".into(),
        body: "<html>\n\n<p>data: please log in</p>\n\n</html>".into(),
    };
    let pause = Duration::from_millis(2);
    for form in FORMS {
        for (behaves, whole, in_events) in [
            (Misbehaviour::NeverAccepts, Code::Timeout, Code::Timeout),
            (Misbehaviour::Silent, Code::Timeout, Code::Timeout),
            (Misbehaviour::SilentStream, Code::Timeout, Code::Timeout),
            (Misbehaviour::SlowBody(Duration::from_secs(60)), Code::Timeout, Code::Timeout),
            (Misbehaviour::Closes, Code::Network, Code::Network),
            (Misbehaviour::Garbage, Code::Network, Code::Network),
            (Misbehaviour::EndlessHead, Code::Network, Code::Network),
            (Misbehaviour::BadChunks, Code::Network, Code::Network),
            (Misbehaviour::BreaksOff, Code::Network, Code::Network),
            (Misbehaviour::Redirects("http://127.0.0.1:9/v1".into()), Code::Network, Code::Network),
            (Misbehaviour::HugeLength, Code::Unknown, Code::Unknown),
            (Misbehaviour::EndlessBody, Code::Unknown, Code::Unknown),
            (Misbehaviour::EndlessComments, Code::Unknown, Code::Unknown),
            (Misbehaviour::EndlessLine, Code::Unknown, Code::Unknown),
            (Misbehaviour::Compressed, Code::Unknown, Code::Unknown),
            (Misbehaviour::EchoesKey, Code::Authentication, Code::Authentication),
            (Misbehaviour::WaitsForever, Code::RateLimit, Code::RateLimit),
            (page.clone(), Code::Unknown, Code::Unknown),
            (Misbehaviour::says(200, ""), Code::Unknown, Code::Unknown),
            (Misbehaviour::says(200, "[]"), Code::Unknown, Code::Unknown),
            (Misbehaviour::says(500, "<html>oh</html>"), Code::Server, Code::Server),
        ] {
            let found = codes(form, behaves.clone(), whole).await;
            assert_eq!(found, (whole, in_events), "{form} {behaves:?}");
        }
        // The status counts, whether the body arrives or not.
        let server = bad(Misbehaviour::SilentRefusal(401)).await;
        let model = model(form, &server.url(), |endpoint| {
            endpoint.with(|options| options.idle_timeout(Duration::from_millis(20)))
        });
        let error = complete(&model).await.unwrap_err();
        assert_eq!((error.code, error.status), (Code::Authentication, Some(401)), "{form}");
        // A byte at a time keeps the connection alive, but not beyond the total timeout.
        let server = bad(Misbehaviour::SlowBody(pause)).await;
        let model = crate::model(form, &server.url(), |endpoint| {
            endpoint.with(|options| options.total_timeout(Duration::from_millis(60)))
        });
        assert_eq!(complete(&model).await.unwrap_err().code, Code::Timeout, "{form}");
    }
}

#[tokio::test]
async fn an_answer_of_brackets_is_refused_and_not_followed_down() {
    for form in FORMS {
        let deep = format!("{}{}", "[".repeat(90_000), "]".repeat(90_000));
        for body in [deep.clone(), format!("{{\"content\":{deep},\"choices\":{deep}}}")] {
            let server = bad(Misbehaviour::says(200, body)).await;
            complete(&careful(form, &server.url(), PATIENT)).await.unwrap_err();
        }
    }
}

#[tokio::test]
async fn a_redirection_takes_no_key_along() {
    let elsewhere = bad(Misbehaviour::says(200, "{}")).await;
    for form in FORMS {
        let server = bad(Misbehaviour::Redirects(format!("{}/v1/x", elsewhere.url()))).await;
        let error = complete(&model(form, &server.url(), |e| e)).await.unwrap_err();
        assert_eq!((error.code, error.status, error.retryable), (Code::Network, Some(307), false));
        assert_eq!(server.requests().len(), 1);
    }
    assert_eq!(elsewhere.requests(), [""; 0]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_the_network() {
    let gone = bad(Misbehaviour::Closes).await;
    let url = gone.url();
    drop(gone);
    // The port is released when its task is gone.
    tokio::task::yield_now().await;
    let error = complete(&careful("openai", &url, PATIENT)).await.unwrap_err();
    assert_eq!(
        (error.code, error.retryable, error.status),
        (Code::Network, true, None),
        "{error:?}"
    );
}
