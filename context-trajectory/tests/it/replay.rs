//! A recorded run again: the same loop, without its model and its tools.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_core::message::{Reasoning, ToolInput};
use context_core::model::{LanguageModel, ModelErrorCode};
use context_core::trajectory::{
    NewNode, NewQuery, NodeBody, NodeId, NodeRemoval, TrajectoryNodeKind, edge,
};
use context_core::{Answer, CancelSignal, Message, ModelError, ModelRequest, Part, Role, ToolCall};
use context_trajectory::replay::{
    DivergenceKind, RecordedModel, RecordedStep, RecordedTools, Replay,
};
use context_trajectory::{OpenRound, Step, StepCall};
use proptest::prelude::*;
use serde_json::json;

use crate::fixture::{ada, open, process, round_store};

/// A model with prepared answers.
#[derive(Debug)]
struct ScriptedModel(Mutex<VecDeque<Message>>);

#[async_trait]
impl LanguageModel for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn complete(&self, _: &ModelRequest, _: &CancelSignal) -> Result<Answer, ModelError> {
        Ok(Answer::new(self.0.lock().unwrap().pop_front().unwrap()))
    }
}

type Tools<'a> = &'a dyn Fn(&ToolCall) -> (serde_json::Value, bool);

/// The loop of an agent: asks the model, records its answers and runs the tools until there is a
/// response.
async fn run(
    context: &OpenRound,
    model: &dyn LanguageModel,
    tools: Tools<'_>,
    history: &mut Vec<Message>,
    question: &str,
) -> Result<(), ModelError> {
    context.ask(NewQuery::new(question)).await.unwrap();
    history.push(Message::text(Role::User, question));
    loop {
        let request = ModelRequest::new(history.clone()).system("You plan trips.");
        let answer = model.complete(&request, &CancelSignal::never()).await?;
        let mut step = Step::new(answer.message.readable_text());
        let mut calls = Vec::new();
        for part in &answer.message.parts {
            match part {
                Part::Reasoning(thought) => step = step.reasoning(&*thought.text),
                Part::ToolCall(call) => {
                    let ToolInput::Json(input) = &call.input else { panic!("valid calls") };
                    step = step.call(StepCall::new(&*call.id, &*call.name, input.clone()));
                    calls.push(call.clone());
                }
                _ => {}
            }
        }
        context.step(step).await.unwrap();
        history.push(answer.message);
        if calls.is_empty() {
            return Ok(());
        }
        let mut results = Vec::new();
        for call in &calls {
            let (output, success) = tools(call);
            let action = context.tool_result(&call.id, output.clone(), success).await.unwrap();
            let found = NodeBody::knowledge("found", output.to_string());
            context.add(NewNode::new(found, [action]).edge(edge::PRODUCES)).await.unwrap();
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            results.push(Part::tool_result(&*call.id, text));
        }
        history.push(Message::new(Role::Tool, results));
    }
}

fn script() -> ScriptedModel {
    let call = |id, q: &str| Part::tool_call(id, "search", json!({"q": q, "most": 3}));
    let thought = Part::Reasoning(Reasoning { text: "Hm.".into(), ..Reasoning::default() });
    let said = [
        vec![thought, Part::text("Two ideas."), call("c1", "sea"), call("c2", "hills")],
        // The same id again, with the same parameters.
        vec![Part::text("Once more."), call("c2", "hills")],
        vec![Part::text("To the hills.")],
        vec![call("c1", "rain")],
        vec![Part::text("It is dry.")],
    ];
    ScriptedModel(Mutex::new(
        said.into_iter().map(|parts| Message::new(Role::Assistant, parts)).collect(),
    ))
}

/// A search whose results change with each call.
fn search() -> impl Fn(&ToolCall) -> (serde_json::Value, bool) {
    let made = Mutex::new(0);
    move |call| {
        let mut made = made.lock().unwrap();
        *made += 1;
        let text = call.input.as_written();
        if text.contains("rain") {
            (json!("no such place"), false)
        } else {
            (json!({"found": *made}), true)
        }
    }
}

const QUESTIONS: [&str; 2] = ["Where to?", "Will it rain?"];

/// Records both rounds with the loop.
async fn recorded() -> (Arc<crate::fixture::FaultyRoundStore>, Replay, Vec<Message>) {
    record(&script(), &search()).await
}

async fn record(
    model: &ScriptedModel,
    tools: Tools<'_>,
) -> (Arc<crate::fixture::FaultyRoundStore>, Replay, Vec<Message>) {
    let store = round_store();
    let trajectories = process(&store, "a").build().unwrap();
    let mut history = Vec::new();
    for (number, question) in (0..).zip(QUESTIONS) {
        let context = open(&trajectories, number).await;
        run(&context, model, tools, &mut history, question).await.unwrap();
    }
    let replay = Replay::new(&trajectories.trajectory(&ada()).await.unwrap());
    (store, replay, history)
}

/// Runs the loop on a record, and compares the results.
async fn check(
    (original, replay, history): (Arc<crate::fixture::FaultyRoundStore>, Replay, Vec<Message>),
) {
    let (model, recorded) = (RecordedModel::new(&replay), RecordedTools::new(&replay));
    let tools = |call: &ToolCall| {
        let ToolInput::Json(params) = &call.input else { panic!("valid calls") };
        let result = recorded.answer(&call.id, &call.name, params).unwrap();
        (result.output.parse().unwrap(), result.success)
    };
    let again = round_store();
    let trajectories = process(&again, "a").build().unwrap();
    let mut said = Vec::new();
    for (number, question) in (0..).zip(QUESTIONS) {
        let context = open(&trajectories, number).await;
        run(&context, &model, &tools, &mut said, question).await.unwrap();
    }
    assert_eq!(again.all(&ada()).await, original.all(&ada()).await);
    assert_eq!(said, history);
    assert!(model.is_done() && model.divergence().is_none() && recorded.unused().is_empty());
}

#[tokio::test]
async fn the_same_loop_over_the_record_makes_an_equal_trajectory() {
    check(recorded().await).await;
}

/// The text and calls of a step, with each id at most once, and the results.
fn any_turn() -> impl Strategy<Value = (String, Vec<(usize, u8, String, bool)>)> {
    let call = (0..3_u8, "[a-c\"]{0,2}", any::<bool>());
    let calls = prop::collection::vec(prop::option::of(call), 3);
    let made = calls.prop_map(|calls| {
        let made = calls.into_iter().enumerate();
        made.filter_map(|(id, call)| call.map(|(q, output, success)| (id, q, output, success)))
            .collect()
    });
    ("[a-z ]{0,4}", made)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn so_it_is_for_any_run(rounds in prop::array::uniform2(prop::collection::vec(any_turn(),
        0..5))) {
        let (mut said, mut outputs) = (VecDeque::new(), VecDeque::new());
        for (text, calls) in rounds.into_iter().flat_map(|turns| {
            // A step without calls is the response, which ends the round.
            let calling = turns.into_iter().filter(|(_, calls)| !calls.is_empty());
            calling.chain([("Done.".to_owned(), Vec::new())]).collect::<Vec<_>>()
        }) {
            let text = (!text.is_empty()).then(|| Part::text(text));
            let parts = calls.iter().map(|(id, q, ..)| {
                Part::tool_call(format!("c{id}"), "search", json!({"q": q, "most": 3}))
            });
            said.push_back(Message::new(Role::Assistant, text.into_iter().chain(parts)));
            outputs.extend(calls.into_iter().map(|(.., output, success)| (json!(output), success)));
        }
        let (model, outputs) = (ScriptedModel(Mutex::new(said)), Mutex::new(outputs));
        let tools = |_: &ToolCall| outputs.lock().unwrap().pop_front().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { check(record(&model, &tools).await).await });
    }
}

#[tokio::test]
async fn steps_are_what_happened_in_order_and_messages_are_what_was_said() {
    let (_, replay, mut history) = recorded().await;
    let shown: Vec<String> = replay
        .into_iter()
        .map(|step| match step {
            RecordedStep::Query { query } => format!("{} asks", query.title()),
            RecordedStep::Calls { state, calls } => {
                let calls: Vec<_> = calls.iter().map(|call| call.title().to_string()).collect();
                format!("{} calls {}", state.as_ref().unwrap().title(), calls.join(", "))
            }
            RecordedStep::Response { response } => format!("{} answers", response.title()),
            other => panic!("{other:?}"),
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    Query(query00000) asks
    State(state00000) calls Action(c1), Action(c2)
    State(state00001) calls Action(c2#2)
    Response(response00000) answers
    Query(query00001) asks
    State(state00002) calls Action(c1)
    Response(response00001) answers
    ");
    // Equal to the loop's history except for names and failures of results, which the loop did not
    // set.
    let mut messages = replay.messages();
    let results = messages.iter_mut().chain(&mut history).flat_map(|message| &mut message.parts);
    for result in results {
        if let Part::ToolResult(result) = result {
            (result.name, result.is_error) = (None, false);
        }
    }
    assert_eq!(messages, history);
}

#[tokio::test]
async fn whatever_the_loop_does_differently_is_said_with_its_step() {
    let (_, replay, history) = recorded().await;
    let ask = async |model: &RecordedModel, messages: &[Message]| {
        let asked = ModelRequest::new(messages.to_vec());
        model.complete(&asked, &CancelSignal::never()).await.map(|answer| answer.message)
    };
    let changed = |at: usize, part: usize, new: Part| {
        let mut messages = history[..3].to_vec();
        messages[at].parts[part] = new;
        messages
    };
    let mut extra = history[..3].to_vec();
    extra.push(Message::from("Hurry!"));
    let mut missing = history[..3].to_vec();
    missing[2].parts.pop();
    let cases = [
        (vec![Message::from("Where from?")], 0, 1, DivergenceKind::OtherQuery),
        (Vec::new(), 0, 1, DivergenceKind::OtherQuery),
        (
            changed(2, 0, Part::tool_result("c1", "?")),
            1,
            2,
            DivergenceKind::OtherResult { call: "c1".into() },
        ),
        (
            changed(2, 0, Part::tool_result("c9", "?")),
            1,
            2,
            DivergenceKind::UnexpectedResult { call: "c9".into() },
        ),
        (missing, 1, 2, DivergenceKind::MissingResult { call: "c2".into() }),
        (extra, 1, 2, DivergenceKind::UnexpectedMessage),
    ];
    for (messages, answered, step, kind) in cases {
        let model = RecordedModel::new(&replay);
        for answer in 0..answered {
            ask(&model, &history[..answer * 2 + 1]).await.unwrap();
        }
        let error = ask(&model, &messages).await.unwrap_err();
        assert_eq!(error.code, ModelErrorCode::InvalidRequest);
        let divergence = model.divergence().unwrap();
        assert_eq!((divergence.step, &divergence.kind), (Some(step), &kind));
        assert_eq!(divergence.node, replay.steps()[step].node().map(|node| node.id));
        // The step is still the next one.
        ask(&model, &history[..answered * 2 + 1]).await.unwrap();
    }
    // A shortened history is the same run. So is one with results in another form, if that is
    // allowed.
    let model = RecordedModel::new(&replay).any_output();
    ask(&model, &history[..1]).await.unwrap();
    let cut = [Message::text(Role::User, "Summary.").with_role(Role::System), history[1].clone()];
    let results =
        Message::new(Role::Tool, [Part::tool_result("c1", "short"), Part::tool_result("c2", "er")]);
    ask(&model, &[&cut[..], &[results]].concat()).await.unwrap();
    for end in [5, 7, 9] {
        ask(&model, &history[..end]).await.unwrap();
    }
    assert!(model.is_done());
    ask(&model, &history).await.unwrap_err();
    let ended = model.divergence().unwrap();
    assert_eq!((ended.step, ended.node, ended.kind), (None, None, DivergenceKind::Ended));
}

#[tokio::test]
async fn tools_answer_by_id_or_by_what_they_are_asked_and_each_call_once() {
    let (_, replay, _) = recorded().await;
    let tools = RecordedTools::new(&replay);
    let hills = json!({"most": 3, "q": "hills"}).into();
    // Calls with unknown ids are answered in recorded order.
    let first = tools.answer("x", "search", &hills).unwrap();
    let second = tools.answer("c2", "search", &hills).unwrap();
    assert_eq!(
        (first.output.as_str(), second.output.as_str()),
        (r#"{"found":2}"#, r#"{"found":3}"#)
    );
    let repeated = tools.answer("c2", "search", &hills).unwrap_err();
    assert_eq!(repeated.step, Some(2));
    assert_eq!(
        repeated.kind,
        DivergenceKind::RepeatedCall { call: "c2".into(), tool: "search".into() }
    );
    let other = tools.answer("c1", "search", &json!({"q": "lakes"}).into()).unwrap_err();
    assert_eq!(other.kind, DivergenceKind::OtherCall { call: "c1".into() });
    let unknown = tools.answer("c7", "book", &json!({}).into()).unwrap_err();
    assert_eq!((unknown.step, unknown.node), (None, None));
    insta::assert_snapshot!(unknown, @r#"no call "c7" of "book" with these parameters is recorded"#);
    let rain = tools.answer("c1", "search", &json!({"q": "rain", "most": 3}).into()).unwrap();
    assert!(!rain.success);
    assert_eq!(tools.unused().iter().map(|call| call.id).collect::<Vec<_>>(), [NodeId::new(0, 2)]);
}

#[tokio::test]
async fn branches_stand_as_they_were_made_and_the_active_ones_alone_if_asked_for() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    let state = |text: &str, after| NewNode::new(NodeBody::state(text), [after]).append();
    let one = context.add(state("One.", query)).await.unwrap();
    let deeper = context.add(state("One, further.", one)).await.unwrap();
    let two = context.add(state("Two.", query)).await.unwrap();
    let act = NewNode::new(NodeBody::action("walk", json!({})), [query]).append();
    let act = context.add(act).await.unwrap();
    let heads = |replay: &Replay| {
        replay.into_iter().map(|step| step.node().unwrap().id).collect::<Vec<_>>()
    };
    assert_eq!(heads(&Replay::of_round(&context.round())), [query, one, deeper, two, act]);
    context.remove(two, NodeRemoval::Leaf).await.unwrap();
    let replay = Replay::of_active(&context.trajectory().await.unwrap());
    assert_eq!(heads(&replay), [query, one, deeper, act]);
    let tools = RecordedTools::new(&replay);
    let none = tools.answer("", "walk", &json!({}).into()).unwrap_err();
    assert_eq!(none.kind, DivergenceKind::Unanswered { call: String::new() });
    // The call has no result, so there is no message for it.
    assert_eq!(replay.messages().iter().filter(|message| message.role == Role::Tool).count(), 0);
    assert_eq!(context.round().node(act).unwrap().kind(), TrajectoryNodeKind::Action);
}
