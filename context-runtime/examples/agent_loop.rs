//! An agent loop, whole: a model that calls tools, outputs that are too large, and a window that turns out to be smaller than thought.
//!
//! ```text
//! cargo run --example agent_loop
//! ```
//!
//! It runs offline. The provider is the conformance kit's: it counts tokens, checks every request against the published rules, and
//! refuses with the real words. Put your HTTP client in the place of `provider_side.send`, and the rest stays.

use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_conformance::simulator::{Behaviour, Say, Simulator};
use context_runtime::tokens::ModelCounter;
use context_runtime::{
    ContextEngine, ContextRuntime, Contract, DefaultContextRuntime, Fragment, FunctionTool, Message,
    ModelCall, Part, PrepareInput, READ_SPILLED, RecoveryChain, Role, Spilled, Tool, ToolCall, ToolResult,
    ToolResultInput, model::ModelRequest, provider, role, spilled_output_tool, user,
};

const MODEL: &str = "claude-sonnet-4-5";
const SESSION: &str = "build-7";

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "an example prints")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", agent_loop().await?);
    Ok(())
}

/// Runs the agent until it answers, and says what happened.
pub async fn agent_loop() -> Result<String, Box<dyn Error>> {
    let mut said = String::new();

    // The chat: what is stored. The session of the runtime has the same name, so that large outputs are kept with it.
    let store = context_runtime::open("mem:").await?;
    let mut chat = ContextEngine::builder(Arc::clone(&store)).user("ada").chat(SESSION).open().await?;
    chat.set([role("You find out why builds fail."), user("Why does the nightly build fail?")]);
    let _saved = chat.save().await?;

    // The runtime: what is sent. Window and token counts come with the model; what is too large goes to the store.
    // Refusals are answered by all there is, not by the three decisions alone that every loop knows.
    let runtime = DefaultContextRuntime::builder()
        .model(MODEL)
        .recovery(RecoveryChain::new(Contract::Extended))
        .spill(Arc::clone(&store), "ada")
        .build()?;
    let spill = runtime.spill().ok_or("the store keeps blobs")?;

    // The provider. Its window is far smaller than the runtime believes: a proxy, a trial account, a wrong table.
    let codec = provider("anthropic").ok_or("the feature `anthropic` is on by default")?;
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    let provider_side = Simulator::new(Arc::clone(&codec), counter).window(16_000).behaviour(model());

    let tools: [Tool; 2] = [
        FunctionTool::new("run", serde_json::json!({"type": "object"}))
            .description("Runs the next check.")
            .into(),
        // With it the model reads what was too long to show, a part at a time.
        spilled_output_tool().into(),
    ];

    let turn = chat.resolve().await?;
    let mut history: Vec<Arc<Message>> = turn.request().messages;
    for step in 1.. {
        let input = PrepareInput::new(SESSION, "turn-1", "anthropic", MODEL)
            .system(&*turn.system_prompt)
            .tools(tools.clone())
            .max_output_tokens(1_000);

        // One call of the model: tried again in another form until it is answered, and never more than eight times.
        let mut call = ModelCall::new(&runtime, Arc::clone(&codec), input);
        while let Some(request) = call.next(&history).await? {
            let tokens = request.context.breakdown.total().tokens();
            let messages = request.context.messages.len();
            write!(
                said,
                "step {step}, request {}: {messages} messages, about {tokens} tokens: ",
                request.number
            )?;
            let reply = provider_side.send(request.body().as_str()).read(&*codec);
            match &reply {
                Ok(_) => writeln!(said, "answered")?,
                Err(error) => writeln!(said, "{}", error.code)?,
            }
            call.answered(reply); // An overflow, a refused image, a busy provider: decided here.
        }
        for attempt in call.attempts() {
            writeln!(
                said,
                "    {}: {} tokens became {}",
                attempt.decision.name(),
                attempt.before,
                attempt.after
            )?;
        }
        for plan in call.plans() {
            writeln!(said, "    {}: {}", plan.policy, plan.what)?;
        }

        // What was cut stays cut, so that the next step is not refused for the same reason. The chat keeps all of it.
        if let Some(compacted) = call.compacted() {
            history = compacted.messages.clone();
        }
        let answer = call.into_answer().ok_or("a call without an error is answered")?.message;
        chat.set([Fragment::from(answer.clone())]);
        let calls: Vec<ToolCall> = calls_of(&answer);
        history.push(Arc::new(answer));
        if calls.is_empty() {
            break;
        }

        // The tools run. A result that is too large is kept in the store, and a preview stands in its place.
        let mut results = Message::new(Role::Tool, []);
        for call in &calls {
            let result = match &*call.name {
                READ_SPILLED => spill.answer(SESSION, call).await,
                _ => run(call, step),
            };
            results.parts.push(Part::ToolResult(result));
        }
        let given = ToolResultInput::new(SESSION, "turn-1", history, results);
        let applied = runtime.apply_tool_results(given).await?;
        for result in applied.appended.iter().flat_map(|message| &message.parts) {
            if let Part::ToolResult(result) = result
                && let Some(spilled) = Spilled::of(&result.metadata)
            {
                writeln!(said, "    {} bytes kept as {}", spilled.bytes, spilled.blob.to_reference())?;
            }
        }
        chat.set(applied.appended.iter().map(|message| Fragment::from(Message::clone(message))));
        let _saved = chat.save().await?;
        history = applied.messages;
    }
    let _saved = chat.save().await?;

    let last = history.last().map(|message| message.plain_text().into_owned()).unwrap_or_default();
    writeln!(said, "the model: {last}")?;
    let stored = chat.resolve().await?.messages.len();
    writeln!(said, "the chat has {stored} messages, the next request would have {}", history.len())?;
    Ok(said)
}

/// What the simulated model says: six checks, and then an answer.
fn model() -> impl Behaviour {
    let said = AtomicUsize::new(0);
    move |_: &ModelRequest| match said.fetch_add(1, Ordering::Relaxed) {
        0..6 => vec![Say::text("Next."), Say::call("run", serde_json::json!({}))],
        _ => vec![Say::text("A job of the night before holds the lock.")],
    }
}

fn calls_of(message: &Message) -> Vec<ToolCall> {
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

/// The application's tool: a check that prints a lot, and the third one far too much.
fn run(call: &ToolCall, step: usize) -> ToolResult {
    let lines = if step == 3 { 30_000 } else { 400 };
    let log: String = (1..=lines).map(|line| format!("check {step}, line {line}: ok\n")).collect();
    let Part::ToolResult(mut result) = Part::tool_result(&call.id, log) else {
        unreachable!("it was made as one")
    };
    result.name = Some(call.name.clone());
    result
}
