//! The HTTP server of simulators.

use std::time::Duration;

use context_core::model::ModelErrorCode as Code;
use context_core::{CancelSignal, Json};
use context_http::{Client, ClientOptions, HttpError, Request};
use context_simulator::ProviderFault;
use context_simulator::http::HttpFace;
use serde_json::{Value, json};

use crate::{ask, body, codecs, simulator};

const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

fn refused(result: Result<context_http::HttpReply, HttpError>) -> context_http::Refused {
    match result.unwrap_err() {
        HttpError::Refused(refused) => *refused,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_provider_answers_at_its_path_as_its_simulator_does() {
    let mut face = HttpFace::default();
    for (codec, _) in codecs() {
        face = face.simulator(simulator(&codec));
    }
    let server = face.start().await.unwrap();
    for (codec, path) in codecs() {
        let own = simulator(&codec);
        let sent = body(&*codec, false);
        let reply = ask(&server.url(), Request::post(path).body(&sent), &[VERSION]).await.unwrap();
        assert_eq!(reply.content_type.as_deref(), Some("application/json"));
        assert_eq!(reply.text(), own.send(sent.as_str()).to_text(), "{path}");
        let answer = codec.lift_answer(&Json::from_text(reply.text()).unwrap()).unwrap();
        assert!(answer.message.plain_text().contains("I was sent"), "{path}");

        // Streamed if the body or the path asks for it.
        let (path, sent) = match path {
            "v1beta/models/m:generateContent" => ("v1beta/models/m:streamGenerateContent", sent),
            _ => (path, body(&*codec, true)),
        };
        let request = Request::post(path).query("alt", "sse").body(&sent);
        let reply = ask(&server.url(), request, &[VERSION]).await.unwrap();
        assert_eq!(reply.content_type.as_deref(), Some("text/event-stream; charset=utf-8"));
        assert_eq!(reply.text(), own.stream(sent.as_str()).to_text(), "{path}");
    }
    assert_eq!(server.requests().len(), 8);
}

#[tokio::test]
async fn who_has_no_key_is_refused_in_the_words_of_the_provider() {
    for (codec, path) in codecs() {
        let server =
            HttpFace::default().simulator(simulator(&codec)).key("k-123456").start().await.unwrap();
        let request = || Request::post(path).body(&body(&*codec, false));
        let accepted: &[(&str, &str)] = match codec.name() {
            "anthropic" => &[("x-api-key", "k-123456"), ("authorization", "Bearer k-123456")],
            "gemini" => &[("x-goog-api-key", "k-123456")],
            _ => &[("authorization", "Bearer k-123456")],
        };
        for header in accepted {
            assert!(ask(&server.url(), request(), &[VERSION, *header]).await.is_ok(), "{path}");
        }
        for header in [("x-other", "k-123456"), (accepted[0].0, "k-654321")] {
            let refused = refused(ask(&server.url(), request(), &[VERSION, header]).await);
            let error =
                context_codec_kit::classify(codec.name(), Some(refused.status), &refused.body);
            assert_eq!(error.code, Code::Authentication, "{path}: {error:?}");
        }
        let statuses: Vec<u16> = server.requests().iter().map(|seen| seen.status).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), accepted.len());
    }
}

#[tokio::test]
async fn paths_methods_and_versions_that_are_wrong_are_refused() {
    let (codec, path) = codecs().into_iter().nth(2).unwrap();
    let server = HttpFace::default().simulator(simulator(&codec)).start().await.unwrap();
    let sent = body(&*codec, false);
    for (request, status) in [
        (Request::post("v1/nowhere"), 404),
        (Request::post("v1/chat/completions"), 404),
        (Request::post("v1/embeddings"), 404),
        (Request::get(path), 405),
        (Request::post(path), 400),
        (Request::post("v1beta/models/m:countTokens"), 404),
    ] {
        let refused = refused(ask(&server.url(), request.body(&sent), &[]).await);
        assert_eq!(refused.status, status);
        assert!(refused.request_id.is_some_and(|id| id.starts_with("req_simulated_")));
        assert!(serde_json::from_str::<Value>(&refused.body).unwrap()["error"].is_object());
    }
}

#[tokio::test]
async fn waits_are_told_in_headers() {
    for (codec, path) in codecs() {
        let retry_after = Some(Duration::from_millis(1_200));
        let simulator = simulator(&codec).script([ProviderFault::RateLimit { retry_after }]);
        let server = HttpFace::default().simulator(simulator).start().await.unwrap();
        let refused = refused(
            ask(&server.url(), Request::post(path).body(&body(&*codec, false)), &[VERSION]).await,
        );
        let told = if codec.name().starts_with("openai") { 1_200 } else { 2_000 };
        assert_eq!(
            (refused.status, refused.retry_after),
            (429, Some(Duration::from_millis(told))),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_breaks_sends_what_came_before() {
    for (codec, path) in codecs().into_iter().take(3) {
        let simulator = simulator(&codec).script([ProviderFault::BrokenStream { after_events: 2 }]);
        let server = HttpFace::default().simulator(simulator).start().await.unwrap();
        let options = ClientOptions::default().header(VERSION.0, VERSION.1);
        let client = Client::new(&server.url(), options).unwrap();
        let never = CancelSignal::never();
        let request = Request::post(path).body(&body(&*codec, true)).for_events();
        let mut events = client.open(&request, &never).await.unwrap().events();
        for _ in 0..2 {
            assert!(events.next(&never).await.unwrap().is_some(), "{path}");
        }
        assert!(matches!(events.next(&never).await, Err(HttpError::Broken { .. })), "{path}");
    }
}

#[tokio::test]
async fn texts_are_embedded_and_bad_ones_refused() {
    let server = HttpFace::default().embeddings(8).start().await.unwrap();
    let post = |body: Value| {
        let request = Request::post("v1/embeddings").json(&body).unwrap();
        let url = server.url();
        async move { ask(&url, request, &[]).await }
    };
    let reply: Value = post(json!({"model": "m", "input": "a b"})).await.unwrap().json().unwrap();
    assert_eq!(reply["data"][0]["embedding"].as_array().unwrap().len(), 8);
    assert_eq!((&reply["model"], &reply["data"][0]["index"]), (&json!("m"), &json!(0)));
    for body in [
        json!({"model": "m", "input": ""}),
        json!({"model": "m", "input": []}),
        json!({"model": "m", "input": ["a", ""]}),
        json!({"model": "m", "input": 7}),
        json!({"model": "m"}),
        json!({"input": "a"}),
        json!({"model": "m", "input": vec!["a"; 2_049]}),
    ] {
        assert_eq!(refused(post(body).await).status, 400);
    }
}

#[tokio::test]
async fn a_server_that_is_dropped_closes_its_port_and_its_connections() {
    let (codec, path) = codecs().into_iter().next().unwrap();
    let server = HttpFace::default().simulator(simulator(&codec)).start().await.unwrap();
    let mut idle = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let request = || Request::post(path).body(&body(&*codec, false));
    let url = server.url();
    assert!(ask(&url, request(), &[]).await.is_ok());
    drop(server);
    let mut end = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut idle, &mut end).await;
    assert!(read.is_err() || end.is_empty());
    assert!(ask(&url, request(), &[]).await.is_err());
}
