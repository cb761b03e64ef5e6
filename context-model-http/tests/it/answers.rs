//! The model's answer, whole and streamed, is the same as without a network.

use context_core::model::{AnswerDelta, LanguageModel, ProviderCompaction, StopReason};
use context_core::{Answer, CancelSignal, Message, ModelError, ModelRequest, Part, Role};
use context_model_http::{Endpoint, HttpModel};
use context_simulator::Simulator;
use serde_json::{Value, json};

use crate::{FORMS, complete, model, request, served, simulator, stream, talkative};

/// Returns the simulator's answer to the same request without a network.
async fn direct(form: &str, in_events: bool) -> Answer {
    let mut request = request().model("a-model");
    request.stream = in_events.then_some(true);
    let body = json!({"stream_options": {"include_usage": true}});
    request.metadata.insert("openai.body", body);
    talkative(form).complete(&request, &CancelSignal::never()).await.unwrap()
}

#[tokio::test]
async fn an_answer_is_the_same_over_http() {
    for form in FORMS {
        for in_events in [false, true] {
            let server = served(talkative(form)).await;
            let answer =
                complete(&model(form, &server.url(), |e| e).in_events(in_events)).await.unwrap();
            assert_eq!(answer, direct(form, in_events).await, "{form}");
            assert!(answer.complete && answer.error.is_none());
            assert_eq!(answer.stop, Some(StopReason::ToolCalls));
            assert!(answer.usage.unwrap().output > 0, "{form}");
            let parts = &answer.message.parts;
            assert!(
                matches!(&parts[..], [Part::Reasoning(_), Part::Text(_), Part::ToolCall(_)]),
                "{parts:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_handed_out_adds_up_to_the_answer() {
    for form in FORMS {
        let server = served(talkative(form)).await;
        let (answer, deltas) = stream(&model(form, &server.url(), |e| e)).await;
        let answer = answer.unwrap();
        assert_eq!(answer, direct(form, true).await, "{form}");
        let usage = answer.usage.unwrap();
        assert!(usage.total_input() > 0 && usage.output > 0, "{form}: {usage:?}");
        let (mut text, mut thought, mut input, mut calls) = Default::default();
        for delta in &deltas {
            match delta {
                AnswerDelta::Text(more) => String::push_str(&mut text, more),
                AnswerDelta::Reasoning(more) => String::push_str(&mut thought, more),
                AnswerDelta::ToolInput(more) => String::push_str(&mut input, more),
                AnswerDelta::ToolCall { name, .. } => Vec::push(&mut calls, name.as_str()),
                _ => {}
            }
        }
        assert!(deltas.len() > 6, "{form}: {deltas:?}");
        assert_eq!(
            (text, calls),
            (answer.message.plain_text().into_owned(), vec!["look"]),
            "{form}"
        );
        let [Part::Reasoning(thinks), _, Part::ToolCall(call)] = &answer.message.parts[..] else {
            panic!("{form}")
        };
        assert_eq!(
            (thought.as_str(), input.as_str()),
            (thinks.text.as_str(), call.input.as_written())
        );
    }
}

/// A model that only answers whole.
#[derive(Debug)]
struct WholeModel(Simulator);

#[async_trait::async_trait]
impl LanguageModel for WholeModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        self.0.complete(request, cancel).await
    }
}

#[tokio::test]
async fn every_model_can_be_asked_for_a_stream() {
    for form in FORMS {
        let model: Box<dyn LanguageModel> = Box::new(WholeModel(talkative(form)));
        let mut deltas = Vec::new();
        let mut show = |delta| deltas.push(delta);
        let asked = request().model("a-model");
        let answer = model.stream(&asked, &CancelSignal::never(), &mut show).await.unwrap();
        assert!(answer.deltas().eq(deltas.iter().cloned()));
        assert!(matches!(
            &deltas[..],
            [
                AnswerDelta::Reasoning(_),
                AnswerDelta::Text(_),
                AnswerDelta::ToolCall { .. },
                AnswerDelta::ToolInput(_)
            ]
        ));
    }
}

#[tokio::test]
async fn a_conversation_goes_on_over_one_connection_kept() {
    for form in FORMS {
        let server = served(crate::simulator(form)).await;
        let model = model(form, &server.url(), |e| e);
        let mut asked = request();
        for step in 1..=3 {
            let answer = model.complete(&asked, &CancelSignal::never()).await.unwrap();
            let Some(Part::ToolCall(call)) = answer.message.parts.last().cloned() else {
                panic!("a call")
            };
            asked.messages.push(answer.message.into());
            let result =
                Message::new(Role::Tool, [Part::tool_result(call.id, format!("result {step}"))]);
            asked.messages.push(result.into());
        }
        let answer = model.complete(&asked, &CancelSignal::never()).await.unwrap();
        assert!(answer.message.plain_text().starts_with("I was sent "), "{form}: {answer:?}");
        assert_eq!(server.requests().iter().map(|seen| seen.status).collect::<Vec<_>>(), [200; 4]);
    }
}

/// A body with a preliminary feature has its header, beside those that the program sends anyway.
#[tokio::test]
async fn a_body_brings_the_headers_that_it_needs() {
    let server = served(simulator("anthropic")).await;
    let own = "context-1m-2025-08-07,compact-2026-09-04";
    for (given, sent) in
        [(None, "compact-2026-09-04"), (Some("context-1m-2025-08-07"), own), (Some(own), own)]
    {
        let model = model("anthropic", &server.url(), |endpoint| match given {
            Some(given) => endpoint.header("Anthropic-Beta", given),
            None => endpoint,
        });
        let asked = ModelRequest::new([Message::text(Role::User, "Hi.")]);
        let _ = model.complete(&asked, &CancelSignal::never()).await.unwrap();
        let compacted = asked.compaction(ProviderCompaction::new());
        let answer = model.complete(&compacted, &CancelSignal::never()).await.unwrap();
        assert!(matches!(answer.message.parts[..], [Part::Opaque(_)]), "{answer:?}");
        let seen = server.requests();
        let header = |at: usize| seen[at].header("anthropic-beta").map(str::to_owned);
        let (before, after) = (header(seen.len() - 2), header(seen.len() - 1));
        assert_eq!((before.as_deref(), after.as_deref()), (given, Some(sent)));
    }
}

#[tokio::test]
async fn a_request_goes_out_with_the_manners_of_its_provider() {
    for form in FORMS {
        let server = served(talkative(form)).await;
        let model = model(form, &server.url(), |e| e.header("openai-organization", "org-1"));
        let _ = complete(&model).await.unwrap();
        let _ = stream(&model).await.0.unwrap();
        let named = ModelRequest::new([Message::text(Role::User, "Hi.")]).model("another");
        let _ = model.complete(&named, &CancelSignal::never()).await.unwrap();

        let seen = server.requests();
        let path = match form {
            "openai" => "/v1/chat/completions",
            "openai-responses" => "/v1/responses",
            "gemini" => "",
            _ => "/v1/messages",
        };
        for (at, request) in seen.iter().enumerate() {
            // Gemini has the model and the action in the path.
            let path = match (form, at) {
                ("gemini", 0) => "/v1beta/models/a-model:generateContent",
                ("gemini", 1) => "/v1beta/models/a-model:streamGenerateContent",
                ("gemini", _) => "/v1beta/models/another:generateContent",
                _ => path,
            };
            assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", path));
            assert_eq!(request.header("openai-organization"), Some("org-1"));
            assert_eq!(request.header("content-type"), Some("application/json"));
            match form {
                "anthropic" => {
                    assert_eq!(request.header("x-api-key"), Some(crate::KEY));
                    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
                    assert_eq!(request.header("authorization"), None);
                }
                "gemini" => {
                    assert_eq!(request.header("x-goog-api-key"), Some(crate::KEY));
                    assert_eq!(request.header("authorization"), None);
                }
                _ => {
                    assert_eq!(
                        request.header("authorization"),
                        Some(&*format!("Bearer {}", crate::KEY))
                    );
                    assert_eq!(request.header("x-api-key"), None);
                }
            }
        }
        let body = |at: usize| serde_json::from_str::<Value>(&seen[at].body).unwrap();
        if form == "gemini" {
            let asked: Vec<_> =
                (0..3).map(|at| (body(at)["model"].clone(), body(at)["stream"].clone())).collect();
            assert_eq!(asked, vec![(Value::Null, Value::Null); 3]);
        } else {
            assert_eq!(
                (body(0)["model"].as_str(), body(2)["model"].as_str()),
                (Some("a-model"), Some("another"))
            );
            assert_eq!((&body(0)["stream"], &body(1)["stream"]), (&Value::Null, &json!(true)));
        }
        assert_eq!(seen[0].header("accept"), Some("application/json"));
        assert_eq!(seen[1].header("accept"), Some("text/event-stream"));
        let usage = if form == "openai" { json!({"include_usage": true}) } else { Value::Null };
        assert_eq!(
            (&body(0)["stream_options"], &body(1)["stream_options"]),
            (&Value::Null, &usage)
        );
    }
}

#[tokio::test]
async fn a_tuned_gemini_model_keeps_its_collection() {
    let server = served(talkative("gemini")).await;
    let endpoint = Endpoint::at(format!("{}/v1beta", server.url())).key(crate::KEY);
    for name in ["models/gemini-2.5-flash", "tunedModels/trains-7"] {
        let model = HttpModel::generate_content(name, endpoint.clone()).unwrap();
        let _ = complete(&model).await;
        let path = format!("/v1beta/{name}:generateContent");
        assert_eq!(server.requests().pop().unwrap().path, path);
    }
}

#[tokio::test]
async fn a_bearer_token_is_one_to_every_provider() {
    let server = served(talkative("anthropic")).await;
    let model = model("anthropic", &server.url(), |e| e.bearer(crate::KEY));
    let _ = complete(&model).await.unwrap();
    assert_eq!(server.requests()[0].header("x-api-key"), None);
}

#[tokio::test]
async fn usage_in_events_is_asked_for_as_the_caller_wants() {
    let server = served(talkative("openai")).await;
    let model = model("openai", &server.url(), |e| e).usage_in_events(false);
    assert!(stream(&model).await.0.unwrap().usage.is_none());
    let own = json!({"service_tier": "flex", "stream_options": {"include_obfuscation": false}});
    let mut asked = request();
    asked.metadata.insert("openai.body", own.clone());
    let _ = model
        .clone()
        .usage_in_events(true)
        .stream(&asked, &CancelSignal::never(), &mut |_| ())
        .await
        .unwrap();
    let body: Value = serde_json::from_str(&server.requests()[1].body).unwrap();
    assert_eq!(body["stream_options"], own["stream_options"]);
    assert_eq!(body["service_tier"], own["service_tier"]);
}

#[tokio::test]
async fn a_server_that_knows_no_events_is_understood() {
    let body = json!({"choices": [{"finish_reason": "stop", "message": {"content": "Which day?"}}], "model": "m"});
    let server =
        crate::bad(context_simulator::http::Misbehaviour::says(200, body.to_string())).await;
    let (answer, deltas) = stream(&model("openai", &server.url(), |e| e)).await;
    assert_eq!(answer.unwrap().message.plain_text(), "Which day?");
    assert_eq!(deltas, [AnswerDelta::Text("Which day?".into())]);
}

#[tokio::test]
async fn what_the_request_says_of_events_counts() {
    let server = served(talkative("anthropic")).await;
    let model = model("anthropic", &server.url(), |e| e);
    for (says, in_events) in [(Some(true), false), (Some(false), true)] {
        let mut asked = request();
        asked.stream = says;
        let _ = model
            .clone()
            .in_events(in_events)
            .complete(&asked, &CancelSignal::never())
            .await
            .unwrap();
    }
    let accepts: Vec<_> =
        server.requests().iter().map(|r| r.header("accept").unwrap().to_owned()).collect();
    assert_eq!(accepts, ["text/event-stream", "application/json"]);
}

#[tokio::test]
async fn keys_of_a_model_go_with_every_body_that_does_not_name_them() {
    for form in FORMS {
        let server = served(talkative(form)).await;
        let (key, value) = match form {
            "anthropic" => ("top_k", json!(7)),
            "gemini" => ("serviceTier", json!("flex")),
            _ => ("service_tier", json!("flex")),
        };
        let (shared, default, own) = match form {
            "gemini" => ("labels", json!({}), json!({"user": "u"})),
            _ => ("metadata", json!({}), json!({"user_id": "u"})),
        };
        let model = model(form, &server.url(), |e| e)
            .body_key(key, value.clone())
            .body_key(shared, default.clone());
        let mut named = request();
        named.metadata.insert(format!("{form}.body"), json!({shared: own.clone()}));
        for asked in [request(), named] {
            let _ = model.complete(&asked, &CancelSignal::never()).await.unwrap();
        }
        let bodies: Vec<Value> = server
            .requests()
            .iter()
            .map(|seen| serde_json::from_str(&seen.body).unwrap())
            .collect();
        assert_eq!([&bodies[0][key], &bodies[1][key]], [&value; 2], "{form}");
        assert_eq!([&bodies[0][shared], &bodies[1][shared]], [&default, &own]);
    }
}

#[tokio::test]
async fn local_servers_are_told_the_most_tokens_as_they_know_it() {
    let server = served(talkative("openai")).await;
    for older in [false, true] {
        let model = model("openai", &server.url(), |e| e).older_max_tokens(older);
        let _ = complete(&model).await.unwrap();
        let body: Value = serde_json::from_str(&server.requests().pop().unwrap().body).unwrap();
        let (key, other) = ("max_completion_tokens", "max_tokens");
        let (key, other) = if older { (other, key) } else { (key, other) };
        assert_eq!((&body[key], &body[other]), (&json!(500), &Value::Null));
    }
}
