//! Simulated answers arrive, whole and as events, and can be sent back.

use context_runtime::{
    CancelSignal, Json, Message, PROVIDERS, Part, Role,
    model::{Answer, LanguageModel, ModelRequest, StopReason},
    provider,
};
use context_simulator::{Agent, AnswerPiece, ReplyContent, SimulatedReply};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};

use super::{body, request, simulator, simulators, tool};

/// Texts, reasoning and calls, in separate fields because not every provider keeps their order.
#[derive(Debug, Default, PartialEq)]
struct AnswerParts {
    text: String,
    thought: String,
    calls: Vec<(String, Value)>,
}

impl AnswerParts {
    fn of_says(says: &[AnswerPiece]) -> Self {
        let mut words = Self::default();
        for say in says {
            match say {
                AnswerPiece::Text(text) => words.text.push_str(text),
                AnswerPiece::Thought(text) => words.thought.push_str(text),
                AnswerPiece::Call { name, input, .. } => {
                    words.calls.push((name.clone(), input.parse().unwrap()))
                }
                _ => {}
            }
        }
        words
    }

    fn of_message(message: &Message) -> Self {
        Self::of_says(&AnswerPiece::of_parts(&message.parts))
    }
}

/// The order of a model: reasoning first, then text, then calls.
fn says() -> impl Strategy<Value = Vec<AnswerPiece>> {
    let words = || "[a-zé \"\\\\]{0,80}[a-z]";
    let input = option::of(words()).prop_map(|said| Json::from(json!({ "said": said })));
    let call = ("[a-z]{1,9}", input).prop_map(|(name, input)| AnswerPiece::call(name, input));
    let texts = vec(words().prop_map(AnswerPiece::Text), 0..2);
    (vec(words().prop_map(AnswerPiece::Thought), 0..2), texts, vec(call, 0..3))
        .prop_map(|(thoughts, texts, calls)| [thoughts, texts, calls].concat())
}

fn read(name: &str, reply: &SimulatedReply) -> Answer {
    reply.read(&*provider(name).unwrap()).unwrap()
}

fn config() -> Config {
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 48 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_said_arrives_and_may_be_sent_back(says in says()) {
        for (name, all) in simulators() {
            let spoken = says.clone();
            let simulator = all.behaviour(move |_: &ModelRequest| spoken.clone());
            let asked = request([Message::from("Say it.")]).max_output_tokens(10_000);
            let body = body(name, &asked);
            let answers = [read(name, &simulator.send(&body)),
                read(name, &simulator.stream(&body))];
            for (answer, served) in answers.iter().zip(simulator.log()) {
                prop_assert!(answer.complete && answer.diagnostics.is_empty(), "{}: {:?}", name,
                    answer);
                prop_assert_eq!(AnswerParts::of_message(&answer.message),
                    AnswerParts::of_says(&says), "{}", name);
                let calls = says.iter().any(|say| matches!(say, AnswerPiece::Call { .. }));
                let stop = if calls { StopReason::ToolCalls } else { StopReason::Stop };
                prop_assert_eq!(answer.stop.as_ref(), Some(&stop), "{}", name);
                // One provider reports the usage of a stream only on request.
                if let Some(usage) = answer.usage {
                    prop_assert_eq!((Some(usage.total_input()), usage.output),
                        (served.input, served.output), "{}", name);
                }
            }
            let mut history = asked.messages.to_vec();
            history.push(answers[1].message.clone().into());
            let calls = answers[1].message.parts.iter().filter_map(|part| match part {
                Part::ToolCall(call) => Some(Part::tool_result(call.id.as_str(), "done")),
                _ => None,
            });
            history.push(Message::new(Role::Tool, calls.collect::<Vec<_>>()).into());
            history.push(Message::from("Thanks.").into());
            history.retain(|message| !message.parts.is_empty());
            let next = simulator.send(&super::body(name, &request_of(history)));
            prop_assert_eq!(next.status, 200, "{}: {:?}", name, next.content);
        }
    }
}

fn request_of(history: Vec<std::sync::Arc<Message>>) -> ModelRequest {
    ModelRequest::new(history).model("a-model").max_output_tokens(10_000)
}

#[test]
fn a_thought_that_was_changed_is_not_believed() {
    let anthropic = simulator("anthropic").behaviour(|_: &ModelRequest| {
        vec![AnswerPiece::thought("They want the aisle."), AnswerPiece::text("Aisle.")]
    });
    let mut history = vec![Message::from("Window or aisle?")];
    let answer = read("anthropic", &anthropic.send(&body("anthropic", &request(history.clone()))));
    history.extend([answer.message, Message::from("Sure?")]);
    assert_eq!(anthropic.send(&body("anthropic", &request(history.clone()))).status, 200);
    for part in &mut history[1].parts {
        if let Part::Reasoning(thought) = part {
            thought.text = "They want the window.".into();
        }
    }
    let reply = anthropic.send(&body("anthropic", &request(history)));
    let error = reply.read(&*provider("anthropic").unwrap()).unwrap_err();
    assert_eq!(error.message, "messages.1.content.0: Invalid `signature` in `thinking` block");
}

#[tokio::test]
async fn the_agent_looks_and_then_answers() {
    for (name, all) in simulators() {
        let simulator = all.behaviour(Agent::new(2));
        let mut history: Vec<Message> = Vec::new();
        for turn in 0..2 {
            history.push(Message::from("What is there?"));
            let mut calls = 0;
            let said = loop {
                let request = request(history.clone()).tools([tool()]).system("You look.");
                let answer = simulator.complete(&request, &CancelSignal::never()).await.unwrap();
                history.push(answer.message.clone());
                let results = answer.message.parts.iter().filter_map(|part| match part {
                    Part::ToolCall(call) => Some(Part::tool_result(call.id.as_str(), "a door")),
                    _ => None,
                });
                let results: Vec<Part> = results.collect();
                if results.is_empty() {
                    break answer.message.plain_text().into_owned();
                }
                calls += results.len();
                history.push(Message::new(Role::Tool, results));
            };
            assert_eq!(calls, 2, "{name}, turn {turn}");
            assert!(said.starts_with("I was sent "), "{name}: {said}");
        }
        let ids = history.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        });
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4, "{name}: two calls have one id");
    }
}

#[test]
fn the_same_requests_get_the_same_replies() {
    for name in PROVIDERS {
        let (one, other) = (simulator(name), simulator(name));
        for text in ["a", "b", "a"] {
            let body = body(name, &request([Message::from(text)]).tools([tool()]));
            assert_eq!(one.send(&body), other.send(&body), "{name}");
            assert_eq!(one.stream(&body), other.stream(&body), "{name}");
        }
        assert_eq!(one.log(), other.log());
    }
}

#[test]
fn events_come_when_the_body_asks_for_them_and_go_over_the_wire_with_their_names() {
    for (name, all) in simulators() {
        let mut asked = request([Message::from("Hello.")]);
        asked.stream = Some(true);
        // This provider has a separate endpoint for it.
        let reply = match name {
            "gemini" => all.stream(&body(name, &asked)),
            _ => all.send(&body(name, &asked)),
        };
        let ReplyContent::Events(events) = &reply.content else { panic!("{name}: no events") };
        let text = reply.to_text();
        assert_eq!(text.matches("data: ").count(), events.len(), "{name}");
        let named = matches!(name, "anthropic" | "openai-responses");
        assert_eq!(text.starts_with("event: "), named, "{name}: {text}");
    }
}

#[test]
fn chat_completions_tell_the_cost_of_a_stream_who_asks() {
    let chat = simulator("openai");
    let mut body: Value =
        serde_json::from_str(&body("openai", &request([Message::from("Hello.")]))).unwrap();
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let usage = read("openai", &chat.send(&body.to_string())).usage.unwrap();
    assert_eq!(Some(usage.total_input()), chat.log()[0].input);
    body["stream_options"] = json!({"include_usage": false});
    assert_eq!(read("openai", &chat.send(&body.to_string())).usage, None);
}
