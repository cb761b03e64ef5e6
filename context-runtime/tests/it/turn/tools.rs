//! Tools: functions and their schemas, order, approval, errors and panics.

use std::sync::atomic::{AtomicUsize, Ordering};

use context_runtime::{Approval, Spilled, ToolCall, ToolContext, ToolFunction, tools};
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;
use crate::kit::store;

/// Finds trains between two cities.
#[derive(Deserialize, JsonSchema)]
struct FindTrains {
    from: String,
    to: String,
    /// The day, such as `2026-03-06`.
    #[serde(default)]
    day: Option<String>,
}

async fn find_trains(wanted: FindTrains) -> Result<String, String> {
    match wanted.day {
        Some(day) => Ok(format!("{day}: 10:05 from {} to {}", wanted.from, wanted.to)),
        None => Err("name a day".to_owned()),
    }
}

fn find(arguments: serde_json::Value) -> ToolCall {
    let part = context_runtime::Part::tool_call("c1", "find_trains", arguments);
    let context_runtime::Part::ToolCall(call) = part else { unreachable!() };
    call
}

/// Runs a tool as a turn does.
async fn run(tool: &ToolFunction, call: ToolCall) -> context_runtime::ToolResult {
    let store = store().await;
    let says = move |request: &ModelRequest| match request.messages.len() {
        1 => {
            let input: serde_json::Value = call.input.parse().unwrap();
            vec![AnswerPiece::call(&*call.name, input)]
        }
        _ => vec![AnswerPiece::text("Done.")],
    };
    let agents = agents(&store, simulator(says));
    let mut chat = chat(&agents).await;
    chat.ask("Go.").tools([tool.clone()]).await.unwrap();
    let shown = chat.engine_mut().resolve().await.unwrap();
    let mut results = shown.messages.iter().flat_map(|node| node.message().unwrap().tool_results());
    results.next().cloned().unwrap()
}

fn said(result: &context_runtime::ToolResult) -> String {
    let context_runtime::Part::Text(text) = &result.output[0] else { panic!("{result:?}") };
    text.text.to_string()
}

#[tokio::test]
async fn a_function_is_described_by_the_type_of_its_argument() {
    let [trains] = tools![find_trains];
    insta::assert_snapshot!(
        serde_json::to_string_pretty(&json!({
            "name": trains.tool().name,
            "description": trains.tool().description,
            "schema": trains.tool().input_schema.parse::<serde_json::Value>().unwrap(),
        }))
        .unwrap()
    );
    let found = run(&trains, find(json!({"from": "Porto", "to": "Lisbon", "day": "Friday"}))).await;
    assert_eq!(
        (said(&found).as_str(), found.is_error),
        ("Friday: 10:05 from Porto to Lisbon", false)
    );
    let refused = run(&trains, find(json!({"from": "Porto", "to": "Lisbon"}))).await;
    assert_eq!((said(&refused).as_str(), refused.is_error), ("name a day", true));
    let unclear = run(&trains, find(json!({"from": "Porto"}))).await;
    assert!(unclear.is_error && said(&unclear).contains("missing field `to`"), "{unclear:?}");
}

/// Results are given in the order of the calls, whichever tool is ready first.
#[tokio::test(start_paused = true)]
async fn tools_run_at_once_up_to_a_limit_in_the_order_of_the_calls() {
    for (limit, most) in [(1, 1), (2, 2), (8, 4)] {
        let (running, highest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&highest);
        let tool = ToolFunction::with_schema(weather(), move |call: ToolCall| {
            let (running, highest) = (Arc::clone(&running), Arc::clone(&highest));
            async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                highest.fetch_max(now, Ordering::SeqCst);
                let number: u64 =
                    call.input.parse::<serde_json::Value>().unwrap()["n"].as_u64().unwrap();
                // The first takes longest.
                tokio::time::sleep(std::time::Duration::from_secs(10 - number)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                call.result(number.to_string())
            }
        });
        let says = |request: &ModelRequest| match request.messages.last().unwrap().role {
            Role::User if request.messages.len() == 1 => {
                (0..4).map(|n| AnswerPiece::call("weather", json!({"n": n}))).collect()
            }
            _ => vec![AnswerPiece::text("Done.")],
        };
        let store = store().await;
        let agents = agents(&store, simulator(says));
        let mut chat = chat(&agents).await;
        chat.ask("Go.").tools([tool]).concurrency(limit).await.unwrap();
        assert_eq!(stored(&store).await[2], "tool: 0 | 1 | 2 | 3");
        assert_eq!(seen.load(Ordering::SeqCst), most, "at most {limit}");
    }
}

#[tokio::test]
async fn a_refusal_an_unknown_tool_and_a_panic_are_results() {
    let says = |request: &ModelRequest| match request.messages.len() {
        1 => vec![
            AnswerPiece::call("weather", json!({})),
            AnswerPiece::call("book", json!({})),
            AnswerPiece::call("fly", json!({})),
        ],
        _ => vec![AnswerPiece::text("Sorry.")],
    };
    let store = store().await;
    let agents = agents(&store, simulator(says));
    let mut chat = chat(&agents).await;
    let book = FunctionTool::new("book", json!({"type": "object"}));
    let functions = [
        ToolFunction::with_schema(weather(), |_| async { panic!("no barometer") }),
        ToolFunction::with_schema(book, |call| async move { call.result("booked") }),
    ];
    let asked = |call: ToolCall| async move {
        match &*call.name {
            "book" => Approval::Refuse("nobody has paid".to_owned()),
            _ => Approval::Run,
        }
    };
    let answer = chat.ask("Go.").tools(functions).approve(asked).await.unwrap();
    assert_eq!(answer.text(), "Sorry.");
    assert_eq!(
        stored(&store).await[2],
        "tool: The tool failed unexpectedly. | The tool was not run: nobody has paid | \
         There is no tool fly. The tools are: weather, book."
    );
    assert_eq!(states(&store).await, [RoundState::Closed]);
}

/// A result that is too large goes to the store of the chat, and the tool that reads it back needs
/// no code in the program.
#[tokio::test]
async fn a_large_result_is_read_back_by_a_tool_that_comes_with_the_store() {
    let says = |request: &ModelRequest| {
        let last = request.messages.last().unwrap();
        let output = last.tool_results().flat_map(|result| result.output.clone());
        let seen = context_runtime::Message::from(output.collect::<Vec<_>>());
        let seen = seen.plain_text();
        match seen.find("blob:") {
            _ if request.messages.len() == 1 => vec![AnswerPiece::call("weather", json!({}))],
            Some(at) => {
                let blob = &seen[at..at + 69];
                let input = json!({"reference": blob, "start": 100_000, "end": 100_020});
                vec![AnswerPiece::call(context_runtime::READ_SPILLED, input)]
            }
            None => vec![AnswerPiece::text(seen.lines().last().unwrap_or_default())],
        }
    };
    let store = store().await;
    let agents = agents(&store, simulator(says));
    let mut chat = chat(&agents).await;
    let functions = [ToolFunction::with_schema(weather(), |call| async move {
        let lines: String = (0..40_000).map(|line| format!("line {line}\n")).collect();
        call.result(lines)
    })];
    let answer = chat.ask("Go.").tools(functions).await.unwrap();
    assert!(answer.text().contains("line"), "{answer}");
    assert!(answer.report.spilled_bytes > 400_000 && answer.report.not_run.is_empty());
    let shown = chat.engine_mut().resolve().await.unwrap();
    let results = shown.messages.iter().map(|node| node.message().unwrap());
    let spilled =
        results.flat_map(|message| message.tool_results()).find_map(|r| Spilled::of(&r.metadata));
    assert!(spilled.is_some());
}

/// A sub-agent has a chat of its own, and its rounds are recorded below the call that asked it.
#[tokio::test]
async fn a_sub_agent_is_recorded_below_the_call_that_asked_it() {
    let says = |request: &ModelRequest| {
        let first = request.messages[0].plain_text();
        match (&*first, request.messages.len()) {
            ("Which ferry?", 1) => vec![AnswerPiece::call("research", json!({}))],
            ("Which ferry?", _) => vec![AnswerPiece::text("The first.")],
            _ => vec![AnswerPiece::text("At 10:05.")],
        }
    };
    let store = store().await;
    let agents = agents(&store, simulator(says));
    let mut chat = chat(&agents).await;
    let research = FunctionTool::new("research", json!({"type": "object"}));
    let research =
        ToolFunction::with_context(research, |call: ToolCall, turn: ToolContext| async move {
            let mut helper = turn.agent("researcher").await.unwrap();
            let answer = helper.ask("Find the ferries.").await.unwrap();
            call.result(answer.text())
        });
    let answer = chat.ask("Which ferry?").tools([research]).await.unwrap();
    assert_eq!(answer.text(), "The first.");
    assert_eq!(stored(&store).await[2], "tool: At 10:05.");

    let graph = agents.trajectories().unwrap().graph("ada", "lisbon").await.unwrap();
    assert_eq!(graph.agents().count(), 2);
    let helper = graph.agents().nth(1).unwrap();
    let parent = helper.trajectory().rounds().next().unwrap().head().parent.unwrap();
    let call = rounds(&store).await[0].node(parent.node).unwrap().clone();
    assert_eq!((parent.agent, call.body.text("action")), (0, "research"));
    assert_eq!(helper.trajectory().rounds().next().unwrap().state(), RoundState::Closed);
}

/// A forked sub-agent knows what its parent knows, and its request begins as the parent's did: the
/// provider has it in its prompt cache.
#[tokio::test]
async fn a_forked_sub_agent_shares_the_prefix_of_its_parent() {
    let says = |request: &ModelRequest| {
        let last = request.messages.last().unwrap();
        match &*last.plain_text() {
            "Which ferry?" => vec![
                AnswerPiece::call("research", json!({})),
                AnswerPiece::call("weather", json!({})),
            ],
            "Find the ferries." => vec![AnswerPiece::text("At 10:05.")],
            _ => vec![AnswerPiece::text("The first.")],
        }
    };
    let store = store().await;
    let model = simulator(says);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    chat.set([context_runtime::role("You book trips, and you are never in a hurry. ".repeat(400))]);
    let quick = ToolFunction::with_schema(weather(), |call| async move { call.result("sun") });
    let again = quick.clone();
    let research = FunctionTool::new("research", json!({"type": "object"}));
    let declared = ToolFunction::with_schema(research.clone(), |call| async move {
        call.error("a helper has no helpers")
    });
    let research = ToolFunction::with_context(research, move |call, turn: ToolContext| {
        let tools = [declared.clone(), again.clone()];
        async move {
            let mut helper = turn.fork("researcher").await.unwrap();
            let answer = helper.ask("Find the ferries.").tools(tools).await.unwrap();
            assert_eq!(helper.engine().branch().as_str(), format!("main/researcher/{}", call.id));
            call.result(answer.text())
        }
    });
    let answer = chat.ask("Which ferry?").tools([research, quick]).await.unwrap();
    assert_eq!(answer.text(), "The first.");
    assert_eq!(stored(&store).await[2], "tool: At 10:05. | sun", "the parent's branch is active");

    let log = model.log();
    let (parent, helper) = (log[0].input.unwrap(), &log[1]);
    assert!(helper.cache_read + 200 > parent && parent > 3_000, "{log:#?}");
    assert!(log.iter().all(|served| served.violations.is_empty()), "{log:#?}");

    // The helper's branch begins with the parent's messages, and says what becomes of its calls.
    let branches = store.history().branches(chat.engine().chat_ref()).await.unwrap();
    let branch = branches.iter().find(|branch| branch.name.as_str() != "main").unwrap();
    let mut on_branch = context_runtime::ContextEngine::builder(Arc::clone(&store))
        .user("ada")
        .chat("lisbon")
        .branch(branch.name.clone())
        .open()
        .await
        .unwrap();
    let shown = on_branch.resolve().await.unwrap();
    let lines: Vec<_> = shown.messages.iter().map(|node| super::line(node)).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let graph = agents.trajectories().unwrap().graph("ada", "lisbon").await.unwrap();
    assert!(graph.agents().nth(1).unwrap().trajectory().rounds().next().unwrap().len() >= 2);
}
