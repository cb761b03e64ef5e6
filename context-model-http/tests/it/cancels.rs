//! A cancelled call ends, whatever it waits for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use context_core::base::CancelSource;
use context_core::model::{EmbedAs, Embedder, LanguageModel, ModelErrorCode as Code};
use context_http::Pauses;
use context_model_http::{Endpoint, HttpEmbedder};
use context_simulator::ProviderFault;
use context_simulator::http::{BadServer, Misbehaviour};

use crate::{FORMS, bad, model, request, served, talkative};

/// Waits until a server has received a request, and a little longer for its reply.
async fn heard(server: &BadServer) {
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_raised_signal_sends_nothing() {
    for form in FORMS {
        let server = served(talkative(form)).await;
        let source = CancelSource::new();
        source.cancel();
        let model = model(form, &server.url(), |e| e);
        let error = model.complete(&request(), &source.signal()).await.unwrap_err();
        assert_eq!((error.code, error.retryable), (Code::Unknown, false));
        assert_eq!(server.requests().len(), 0);
    }
}

#[tokio::test]
async fn every_wait_of_a_call_ends_at_once() {
    let slow = Duration::from_secs(3_600);
    for (form, behaves) in [
        ("openai", Misbehaviour::Silent),
        ("anthropic", Misbehaviour::Silent),
        ("openai", Misbehaviour::SlowBody(slow)),
        ("openai", Misbehaviour::EndlessBody),
        ("openai", Misbehaviour::SilentRefusal(401)),
        ("anthropic", Misbehaviour::SilentStream),
        ("openai", Misbehaviour::EndlessComments),
        ("openai-responses", Misbehaviour::EndlessLine),
        ("openai", Misbehaviour::HugeLength),
    ] {
        // Nothing here ends by itself: the test would hang.
        let endless = usize::MAX >> 1;
        let server = bad(behaves.clone()).await;
        let model = model(form, &server.url(), |e| {
            e.with(|options| {
                options.max_reply_bytes(endless).max_event_bytes(endless).max_error_bytes(endless)
            })
        });
        for in_events in [false, true] {
            let source = CancelSource::new();
            let signal = source.signal();
            let model = model.clone().in_events(in_events);
            let request = request();
            let call = model.complete(&request, &signal);
            let raise = async {
                heard(&server).await;
                source.cancel();
            };
            let (answer, ()) = tokio::join!(call, raise);
            assert_eq!(answer.unwrap_err().code, Code::Unknown, "{form} {behaves:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_nobody_takes_is_given_up() {
    let server = bad(Misbehaviour::NeverAccepts).await;
    let source = CancelSource::new();
    let signal = source.signal();
    let model = model("openai", &server.url(), |e| e);
    let request = request();
    let call = tokio::spawn(async move { model.complete(&request, &signal).await });
    tokio::task::yield_now().await;
    source.cancel();
    assert_eq!(call.await.unwrap().unwrap_err().code, Code::Unknown);
}

#[tokio::test]
async fn the_wait_before_another_try_ends_too() {
    /// Cancels as soon as there is a wait, which never ends.
    #[derive(Debug)]
    struct Cancels(CancelSource);

    impl Pauses for Cancels {
        fn pause(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            self.0.cancel();
            Box::pin(std::future::pending())
        }
    }

    for form in FORMS {
        let server = served(talkative(form).script([ProviderFault::Overloaded])).await;
        let source = CancelSource::new();
        let cancels = Arc::new(Cancels(source.clone()));
        let model = model(form, &server.url(), |e| e.with(|options| options.pauses(cancels)));
        let error = model.complete(&request(), &source.signal()).await.unwrap_err();
        assert_eq!((error.code, server.requests().len()), (Code::Unknown, 1));
    }
}

#[tokio::test]
async fn whoever_is_shown_a_piece_may_stop_the_rest() {
    for form in FORMS {
        let server = served(talkative(form)).await;
        let source = CancelSource::new();
        let signal = source.signal();
        let mut shown = 0;
        let mut show = |_| {
            shown += 1;
            source.cancel();
        };
        let model = model(form, &server.url(), |e| e);
        let error = model.stream(&request(), &signal, &mut show).await.unwrap_err();
        assert_eq!(error.code, Code::Unknown, "{form}");
        assert!((1..6).contains(&shown), "{form}: {shown}");
    }
}

#[tokio::test]
async fn an_embedder_stops_too() {
    let server = bad(Misbehaviour::Silent).await;
    let embedder = HttpEmbedder::new("e", Endpoint::at(format!("{}/v1", server.url()))).unwrap();
    let source = CancelSource::new();
    let signal = source.signal();
    let texts = ["a".to_owned()];
    let raise = async {
        heard(&server).await;
        source.cancel();
    };
    let (vectors, ()) = tokio::join!(embedder.embed(&texts, EmbedAs::Query, &signal), raise);
    assert_eq!(vectors.unwrap_err().code, Code::Unknown);
}
