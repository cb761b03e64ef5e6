//! Temporary refusals are retried as often and as late as they should be.

use std::time::Duration;

use context_core::model::ModelErrorCode as Code;
use context_http::Retries;
use context_simulator::ProviderFault;
use context_simulator::http::Misbehaviour;

use crate::{FORMS, Noted, bad, complete, model, noted, served, stream, talkative};

#[tokio::test]
async fn a_busy_provider_is_asked_again_until_it_answers() {
    for form in FORMS {
        for in_events in [false, true] {
            let simulator =
                talkative(form).script([ProviderFault::Overloaded, ProviderFault::Server]);
            let (server, notes) = (served(simulator.clone()).await, Noted::default());
            let model = noted(form, &server.url(), &notes);
            let answer = match in_events {
                true => stream(&model).await.0,
                false => complete(&model).await,
            };
            assert!(answer.unwrap().complete, "{form}");
            assert_eq!(notes.waits(), [500, 1_000].map(Duration::from_millis));
            let statuses: Vec<u16> = simulator.log().iter().map(|served| served.status).collect();
            assert_eq!((statuses.len(), statuses[2]), (3, 200), "{form}: {statuses:?}");
        }
    }
}

#[tokio::test]
async fn the_wait_is_the_one_that_the_provider_asks_for() {
    for form in FORMS {
        let wait = Duration::from_millis(1_500);
        let simulator =
            talkative(form).script([ProviderFault::RateLimit { retry_after: Some(wait) }]);
        let (server, notes) = (served(simulator).await, Noted::default());
        let _ = complete(&noted(form, &server.url(), &notes)).await.unwrap();
        // Only OpenAI states milliseconds.
        let told = if form.starts_with("openai") { wait } else { Duration::from_secs(2) };
        assert_eq!(notes.waits(), [told], "{form}");
    }
}

#[tokio::test]
async fn a_provider_that_stays_busy_is_left_alone() {
    for form in FORMS {
        let (server, notes) = (
            served(talkative(form).script([ProviderFault::Overloaded; 9])).await,
            Noted::default(),
        );
        let error = complete(&noted(form, &server.url(), &notes)).await.unwrap_err();
        assert_eq!((error.code, error.retryable), (Code::Overloaded, true), "{form}");
        assert_eq!((server.requests().len(), notes.waits().len()), (3, 2));
    }
    let server = bad(Misbehaviour::WaitsForever).await;
    let notes = Noted::default();
    let error = complete(&noted("openai", &server.url(), &notes)).await.unwrap_err();
    assert_eq!((error.code, error.retry_after), (Code::RateLimit, Some(Duration::MAX)));
    assert_eq!((server.requests().len(), notes.waits().len()), (1, 0));
}

#[tokio::test]
async fn who_tries_again_himself_sees_every_refusal() {
    for form in FORMS {
        let server = served(talkative(form).script([ProviderFault::Overloaded])).await;
        let model =
            model(form, &server.url(), |e| e.with(|options| options.retries(Retries::none())));
        assert_eq!(complete(&model).await.unwrap_err().code, Code::Overloaded);
        assert_eq!(server.requests().len(), 1);
        let _ = complete(&model).await.unwrap();
    }
}

#[tokio::test]
async fn a_whole_answer_that_was_lost_is_asked_for_again() {
    for form in FORMS {
        let simulator = talkative(form).script([ProviderFault::BrokenStream { after_events: 0 }]);
        let (server, notes) = (served(simulator).await, Noted::default());
        assert!(complete(&noted(form, &server.url(), &notes)).await.unwrap().complete);
        assert_eq!((server.requests().len(), notes.waits().len()), (2, 1), "{form}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_request_is_not_asked_again() {
    for form in FORMS {
        for fault in
            [ProviderFault::Overflow, ProviderFault::ImageTooLarge, ProviderFault::OutputTooLarge]
        {
            let (server, notes) =
                (served(talkative(form).script([fault; 3])).await, Noted::default());
            complete(&noted(form, &server.url(), &notes)).await.unwrap_err();
            assert_eq!((server.requests().len(), notes.waits().len()), (1, 0), "{form} {fault:?}");
        }
    }
}
